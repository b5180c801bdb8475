//===- CudaDevice.h - An NVIDIA GPU as a device -----------------*- C++ -*-===//
//
// Knows nothing of CUDA's headers: without them the device is another file,
// whose functions say that it was not built.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define MTP_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/ImageChoice.h"

#include <string>

namespace mtp {

struct CudaOptions {
  /// The driver's library. Empty: what the variable MTP_CUDA_DRIVER of the
  /// environment names, else libcuda.so.1.
  std::string driver;
  /// Which of the driver's GPUs.
  uint32_t ordinal = 0;
};

/// A GPU of the driver. Devices of the same GPU in a process are one:
/// executables of the same plan share its weights and code. What it has loaded
/// may outlive the device object. FailedPrecondition where there is no driver,
/// an old one, or no GPU; InvalidArgument where there are fewer.
Result<std::unique_ptr<Device>>
createCudaDevice(const CudaOptions &options = {});

/// What that device would be.
Result<CudaMachine> findCudaMachine(const CudaOptions &options = {});

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
