//===- Races_test.cpp - Races between threads and between blocks ----------===//

#include "Device.h"
#include <algorithm>

using namespace mtp::gpusim::test;

namespace {
class Races : public DeviceTest {
protected:
  CUfunction kernel(const std::string &name) {
    return function("races.mlir", name);
  }
};
} // namespace

TEST_F(Races, ThreadsNeedABarrier) {
  CUdeviceptr y = allocate(512);
  int32_t sync = 0;
  int64_t distance = 32;
  std::vector<void *> parameters = {&y, &sync, &distance};
  // In any order, either the read or the write comes second.
  for (int seed = 0; seed < 4; ++seed) {
    driver().setSeed(seed);
    EXPECT_EQ(run(kernel("exchange"), 1, 128, parameters),
              CUDA_ERROR_LAUNCH_FAILED);
    driver().revive();
  }
  driver().setSeed(0);
  sync = 1;
  EXPECT_EQ(run(kernel("exchange"), 1, 128, parameters), CUDA_SUCCESS)
      << lastError();
}

TEST_F(Races, NamesBothThreadsAndTheByte) {
  CUdeviceptr y = allocate(512);
  int32_t sync = 2;
  int64_t distance = 32;
  // Warp 1 goes on from the barrier, and warp 0 comes second.
  expectFault(kernel("exchange"), 1, 64, {&y, &sync, &distance},
              {"block (0, 0, 0) thread (0, 0, 0): race: store of 4 bytes at "
               "byte 0 of shared memory, read by thread 32 with nothing "
               "between"});
}

TEST_F(Races, ASeedGivesTheSameOrderAgain) {
  CUdeviceptr y = allocate(512);
  int32_t sync = 0;
  int64_t distance = 32;
  std::vector<std::string> messages[2];
  for (auto &found : messages)
    for (int seed = 1; seed <= 8; ++seed) {
      driver().setSeed(seed);
      run(kernel("exchange"), 1, 128, {&y, &sync, &distance});
      found.push_back(lastError());
      driver().revive();
    }
  EXPECT_EQ(messages[0], messages[1]);
  // Other seeds give other messages.
  EXPECT_NE(std::count(messages[0].begin(), messages[0].end(), messages[0][0]),
            8);
}

TEST_F(Races, AWarpsBarrierOrdersItsLanesAlone) {
  CUdeviceptr y = allocate(512);
  int32_t sync = 2;
  int64_t distance = 1;
  std::vector<void *> parameters = {&y, &sync, &distance};
  EXPECT_EQ(run(kernel("exchange"), 1, 128, parameters), CUDA_SUCCESS)
      << lastError();
  sync = 0;
  EXPECT_EQ(run(kernel("exchange"), 1, 128, parameters),
            CUDA_ERROR_LAUNCH_FAILED);
  driver().revive();
  // A thread's own value needs no barrier.
  distance = 0;
  EXPECT_EQ(run(kernel("exchange"), 1, 128, parameters), CUDA_SUCCESS);
}

TEST_F(Races, BytesOfAWordAreApart) {
  int64_t stride = 1;
  EXPECT_EQ(run(kernel("bytes"), 1, 128, {&stride}), CUDA_SUCCESS)
      << lastError();
  stride = 0;
  expectFault(kernel("bytes"), 1, 128, {&stride},
              {"race: store of 1 bytes at byte 0 of shared memory, written"});
}

TEST_F(Races, AWriteWaitsForAllReaders) {
  CUdeviceptr y = allocate(512);
  // Races with the first reader, and with the last one, which raced with the
  // others, too.
  for (unsigned threads : {32u, 128u})
    for (int64_t writer : {int64_t(0), int64_t(threads - 1)}) {
      int32_t sync = 1;
      std::vector<void *> parameters = {&y, &sync, &writer};
      EXPECT_EQ(run(kernel("reuse"), 1, threads, parameters), CUDA_SUCCESS)
          << lastError();
      sync = 0;
      for (int seed = 0; seed < 4; ++seed) {
        driver().setSeed(seed);
        expectFault(kernel("reuse"), 1, threads, parameters,
                    {"race: ", "byte 0 of shared memory"});
      }
    }
}

TEST_F(Races, ABarrierOfHalfAWarpIsNotOneOfTheWarp) {
  CUdeviceptr y = allocate(128);
  int32_t sync = 3;
  int64_t distance = 16;
  expectFault(kernel("exchange"), 1, 32, {&y, &sync, &distance}, {"race: "});
  sync = 2;
  EXPECT_EQ(run(kernel("exchange"), 1, 32, {&y, &sync, &distance}),
            CUDA_SUCCESS)
      << lastError();
}

TEST_F(Races, BlocksAreNotOrdered) {
  CUdeviceptr y = allocate(64);
  int64_t step = 4;
  EXPECT_EQ(run(kernel("blocks_write"), 8, 1, {&y, &step}), CUDA_SUCCESS)
      << lastError();
  for (step = 0; step < 4; ++step)
    expectFault(kernel("blocks_write"), 8, 1, {&y, &step},
                {"block (1, 0, 0)", "race: store of 4 bytes at byte",
                 "written by block 0 with nothing between"});
}

TEST_F(Races, BlocksReadWhatNoOtherWrites) {
  CUdeviceptr y = upload(std::vector<int>(4));
  int64_t shift = 0;
  EXPECT_EQ(run(kernel("blocks_read"), 4, 1, {&y, &shift}), CUDA_SUCCESS)
      << lastError();
  shift = 1;
  expectFault(kernel("blocks_read"), 4, 1, {&y, &shift},
              {"race: store of 4 bytes at byte 4 of an allocation, read by "
               "block 0"});
  // A launch is ordered after the previous one.
  shift = 0;
  EXPECT_EQ(run(kernel("blocks_read"), 4, 1, {&y, &shift}), CUDA_SUCCESS);
  shift = 2;
  driver().setSeed(3);
  expectFault(kernel("blocks_read"), 4, 1, {&y, &shift}, {"race: "});
}

TEST_F(Races, AtomicsDoNotRaceWithEachOther) {
  CUdeviceptr y = upload(std::vector<int>(1));
  int32_t store = 0;
  EXPECT_EQ(run(kernel("atomics"), 4, 64, {&y, &store}), CUDA_SUCCESS)
      << lastError();
  EXPECT_EQ(download<int>(y, 1)[0], 256);
  store = 1;
  expectFault(kernel("atomics"), 4, 64, {&y, &store}, {"race: "});
}
