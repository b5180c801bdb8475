//===- DriverApi.h - The CUDA driver, found at run time ---------*- C++ -*-===//
//
// The runtime links no CUDA library. The driver is opened when a GPU is
// requested, and one build serves machines with and without one.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_DEVICE_CUDA_DRIVERAPI_H
#define MTP_RUNTIME_DEVICE_CUDA_DRIVERAPI_H

#include "runtime/core/Result.h"
#include "runtime/device/cuda/DriverTraits.h"

#include <cuda.h>
#include <string>

namespace mtp {

// If a function has an older ABI, cuda.h defines its name as a macro. The
// argument of X becomes the versioned name, such as cuMemAlloc_v2, here as in
// every use.
#define MTP_CUDA_FUNCTIONS(X)                                                  \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuGetErrorName)                                                            \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuCtxSetCurrent)                                                           \
  X(cuCtxSynchronize)                                                          \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemGetInfo)                                                              \
  X(cuMemHostAlloc)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuMemHostGetDevicePointer)                                                 \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuMemsetD8)                                                                \
  X(cuModuleLoadData)                                                          \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuFuncSetAttribute)                                                        \
  X(cuFuncGetAttribute)                                                        \
  X(cuFuncGetParamInfo)                                                        \
  X(cuLaunchKernel)                                                            \
  X(cuStreamCreate)                                                            \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamQuery)                                                             \
  X(cuStreamBeginCaptureToGraph)                                               \
  X(cuStreamGetCaptureInfo)                                                    \
  X(cuStreamEndCapture)                                                        \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventSynchronize)                                                        \
  X(cuEventElapsedTime)                                                        \
  X(cuGraphCreate)                                                             \
  X(cuGraphDestroy)                                                            \
  X(cuGraphAddNode)                                                            \
  X(cuGraphConditionalHandleCreate)                                            \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphUpload)                                                             \
  X(cuGraphLaunch)                                                             \
  X(cuGraphExecDestroy)

/// Functions of the driver.
struct DriverApi {
#define MTP_CUDA_MEMBER(name) decltype(&::name) name;
  MTP_CUDA_FUNCTIONS(MTP_CUDA_MEMBER)
#undef MTP_CUDA_MEMBER
  /// Differences from NVIDIA's driver.
  DriverTraits traits;
  /// Result of dlopen.
  void *library = nullptr;

  /// Opens a library, finds all functions in it, and initialises the driver.
  /// The library stays open.
  static Result<DriverApi> open(const std::string &path);

  /// Returns the name of a result, such as "CUDA_ERROR_LAUNCH_FAILED".
  std::string nameOf(CUresult result) const;
  /// Turns the result of a call that changes nothing into a status with the
  /// message "`what`: <name>". The status is ResourceExhausted, with the free
  /// memory, if the GPU is out of memory, else FailedPrecondition.
  Status check(CUresult result, std::string_view what) const;
  /// Returns the status for a lack of memory.
  Status exhausted(std::string_view what) const;
};

} // namespace mtp

#endif // MTP_RUNTIME_DEVICE_CUDA_DRIVERAPI_H
