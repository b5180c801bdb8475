//===- Driver_test.cpp - Misuse of the driver's interface -----------------===//

#include "CompileText.h"
#include "Device.h"
#include <algorithm>
#include <thread>

using namespace mtp::gpusim::test;

namespace {
class Driver : public DeviceTest {
protected:
  CUfunction copy() { return function("memory.mlir", "copy"); }
};
} // namespace

TEST_F(Driver, NeedsAContextInEachThread) {
  CUdeviceptr place;
  CUresult result = CUDA_SUCCESS;
  std::thread other([&] { result = driver().cuMemAlloc(&place, 16); });
  other.join();
  EXPECT_EQ(result, CUDA_ERROR_INVALID_CONTEXT);
  expectMessage({"cuMemAlloc: expected the primary context"});
}

TEST_F(Driver, RefusesAForeignContext) {
  int something;
  EXPECT_EQ(driver().cuCtxSetCurrent(reinterpret_cast<CUcontext>(&something)),
            CUDA_ERROR_INVALID_CONTEXT);
  CUcontext context;
  EXPECT_EQ(driver().cuDevicePrimaryCtxRetain(&context, 1),
            CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(Driver, HasDevicesThatShareNothing) {
  ASSERT_EQ(driver().inject("devices", 2), CUDA_SUCCESS);
  int count = 0;
  EXPECT_EQ(driver().cuDeviceGetCount(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2);
  CUdeviceptr x = upload(std::vector<float>(32)), y = allocate(128);
  int64_t offset = 0;
  CUfunction foreign = copy();
  CUcontext first = nullptr, second = nullptr;
  ASSERT_EQ(driver().cuCtxGetCurrent(&first), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuDevicePrimaryCtxRetain(&second, 1), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuCtxSetCurrent(second), CUDA_SUCCESS);
  CUdevice device = 0;
  EXPECT_EQ(driver().cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  EXPECT_EQ(run(foreign, 1, 32, {&x, &y, &offset}), CUDA_ERROR_INVALID_HANDLE);
  float value = 0;
  EXPECT_EQ(driver().cuMemcpyDtoH(&value, x, 4), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"byte 0 of an allocation of 128 on another device"});
  ASSERT_EQ(driver().cuCtxSetCurrent(first), CUDA_SUCCESS);
  EXPECT_EQ(run(foreign, 1, 32, {&x, &y, &offset}), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRelease(1), CUDA_SUCCESS);
  EXPECT_EQ(driver().inject("devices", 1), CUDA_SUCCESS);
}

TEST_F(Driver, FindsNoMemoryWhereATestSaysSo) {
  CUdeviceptr place = 0;
  ASSERT_EQ(driver().inject("full", 1), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemAlloc(&place, 16), CUDA_SUCCESS);
  CUdeviceptr other = 0;
  EXPECT_EQ(driver().cuMemAlloc(&other, 16), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver().cuMemAlloc(&other, 16), CUDA_SUCCESS) << "once";
  EXPECT_EQ(driver().cuMemFree(other), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(place), CUDA_SUCCESS);
}

TEST_F(Driver, RefusesWhatIsNoImage) {
  CUmodule module;
  const char ptx[] = "//\n.version 9.0\n.target sm_90\n";
  EXPECT_EQ(driver().cuModuleLoadData(&module, ptx), CUDA_ERROR_INVALID_IMAGE);
  expectMessage({"expected an image for gpu-sim, got a cubin, PTX"});
  // ELF header of a cubin: the machine is 190.
  unsigned char cubin[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x33};
  cubin[16] = 2, cubin[18] = 190;
  EXPECT_EQ(driver().cuModuleLoadData(&module, cubin),
            CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(Driver, RefusesImagesForAnotherSimulator) {
  CompiledImage image =
      compileForSimulator("gpu.module @kernels { gpu.func @k() kernel { "
                          "gpu.barrier gpu.return } }");
  ASSERT_EQ(image.error, "");
  CUmodule module;
  auto change = [&](const std::string &text, size_t place, char to) {
    std::vector<char> changed = image.image;
    auto found =
        std::search(changed.begin(), changed.end(), text.begin(), text.end());
    EXPECT_NE(found, changed.end());
    found[place] = to;
    return driver().cuModuleLoadData(&module, changed.data());
  };
  // The version follows the magic bytes.
  std::string magic("MTPGSIM\0", 8);
  EXPECT_EQ(change(magic, 8, 99), CUDA_ERROR_INVALID_IMAGE);
  expectMessage({"expected an image of version 2, got version 99"});
  EXPECT_EQ(change(magic, 0, 'X'), CUDA_ERROR_INVALID_IMAGE);
  expectMessage({"expected an image for gpu-sim, got another shared library"});
  EXPECT_EQ(change("barrier_cta_sync_aligned_all", 0, 'B'),
            CUDA_ERROR_INVALID_IMAGE);
  expectMessage({"got a call of 'Barrier_cta_sync_aligned_all'"});
}

TEST_F(Driver, FindsStaleHandles) {
  CompiledImage image = compileForSimulator(
      "gpu.module @kernels { gpu.func @nothing() kernel { gpu.return } }");
  ASSERT_EQ(image.error, "");
  CUmodule module;
  CUfunction function;
  ASSERT_EQ(driver().cuModuleLoadData(&module, image.image.data()),
            CUDA_SUCCESS);
  ASSERT_EQ(driver().cuModuleGetFunction(&function, module, "nothing"),
            CUDA_SUCCESS);
  EXPECT_EQ(driver().cuModuleGetFunction(&function, module, "anything"),
            CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(run(function, 1, 1, {}), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(run(function, 1, 1, {}), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
  CUdeviceptr place;
  ASSERT_EQ(driver().cuMemAlloc(&place, 16), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(place + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemFree(place), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFree(place), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"cuMemFree: expected an address that was given out"});
}

TEST_F(Driver, ChecksTheShapeOfALaunch) {
  CUdeviceptr x = upload(std::vector<float>(32)), y = allocate(128);
  int64_t offset = 0;
  std::vector<void *> parameters = {&x, &y, &offset};
  EXPECT_EQ(run(copy(), 1, 32, parameters), CUDA_SUCCESS);
  EXPECT_EQ(run(copy(), 1, 33, parameters), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"at most 32 threads in a block (.maxntid), got 33"});
  EXPECT_EQ(run(copy(), 0, 32, parameters), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(copy(), 1, 32, parameters, 48 << 10), CUDA_SUCCESS);
  EXPECT_EQ(run(copy(), 1, 32, parameters, (48 << 10) + 1),
            CUDA_ERROR_INVALID_VALUE);
  expectMessage({"at most 49152 bytes of dynamic shared memory"});
  auto raise = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  EXPECT_EQ(driver().cuFuncSetAttribute(copy(), raise, 227 << 10),
            CUDA_SUCCESS);
  EXPECT_EQ(run(copy(), 1, 32, parameters, 227 << 10), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuFuncSetAttribute(copy(), raise, (227 << 10) + 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuFuncSetAttribute(copy(), raise, 48 << 10), CUDA_SUCCESS);
}

TEST_F(Driver, IsLostAfterAFault) {
  CUdeviceptr x = upload(std::vector<float>(32)), y = allocate(128);
  int64_t offset = 1;
  EXPECT_EQ(run(copy(), 1, 32, {&x, &y, &offset}), CUDA_ERROR_LAUNCH_FAILED);
  CUdeviceptr place;
  EXPECT_EQ(driver().cuMemAlloc(&place, 16), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(driver().cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  expectMessage({"kernel 'copy'"});
  driver().revive();
  offset = 0;
  EXPECT_EQ(run(copy(), 1, 32, {&x, &y, &offset}), CUDA_SUCCESS);
}

TEST_F(Driver, HasAnEndOfMemory) {
  size_t unused = 0, total = 0;
  CUdeviceptr place;
  ASSERT_EQ(driver().cuMemGetInfo(&unused, &total), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemAlloc(&place, unused + 1), CUDA_ERROR_OUT_OF_MEMORY);
  ASSERT_EQ(driver().cuMemAlloc(&place, 1000), CUDA_SUCCESS);
  size_t left = 0;
  ASSERT_EQ(driver().cuMemGetInfo(&left, &total), CUDA_SUCCESS);
  EXPECT_EQ(left, unused - 1024) << "whole units of 512";
  ASSERT_EQ(driver().cuMemFree(place), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemGetInfo(&left, &total), CUDA_SUCCESS);
  EXPECT_EQ(left, unused);
  // Large allocations have pages of their own.
  ASSERT_EQ(driver().cuMemAlloc(&place, (2 << 20) + 1), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemGetInfo(&left, &total), CUDA_SUCCESS);
  EXPECT_EQ(left, unused - (4 << 20));
  ASSERT_EQ(driver().cuMemFree(place), CUDA_SUCCESS);
}

TEST_F(Driver, ChecksCopies) {
  CUdeviceptr place = allocate(16);
  char bytes[32] = {};
  EXPECT_EQ(driver().cuMemcpyHtoD(place, bytes, 16), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpyHtoD(place, bytes, 17), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemcpyDtoH(bytes, place + 1, 16),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemsetD32(place + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Driver, ReadsMemoryThatTheHostRegistered) {
  std::vector<float> values(32, 2.5f);
  CUdeviceptr x = 0, y = allocate(128);
  CUdevice device = -1;
  EXPECT_EQ(driver().cuCtxGetDevice(&device), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(driver().cuMemHostGetDevicePointer(&x, values.data(), 0),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver().cuMemHostRegister(values.data(), 128, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemHostRegister(values.data() + 31, 128, 0),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver().cuMemHostGetDevicePointer(&x, values.data(), 0),
            CUDA_SUCCESS);
  int64_t offset = 0;
  EXPECT_EQ(run(copy(), 1, 32, {&x, &y, &offset}), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<float>(y, 32), values);
  EXPECT_EQ(driver().cuMemFreeHost(values.data()), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().cuMemHostUnregister(values.data()), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemHostUnregister(values.data()),
            CUDA_ERROR_INVALID_VALUE);
  expectFault(copy(), 1, 32, {&x, &y, &offset}, {"out of bounds"});
}

TEST_F(Driver, PlaysOtherMachines) {
  int version = 0, major = 0, minor = 0;
  EXPECT_EQ(driver().cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, CUDA_VERSION);
  EXPECT_EQ(driver().inject("driver", 12040), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDriverGetVersion(&version), CUDA_SUCCESS);
  EXPECT_EQ(version, 12040);
  EXPECT_EQ(driver().inject("chip", 86), CUDA_SUCCESS);
  driver().cuDeviceGetAttribute(
      &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  driver().cuDeviceGetAttribute(
      &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
  EXPECT_EQ(major * 10 + minor, 86);
  EXPECT_EQ(driver().inject("driver", 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().inject("chip", 90), CUDA_SUCCESS);
  EXPECT_EQ(driver().inject("weather", 1), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_EQ(
      driver().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0),
      CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(Driver, FaultsOnDemand) {
  CUdeviceptr x = upload(std::vector<float>(32)), y = allocate(128);
  int64_t offset = 0;
  ASSERT_EQ(driver().inject("fault", 1), CUDA_SUCCESS);
  EXPECT_EQ(run(copy(), 1, 32, {&x, &y, &offset}), CUDA_SUCCESS);
  expectFault(copy(), 1, 32, {&x, &y, &offset},
              {"kernel 'copy': a fault that was asked for"});
  EXPECT_EQ(run(copy(), 1, 32, {&x, &y, &offset}), CUDA_SUCCESS);
}

/// Returns the compiler's error for a kernel's body.
static std::string errorOf(const std::string &body) {
  return compileForSimulator("gpu.module @kernels { gpu.func @k(%p: "
                             "!llvm.ptr<1>) kernel { " +
                             body + " gpu.return } }")
      .error;
}

TEST(EmitHost, NamesWhatTheSimulatorDoesNotKnow) {
  EXPECT_EQ(errorOf("%x = arith.constant 1 : i32 llvm.call_intrinsic "
                    "\"llvm.nvvm.nanosleep\"(%x) : (i32) -> ()"),
            "expected only calls that gpu-sim knows in 'k', got "
            "'llvm.nvvm.nanosleep'");
  EXPECT_EQ(errorOf("llvm.inline_asm has_side_effects \"membar.gl;\", \"\" : "
                    "() -> ()"),
            "expected only calls that gpu-sim knows in 'k', got PTX as text");
  EXPECT_EQ(errorOf("%x = llvm.load %p : !llvm.ptr<1> -> f32 %y = math.exp %x "
                    ": f32 llvm.store %y, %p : f32, !llvm.ptr<1>"),
            "expected only calls that gpu-sim knows in 'k', got '__nv_expf'");
}
