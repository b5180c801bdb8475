//===- Upload.h - Large copies from the host to a GPU -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_UPLOAD_H
#define MTP_RUNTIME_DEVICE_CUDA_UPLOAD_H

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/HostCopy.h"

#include <array>

namespace mtp {

/// Copies to the device that overlap: several threads of the host fill one of
/// two pinned buffers while the device transfers the other. Small copies share
/// a buffer, and wait for each other no more than the pieces of a large copy
/// do.
class Upload {
public:
  /// Size of a buffer in bytes: a transfer of a buffer takes far longer than
  /// its launch.
  static constexpr uint64_t kBufferBytes = 32 << 20;

  /// Allocates nothing. The first add() allocates, and may fail. `bytes` is a
  /// limit on all copies together, and on the size of a buffer. `threads` as in
  /// HostCopy.
  Upload(std::shared_ptr<CudaContext> context, uint64_t bytes,
         uint64_t bufferBytes = kBufferBytes, uint32_t threads = 0);
  Upload(const Upload &) = delete;
  Upload &operator=(const Upload &) = delete;
  /// Waits for running transfers.
  ~Upload();

  /// Copies `source`, which is read before the call returns. `target` is
  /// complete after finish().
  Status add(CUdeviceptr target, const void *source, uint64_t bytes);
  Status finish();

private:
  struct Buffer {
    PinnedMemory memory;
    /// Recorded after the last transfer from the buffer.
    CUevent emptied = nullptr;
    uint64_t used = 0;
  };
  Status prepare(Buffer &buffer);
  Status nextBuffer();

  std::shared_ptr<CudaContext> context;
  uint64_t bufferBytes;
  HostCopy copies;
  CUstream stream = nullptr;
  std::array<Buffer, 2> buffers;
  /// Number of the buffer that the host fills.
  uint32_t current = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_UPLOAD_H
