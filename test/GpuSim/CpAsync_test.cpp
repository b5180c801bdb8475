//===- CpAsync_test.cpp - Copies in flight to shared memory ---------------===//

#include "Device.h"

using namespace mtp::gpusim::test;

namespace {
class CpAsync : public DeviceTest {
protected:
  CUfunction kernel(const std::string &name) {
    return function("copies.mlir", name);
  }
  /// Returns the values in 16-byte pieces, the last one first.
  static std::vector<int> reversed(const std::vector<int> &values) {
    std::vector<int> result;
    for (size_t piece = values.size() / 4; piece-- > 0;)
      result.insert(result.end(), values.begin() + piece * 4,
                    values.begin() + piece * 4 + 4);
    return result;
  }

  std::vector<int> values = [] {
    std::vector<int> result(128);
    for (int i = 0; i < 128; ++i)
      result[i] = i * i;
    return result;
  }();
};
} // namespace

TEST_F(CpAsync, Copies) {
  CUdeviceptr x = upload(values), y = allocate(512);
  ASSERT_EQ(run(kernel("right"), 1, 32, {&x, &y}), CUDA_SUCCESS) << lastError();
  EXPECT_EQ(download<int>(y, 128), reversed(values));
}

TEST_F(CpAsync, PadsWithZeros) {
  CUdeviceptr x = upload(values), y = allocate(512);
  int32_t bytes = 8;
  ASSERT_EQ(run(kernel("padded"), 1, 32, {&x, &y, &bytes}), CUDA_SUCCESS)
      << lastError();
  std::vector<int> expected = reversed(values);
  for (int i = 0; i < 128; ++i)
    expected[i] = i % 4 < 2 ? expected[i] : 0;
  EXPECT_EQ(download<int>(y, 128), expected);
  bytes = 17;
  expectFault(kernel("padded"), 1, 32, {&x, &y, &bytes},
              {"expected at most 16 bytes of source, got 17"});
}

TEST_F(CpAsync, WaitsForTheFirstOfTwoGroups) {
  std::vector<int> twice = values;
  twice.resize(256);
  CUdeviceptr x = upload(twice), y = allocate(512);
  ASSERT_EQ(run(kernel("first_of_two"), 1, 32, {&x, &y}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<int>(y, 128), reversed(values));
}

TEST_F(CpAsync, FindsAReadAheadOfTheCopy) {
  CUdeviceptr x = upload(values), y = allocate(512);
  expectFault(kernel("too_few"), 1, 32, {&x, &y},
              {"uninitialised: load of 16 bytes", "of shared memory"});
}

TEST_F(CpAsync, NoCopyIsLeftUnderWay) {
  CUdeviceptr x = upload(values);
  expectFault(kernel("left_over"), 1, 32, {&x},
              {"expected cp.async.wait before the end, got copies in flight"});
}

TEST_F(CpAsync, FindsAMissingBarrier) {
  CUdeviceptr x = upload(values), y = allocate(512);
  EXPECT_EQ(run(kernel("no_barrier"), 1, 32, {&x, &y}),
            CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(CpAsync, ReadsOnlyWhatIsThere) {
  CUdeviceptr x = upload(std::vector<int>(127)), y = allocate(512);
  expectFault(kernel("right"), 1, 32, {&x, &y},
              {"thread (31, 0, 0)", "out of bounds: load of 16 bytes at byte "
                                    "496 of an allocation of 508"});
}
