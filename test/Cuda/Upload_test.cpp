//===- Upload_test.cpp - Weights in pieces, on the simulator --------------===//

#include "DeviceFixture.h"
#include "runtime/core/Processors.h"
#include "runtime/device/cuda/Upload.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace mtp;
using namespace mtp::test;

namespace {
constexpr uint64_t kPiece = 1024;

class UploadTest : public CudaContextTest {
protected:
  CudaMemory allocate(uint64_t bytes, uint64_t residue = 0) {
    auto memory = CudaMemory::allocate(context, bytes, residue, "a blob");
    EXPECT_TRUE(memory.isOk()) << memory.status().toString();
    return memory ? std::move(*memory) : CudaMemory();
  }
};

std::vector<uint8_t> noise(uint64_t bytes, uint32_t seed) {
  std::vector<uint8_t> all(bytes);
  for (uint8_t &byte : all)
    byte = uint8_t((seed = seed * 1664525u + 1013904223u) >> 24);
  return all;
}

/// Returns the current byte: the simulator's addresses are the host's.
uint8_t at(const CudaMemory &memory, uint64_t byte) {
  return *reinterpret_cast<const uint8_t *>(memory.address() + byte);
}
/// Value of unwritten memory.
constexpr uint8_t kUnwritten = 0xff;
} // namespace

/// Tests with a number of threads.
class UploadByThreads : public UploadTest,
                        public ::testing::WithParamInterface<uint32_t> {};

TEST_P(UploadByThreads, PiecesComeBackToTheByte) {
  // One copy of many pieces and an odd rest, whole pieces, small ones, and an
  // empty one.
  const std::vector<uint64_t> sizes = {
      1,   300, 9 * kPiece + 77, 3, 0, kPiece, 2 * kPiece, kPiece - 1, 5, 7,
      511, 13,  3 * kPiece + 1};
  std::vector<CudaMemory> targets;
  std::vector<std::vector<uint8_t>> expected;
  Upload upload(context, 1 << 20, kPiece, GetParam());
  for (uint64_t size : sizes) {
    targets.push_back(allocate(size, size % 256));
    expected.push_back(noise(size, uint32_t(size)));
    std::vector<uint8_t> source = expected.back();
    Status status = upload.add(targets.back().address(), source.data(), size);
    ASSERT_TRUE(status.isOk()) << status.toString();
    // The source may change after it was added.
    std::fill(source.begin(), source.end(), 0);
  }
  Status status = upload.finish();
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (size_t i = 0; i < sizes.size(); ++i)
    for (uint64_t byte = 0; byte < sizes[i]; ++byte)
      ASSERT_EQ(at(targets[i], byte), expected[i][byte])
          << "byte " << byte << " of blob " << i;
}

TEST_P(UploadByThreads, KeepsTheBytesOfLargeWeights) {
  constexpr uint64_t kBytes = 3 * Upload::kBufferBytes + 12345;
  CudaMemory small = allocate(7), large = allocate(kBytes);
  const std::vector<uint8_t> expected = noise(kBytes, 1);
  Upload upload(context, kBytes + 7, Upload::kBufferBytes, GetParam());
  ASSERT_TRUE(upload.add(small.address(), expected.data(), 7).isOk());
  ASSERT_TRUE(upload.add(large.address(), expected.data(), kBytes).isOk());
  ASSERT_TRUE(upload.finish().isOk());
  auto there = [](const CudaMemory &memory) {
    return reinterpret_cast<const void *>(memory.address());
  };
  EXPECT_EQ(std::memcmp(there(small), expected.data(), 7), 0);
  EXPECT_EQ(std::memcmp(there(large), expected.data(), kBytes), 0);
}

INSTANTIATE_TEST_SUITE_P(Threads, UploadByThreads, testing::Values(0, 1, 2, 7));

/// Returns the number of threads of this process.
static size_t taskCount() {
  size_t count = 0;
  for (auto it = std::filesystem::directory_iterator("/proc/self/task");
       it != std::filesystem::directory_iterator(); ++it)
    ++count;
  return count;
}

/// Returns the number of threads after waiting for `expected`: a joined thread
/// is still listed for a moment.
static size_t tasksWhen(size_t expected) {
  for (int turn = 0; turn < 1000 && taskCount() != expected; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return taskCount();
}

TEST(HostCopy, CopiesByTheThreadsThatItIsToldTo) {
  constexpr uint64_t kSlice = HostCopy::kSliceBytes;
  const size_t before = taskCount();
  const std::vector<uint8_t> source = noise(5 * kSlice + 3, 5);
  {
    HostCopy copy(4);
    for (uint64_t bytes : {uint64_t(0), uint64_t(1), kSlice}) {
      std::vector<uint8_t> target(bytes + 1, 7);
      copy.run(target.data(), source.data(), bytes);
      EXPECT_TRUE(std::equal(target.begin(), target.end() - 1, source.begin()));
      EXPECT_EQ(target.back(), 7);
    }
    EXPECT_EQ(taskCount(), before) << "nobody needs others for so little";
    // Turns follow each other at once, and begin anywhere.
    for (uint64_t turn = 0; turn < 200; ++turn) {
      uint64_t bytes = source.size() - turn * 997 % (3 * kSlice);
      std::vector<uint8_t> target(bytes + 1, 7);
      copy.run(target.data(), source.data() + source.size() - bytes, bytes);
      ASSERT_EQ(std::memcmp(target.data(),
                            source.data() + source.size() - bytes, bytes),
                0)
          << "turn " << turn;
      ASSERT_EQ(target.back(), 7) << "turn " << turn;
    }
    EXPECT_EQ(taskCount(), before + 3);
  }
  EXPECT_EQ(tasksWhen(before), before);
}

TEST(HostCopy, TakesNoMoreThanTheProcessors) {
  const size_t before = tasksWhen(1);
  const std::vector<uint8_t> source(4 * HostCopy::kSliceBytes, 3);
  std::vector<uint8_t> target(source.size());
  HostCopy copy;
  copy.run(target.data(), source.data(), source.size());
  EXPECT_EQ(target, source);
  EXPECT_EQ(taskCount() - before + 1,
            std::min(usableProcessors(), HostCopy::kMostThreads));
}

TEST(HostCopy, CopiesMappedFilesToTheirEnd) {
  const std::vector<uint8_t> expected = noise((3 << 20) + 1234, 9);
  std::string path = writeFile("mapped", expected);
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  void *mapped =
      ::mmap(nullptr, expected.size(), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  ASSERT_NE(mapped, MAP_FAILED);
  auto *bytes = static_cast<const uint8_t *>(mapped);
  HostCopy copy(3);
  for (uint64_t begin : {0, 1, 4095, 1 << 20}) {
    std::vector<uint8_t> target(expected.size() - begin);
    copy.run(target.data(), bytes + begin, target.size());
    EXPECT_EQ(std::memcmp(target.data(), &expected[begin], target.size()), 0);
  }
  ::munmap(mapped, expected.size());
}

// The simulator transfers when a caller waits. Bytes that are there by then
// were waited for.
TEST_F(UploadTest, WaitsForNothingButABufferThatIsInUse) {
  CudaMemory target = allocate(4 * kPiece);
  const std::vector<uint8_t> source(4 * kPiece, 7);
  Upload upload(context, 4 * kPiece, kPiece);
  auto add = [&](uint64_t begin, uint64_t bytes) {
    ASSERT_TRUE(
        upload.add(target.address() + begin, source.data(), bytes).isOk());
  };
  for (uint64_t begin = 0; begin < kPiece; begin += kPiece / 4)
    add(begin, kPiece / 4);
  EXPECT_EQ(at(target, 0), kUnwritten) << "small copies wait for each other";
  add(kPiece, kPiece);
  EXPECT_EQ(at(target, 0), kUnwritten) << "there is a second buffer";
  add(2 * kPiece, 1);
  EXPECT_EQ(at(target, kPiece - 1), 7) << "the buffer was in use";
  EXPECT_EQ(at(target, kPiece), kUnwritten) << "the other one still is";
  ASSERT_TRUE(upload.finish().isOk());
  EXPECT_EQ(at(target, 2 * kPiece), 7);
}

TEST_F(UploadTest, BuffersAreNoLargerThanWhatIsCopied) {
  CudaMemory target = allocate(600);
  const std::vector<uint8_t> source(600, 7);
  inject("pinned", 768);
  Upload upload(context, 600);
  ASSERT_TRUE(upload.add(target.address(), source.data(), 600).isOk());
  ASSERT_TRUE(upload.finish().isOk());
  EXPECT_TRUE(Upload(context, 0).finish().isOk()) << "nothing to copy";
}

TEST_F(UploadTest, SaysWhereMemoryCannotBePinned) {
  inject("pinned", 511);
  EXPECT_EQ(loadMessage(makeGpuModel()),
            "ResourceExhausted: cannot pin 512 bytes for copies of weights in "
            "the host's memory: CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_F(UploadTest, AFailedTransferLosesTheDevice) {
  CudaMemory target = allocate(kPiece);
  const std::vector<uint8_t> source(4 * kPiece, 7);
  Upload upload(context, 4 * kPiece, kPiece);
  ASSERT_TRUE(
      upload.add(target.address() + 1, source.data(), 2 * kPiece).isOk())
      << "nobody has waited yet";
  const std::string lost = "Internal: the GPU is lost: a copy of weights to "
                           "the GPU failed with CUDA_ERROR_INVALID_VALUE; CUDA "
                           "may need a new process";
  EXPECT_EQ(upload.add(target.address(), source.data(), kPiece).toString(),
            lost);
  EXPECT_EQ(loadMessage(makeGpuModel()), lost);
}
