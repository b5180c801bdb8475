//===- CudaRounds_test.cpp - Several rounds per launch on a GPU -----------===//

#include "DeviceFixture.h"
#include "runtime/device/cuda/DeviceMailbox.h"
#include "runtime/device/cuda/LoadedPlan.h"
#include "runtime/device/cuda/RoundLoop.h"
#include "runtime/schema/DeviceLoop.h"

#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

using namespace mtp;
using namespace mtp::test;

namespace {

class CudaRoundsTest : public CudaDeviceTest {
protected:
  void SetUp() override {
    CudaDeviceTest::SetUp();
    file = fileOf(makeGpuModel());
    executable =
        load(file, /*kvPages=*/10, {*file->artifact().findState("counts")});
    ASSERT_TRUE(executable);
    writeTable(*executable, *file);
  }
  void TearDown() override {
    onTurn({});
    executable.reset();
    CudaDeviceTest::TearDown();
  }

  /// Calls `hook` after each turn of a loop, as a host that watches the loop.
  void onTurn(std::function<void()> hook) {
    turn = std::move(hook);
    auto call = [](void *data) { static_cast<CudaRoundsTest *>(data)->turn(); };
    using Hook = void (*)(void (*)(void *), void *);
    simulatorFunction<Hook>("mtp_sim_on_turn")(turn ? +call : nullptr, this);
  }

  void write(std::string_view state, std::vector<int32_t> values) {
    Status status = executable->write(stateOf(*file, state), values.data(),
                                      values.size() * 4);
    ASSERT_TRUE(status.isOk()) << status.toString();
  }
  std::vector<int32_t> stateNow(std::string_view name) {
    return read(*executable, stateOf(*file, name));
  }

  /// Runs to the end. Returns the number of rounds.
  uint32_t rounds(uint32_t n) {
    Status status = executable->startRounds(kDecode, n);
    EXPECT_TRUE(status.isOk()) << status.toString();
    auto progress = executable->awaitRounds(UINT32_MAX);
    EXPECT_TRUE(progress.isOk()) << progress.status().toString();
    if (!progress)
      return 0;
    EXPECT_TRUE(progress->isDone);
    return progress->rounds;
  }

  std::shared_ptr<const ArtifactFile> file;
  std::unique_ptr<Executable> executable;
  std::function<void()> turn;
};

} // namespace

TEST_F(CudaRoundsTest, GoOnUntilNoSlotWantsMore) {
  write("limit", {5, 5, 5});
  write("count", {0, 3, 4});
  // A slot that is exactly at its limit neither ends the loop nor continues it.
  // A slot beyond its limit ends the loop.
  EXPECT_EQ(rounds(1), 5u);
  EXPECT_EQ(stateNow("count"), (std::vector<int32_t>{5, 3, 4}));
  write("count", {2, 4, 0});
  EXPECT_EQ(rounds(2), 2u) << "slot 1 is beyond its limit then";
  EXPECT_EQ(stateNow("count"), (std::vector<int32_t>{4, 6, 0}));
  EXPECT_EQ(seen(*executable, 2), rowsOf({4, 6}));
  write("count", {7, 0, 0});
  EXPECT_EQ(rounds(3), 1u) << "a round runs in any case";
  EXPECT_EQ(stateNow("counts"), (std::vector<int32_t>{8, 1, 1}));
}

TEST_F(CudaRoundsTest, AreReadWhileTheNextOneRuns) {
  write("limit", {4, 100, 0});
  uint32_t turns = 0;
  onTurn([&] {
    ++turns;
    EXPECT_EQ(stateNow("counts"),
              (std::vector<int32_t>{int32_t(turns), int32_t(turns), 0}));
    int32_t value = 0;
    EXPECT_EQ(executable->read(stateOf(*file, "count"), &value, 4).toString(),
              "FailedPrecondition: rounds are under way");
    EXPECT_EQ(executable->write(stateOf(*file, "count"), &value, 4).toString(),
              "FailedPrecondition: rounds are under way");
    EXPECT_EQ(executable->run(kDecode, 1).toString(),
              "FailedPrecondition: rounds are under way");
    EXPECT_EQ(executable->startRounds(kDecode, 1).toString(),
              "FailedPrecondition: rounds are under way");
  });
  EXPECT_EQ(rounds(2), 5u);
  EXPECT_EQ(turns, 5u);
}

TEST_F(CudaRoundsTest, EndWhenTheHostSaysSo) {
  write("limit", {100, 100, 100});
  uint32_t turns = 0;
  onTurn([&] {
    if (++turns == 3)
      executable->stopRounds();
  });
  // The round after the host's stop may have begun. Here it has not read the
  // stop yet.
  EXPECT_EQ(rounds(3), 4u);
  turns = 10;
  write("limit", {6, 6, 6});
  EXPECT_EQ(rounds(3), 2u) << "a later launch does not remember";
}

TEST_F(CudaRoundsTest, AreWaitedForUntilThereIsOneMore) {
  write("limit", {3, 3, 3});
  ASSERT_TRUE(executable->startRounds(kDecode, 1).isOk());
  Progress progress = *executable->awaitRounds(0);
  EXPECT_GT(progress.rounds, 0u);
  while (!progress.isDone) {
    Progress next = *executable->awaitRounds(progress.rounds);
    ASSERT_TRUE(next.isDone || next.rounds > progress.rounds);
    progress = next;
  }
  EXPECT_EQ(progress.rounds, 3u);
}

TEST_F(CudaRoundsTest, MayBeLeft) {
  write("limit", {100, 100, 100});
  ASSERT_TRUE(executable->startRounds(kDecode, 3).isOk());
  executable.reset();
  executable = load(file);
  EXPECT_EQ(stateNow("count"), (std::vector<int32_t>{0, 0, 0}));
}

TEST_F(CudaRoundsTest, AFaultAmongThemLosesTheDevice) {
  write("limit", {100, 100, 100});
  // The first kernel of a launch, four kernels of a round, and the kernel after
  // it.
  inject("fault", 8);
  ASSERT_TRUE(executable->startRounds(kDecode, 1).isOk());
  auto progress = executable->awaitRounds(UINT32_MAX);
  EXPECT_EQ(progress.status().toString(),
            "Internal: the GPU is lost: a loop of rounds failed with "
            "CUDA_ERROR_LAUNCH_FAILED; CUDA may need a new process");
  EXPECT_EQ(executable->run(kDecode, 1).code(), StatusCode::Internal);
  inject("fault", -1);
}

TEST_F(CudaRoundsTest, ALoopThatNeverEndsIsGivenUp) {
  executable.reset();
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk() && (*context)->enter().isOk());
  const DriverApi &driver = (*context)->driver();
  CUmodule module = nullptr;
  CUfunction never = nullptr;
  CUstream stream = nullptr;
  ASSERT_EQ(driver.cuModuleLoadData(&module, gpuImage().data()), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuModuleGetFunction(&never, module, "never"), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  auto loop = RoundLoop::create(*context, never, std::chrono::milliseconds(30));
  ASSERT_TRUE(loop.isOk()) << loop.status().toString();
  auto graph =
      CudaGraph::build(*context, {{}, {}, loop->nextRound(0, 1)}, stream);
  ASSERT_TRUE(graph.isOk()) << graph.status().toString();
  loop->prepare();
  inject("turns", 5);
  ASSERT_EQ(driver.cuGraphLaunch((*graph)->exec(), stream), CUDA_SUCCESS);
  loop->start();
  const std::string lost =
      "Internal: the GPU is lost: a loop of rounds has not ended one in 30 ms; "
      "CUDA may need a new process";
  EXPECT_EQ(loop->await(stream, 0).status().toString(), lost);
  EXPECT_FALSE(loop->isRunning());
  EXPECT_EQ((*context)->enter().toString(), lost);
  EXPECT_EQ((*context)->check(CUDA_ERROR_LAUNCH_FAILED, "more").toString(),
            lost);
  // When its last user is destroyed, nothing waits for the device or asks it
  // again.
  *graph = nullptr;
  *loop = RoundLoop();
  *context = nullptr;
  EXPECT_EQ(CudaContext::open(MTP_CUDASIM).status().toString(), lost);
  simulatorFunction<void (*)()>("mtp_sim_revive")();
  EXPECT_TRUE(CudaContext::open(MTP_CUDASIM).isOk());
}

TEST_F(CudaRoundsTest, ALoopThatGoesOnIsNotGivenUp) {
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk() && (*context)->enter().isOk());
  auto loaded = LoadedPlan::find(**context, *file, 0);
  ASSERT_TRUE(loaded);
  const DriverApi &driver = (*context)->driver();
  // Far less than the time of a round, in which the driver call does not
  // return.
  auto loop = RoundLoop::create(*context, loaded->nextRound(),
                                std::chrono::milliseconds(11));
  ASSERT_TRUE(loop.isOk()) << loop.status().toString();
  auto again = CudaMemory::allocate(*context, 4, 0, "a test");
  CUstream stream = nullptr;
  ASSERT_TRUE(again.isOk() && again->zero().isOk());
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
            CUDA_SUCCESS);
  auto graph = CudaGraph::build(
      *context, {{}, {}, loop->nextRound(again->address(), 1)}, stream);
  ASSERT_TRUE(graph.isOk()) << graph.status().toString();
  onTurn([] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });
  loop->prepare();
  ASSERT_EQ(driver.cuGraphLaunch((*graph)->exec(), stream), CUDA_SUCCESS);
  loop->start();
  auto progress = loop->await(stream, UINT32_MAX);
  ASSERT_TRUE(progress.isOk()) << progress.status().toString();
  EXPECT_TRUE(progress->isDone);
  EXPECT_EQ(progress->rounds, 1u);
  driver.cuStreamDestroy(stream);
}

TEST_F(CudaRoundsTest, NeedAProgramThatSaysWhetherToGoOn) {
  EXPECT_EQ(executable->startRounds(kPrefill, 1).toString(),
            "InvalidArgument: expected a round with the output 'again', which "
            "program prefill does not have");
  EXPECT_EQ(executable->startRounds(kDecode, 4).code(),
            StatusCode::InvalidArgument);
}

TEST_F(CudaRoundsTest, AnInboxTakesWhatFits) {
  auto context = CudaContext::open(MTP_CUDASIM);
  ASSERT_TRUE(context.isOk());
  auto mailbox = DeviceMailbox::create(*context, nullptr);
  ASSERT_TRUE(mailbox.isOk()) << mailbox.status().toString();
  std::vector<uint8_t> bytes(2 << 20);
  EXPECT_TRUE(mailbox->isEmpty());
  EXPECT_TRUE(mailbox->add(0x1000, bytes.data(), 64));
  EXPECT_TRUE(mailbox->add(0x1040, bytes.data(), 64));
  EXPECT_TRUE(mailbox->add(0xff0, bytes.data(), 16));
  EXPECT_TRUE(mailbox->add(0x1000, bytes.data(), 64)) << "the same again";
  EXPECT_FALSE(mailbox->add(0x1000, bytes.data(), 32));
  EXPECT_FALSE(mailbox->add(0x1020, bytes.data(), 64)) << "in two records";
  EXPECT_FALSE(mailbox->add(0xfe0, bytes.data(), 64));
  EXPECT_FALSE(mailbox->add(0x2000, bytes.data(), 6));
  EXPECT_FALSE(mailbox->add(0x2002, bytes.data(), 4));
  EXPECT_FALSE(mailbox->add(0x2000, bytes.data(), 2 << 20));
  mailbox->clear();
  EXPECT_TRUE(mailbox->isEmpty());
  size_t records = 0;
  while (mailbox->add(0x10000 + 8 * records, bytes.data(), 4))
    ++records;
  EXPECT_EQ(records, 4096u);
}

TEST_F(CudaRoundsTest, ManyAndLongWritesArrive) {
  // More words than a block has threads, and more records than there are
  // blocks.
  constexpr uint64_t kNotes = kDeliverBlocks + 5, kWords = kDeliverThreads + 44;
  ArtifactBuilder a = makeGpuModel();
  a.addState("notes", {kNotes, kWords}, schema::DType::I32,
             ArtifactBuilder::Upkeep{.shared = true});
  file = fileOf(a);
  executable = load(file);
  writeTable(*executable, *file);
  std::vector<int32_t> notes(kNotes * kWords);
  std::iota(notes.begin(), notes.end(), 1000);
  Binding all = stateOf(*file, "notes");
  for (uint64_t note = 0; note < kNotes; ++note) {
    uint64_t bytes = kWords * 4, at = note * bytes;
    Binding one(schema::Space::State, all.index, at, bytes);
    ASSERT_TRUE(executable->write(one, &notes[note * kWords], bytes).isOk());
  }
  ASSERT_TRUE(executable->run(kDecode, 1).isOk());
  EXPECT_EQ(stateNow("notes"), notes);
}

TEST_F(CudaRoundsTest, WritesArriveInOrder) {
  // Parts of a state, the whole of it, and parts again.
  Binding count = stateOf(*file, "count");
  auto part = [&](uint32_t slot, int32_t value) {
    Binding one(schema::Space::State, count.index, slot * 4, 4);
    ASSERT_TRUE(executable->write(one, &value, 4).isOk());
  };
  part(0, 1);
  part(2, 3);
  write("count", {10, 20, 30});
  part(1, 21);
  part(1, 22);
  EXPECT_EQ(stateNow("count"), (std::vector<int32_t>{10, 22, 30}));
  part(0, 40);
  ASSERT_TRUE(executable->run(kDecode, 3).isOk());
  EXPECT_EQ(stateNow("count"), (std::vector<int32_t>{41, 23, 31}));
}
