//===- Download.h - Much memory of a GPU to the host ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_DOWNLOAD_H
#define MTP_RUNTIME_DEVICE_CUDA_DOWNLOAD_H

#include "runtime/core/MemoryAccount.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/HostCopy.h"

#include <array>
#include <span>
#include <vector>

namespace mtp {

/// Bytes that lie together in the device's memory and in the host's.
struct DownloadPiece {
  uint8_t *target = nullptr;
  CUdeviceptr source = 0;
  uint64_t bytes = 0;
};

/// Copies that overlap: the device fills one of two pinned buffers while the
/// host empties the other. To memory that is not pinned the driver would copy
/// one piece after the other, and wait for each. Pieces share a buffer.
class Download {
public:
  /// Bytes of a buffer: a transfer of so many is far longer than its launch.
  static constexpr uint64_t kBufferBytes = 8 << 20;

  /// Allocates nothing: buffers are made for the first pieces, no larger than
  /// those need, and kept. `threads` as in HostCopy.
  explicit Download(std::shared_ptr<CudaContext> context,
                    uint64_t bufferBytes = kBufferBytes, uint32_t threads = 0);
  Download(const Download &) = delete;
  Download &operator=(const Download &) = delete;
  ~Download();

  /// Copies all of them behind what is in the stream, and waits for that once
  /// for each buffer that they fill. Where no memory can be pinned they are
  /// copied without.
  Status run(CUstream stream, std::span<const DownloadPiece> pieces);

  /// Of the host, pinned.
  uint64_t bytes() const;

private:
  struct Buffer {
    PinnedMemory memory;
    /// Recorded behind the last transfer to the buffer.
    CUevent filled = nullptr;
    uint64_t used = 0;
    /// Where what it has goes, each piece behind the one before.
    std::vector<DownloadPiece> pieces;
  };

  Status makeBuffers(uint64_t bytes);
  void dropBuffers();
  Status prepare(Buffer &buffer, uint64_t bytes);
  Status add(CUstream stream, DownloadPiece piece);
  Status leave(CUstream stream);
  Status empty(Buffer &buffer);
  Status runDirectly(CUstream stream, std::span<const DownloadPiece> pieces);

  std::shared_ptr<CudaContext> context;
  uint64_t most;
  HostCopy copies;
  MemoryReservation reservation;
  std::array<Buffer, 2> buffers;
  /// The buffer that the device fills next.
  uint32_t current = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_DOWNLOAD_H
