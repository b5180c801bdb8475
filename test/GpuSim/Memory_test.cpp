//===- Memory_test.cpp - Bounds, initialisation and layout ----------------===//

#include "Device.h"
#include <cmath>
#include <cstring>

using namespace mtp::gpusim::test;

namespace {
class Memory : public DeviceTest {
protected:
  CUfunction kernel(const std::string &name) {
    return function("memory.mlir", name);
  }
};
} // namespace

TEST_F(Memory, CopiesAcrossBlocks) {
  std::vector<float> values(128);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = float(i);
  CUdeviceptr x = upload(values), y = allocate(512);
  int64_t offset = 0;
  ASSERT_EQ(run(kernel("copy"), 4, 32, {&x, &y, &offset}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<float>(y, 128), values);
}

TEST_F(Memory, FindsALoadBehindTheEnd) {
  CUdeviceptr x = upload(std::vector<float>(128)), y = allocate(512);
  int64_t offset = 1;
  expectFault(kernel("copy"), 4, 32, {&x, &y, &offset},
              {"kernel 'copy' block (3, 0, 0) thread (31, 0, 0)",
               "out of bounds: load of 4 bytes at byte 512 of an allocation "
               "of 512"});
}

TEST_F(Memory, FindsALoadAheadOfTheStart) {
  CUdeviceptr x = upload(std::vector<float>(128)), y = allocate(512);
  int64_t offset = -1;
  expectFault(kernel("copy"), 4, 32, {&x, &y, &offset},
              {"block (0, 0, 0) thread (0, 0, 0)", "out of bounds"});
}

TEST_F(Memory, FindsAStoreBehindTheEnd) {
  CUdeviceptr x = upload(std::vector<float>(128)), y = allocate(511);
  int64_t offset = 0;
  expectFault(kernel("copy"), 4, 32, {&x, &y, &offset},
              {"thread (31, 0, 0)", "store of 4 bytes at byte 508"});
}

TEST_F(Memory, FindsFreedMemory) {
  CUdeviceptr x = 0, y = allocate(128);
  ASSERT_EQ(driver().cuMemAlloc(&x, 128), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemsetD8(x, 0, 128), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemFree(x), CUDA_SUCCESS);
  int64_t offset = 0;
  expectFault(kernel("copy"), 1, 32, {&x, &y, &offset}, {"in freed memory"});
}

TEST_F(Memory, TheHostCannotReadFreedMemory) {
  void *pinned = nullptr;
  ASSERT_EQ(driver().cuMemAllocHost(&pinned, 4), CUDA_SUCCESS);
  auto *value = static_cast<volatile int *>(pinned);
  *value = 3;
  EXPECT_EQ(*value, 3);
  ASSERT_EQ(driver().cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_DEATH(*value = 4, "");
}

TEST_F(Memory, FindsReadsOfWhatNothingWrote) {
  CUdeviceptr x = allocate(128), y = allocate(128);
  ASSERT_EQ(driver().cuMemsetD8(x, 0, 127), CUDA_SUCCESS);
  int64_t offset = 0;
  expectFault(kernel("copy"), 1, 32, {&x, &y, &offset},
              {"thread (31, 0, 0)",
               "uninitialised: load of 4 bytes at byte "
               "124",
               "nothing wrote byte 127"});
  ASSERT_EQ(driver().cuMemsetD8(x + 127, 0, 1), CUDA_SUCCESS);
  EXPECT_EQ(run(kernel("copy"), 1, 32, {&x, &y, &offset}), CUDA_SUCCESS);
}

TEST_F(Memory, FindsAHostsReadOfWhatNothingWrote) {
  CUdeviceptr x = allocate(16);
  char bytes[16];
  ASSERT_EQ(driver().cuMemsetD8(x, 0, 8), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpyDtoH(bytes, x, 8), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpyDtoH(bytes, x, 16), CUDA_ERROR_INVALID_VALUE);
  expectMessage({"nothing wrote byte 8"});
}

TEST_F(Memory, CopiesOnTheDeviceKeepWhatWasWritten) {
  CUdeviceptr x = allocate(16), y = allocate(16);
  char bytes[16];
  ASSERT_EQ(driver().cuMemsetD8(x, 1, 8), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemsetD8(y, 1, 16), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemcpyDtoD(y, x, 16), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpyDtoH(bytes, y, 8), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemcpyDtoH(bytes, y, 9), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Memory, FindsMisalignedVectors) {
  CUdeviceptr x = upload(std::vector<int>(16)), y = allocate(16);
  int64_t offset = 16;
  EXPECT_EQ(run(kernel("load16"), 1, 1, {&x, &y, &offset}), CUDA_SUCCESS);
  offset = 8;
  expectFault(kernel("load16"), 1, 1, {&x, &y, &offset},
              {"misaligned: load of 16 bytes", "no multiple of 16"});
}

TEST_F(Memory, ChecksSharedMemory) {
  for (const char *name : {"shared", "generic"}) {
    CUdeviceptr y = allocate(4);
    int64_t write = 124, read = 124;
    EXPECT_EQ(run(kernel(name), 1, 1, {&y, &write, &read}), CUDA_SUCCESS)
        << lastError();
    EXPECT_EQ(download<int>(y, 1)[0], 7);
    read = 120;
    expectFault(kernel(name), 1, 1, {&y, &write, &read},
                {"uninitialised: load of 4 bytes at byte 120 of shared "
                 "memory"});
  }
  CUdeviceptr y = allocate(4);
  int64_t write = 128, read = 0;
  expectFault(kernel("shared"), 1, 1, {&y, &write, &read},
              {"out of bounds: store of 4 bytes at byte 128 of shared memory "
               "of 128 bytes"});
}

TEST_F(Memory, LaysOutSharedMemoryPerKernel) {
  CUdeviceptr y = allocate(4);
  int bytes = 0;
  ASSERT_EQ(driver().cuFuncGetAttribute(
                &bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel("shared")),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 128);
  ASSERT_EQ(run(kernel("layout"), 1, 1, {&y}, 16), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(y, 1)[0], 7);
  expectFault(kernel("layout"), 1, 1, {&y}, {"out of bounds"});
}

TEST_F(Memory, ReadsConstantMemory) {
  CUdeviceptr y = allocate(4);
  int64_t i = 3;
  ASSERT_EQ(run(kernel("lookup"), 1, 1, {&y, &i}), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(y, 1)[0], 7);
  i = 4;
  expectFault(kernel("lookup"), 1, 1, {&y, &i}, {"out of bounds: load"});
}

TEST_F(Memory, ChecksBothSidesOfAMove) {
  CUdeviceptr x = upload(std::vector<char>(64, 5)), y = allocate(60);
  int64_t bytes = 60;
  std::vector<void *> parameters = {&x, &y, &bytes};
  EXPECT_EQ(run(kernel("move"), 1, 1, parameters), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<char>(y, 60), std::vector<char>(60, 5));
  bytes = 61;
  expectFault(kernel("move"), 1, 1, parameters,
              {"out of bounds: store of 61 bytes at byte 0"});
  bytes = 65;
  expectFault(kernel("move"), 1, 1, parameters,
              {"out of bounds: load of 65 bytes at byte 0"});
}

TEST_F(Memory, ThreadsHaveVariablesOfTheirOwn) {
  CUdeviceptr y = allocate(256);
  ASSERT_EQ(run(kernel("own"), 1, 64, {&y}), CUDA_SUCCESS) << lastError();
  auto out = download<int>(y, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], 3 + i % 2);
}

TEST_F(Memory, OneThreadClaimsAWord) {
  CUdeviceptr y = upload(std::vector<int>{0}), seen = allocate(256);
  driver().setSeed(11);
  ASSERT_EQ(run(kernel("claim"), 1, 64, {&y, &seen}), CUDA_SUCCESS)
      << lastError();
  int owner = download<int>(y, 1)[0];
  EXPECT_GT(owner, 0);
  EXPECT_EQ(download<int>(seen, 64), std::vector<int>(64, owner));
}

TEST_F(Memory, PrefetchesWhatIsThere) {
  CUdeviceptr x = allocate(512);
  int64_t offset = 511;
  EXPECT_EQ(run(kernel("prefetch"), 1, 1, {&x, &offset}), CUDA_SUCCESS)
      << lastError();
  offset = 512;
  expectFault(kernel("prefetch"), 1, 1, {&x, &offset},
              {"out of bounds: prefetch at byte 512 of an allocation of 512"});
}

TEST_F(Memory, CountsInAModulesVariable) {
  CUdeviceptr counter = 0;
  size_t bytes = 0;
  ASSERT_EQ(driver().cuModuleGetGlobal(&counter, &bytes, load("memory.mlir"),
                                       "counter"),
            CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4u);
  ASSERT_EQ(driver().cuMemsetD32(counter, 0, 1), CUDA_SUCCESS);
  ASSERT_EQ(run(kernel("count"), 3, 64, {}), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(counter, 1)[0], 192);
}

TEST_F(Memory, RoundsToBf16AsTheHardware) {
  // Ties to even, both ways; overflow; a denormal; NaN.
  std::vector<uint32_t> bits = {0x3f808000, 0x3f818000, 0x3f808001, 0x7f7fffff,
                                0x00008001, 0x7fc12345, 0xff800000, 0x80000000};
  std::vector<uint16_t> expected = {0x3f80, 0x3f82, 0x3f81, 0x7f80,
                                    0x0001, 0x7fff, 0xff80, 0x8000};
  CUdeviceptr x = upload(bits), y = allocate(16);
  ASSERT_EQ(run(kernel("to_bf16"), 1, 8, {&x, &y}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<uint16_t>(y, 8), expected);
}

TEST_F(Memory, FusesWhatTheKernelFusesAlone) {
  std::vector<float> values(32), twice(32), once(32);
  float c = -1.0f;
  int different = 0;
  for (int i = 0; i < 32; ++i) {
    values[i] = 1.0f + i * 0x1.234p-9f;
    // The compiler contracts nothing here either.
    twice[i] = values[i] * values[i] + c;
    once[i] = std::fma(values[i], values[i], c);
    different += twice[i] != once[i];
  }
  ASSERT_GT(different, 0);
  CUdeviceptr x = upload(values), y = allocate(128), z = allocate(128);
  ASSERT_EQ(run(kernel("contraction"), 1, 32, {&x, &y, &z, &c}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<float>(y, 32), twice);
  EXPECT_EQ(download<float>(z, 32), once);
}

TEST_F(Memory, FindsALoadOfWhatWasForgotten) {
  CUdeviceptr x = upload(std::vector<float>(128)), y = allocate(512);
  int64_t offset = 0;
  ASSERT_EQ(driver().forget(x + 260, 4), CUDA_SUCCESS);
  ASSERT_EQ(run(kernel("copy"), 2, 32, {&x, &y, &offset}), CUDA_SUCCESS)
      << lastError();
  expectFault(kernel("copy"), 4, 32, {&x, &y, &offset},
              {"block (2, 0, 0) thread (1, 0, 0)",
               "uninitialised: load of 4 bytes at byte 260"});
  EXPECT_EQ(driver().forget(x, 513), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver().setScratch(y + 512), CUDA_ERROR_INVALID_VALUE);
}
