//===- Driver.h - The CUDA driver, found at run time ------------*- C++ -*-===//
//
// Entry points that the probes use, by the versioned names that cuda.h's macros
// give them. MTP_CUDA_DRIVER names another library than libcuda.so.1.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_GPU_CHECK_PROBE_DRIVER_H
#define MTP_TOOLS_GPU_CHECK_PROBE_DRIVER_H

#include <cuda.h>

#define MTP_DRIVER_CALLS(X)                                                    \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuGetErrorName)                                                            \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuCtxSetCurrent)                                                           \
  X(cuCtxSynchronize)                                                          \
  X(cuMemGetInfo)                                                              \
  X(cuMemAlloc)                                                                \
  X(cuMemHostAlloc)                                                            \
  X(cuMemFree)                                                                 \
  X(cuMemcpyHtoD)                                                              \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoH)                                                              \
  X(cuMemcpyDtoDAsync)                                                         \
  X(cuMemsetD8Async)                                                           \
  X(cuStreamCreate)                                                            \
  X(cuStreamSynchronize)                                                       \
  X(cuEventCreate)                                                             \
  X(cuEventRecord)                                                             \
  X(cuEventSynchronize)                                                        \
  X(cuEventElapsedTime)                                                        \
  X(cuModuleLoadData)                                                          \
  X(cuModuleLoadDataEx)                                                        \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuFuncSetAttribute)                                                        \
  X(cuFuncGetAttribute)                                                        \
  X(cuLaunchKernel)                                                            \
  X(cuGraphCreate)                                                             \
  X(cuGraphDestroy)                                                            \
  X(cuGraphAddNode)                                                            \
  X(cuGraphGetNodes)                                                           \
  X(cuGraphConditionalHandleCreate)                                            \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphUpload)                                                             \
  X(cuGraphLaunch)                                                             \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphExecUpdate)                                                         \
  X(cuGraphExecKernelNodeSetParams)

/// Calls that a driver may lack, as the simulator's does.
#define MTP_DRIVER_CAPTURE_CALLS(X)                                            \
  X(cuStreamBeginCaptureToGraph)                                               \
  X(cuStreamGetCaptureInfo)                                                    \
  X(cuStreamEndCapture)

namespace mtp::gpu_check {

struct Driver {
#define X(name) decltype(&::name) name = nullptr;
  MTP_DRIVER_CALLS(X)
  MTP_DRIVER_CAPTURE_CALLS(X)
#undef X

  /// Finds the entry points. If one is missing, prints its name and ends the
  /// process.
  static Driver load();
};

extern Driver cu;

/// Returns the driver's name of an error.
const char *nameOf(CUresult result);

/// Ends the process if a call failed. Each part of the check is a process, so a
/// failed part is one line in the results.
void check(CUresult result, const char *what, const char *file, int line);

#define CHECK(call) ::mtp::gpu_check::check((call), #call, __FILE__, __LINE__)

} // namespace mtp::gpu_check

#endif // MTP_TOOLS_GPU_CHECK_PROBE_DRIVER_H
