//===- Stream_test.cpp - Work without a wait ------------------------------===//

#include "Device.h"

using namespace mtp::gpusim::test;

namespace {
class StreamTest : public DeviceTest {
protected:
  CUstream stream() {
    CUstream result = nullptr;
    EXPECT_EQ(driver().cuStreamCreate(&result, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    return result;
  }
};
} // namespace

TEST_F(StreamTest, ResultsAreThereAfterTheWait) {
  CUstream s = stream();
  CUdeviceptr place = upload(std::vector<int>{1, 2, 3, 4});
  std::vector<int> values(4, -1);
  ASSERT_EQ(driver().cuMemcpyDtoHAsync(values.data(), place, 16, s),
            CUDA_SUCCESS);
  EXPECT_EQ(values[0], -1);
  EXPECT_EQ(driver().cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(driver().cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(s), CUDA_SUCCESS);
  EXPECT_EQ(values, (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(driver().cuStreamDestroy(s), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamDestroy(s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver().cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, PinnedMemoryIsReadWhenTheCopyIsMade) {
  CUstream s = stream();
  void *pinned = nullptr;
  ASSERT_EQ(driver().cuMemAllocHost(&pinned, 4), CUDA_SUCCESS);
  CUdeviceptr place = allocate(8);
  auto *value = static_cast<int *>(pinned);
  int pageable = *value = 1;
  ASSERT_EQ(driver().cuMemcpyHtoDAsync(place, value, 4, s), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemcpyHtoDAsync(place + 4, &pageable, 4, s),
            CUDA_SUCCESS);
  *value = pageable = 2;
  ASSERT_EQ(driver().cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(download<int>(place, 2), (std::vector<int>{2, 1}));
  EXPECT_EQ(driver().cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(StreamTest, WaitsAreCounted) {
  CUstream s = stream();
  CUevent event = nullptr;
  ASSERT_EQ(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
            CUDA_SUCCESS);
  void *pinned = nullptr;
  ASSERT_EQ(driver().cuMemAllocHost(&pinned, 4), CUDA_SUCCESS);
  int pageable = 0;
  CUdeviceptr place = upload(std::vector<int>{7});
  uint64_t before = driver().waits();
  ASSERT_EQ(driver().cuMemcpyDtoHAsync(pinned, place, 4, s), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemcpyHtoDAsync(place, &pageable, 4, s), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuEventRecord(event, s), CUDA_SUCCESS);
  EXPECT_EQ(driver().waits(), before);
  ASSERT_EQ(driver().cuEventSynchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(driver().waits(), before + 1);
  ASSERT_EQ(driver().cuMemcpyDtoHAsync(&pageable, place, 4, s), CUDA_SUCCESS);
  EXPECT_EQ(driver().waits(), before + 2);
  ASSERT_EQ(driver().cuStreamSynchronize(s), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuMemcpyDtoH(&pageable, place, 4), CUDA_SUCCESS);
  EXPECT_EQ(driver().waits(), before + 4);
  EXPECT_EQ(*static_cast<int *>(pinned), 7);
  EXPECT_EQ(driver().cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(StreamTest, EventsOrderStreams) {
  CUevent event = nullptr;
  ASSERT_EQ(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING),
            CUDA_SUCCESS);
  for (int seed = 0; seed < 8; ++seed) {
    driver().setSeed(seed);
    CUstream first = stream(), second = stream();
    CUdeviceptr place = allocate(4);
    int written = 5 + seed, read = 0;
    ASSERT_EQ(driver().cuMemcpyHtoDAsync(place, &written, 4, first),
              CUDA_SUCCESS);
    ASSERT_EQ(driver().cuEventRecord(event, first), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver().cuMemcpyDtoHAsync(&read, place, 4, second),
              CUDA_SUCCESS);
    ASSERT_EQ(driver().cuStreamSynchronize(second), CUDA_SUCCESS)
        << lastError();
    EXPECT_EQ(read, written);
    EXPECT_EQ(driver().cuEventQuery(event), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamDestroy(first), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamDestroy(second), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver().cuEventDestroy(event), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventSynchronize(event), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(StreamTest, AForgottenEventShowsWithSomeSeed) {
  unsigned failures = 0;
  for (int seed = 1; seed <= 16; ++seed) {
    driver().setSeed(seed);
    CUstream first = stream(), second = stream();
    CUdeviceptr place = allocate(4);
    int written = 5, read = 0;
    ASSERT_EQ(driver().cuMemcpyHtoDAsync(place, &written, 4, first),
              CUDA_SUCCESS);
    ASSERT_EQ(driver().cuMemcpyDtoHAsync(&read, place, 4, second),
              CUDA_SUCCESS);
    failures += driver().cuStreamSynchronize(second) != CUDA_SUCCESS;
    EXPECT_EQ(driver().cuStreamDestroy(first), CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamDestroy(second), CUDA_SUCCESS);
  }
  EXPECT_GT(failures, 0u);
  EXPECT_LT(failures, 16u);
}

TEST_F(StreamTest, HostFunctionsRunInOrderAndCallNothing) {
  CUstream s = nullptr;
  ASSERT_EQ(driver().cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -5),
            CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamCreateWithPriority(&s, 0, -6),
            CUDA_ERROR_INVALID_VALUE);
  struct Seen {
    int value = 0, atCall = -1;
    CUresult inside = CUDA_SUCCESS;
  } seen;
  CUdeviceptr place = upload(std::vector<int>{7});
  ASSERT_EQ(driver().cuMemcpyDtoHAsync(&seen.value, place, 4, s), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuLaunchHostFunc(
                s,
                [](void *data) {
                  auto *seen = static_cast<Seen *>(data);
                  CUdeviceptr other;
                  seen->atCall = seen->value;
                  seen->inside = driver().cuMemAlloc(&other, 16);
                },
                &seen),
            CUDA_SUCCESS);
  EXPECT_EQ(seen.atCall, -1);
  ASSERT_EQ(driver().cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(seen.atCall, 7);
  EXPECT_EQ(seen.inside, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(driver().cuStreamDestroy(s), CUDA_SUCCESS);
}

TEST_F(StreamTest, TimesBetweenEvents) {
  CUstream s = stream();
  CUevent from = nullptr, to = nullptr;
  float milliseconds = -1;
  ASSERT_EQ(driver().cuEventCreate(&from, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuEventCreate(&to, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, from, to),
            CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(driver().cuEventRecord(from, s), CUDA_SUCCESS);
  ASSERT_EQ(driver().cuEventRecord(to, s), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, from, to),
            CUDA_ERROR_NOT_READY);
  ASSERT_EQ(driver().cuEventSynchronize(to), CUDA_SUCCESS);
  EXPECT_EQ(driver().cuEventElapsedTime(&milliseconds, from, to), CUDA_SUCCESS);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(driver().cuStreamDestroy(s), CUDA_SUCCESS);
}
