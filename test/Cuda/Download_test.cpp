//===- Download_test.cpp - Large copies from a simulated GPU --------------===//
//
// A device's driver waits for each copy to memory that is not pinned. The
// simulator counts such waits.
//
//===----------------------------------------------------------------------===//

#include "DeviceFixture.h"
#include "runtime/core/MemoryAccount.h"
#include "runtime/device/cuda/Download.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {
constexpr uint64_t kBuffer = 1024;

uint64_t waits() {
  return simulatorFunction<uint64_t (*)()>("mtp_sim_waits")();
}

class DownloadTest : public CudaContextTest {
protected:
  void SetUp() override {
    CudaContextTest::SetUp();
    ASSERT_EQ(context->driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
  }
  void TearDown() override {
    setHostMemoryLimitForTests(std::nullopt);
    if (context->enter().isOk())
      context->driver().cuStreamDestroy(stream);
    memory.clear();
    CudaContextTest::TearDown();
  }

  /// Makes pieces of these sizes with different bytes, copies them, and returns
  /// the number of waits. All bytes must arrive, and nothing else may change.
  uint64_t runPieces(Download &download, const std::vector<uint64_t> &sizes) {
    std::vector<std::vector<uint8_t>> expected, targets;
    std::vector<DownloadPiece> pieces;
    memory.clear();
    for (uint64_t size : sizes) {
      expected.emplace_back(size);
      std::iota(expected.back().begin(), expected.back().end(),
                uint8_t(3 * expected.size()));
      auto source = CudaMemory::allocate(context, size, 0, "a state");
      EXPECT_TRUE(source.isOk()) << source.status().toString();
      EXPECT_EQ(context->driver().cuMemcpyHtoDAsync(
                    source->address(), expected.back().data(), size, stream),
                CUDA_SUCCESS);
      memory.push_back(std::move(*source));
      targets.emplace_back(size + 1, 0xee);
    }
    for (size_t i = 0; i < sizes.size(); ++i)
      pieces.push_back({targets[i].data(), memory[i].address(), sizes[i]});
    uint64_t before = waits();
    Status status = download.run(stream, pieces);
    EXPECT_TRUE(status.isOk()) << status.toString();
    uint64_t waited = waits() - before;
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(targets[i].back(), 0xee) << "piece " << i;
      targets[i].pop_back();
      EXPECT_EQ(targets[i], expected[i]) << "piece " << i;
    }
    return waited;
  }

  CUstream stream = nullptr;
  std::vector<CudaMemory> memory;
};
} // namespace

TEST_F(DownloadTest, WaitsOnceForAllThatABufferHolds) {
  Download download(context, kBuffer);
  EXPECT_EQ(download.bytes(), 0u);
  EXPECT_EQ(runPieces(download, {1, 300, 13}), 1u);
  EXPECT_EQ(download.bytes(), 1024u) << "pieces begin at multiples of 256";
  EXPECT_EQ(runPieces(download, {200, 256, 1, 7}), 1u);
  // Two and a half buffers, and one that is full.
  EXPECT_EQ(runPieces(download, {2 * kBuffer + 512}), 3u);
  EXPECT_EQ(download.bytes(), 2 * kBuffer);
  EXPECT_EQ(runPieces(download, {kBuffer}), 1u);
  EXPECT_EQ(runPieces(download, {700, 5 * kBuffer + 77, 3, 500, 900}), 8u);
}

TEST_F(DownloadTest, BuffersAreNoLargerThanPieces) {
  Download download(context);
  runPieces(download, {100, 300});
  EXPECT_EQ(download.bytes(), 256u + 512u);
  runPieces(download, {1000});
  EXPECT_EQ(download.bytes(), 1024u);
  runPieces(download, {1});
  EXPECT_EQ(download.bytes(), 1024u);
}

TEST_F(DownloadTest, DoesWithoutMemoryThatIsPinned) {
  Download download(context, kBuffer);
  inject("pinned", 100);
  // One wait for each piece, and one for the end.
  EXPECT_EQ(runPieces(download, {10, 20, 30}), 4u);
  inject("pinned", INT64_MAX);
  setHostMemoryLimitForTests(
      MemoryLimit{hostMemory().reserved() + 700, "of a test"});
  EXPECT_EQ(runPieces(download, {10, 20, 30}), 4u);
  EXPECT_EQ(download.bytes(), 0u);
  setHostMemoryLimitForTests(std::nullopt);
  EXPECT_EQ(runPieces(download, {10, 20, 30}), 1u);
}

TEST_F(DownloadTest, AccountsForWhatItHasPinned) {
  Download download(context, kBuffer);
  uint64_t others = hostMemory().reserved();
  runPieces(download, {500});
  EXPECT_EQ(hostMemory().reserved(), others + 512);
  // Memory of the old buffers counts once when they grow.
  setHostMemoryLimitForTests(MemoryLimit{others + kBuffer, "of a test"});
  runPieces(download, {kBuffer});
  EXPECT_EQ(download.bytes(), kBuffer);
  EXPECT_EQ(hostMemory().reserved(), others + kBuffer);
  setHostMemoryLimitForTests(std::nullopt);
  // Buffers that do not fit also release the old ones.
  inject("pinned", kBuffer - 1);
  runPieces(download, {3 * kBuffer});
  EXPECT_EQ(download.bytes(), 0u);
  EXPECT_EQ(hostMemory().reserved(), others);
}

TEST_F(DownloadTest, NothingIsNoWait) {
  Download download(context, kBuffer);
  EXPECT_EQ(runPieces(download, {}), 0u);
}
