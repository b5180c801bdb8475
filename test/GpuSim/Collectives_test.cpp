//===- Collectives_test.cpp - Barriers, shuffles, votes and redux ---------===//

#include "Device.h"
#include <algorithm>

using namespace mtp::gpusim::test;

namespace {
class Collectives : public DeviceTest {
protected:
  CUfunction kernel(const std::string &name) {
    return function("collectives.mlir", name);
  }
};
} // namespace

static std::vector<uint32_t> randomWords(size_t count, uint32_t seed) {
  Numbers numbers(seed);
  std::vector<uint32_t> words(count);
  for (uint32_t &word : words)
    word = numbers.next() * 0x9e3779b9u;
  return words;
}

TEST_F(Collectives, BarriersOrderABlockWithAnySeed) {
  std::vector<uint32_t> values = randomWords(96, 1);
  CUdeviceptr x = upload(values), y = allocate(384);
  std::reverse(values.begin(), values.end());
  for (int seed = 0; seed < 8; ++seed) {
    driver().setSeed(seed);
    ASSERT_EQ(run(kernel("reverse"), 1, 96, {&x, &y}), CUDA_SUCCESS)
        << lastError();
    EXPECT_EQ(download<uint32_t>(y, 96), values);
  }
}

TEST_F(Collectives, ABarrierThatEndedThreadsMissIsAnError) {
  int64_t limit = 64;
  EXPECT_EQ(run(kernel("some_at_barrier"), 1, 64, {&limit}), CUDA_SUCCESS)
      << lastError();
  limit = 0;
  EXPECT_EQ(run(kernel("some_at_barrier"), 1, 64, {&limit}), CUDA_SUCCESS);
  limit = 63;
  expectFault(kernel("some_at_barrier"), 1, 64, {&limit},
              {"thread (0, 0, 0): waits in barrier for ever",
               "63 of 64 threads are at a barrier",
               "thread (63, 0, 0) ended without it"});
  // The message does not depend on whether they end before or after the others
  // arrive.
  limit = 32;
  for (int seed = 1; seed <= 8; ++seed) {
    driver().setSeed(seed);
    expectFault(kernel("some_at_barrier"), 1, 64, {&limit},
                {"32 of 64 threads are at a barrier"});
  }
}

TEST_F(Collectives, LanesThatWaitInDifferentPlacesAreAnError) {
  CUdeviceptr y = allocate(128);
  int64_t limit = 16;
  expectFault(kernel("barrier_or_shuffle"), 1, 32, {&y, &limit},
              {"shfl.sync.bfly with mask 0xffffffff: lane 0 waits in barrier"});
  limit = 0;
  EXPECT_EQ(run(kernel("barrier_or_shuffle"), 1, 32, {&y, &limit}),
            CUDA_SUCCESS)
      << lastError();
  limit = 32;
  EXPECT_EQ(run(kernel("barrier_or_shuffle"), 1, 32, {&y, &limit}),
            CUDA_SUCCESS);
}

TEST_F(Collectives, AllThreadsMeetAtOneBarrier) {
  int64_t limit = 32;
  EXPECT_EQ(run(kernel("two_barriers"), 1, 32, {&limit}), CUDA_SUCCESS)
      << lastError();
  expectFault(kernel("two_barriers"), 1, 64, {&limit},
              {"expected all threads at barrier"});
}

TEST_F(Collectives, AWarpThatLacksLanesIsAnError) {
  CUdeviceptr x = upload(std::vector<float>(48)), y = allocate(192);
  expectFault(kernel("sum_of_warp"), 1, 48, {&x, &y},
              {"expected lane 16 of mask 0xffffffff, which the block lacks"});
}

TEST_F(Collectives, ShufflesFollowTheManual) {
  std::vector<uint32_t> values = randomWords(32, 2);
  CUdeviceptr x = upload(values), y = allocate(1024);
  for (int32_t width : {32, 8})
    for (int32_t offset : {0, 1, 3, 7}) {
      ASSERT_EQ(run(kernel("shuffles"), 1, 32, {&x, &y, &offset, &width}),
                width == 32 ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED)
          << lastError();
      if (width != 32) {
        // gpu.shuffle's mask contains the lanes of one segment only.
        expectMessage({"expected the lane itself in the mask"});
        driver().revive();
        continue;
      }
      auto out = download<uint32_t>(y, 256);
      for (int lane = 0; lane < 32; ++lane) {
        int from[4] = {lane - offset, lane + offset, lane ^ offset, offset};
        for (int mode = 0; mode < 4; ++mode) {
          bool inside = from[mode] >= 0 && from[mode] < 32;
          EXPECT_EQ(out[lane * 8 + mode * 2],
                    values[inside ? from[mode] : lane]);
          EXPECT_EQ(out[lane * 8 + mode * 2 + 1], uint32_t(inside));
        }
      }
    }
}

TEST_F(Collectives, ShufflesStayInTheirSegments) {
  std::vector<uint32_t> values = randomWords(32, 4);
  CUdeviceptr x = upload(values), y = allocate(512);
  for (int width : {4, 8, 16})
    for (int32_t offset : {1, 2, 5, 9}) {
      int32_t up = (32 - width) << 8, clamp = up | 31;
      ASSERT_EQ(run(kernel("segments"), 1, 32, {&x, &y, &offset, &up, &clamp}),
                CUDA_SUCCESS)
          << lastError();
      auto out = download<uint32_t>(y, 128);
      for (int lane = 0; lane < 32; ++lane) {
        int first = lane / width * width, end = first + width;
        int above = lane - offset, below = lane + offset, other = lane ^ offset;
        EXPECT_EQ(out[lane * 4], values[above >= first ? above : lane]);
        EXPECT_EQ(out[lane * 4 + 1], values[below < end ? below : lane]);
        EXPECT_EQ(out[lane * 4 + 2], values[other < end ? other : lane]);
        EXPECT_EQ(out[lane * 4 + 3], values[first + offset % width]);
      }
    }
}

TEST_F(Collectives, SumsAWarp) {
  std::vector<float> values(64);
  for (int i = 0; i < 64; ++i)
    values[i] = float(i * i % 37);
  float sums[2] = {};
  for (int i = 0; i < 64; ++i)
    sums[i / 32] += values[i];
  CUdeviceptr x = upload(values), y = allocate(256);
  ASSERT_EQ(run(kernel("sum_of_warp"), 1, 64, {&x, &y}), CUDA_SUCCESS)
      << lastError();
  auto out = download<float>(y, 64);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], sums[i / 32]);
}

TEST_F(Collectives, MasksNameWhoMeets) {
  CUdeviceptr y = allocate(128);
  uint32_t low = 0xffff, high = 0xffff0000, distance = 1;
  std::vector<void *> parameters = {&y, &low, &high, &distance};
  ASSERT_EQ(run(kernel("halves"), 1, 32, parameters), CUDA_SUCCESS)
      << lastError();
  auto out = download<uint32_t>(y, 32);
  for (uint32_t i = 0; i < 32; ++i)
    EXPECT_EQ(out[i], i ^ 1);
  distance = 16;
  expectFault(kernel("halves"), 1, 32, parameters, {"which is not in mask 0x"});
  distance = 1;
  high = 0xffffffff;
  expectFault(kernel("halves"), 1, 32, parameters,
              {"thread (16, 0, 0): shfl.sync.bfly: expected lane 0 of mask "
               "0xffffffff, which ended"});
  low = 0x1ffff;
  expectFault(kernel("halves"), 1, 32, parameters,
              {"thread (16, 0, 0): shfl.sync.bfly with mask 0xffffffff: lane "
               "0 waits in shfl.sync.bfly with mask 0x0001ffff"});
  high = 0xffff0000;
  expectFault(kernel("halves"), 1, 32, parameters,
              {"thread (0, 0, 0): waits in shfl.sync.bfly for ever",
               "thread (16, 0, 0) ended without it"});
  low = 0xffff;
  high = 0xff;
  expectFault(kernel("halves"), 1, 32, parameters,
              {"expected the lane itself in the mask, got 0x000000ff"});
}

TEST_F(Collectives, Votes) {
  struct Case {
    uint32_t yes, all, any, uni;
  };
  for (Case test : {Case{0, 0, 0, 1}, Case{0xffffffff, 1, 1, 1},
                    Case{0x00010001, 0, 1, 0}}) {
    std::vector<uint32_t> values(32);
    for (int i = 0; i < 32; ++i)
      values[i] = test.yes >> i & 1;
    CUdeviceptr x = upload(values), y = allocate(512);
    ASSERT_EQ(run(kernel("votes"), 1, 32, {&x, &y}), CUDA_SUCCESS)
        << lastError();
    auto out = download<uint32_t>(y, 128);
    for (int i = 0; i < 32; ++i) {
      EXPECT_EQ(out[i * 4], test.all);
      EXPECT_EQ(out[i * 4 + 1], test.any);
      EXPECT_EQ(out[i * 4 + 2], test.uni);
      EXPECT_EQ(out[i * 4 + 3], test.yes);
    }
  }
}

TEST_F(Collectives, Redux) {
  std::vector<uint32_t> values = randomWords(32, 3);
  std::vector<uint32_t> expected = {0,         values[0], values[0], values[0],
                                    values[0], ~0u,       0,         0};
  for (uint32_t value : values) {
    expected[0] += value;
    expected[1] = std::min<int32_t>(expected[1], value);
    expected[2] = std::max<int32_t>(expected[2], value);
    expected[3] = std::min(expected[3], value);
    expected[4] = std::max(expected[4], value);
    expected[5] &= value;
    expected[6] |= value;
    expected[7] ^= value;
  }
  CUdeviceptr x = upload(values), y = allocate(1024);
  ASSERT_EQ(run(kernel("redux"), 1, 32, {&x, &y}), CUDA_SUCCESS) << lastError();
  auto out = download<uint32_t>(y, 256);
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(out[i], expected[i % 8]) << i;
}
