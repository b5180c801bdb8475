//===- pause_test.cpp - Sequences that are set aside and go on ------------===//

#include "runtime/exec/FifoLock.h"
#include "runtime/exec/ModelImpl.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <thread>

using namespace mtp;
using namespace mtp::test;

namespace {

Request request(int32_t number, uint32_t maxTokens) {
  Request r;
  for (int32_t i = 0; i < 6 + 5 * (number % 3); ++i)
    r.prompt.push_back((number * 11 + i * 7) % 64);
  r.maxTokens = maxTokens;
  r.sampling.temperature = number % 2 ? 0.9f : 0;
  r.sampling.seed = uint64_t(number);
  return r;
}

std::unique_ptr<Session> open(const FakeOptions &fake,
                              const SessionOptions &options) {
  auto session = Session::create(loadFakeModel(fake), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

std::vector<int32_t> outputOf(const Session &session, SequenceId id) {
  auto output = session.output(id);
  return {output->begin(), output->end()};
}

/// The tokens that updates brought.
using Given = std::map<SequenceId, std::vector<int32_t>>;

void step(Session &session, Given *given = nullptr) {
  auto updates = session.step();
  ASSERT_TRUE(updates.isOk()) << updates.status().toString();
  for (const SequenceUpdate &update : *updates) {
    EXPECT_TRUE(update.error.isOk()) << update.error.toString();
    if (given)
      (*given)[update.id].insert((*given)[update.id].end(),
                                 update.tokens.begin(), update.tokens.end());
  }
  EXPECT_TRUE(session.checkInvariants().isOk());
}

/// Runs five sequences. One of them is paused after `steps` steps, until the
/// others have ended. Returns whether it had ended before.
bool pauseBehind(Session &session, int steps, size_t which) {
  std::vector<Request> requests;
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < 5; ++i) {
    requests.push_back(request(i, 24 + uint32_t(i)));
    ids.push_back(*session.add(requests.back()));
  }
  Given given;
  for (int i = 0; i < steps; ++i)
    step(session, &given);
  bool hadEnded = *session.state(ids[which]) == SequenceState::Finished;
  EXPECT_TRUE(session.pause(ids[which]).isOk());
  size_t before = outputOf(session, ids[which]).size();
  while (!session.idle())
    step(session, &given);
  EXPECT_EQ(session.kvUsage().heldPages, 0u);
  EXPECT_EQ(outputOf(session, ids[which]).size(), before);
  EXPECT_EQ(*session.state(ids[which]),
            hadEnded ? SequenceState::Finished : SequenceState::Paused);
  EXPECT_EQ(session.counts().paused, hadEnded ? 0u : 1u);
  EXPECT_EQ(session.counts().finished, hadEnded ? 5u : 4u);
  EXPECT_TRUE(session.resume(ids[which]).isOk());
  while (!session.idle())
    step(session, &given);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(given[ids[i]], outputOf(session, ids[i]));
    EXPECT_EQ(outputOf(session, ids[i]), expectedOutput(requests[i]).tokens)
        << "request " << i << ", paused " << which << " behind " << steps;
    EXPECT_TRUE(session.release(ids[i]).isOk());
  }
  EXPECT_EQ(session.kvUsage().heldPages, 0u);
  return hadEnded;
}

/// Modules, k, pages, and whether prefixes are kept.
using Pool = std::tuple<uint32_t, uint32_t, uint32_t, bool>;
class Pause : public testing::TestWithParam<Pool> {};

} // namespace

// First, one in the middle, and one that waits for a slot.
TEST_P(Pause, BehindAnyStepChangesNoToken) {
  auto [modules, k, pages, prefix] = GetParam();
  FakeOptions fake;
  fake.modules = modules;
  SessionOptions options;
  options.k = k;
  options.kvPages = pages;
  options.prefixCache = prefix;
  options.threads = 1;
  options.chunksPerStep = 1;
  auto session = open(fake, options);
  for (size_t which : {0, 2, 4})
    for (int steps = 0; !pauseBehind(*session, steps, which); ++steps)
      ASSERT_LT(steps, 200);
  if (pages < 30)
    EXPECT_GT(session->statistics().preemptions, 0u);
}

static std::string nameOfPool(const testing::TestParamInfo<Pool> &info) {
  auto [modules, k, pages, prefix] = info.param;
  return "modules" + std::to_string(modules) + "_k" + std::to_string(k) +
         "_pages" + std::to_string(pages) + (prefix ? "_prefixes" : "");
}

INSTANTIATE_TEST_SUITE_P(All, Pause,
                         testing::Combine(testing::Values(1u, 2u),
                                          testing::Values(0u, 1u, 4u),
                                          testing::Values(17u, 60u),
                                          testing::Bool()),
                         nameOfPool);

// What rounds alone make of a state is saved, and the history is there again.
TEST(PauseStates, AreKept) {
  for (schema::Rebuild rebuild :
       {schema::Rebuild::Never, schema::Rebuild::Save})
    for (uint32_t k : {0u, 2u, 4u}) {
      FakeOptions fake;
      fake.hasAudit = fake.hasRanges = true;
      fake.hasFold = true;
      fake.foldRebuild = rebuild;
      SessionOptions options;
      options.k = k;
      options.threads = 1;
      // The audit's model has no rows of what was taken from others.
      options.prefixCache = false;
      auto session = open(fake, options);
      for (int steps = 0; !pauseBehind(*session, steps, 1); ++steps)
        ASSERT_LT(steps, 200);
    }
}

// What a round wrote there by itself, no prefill could make again.
TEST(PauseStates, AreSavedWhereRoundsAloneMakeThem) {
  std::set<int32_t> ends;
  for (int32_t own : {1234, 5678}) {
    FakeOptions fake;
    fake.hasAudit = fake.hasRanges = fake.hasFold = true;
    fake.foldRebuild = schema::Rebuild::Save;
    SessionOptions options;
    options.prefixCache = false;
    Executable *device = nullptr;
    auto session = openSession(loadFakeModel(fake), options, device);
    const Artifact &artifact = ModelAccess::file(*session->model())->artifact();
    // It comes first, and so has the first slot both times.
    SequenceId id = *session->add(request(1, 20));
    SequenceId other = *session->add(request(2, 8));
    step(*session);
    Binding place{schema::Space::State, *artifact.findState("fold"), 0,
                  sizeof(own)};
    ASSERT_TRUE(device->write(place, &own, sizeof(own)).isOk());
    ASSERT_TRUE(session->pause(id).isOk());
    while (!session->idle())
      step(*session);
    EXPECT_EQ(*session->state(other), SequenceState::Finished);
    ASSERT_TRUE(session->resume(id).isOk());
    step(*session);
    int32_t fold = 0;
    ASSERT_TRUE(device->read(place, &fold, sizeof(fold)).isOk());
    ends.insert(fold);
  }
  EXPECT_EQ(ends.size(), 2u);
}

TEST(PauseRounds, OneThatHasStoppedEndsFirst) {
  FakeOptions fake;
  fake.hasRanges = fake.showsDrafts = fake.hasLimit = true;
  auto session = open(fake, {});
  Request seeing = request(2, 20);
  seeing.seesDrafts = true;
  SequenceId id = *session->add(seeing), other = *session->add(request(1, 20));
  while (!session->awaitsHost())
    step(*session);
  ASSERT_TRUE(session->pause(id).isOk());
  ASSERT_TRUE(session->pause(other).isOk());
  EXPECT_EQ(*session->state(id), SequenceState::Running);
  EXPECT_TRUE(session->awaitsHost());
  step(*session);
  EXPECT_EQ(session->counts().paused, 2u);
  EXPECT_TRUE(session->idle());
  EXPECT_EQ(session->unfinished(), (std::vector<SequenceId>{id, other}));
  EXPECT_EQ(session->kvUsage().heldPages, 0u);
  // Back before the pause has come.
  ASSERT_TRUE(session->resume(id).isOk());
  while (!session->awaitsHost())
    step(*session);
  ASSERT_TRUE(session->pause(id).isOk());
  ASSERT_TRUE(session->resume(id).isOk());
  while (!session->idle())
    step(*session);
  EXPECT_EQ(outputOf(*session, id), expectedOutput(seeing).tokens);
  EXPECT_EQ(*session->state(other), SequenceState::Paused);
  EXPECT_TRUE(session->cancel(other).isOk());
  EXPECT_EQ(session->counts().finished, 2u);
  EXPECT_TRUE(session->unfinished().empty());
}

TEST(PauseQueue, OthersGetTheSlotAndTheOldPlaceIsKept) {
  SessionOptions options;
  options.maxSlots = 1;
  auto session = open({}, options);
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < 3; ++i)
    ids.push_back(*session->add(request(i, 12)));
  step(*session);
  EXPECT_EQ(*session->state(ids[0]), SequenceState::Running);
  EXPECT_EQ(session->counts().waiting, 2u);
  ASSERT_TRUE(session->pause(ids[0]).isOk());
  ASSERT_TRUE(session->pause(ids[1]).isOk());
  step(*session);
  EXPECT_EQ(*session->state(ids[2]), SequenceState::Running);
  ASSERT_TRUE(session->resume(ids[0]).isOk());
  ASSERT_TRUE(session->resume(ids[1]).isOk());
  std::vector<SequenceId> ended;
  for (const SequenceUpdate &update : drain(*session))
    if (update.finish != FinishReason::None)
      ended.push_back(update.id);
  EXPECT_EQ(ended, (std::vector<SequenceId>{ids[2], ids[0], ids[1]}));
  EXPECT_EQ(session->pause(99).code(), StatusCode::NotFound);
  EXPECT_EQ(session->resume(99).code(), StatusCode::NotFound);
  EXPECT_EQ(session->state(99).status().code(), StatusCode::NotFound);
}

// One thread steps, others add, pause and resume; the first sleeps while there
// is nothing to do.
TEST(PauseThreads, CallsComeFromAnyThread) {
  SessionOptions options;
  options.threads = 1;
  options.kvPages = 30;
  auto session = open({}, options);
  std::atomic<bool> ends = false;
  std::thread runner([&] {
    while (!ends) {
      session->wait(INFINITY);
      EXPECT_TRUE(session->step().isOk());
    }
  });
  auto client = [&](int32_t number) {
    for (int32_t turn = 0; turn < 20; ++turn) {
      Request r = request(number * 20 + turn, 20);
      SequenceId id = *session->add(r);
      EXPECT_TRUE(session->pause(id).isOk());
      EXPECT_TRUE(session->resume(id).isOk());
      for (int i = 0; *session->state(id) != SequenceState::Finished; ++i)
        EXPECT_TRUE((i % 2 ? session->resume(id) : session->pause(id)).isOk());
      EXPECT_EQ(outputOf(*session, id), expectedOutput(r).tokens);
      EXPECT_TRUE(session->release(id).isOk());
    }
  };
  std::vector<std::thread> clients;
  for (int32_t i = 0; i < 3; ++i)
    clients.emplace_back(client, i);
  for (std::thread &thread : clients)
    thread.join();
  ends = true;
  session->wake();
  runner.join();
  EXPECT_TRUE(session->idle());
  EXPECT_EQ(session->kvUsage().heldPages, 0u);
}

TEST(PauseThreads, AStepLetsThoseInFirstThatWait) {
  for (int turn = 0; turn < 20; ++turn) {
    FifoLock gate;
    bool isServed = false;
    FifoLock::Hold step = gate.enterStep();
    std::thread other([&] {
      FifoLock::Hold hold = gate.enter();
      isServed = true;
    });
    while (!gate.isAwaited())
      std::this_thread::yield();
    step.unlock();
    step = gate.enterStep();
    EXPECT_TRUE(isServed);
    step.unlock();
    other.join();
  }
}

TEST(PauseThreads, WaitSaysWhetherThereIsWork) {
  auto session = open({}, {});
  EXPECT_FALSE(session->wait(0));
  session->wake();
  // The second would sleep for ever.
  EXPECT_FALSE(session->wait(INFINITY));
  SequenceId id = *session->add(request(1, 4));
  EXPECT_TRUE(session->wait(INFINITY));
  ASSERT_TRUE(session->pause(id).isOk());
  EXPECT_FALSE(session->wait(0));
  std::thread other([&] { EXPECT_TRUE(session->resume(id).isOk()); });
  EXPECT_TRUE(session->wait(INFINITY));
  other.join();
}
