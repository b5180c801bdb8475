//===- Upload_test.cpp - Weights in pieces, on the simulator --------------===//

#include "DeviceFixture.h"
#include "runtime/device/cuda/Upload.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {
constexpr uint64_t kPiece = 1024;

class UploadTest : public CudaDeviceTest {
protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    auto opened = CudaContext::open(MTP_CUDASIM);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    context = *opened;
    ASSERT_TRUE(context->enter().isOk());
  }
  void TearDown() override {
    inject("pinned", INT64_MAX);
    context.reset();
    CudaDeviceTest::TearDown();
  }

  CudaMemory allocate(uint64_t bytes, uint64_t residue = 0) {
    auto memory = CudaMemory::allocate(context, bytes, residue, "a blob");
    EXPECT_TRUE(memory.isOk()) << memory.status().toString();
    return memory ? std::move(*memory) : CudaMemory();
  }

  std::shared_ptr<CudaContext> context;
};

std::vector<uint8_t> noise(uint64_t bytes, uint32_t seed) {
  std::vector<uint8_t> all(bytes);
  for (uint8_t &byte : all)
    byte = uint8_t((seed = seed * 1664525u + 1013904223u) >> 24);
  return all;
}

/// What is there now: the simulator's addresses are the host's.
uint8_t at(const CudaMemory &memory, uint64_t byte) {
  return *reinterpret_cast<const uint8_t *>(memory.address() + byte);
}
/// Of memory that nobody wrote.
constexpr uint8_t kUnwritten = 0xff;
} // namespace

TEST_F(UploadTest, PiecesComeBackToTheByte) {
  // One of many pieces and an odd rest, whole ones, small ones, none.
  const std::vector<uint64_t> sizes = {
      1,   300, 9 * kPiece + 77, 3, 0, kPiece, 2 * kPiece, kPiece - 1, 5, 7,
      511, 13,  3 * kPiece + 1};
  std::vector<CudaMemory> targets;
  std::vector<std::vector<uint8_t>> expected;
  Upload upload(context, 1 << 20, kPiece);
  for (uint64_t size : sizes) {
    targets.push_back(allocate(size, size % 256));
    expected.push_back(noise(size, uint32_t(size)));
    std::vector<uint8_t> source = expected.back();
    Status status = upload.add(targets.back().address(), source.data(), size);
    ASSERT_TRUE(status.isOk()) << status.toString();
    // What was added is the caller's again.
    std::fill(source.begin(), source.end(), 0);
  }
  Status status = upload.finish();
  ASSERT_TRUE(status.isOk()) << status.toString();
  for (size_t i = 0; i < sizes.size(); ++i)
    for (uint64_t byte = 0; byte < sizes[i]; ++byte)
      ASSERT_EQ(at(targets[i], byte), expected[i][byte])
          << "byte " << byte << " of blob " << i;
}

TEST_F(UploadTest, KeepsTheBytesOfLargeWeights) {
  constexpr uint64_t kBytes = 3 * Upload::kBufferBytes + 12345;
  CudaMemory small = allocate(7), large = allocate(kBytes);
  const std::vector<uint8_t> expected = noise(kBytes, 1);
  Upload upload(context, kBytes + 7);
  ASSERT_TRUE(upload.add(small.address(), expected.data(), 7).isOk());
  ASSERT_TRUE(upload.add(large.address(), expected.data(), kBytes).isOk());
  ASSERT_TRUE(upload.finish().isOk());
  auto there = [](const CudaMemory &memory) {
    return reinterpret_cast<const void *>(memory.address());
  };
  EXPECT_EQ(std::memcmp(there(small), expected.data(), 7), 0);
  EXPECT_EQ(std::memcmp(there(large), expected.data(), kBytes), 0);
}

// The simulator transfers when somebody waits: what is there by then was waited
// for.
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
