//===- snapshots_test.cpp - Who keeps copies of states, and for how long --===//
//
// Rows of the fake model read nothing that a slot carries but pages and what
// its drafters keep. One of these states stands for a recurrent one here.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/MemoryAccount.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/memory/Snapshots.h"
#include "support/FakeModel.h"
#include "support/ForwardingExecutable.h"
#include "support/OpenSession.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mtp;
using namespace mtp::test;

namespace {

std::shared_ptr<const Model> load(FakeOptions fake) {
  fake.hasRanges = true;
  ArtifactBuilder a = makeFakeModel(fake);
  for (ArtifactBuilder::State &state : a.states)
    if (state.name == "hidden")
      state.upkeep.rebuild = schema::Rebuild::Run;
  auto model = Model::load(writeFile("snapshots.bin", a.finish()));
  EXPECT_TRUE(model.isOk()) << model.status().toString();
  return *model;
}

std::unique_ptr<Session> open(const SessionOptions &options,
                              const FakeOptions &fake = {}) {
  auto session = Session::create(load(fake), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

Request request(int32_t seed, size_t size, uint32_t maxTokens) {
  Request r;
  for (size_t i = 0; i < size; ++i)
    r.prompt.push_back(int32_t((size_t(seed) * 13 + i * 7) % 64));
  r.maxTokens = maxTokens;
  return r;
}

/// Steps until the sequence has `tokens` tokens.
void runTo(Session &session, SequenceId id, size_t tokens) {
  while (session.output(id)->size() < tokens)
    ASSERT_TRUE(session.step().isOk());
}

void pause(Session &session, SequenceId id) {
  ASSERT_TRUE(session.pause(id).isOk());
  while (*session.state(id) != SequenceState::Paused)
    ASSERT_TRUE(session.step().isOk());
}

void expectWhole(const Session &session, SequenceId id, const Request &r) {
  EXPECT_TRUE(
      std::ranges::equal(*session.output(id), expectedOutput(r).tokens));
}

/// Has nothing to copy.
class EmptyExecutable : public ForwardingExecutable {
public:
  EmptyExecutable() : ForwardingExecutable(nullptr) {}

  bool isLost = false;

  Status read(const Binding &, void *, uint64_t) override {
    return isLost ? internalError("the device is lost") : okStatus();
  }
  Status readPage(uint32_t, uint32_t, uint32_t, uint32_t, void *) override {
    return okStatus();
  }
};

/// Refuses to read the first state of which copies are made.
class CopylessExecutable : public ForwardingExecutable {
public:
  CopylessExecutable(std::unique_ptr<Executable> inner, uint32_t state,
                     uint64_t &refused)
      : ForwardingExecutable(std::move(inner)), state(state), refused(refused) {
  }

  Status read(const Binding &binding, void *target, uint64_t bytes) override {
    bool isOf = binding.space == schema::Space::State && binding.index == state;
    refused += isOf;
    return isOf ? internalError("the state cannot be read")
                : inner->read(binding, target, bytes);
  }

private:
  uint32_t state;
  uint64_t &refused;
};

/// Copies of a slot whose pages are 1 to 3, of 4 tokens each.
struct Copies {
  std::shared_ptr<const Model> model = load({});
  EmptyExecutable executable;
  Snapshots snapshots{ModelAccess::file(*model)->artifact(),
                      executable,
                      {1 << 20, /*pageTokens=*/4, 0, 1, {{0, 0}}}};
  std::vector<int32_t> tokens = request(1, 12, 1).prompt;

  Snapshots::Id store(uint32_t page, uint64_t end, uint64_t position,
                      std::span<const PageProvenance> makers,
                      const MemoryLimit &memory = {}) {
    const int32_t table[] = {1, 2, 3};
    return snapshots.store({page, end, tokens, {makers, true, {}, {}}},
                           {position}, 0, table, memory);
  }
  bool has(uint32_t page, uint64_t end, const PageKey &key) {
    return snapshots.find({page, end, tokens, key}) != nullptr;
  }
};

} // namespace

// States of a prompt that a library read do not go on after pages that the plan
// made, or the other way round.
TEST(SnapshotMakers, AreThoseOfThePagesInFront) {
  Copies copies;
  const std::vector<PageProvenance> library(2, PageProvenance::Library), plan;
  ASSERT_NE(copies.store(0, 0, 9, library), 0u);
  for (bool isExact : {false, true}) {
    EXPECT_TRUE(copies.has(5, 4, {library, isExact, {}, {}}));
    EXPECT_FALSE(copies.has(5, 4, {plan, isExact, {}, {}}));
    // Without pages any do, unless they must be exact.
    EXPECT_EQ(copies.has(0, 0, {plan, isExact, {}, {}}), !isExact);
  }
  const PageProvenance first[] = {PageProvenance::Library,
                                  PageProvenance::Plan};
  EXPECT_TRUE(copies.has(5, 4, {first, false, {}, {}}));
  EXPECT_FALSE(copies.has(6, 8, {first, false, {}, {}}));
}

TEST(SnapshotMemory, IsKeptFromCopiesThatNeverFit) {
  Copies copies;
  ASSERT_NE(copies.store(1, 4, 4, {}), 0u);
  uint64_t one = copies.snapshots.counts().bytes;
  // With entries of pages it is larger.
  MemoryLimit memory{hostMemory().reserved() + 1, "of a test"};
  EXPECT_EQ(copies.store(0, 0, 9, {}, memory), 0u);
  EXPECT_EQ(copies.snapshots.counts().bytes, one);
  memory.bytes += 1 << 16;
  EXPECT_NE(copies.store(0, 0, 9, {}, memory), 0u);
  EXPECT_GT(copies.snapshots.counts().bytes, 2 * one);
  EXPECT_EQ(copies.snapshots.counts().made, 2u);
  EXPECT_EQ(copies.snapshots.counts().dropped, 0u);
}

// A copy that the device does not give is none, and the older one stays.
TEST(SnapshotMemory, IsAsBeforeWhereNothingCanBeRead) {
  Copies copies;
  ASSERT_NE(copies.store(1, 4, 4, {}), 0u);
  Snapshots::Counts before = copies.snapshots.counts();
  uint64_t reserved = hostMemory().reserved();
  copies.executable.isLost = true;
  EXPECT_EQ(copies.store(1, 4, 4, {}), 0u);
  EXPECT_TRUE(copies.has(1, 4, {}));
  EXPECT_EQ(copies.snapshots.counts().made, before.made);
  EXPECT_EQ(copies.snapshots.counts().dropped, before.dropped);
  EXPECT_EQ(hostMemory().reserved(), reserved);
}

// No sequence depends on a copy: after prompts, ends of rounds and pauses steps
// go on without one, and the tokens run again.
TEST(SnapshotOwner, GoesOnWhereNoCopyCanBeMade) {
  SessionOptions options;
  options.threads = 1;
  options.snapshotTokens = 4;
  auto model = load({});
  uint64_t refused = 0;
  SessionSetup setup;
  setup.device = [&](std::unique_ptr<Executable> loaded) {
    uint32_t state = *ModelAccess::file(*model)->artifact().findState("hidden");
    return std::make_unique<CopylessExecutable>(std::move(loaded), state,
                                                refused);
  };
  auto session = openSession(model, options, std::move(setup));
  Request r = request(1, 11, 30), other = request(2, 9, 12);
  SequenceId id = *session->add(r), ends = *session->add(other);
  runTo(*session, id, 9);
  EXPECT_GT(refused, 0u);
  uint64_t before = refused;
  pause(*session, id);
  EXPECT_GT(refused, before);
  ASSERT_TRUE(session->resume(id).isOk());
  before = refused;
  drain(*session);
  EXPECT_GT(refused, before);
  EXPECT_EQ(session->statistics().snapshots, 0u);
  EXPECT_TRUE(session->checkInvariants().isOk());
  expectWhole(*session, id, r);
  expectWhole(*session, ends, other);
}

// A state that nothing rebuilds is in no copy: all tokens run again.
TEST(SnapshotOwner, NoneIsKeptBesideAStateThatIsNeverRebuilt) {
  SessionOptions options;
  options.kvPages = 17;
  options.prefixCache = false;
  options.threads = 1;
  FakeOptions fake;
  fake.hasAudit = fake.hasFold = true;
  fake.pairRows = 1;
  auto session = open(options, fake);
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < 6; ++i)
    ids.push_back(*session->add(request(i, 6, 38)));
  drain(*session);
  EXPECT_GT(session->statistics().preemptions, 0u);
  EXPECT_EQ(session->statistics().snapshots, 0u);
  for (int32_t i = 0; i < 6; ++i)
    expectWhole(*session, ids[size_t(i)], request(i, 6, 38));
}

// Two of the same tokens each have a copy of their own.
TEST(SnapshotOwner, EqualSequencesKeepTheirOwn) {
  SessionOptions options;
  options.k = 0;
  options.prefixCache = false;
  options.threads = 1;
  auto session = open(options);
  Request r = request(1, 11, 30);
  SequenceId ids[] = {*session->add(r), *session->add(r)};
  for (SequenceId id : ids) {
    runTo(*session, id, 9);
    pause(*session, id);
  }
  ASSERT_TRUE(
      std::ranges::equal(*session->output(ids[0]), *session->output(ids[1])));
  for (SequenceId id : ids)
    ASSERT_TRUE(session->resume(id).isOk());
  drain(*session);
  EXPECT_EQ(session->statistics().restoredPreemptions, 2u);
  for (SequenceId id : ids)
    expectWhole(*session, id, r);
}

// The thread that steps reads the counts while others call.
TEST(SnapshotCounts, ChangeInStepsAlone) {
  SessionOptions options;
  options.threads = 1;
  auto session = open(options);
  SequenceId id = *session->add(request(1, 11, 30));
  runTo(*session, id, 9);
  const Statistics &s = session->statistics();
  uint64_t before = s.snapshots;
  pause(*session, id);
  EXPECT_EQ(s.snapshots, before);
  ASSERT_TRUE(session->step().isOk());
  EXPECT_EQ(s.snapshots, before + 1);
  EXPECT_GT(s.snapshotBytes, 0u);
  EXPECT_TRUE(session->checkInvariants().isOk());
}

// What would not fit beside no copy at all takes none away.
TEST(SnapshotMemory, IsKeptFromWhatNeverFits) {
  SessionOptions options;
  options.threads = 1;
  options.logits = LogitsMode::All;
  uint64_t before = hostMemory().reserved(), own = 0;
  {
    auto session = open(options);
    own = hostMemory().reserved() - before;
  }
  Request r = request(1, 11, 16), large = request(2, 11, 80);
  uint64_t row = 64 * sizeof(float);
  setHostMemoryLimitForTests(MemoryLimit{before + own + 40 * row, "of a test"});
  auto session = open(options);
  setHostMemoryLimitForTests(std::nullopt);
  SequenceId id = *session->add(r);
  runTo(*session, id, 9);
  pause(*session, id);
  EXPECT_EQ(session->add(large).status().code(), StatusCode::ResourceExhausted);
  ASSERT_TRUE(session->step().isOk());
  EXPECT_GT(session->statistics().snapshots, 0u);
  EXPECT_EQ(session->statistics().droppedSnapshots, 0u);
  ASSERT_TRUE(session->resume(id).isOk());
  drain(*session);
  EXPECT_EQ(session->statistics().restoredPreemptions, 1u);
  expectWhole(*session, id, r);
}

// A prompt with an equal beginning is being read. A sequence that has all of
// that in a copy does not wait for its pages.
TEST(SnapshotOwner, DoesNotWaitForPagesOfWhatItHas) {
  SessionOptions options;
  options.threads = 1;
  options.snapshotTokens = 4;
  options.chunksPerStep = 1;
  options.kvPages = 40;
  auto session = open(options);
  Request r = request(1, 43, 20), other = r;
  other.prompt[41] = (other.prompt[41] + 1) % 64;
  SequenceId id = *session->add(r);
  runTo(*session, id, 9);
  pause(*session, id);
  // Others take all pages.
  for (int32_t seed : {2, 3}) {
    ASSERT_TRUE(session->add(request(seed, 90, 4)).isOk());
    drain(*session);
  }
  SequenceId reads = *session->add(other);
  ASSERT_TRUE(session->step().isOk());
  ASSERT_EQ(*session->state(reads), SequenceState::Prefilling);
  ASSERT_LT(session->statistics(reads)->cachedTokens, 8u);
  ASSERT_TRUE(session->resume(id).isOk());
  ASSERT_TRUE(session->step().isOk());
  EXPECT_NE(*session->state(id), SequenceState::Waiting);
  drain(*session);
  EXPECT_EQ(session->statistics().restoredPreemptions, 1u);
  expectWhole(*session, id, r);
  expectWhole(*session, reads, other);
}
