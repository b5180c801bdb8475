//===- engine_test.cpp - The thread that runs the model -------------------===//

#include "test/Runtime/support/FakeModel.h"
#include "test/Runtime/support/LosingExecutable.h"
#include "tools/mtp-serve/engine/Engine.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// Collects an engine's reports for a waiting thread.
class Reports {
public:
  Engine::Sink sink() {
    return [this](EngineReport report) {
      std::lock_guard lock(mutex);
      for (EngineEvent &event : report.events) {
        std::vector<int32_t> &all = tokens[event.handle];
        all.insert(all.end(), event.tokens.begin(), event.tokens.end());
        accepted += event.accepted;
        if (event.finish != FinishReason::None)
          ended[event.handle] = event;
      }
      if (!report.failure.isOk())
        failure = report.failure;
      state = report.state;
      changed.notify_all();
    };
  }
  void awaitEnds(size_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended.size() >= count; });
  }
  void awaitToken(Handle handle) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !tokens[handle].empty(); });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::map<Handle, std::vector<int32_t>> tokens;
  std::map<Handle, EngineEvent> ended;
  size_t accepted = 0;
  Status failure;
  EngineState state;
};

Request request(uint32_t i, uint32_t maxTokens) {
  Request r;
  for (uint32_t t = 0; t < 3 + i; ++t)
    r.prompt.push_back(int32_t((i * 11 + t * (i + 3)) % 64));
  r.maxTokens = maxTokens;
  r.sampling.temperature = i % 2 ? 0.9f : 0;
  r.sampling.seed = i;
  return r;
}

} // namespace

TEST(Engine, GivesWhatEachSequenceHasAlone) {
  Reports reports;
  Engine engine(openFake(), reports.sink());
  for (uint32_t i = 0; i < 12; ++i)
    engine.submit(100 + i, request(i, 8 + i));
  reports.awaitEnds(12);
  EXPECT_EQ(reports.accepted, 12u);
  for (uint32_t i = 0; i < 12; ++i) {
    EXPECT_EQ(reports.tokens[100 + i],
              expectedOutput(request(i, 8 + i)).tokens);
    const EngineEvent &end = reports.ended.at(100 + i);
    EXPECT_EQ(end.finish, FinishReason::Length);
    EXPECT_EQ(end.statistics.outputTokens, 8 + i);
  }
  EXPECT_EQ(reports.state.running, 0u);
  EXPECT_EQ(reports.state.waiting, 0u);
  EXPECT_EQ(reports.state.pages.heldPages, 0u);
}

TEST(Engine, RefusesWhatTheSessionRefuses) {
  Reports reports;
  Engine engine(openFake(), reports.sink());
  engine.submit(1, request(1, 1000));
  engine.submit(2, request(2, 4));
  reports.awaitEnds(2);
  EXPECT_EQ(reports.accepted, 1u);
  EXPECT_EQ(reports.ended.at(1).finish, FinishReason::Failed);
  EXPECT_EQ(reports.ended.at(1).error.code(), StatusCode::OutOfRange);
  EXPECT_TRUE(reports.failure.isOk());
}

TEST(Engine, CancelsOneAndNoOther) {
  Reports reports;
  FakeOptions options;
  options.maxContext = 2048;
  Engine engine(openFake(options), reports.sink());
  // Cancelled before it runs, while it waits, while it runs, and not at all.
  engine.submit(1, request(1, 2000));
  engine.cancel(1);
  for (Handle handle : {2, 3, 4, 5, 6})
    engine.submit(handle, request(uint32_t(handle), 2000));
  engine.cancel(6);
  reports.awaitToken(2);
  engine.cancel(2);
  engine.cancel(2);
  engine.cancel(99);
  for (Handle handle : {3, 4})
    engine.cancel(handle);
  reports.awaitEnds(6);
  for (Handle handle : {1, 2, 3, 4, 6})
    EXPECT_NE(reports.ended.at(handle).finish, FinishReason::Failed);
  EXPECT_EQ(reports.ended.at(1).finish, FinishReason::Cancelled);
  EXPECT_EQ(reports.ended.at(2).finish, FinishReason::Cancelled);
  EXPECT_EQ(reports.ended.at(5).finish, FinishReason::Length);
  EXPECT_EQ(reports.tokens[5], expectedOutput(request(5, 2000)).tokens);
  std::vector<int32_t> whole = expectedOutput(request(2, 2000)).tokens;
  ASSERT_LE(reports.tokens[2].size(), whole.size());
  whole.resize(reports.tokens[2].size());
  EXPECT_EQ(reports.tokens[2], whole);
  EXPECT_EQ(reports.state.pages.heldPages, 0u);
}

TEST(Engine, PausesOneAndNoOther) {
  Reports reports;
  FakeOptions options;
  options.maxContext = 2048;
  Engine engine(openFake(options), reports.sink());
  for (Handle handle : {1, 2})
    engine.submit(handle, request(uint32_t(handle), 2000));
  reports.awaitToken(1);
  engine.pause(1);
  engine.pause(99);
  reports.awaitEnds(1);
  EXPECT_EQ(reports.ended.count(2), 1u);
  EXPECT_EQ(reports.state.paused, 1u);
  EXPECT_EQ(reports.state.pages.heldPages, 0u);
  engine.resume(1);
  reports.awaitEnds(2);
  for (uint32_t handle : {1, 2})
    EXPECT_EQ(reports.tokens[handle],
              expectedOutput(request(handle, 2000)).tokens);
  engine.submit(3, request(3, 2000));
  reports.awaitToken(3);
  engine.pause(3);
  engine.cancel(3);
  reports.awaitEnds(3);
  EXPECT_NE(reports.ended.at(3).finish, FinishReason::Failed);
}

TEST(Engine, AFailedStepFailsAllAtHandAndAllThatComes) {
  Reports reports;
  Engine engine(openLosing(loadFakeModel(), {}, /*runs=*/6), reports.sink());
  for (uint32_t i = 0; i < 6; ++i)
    engine.submit(i, request(i, 20));
  reports.awaitEnds(6);
  EXPECT_EQ(reports.failure.code(), StatusCode::Internal);
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(reports.ended.at(i).finish, FinishReason::Failed);
    std::vector<int32_t> whole = expectedOutput(request(i, 20)).tokens;
    whole.resize(reports.tokens[i].size());
    EXPECT_EQ(reports.tokens[i], whole);
  }
  engine.submit(50, request(0, 4));
  reports.awaitEnds(7);
  EXPECT_EQ(reports.ended.at(50).error.message(), "the device is lost");
}

TEST(Engine, CloseEndsWhatIsAtHand) {
  Reports reports;
  {
    Engine engine(openFake(), reports.sink());
    for (uint32_t i = 0; i < 8; ++i)
      engine.submit(i, request(i, 30));
    engine.close();
  }
  EXPECT_EQ(reports.ended.size(), 8u);
}
