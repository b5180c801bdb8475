//===- CudaDevice.h - An NVIDIA GPU as a device -----------------*- C++ -*-===//
//
// This header does not use CUDA's headers. Without them, another file defines
// these functions and reports that the device was not built.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
#define MTP_RUNTIME_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/ImageChoice.h"

#include <string>

namespace mtp {

struct CudaOptions {
  /// Driver library. If empty, the value of the environment variable
  /// MTP_CUDA_DRIVER, or libcuda.so.1 if it is not set.
  std::string driver;
  /// Number of the driver's GPU.
  uint32_t ordinal = 0;
};

/// Creates a device for a GPU of the driver. Devices of one GPU in a process
/// are one: executables of one plan share weights and code. Loaded objects may
/// outlive the device object. Returns FailedPrecondition if there is no driver,
/// an old one, or no GPU, and InvalidArgument if there are fewer GPUs.
Result<std::unique_ptr<Device>>
createCudaDevice(const CudaOptions &options = {});

/// Returns the machine of the device that createCudaDevice would create.
Result<CudaMachine> findCudaMachine(const CudaOptions &options = {});

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_CUDADEVICE_H
