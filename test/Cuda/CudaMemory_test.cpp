//===- CudaMemory_test.cpp - GPUs with too little memory ------------------===//

#include "DeviceFixture.h"

using namespace mtp;
using namespace mtp::test;

namespace {

class CudaMemoryTest : public CudaContextTest {
protected:
  void SetUp() override {
    CudaContextTest::SetUp();
    file = fileOf(makeGpuModel());
  }

  /// Leaves `bytes` of free memory on the device. Devices that were lost in
  /// this process hold some memory for good.
  void leave(uint64_t bytes) {
    inject("memory", 16ll << 30);
    total = (16ull << 30) - context->freeBytes().value() + bytes;
    inject("memory", int64_t(total));
  }

  std::unique_ptr<Executable> loadWatched() {
    return load(file, 10, {*file->artifact().findState("counts")});
  }

  std::shared_ptr<const ArtifactFile> file;
  uint64_t total = 0;
};

/// Reserve in addition to all counted memory.
constexpr uint64_t kReserve = 256 << 20;
/// The kernel that delivers the host's writes, and four kernels.
constexpr uint64_t kDecodeGraph = uint64_t(5) * 3072;

} // namespace

TEST_F(CudaMemoryTest, FootprintsArePagesOfTheDriver) {
  constexpr uint64_t kPage = 2 << 20;
  EXPECT_EQ(CudaMemory::footprint(0, 77), 0u);
  EXPECT_EQ(CudaMemory::footprint(1, 0), 512u);
  EXPECT_EQ(CudaMemory::footprint(512, 255), 1024u);
  EXPECT_EQ(CudaMemory::footprint((1 << 20) - 512, 0), (1u << 20) - 512);
  EXPECT_EQ(CudaMemory::footprint(1 << 20, 0), kPage);
  EXPECT_EQ(CudaMemory::footprint(kPage, 0), kPage);
  EXPECT_EQ(CudaMemory::footprint(kPage, 1), 2 * kPage);
  EXPECT_EQ(CudaMemory::footprint(UINT64_MAX, 1), UINT64_MAX);
}

TEST_F(CudaMemoryTest, SaysWhatALoadTakes) {
  ArtifactBuilder a = makeGpuModel();
  leave(kReserve + (8 << 20));
  EXPECT_EQ(loadMessage(a), "");
  // A layer's part of a page has 256 bytes. Each of the two layers gets whole
  // pages of the driver.
  EXPECT_EQ(loadMessage(a, 1 << 20),
            "ResourceExhausted: expected 805312000 bytes of free memory on "
            "gpu-sim sm_90, got 276824064: 1024 for weights and constants, "
            "1024 for the arena, 3584 for states, 536870912 for 1048576 KV "
            "pages, 268435456 for graphs, code and the driver; lower kv_pages "
            "to 8192 or less");
  EXPECT_EQ(loadMessage(a, 8192), "");
  EXPECT_NE(loadMessage(a, 16384), "");
  leave(100);
  EXPECT_EQ(loadMessage(a),
            "ResourceExhausted: expected 268446208 bytes of free memory on "
            "gpu-sim sm_90, got 100: 1024 for weights and constants, 1024 for "
            "the arena, 3584 for states, 5120 for 10 KV pages, 268435456 for "
            "graphs, code and the driver; import the model for less "
            "(mtp-import --max-batch, --max-context, --prefill-chunk) or "
            "quantize its weights (mtpc --quantize)");
}

TEST_F(CudaMemoryTest, KeptGraphsMakeRoomForOthers) {
  auto executable = loadWatched();
  writeTable(*executable, *file);
  leave(2 * kDecodeGraph + 100);
  for (int turn = 0; turn < 3; ++turn)
    for (uint32_t n : {1, 2, 3}) {
      Status status = executable->run(kDecode, n);
      ASSERT_TRUE(status.isOk()) << status.toString();
      EXPECT_EQ(context->freeBytes().value() % kDecodeGraph, 100u);
    }
  EXPECT_EQ(read(*executable, stateOf(*file, "count")),
            (std::vector<int32_t>{9, 6, 3}));
  // Half of the graphs are dropped at a time: the last one, and the one before.
  EXPECT_EQ(context->freeBytes().value(), 100u);
}

TEST_F(CudaMemoryTest, AGraphThatDoesNotFitLosesNothing) {
  auto executable = loadWatched();
  writeTable(*executable, *file);
  leave(100);
  const std::string message =
      "ResourceExhausted: program decode for 1: the upload of a graph of 5 "
      "nodes, about 15360 bytes: CUDA_ERROR_OUT_OF_MEMORY, with 100 of the "
      "GPU's " +
      std::to_string(total) + " bytes free; lower kv_pages";
  EXPECT_EQ(executable->run(kDecode, 1).toString(), message);
  EXPECT_EQ(executable->startRounds(kDecode, 1).code(),
            StatusCode::ResourceExhausted);
  leave(kDecodeGraph);
  Status status = executable->run(kDecode, 1);
  EXPECT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(seen(*executable, 1), rowsOf({1}));
}

// Each driver call that takes memory fails once.
TEST_F(CudaMemoryTest, AShortageAnywhereLosesNothing) {
  auto use = [&](Executable &executable) -> Status {
    writeTable(executable, *file);
    std::vector<int32_t> limit(kSlots, 2), count(kSlots), x(2 * kRow, 1);
    auto state = [&](const char *name, std::vector<int32_t> &values) {
      return executable.write(stateOf(*file, name), values.data(), 12);
    };
    MTP_RETURN_IF_ERROR(state("count", count));
    MTP_RETURN_IF_ERROR(state("limit", limit));
    MTP_RETURN_IF_ERROR(executable.run(kDecode, 2));
    MTP_RETURN_IF_ERROR(executable.startRounds(kDecode, 2));
    MTP_RETURN_IF_ERROR(executable.awaitRounds(UINT32_MAX).status());
    const Binding input =
        file->artifact().plans[0].programs[kAffine].inputs[0].place.at(0);
    MTP_RETURN_IF_ERROR(executable.write(input, x.data(), 256));
    MTP_RETURN_IF_ERROR(executable.run(kAffine, 0));
    CommandTimes times;
    MTP_RETURN_IF_ERROR(executable.runTimed(kDecode, 2, times));
    return executable.read(stateOf(*file, "count"), count.data(), 12);
  };
  auto expectWell = [&](Executable &executable, int place) {
    inject("full", -1);
    Status status = use(executable);
    ASSERT_TRUE(status.isOk()) << "place " << place << status.toString();
    EXPECT_EQ(read(executable, stateOf(*file, "count")),
              (std::vector<int32_t>{3, 3, 0}))
        << "place " << place;
  };
  int failures = 0;
  for (int place = 0; place < 100; ++place) {
    inject("full", place);
    auto executable =
        tryLoad(file, 10, {*file->artifact().findState("counts")});
    Status status = executable ? use(**executable) : executable.status();
    inject("full", -1);
    failures += !status.isOk();
    EXPECT_TRUE(status.isOk() || status.code() == StatusCode::ResourceExhausted)
        << status.toString();
    EXPECT_TRUE(status.isOk() ||
                status.toString().find("CUDA_ERROR_OUT_OF_MEMORY") !=
                    std::string::npos)
        << status.toString();
    // Uses the executable that was loaded, or loads another one.
    std::unique_ptr<Executable> well =
        executable ? std::move(*executable) : loadWatched();
    ASSERT_TRUE(well) << "place " << place;
    expectWell(*well, place);
  }
  EXPECT_GT(failures, 40);
}
