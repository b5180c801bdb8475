//===- Device.h - The simulated device in tests -----------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DEVICE_H
#define MTP_TEST_GPUSIM_DEVICE_H

#include "machine/KernelRun.h"
#include <cstdint>
#include <cuda.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace mtp::gpusim::test {

/// Functions of the driver, found as the runtime finds them: by their versioned
/// names in the library. `driver.cuMemAlloc` is cuMemAlloc_v2.
#define MTP_DRIVER_FUNCTIONS(X)                                                \
  X(cuInit)                                                                    \
  X(cuDriverGetVersion)                                                        \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuCtxSetCurrent)                                                           \
  X(cuCtxGetCurrent)                                                           \
  X(cuCtxGetDevice)                                                            \
  X(cuCtxSynchronize)                                                          \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemGetInfo)                                                              \
  X(cuMemAllocHost)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuMemHostRegister)                                                         \
  X(cuMemHostUnregister)                                                       \
  X(cuMemHostGetDevicePointer)                                                 \
  X(cuMemcpyHtoD)                                                              \
  X(cuMemcpyDtoH)                                                              \
  X(cuMemcpyDtoD)                                                              \
  X(cuMemcpyHtoDAsync)                                                         \
  X(cuMemcpyDtoHAsync)                                                         \
  X(cuMemsetD8)                                                                \
  X(cuMemsetD32)                                                               \
  X(cuModuleLoadData)                                                          \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleGetGlobal)                                                         \
  X(cuFuncSetAttribute)                                                        \
  X(cuFuncGetAttribute)                                                        \
  X(cuFuncGetParamInfo)                                                        \
  X(cuLaunchKernel)                                                            \
  X(cuStreamCreate)                                                            \
  X(cuStreamCreateWithPriority)                                                \
  X(cuStreamDestroy)                                                           \
  X(cuLaunchHostFunc)                                                          \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamQuery)                                                             \
  X(cuStreamBeginCaptureToGraph)                                               \
  X(cuStreamGetCaptureInfo)                                                    \
  X(cuStreamEndCapture)                                                        \
  X(cuStreamWaitEvent)                                                         \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventQuery)                                                              \
  X(cuEventSynchronize)                                                        \
  X(cuEventElapsedTime)                                                        \
  X(cuGraphCreate)                                                             \
  X(cuGraphDestroy)                                                            \
  X(cuGraphGetNodes)                                                           \
  X(cuGraphAddNode)                                                            \
  X(cuGraphConditionalHandleCreate)                                            \
  X(cuGraphInstantiate)                                                        \
  X(cuGraphLaunch)                                                             \
  X(cuGraphUpload)                                                             \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphExecUpdate)                                                         \
  X(cuGraphExecKernelNodeSetParams)

struct DriverTable {
#define MTP_MEMBER(name) decltype(&::name) name;
  MTP_DRIVER_FUNCTIONS(MTP_MEMBER)
#undef MTP_MEMBER
  const char *(*lastError)();
  void (*setSeed)(unsigned long long);
  void (*revive)();
  CUresult (*inject)(const char *name, long long value);
  CUresult (*setScratch)(CUdeviceptr memory);
  CUresult (*forget)(CUdeviceptr memory, size_t bytes);
  CUresult (*keepScratch)(CUdeviceptr memory);
  void (*onKernel)(KernelHook hook, void *data);
  uint64_t (*loadBatches)();
  uint64_t (*waits)();
};

/// Returns the library's functions. Ends the test program if one is missing.
const DriverTable &driver();

/// A test with a context. Its allocations are freed at the end.
class DeviceTest : public ::testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  /// Compiles a file of Inputs/, once for the whole program, and loads it.
  CUmodule load(const std::string &file);
  CUfunction function(const std::string &file, const std::string &kernel);

  CUdeviceptr allocate(size_t bytes);
  template <typename T>
  CUdeviceptr upload(const std::vector<T> &values) {
    CUdeviceptr place = allocate(values.size() * sizeof(T));
    EXPECT_EQ(
        driver().cuMemcpyHtoD(place, values.data(), values.size() * sizeof(T)),
        CUDA_SUCCESS);
    return place;
  }
  template <typename T>
  std::vector<T> download(CUdeviceptr place, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(driver().cuMemcpyDtoH(values.data(), place, count * sizeof(T)),
              CUDA_SUCCESS)
        << lastError();
    return values;
  }

  /// Launches a kernel and waits. `parameters` are pointers to the values.
  CUresult run(CUfunction function, unsigned grid, unsigned block,
               std::vector<void *> parameters, unsigned dynamicShared = 0);
  /// Runs a kernel and expects a fault whose text contains all of `parts`.
  void expectFault(CUfunction function, unsigned grid, unsigned block,
                   const std::vector<void *> &parameters,
                   const std::vector<std::string> &parts,
                   unsigned dynamicShared = 0);
  void expectMessage(const std::vector<std::string> &parts);
  std::string lastError() { return driver().lastError(); }

private:
  std::vector<CUdeviceptr> allocations;
};

/// Pseudorandom numbers, equal on every machine.
class Numbers {
public:
  explicit Numbers(uint32_t seed) : state(seed) {}
  uint32_t next() {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  }

private:
  uint32_t state;
};

} // namespace mtp::gpusim::test

#endif // MTP_TEST_GPUSIM_DEVICE_H
