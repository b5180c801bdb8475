//===- Download.h - Large copies from a GPU to the host ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_DOWNLOAD_H
#define MTP_RUNTIME_DEVICE_CUDA_DOWNLOAD_H

#include "runtime/core/MemoryAccount.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/HostCopy.h"

#include <array>
#include <span>
#include <vector>

namespace mtp {

/// Bytes that are contiguous in the device's memory and in the host's.
struct DownloadPiece {
  uint8_t *target = nullptr;
  CUdeviceptr source = 0;
  uint64_t bytes = 0;
};

/// Copies from the device that overlap: the device fills one of two pinned
/// buffers while the host empties the other. Pieces share a buffer. With memory
/// that is not pinned, the driver would copy one piece after another, and wait
/// for each.
class Download {
public:
  /// Size of a buffer in bytes: a transfer of a buffer takes far longer than
  /// its launch.
  static constexpr uint64_t kBufferBytes = 8 << 20;

  /// Allocates nothing. The first copy makes the buffers, no larger than it
  /// needs, and they are kept. `threads` as in HostCopy.
  explicit Download(std::shared_ptr<CudaContext> context,
                    uint64_t bufferBytes = kBufferBytes, uint32_t threads = 0);
  Download(const Download &) = delete;
  Download &operator=(const Download &) = delete;
  ~Download();

  /// Copies all pieces, after the earlier work in the stream. Waits for the
  /// stream once for each buffer that the pieces fill. If no memory can be
  /// pinned, copies without buffers.
  Status run(CUstream stream, std::span<const DownloadPiece> pieces);

  /// Returns the size of the pinned memory of the host.
  uint64_t bytes() const;

private:
  struct Buffer {
    PinnedMemory memory;
    /// Recorded after the last transfer to the buffer.
    CUevent filled = nullptr;
    uint64_t used = 0;
    /// Targets of the buffer's contents, one piece after another.
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
  /// Number of the buffer that the device fills next.
  uint32_t current = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_DOWNLOAD_H
