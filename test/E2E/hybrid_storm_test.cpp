//===- hybrid_storm_test.cpp - Many sequences with recurrent states -------===//

#include "harness/HybridTest.h"
#include "runtime/core/MemoryAccount.h"

#include <algorithm>
#include <span>

using namespace mtp;
using namespace mtp::test;

using HybridStorm = Hybrid;

// Snapshots are evicted if requests need their memory.
TEST_P(HybridStorm, CopiesGiveWayToRequests) {
  SessionOptions options = single(/*k=*/0, /*slots=*/1);
  options.prefixCache = true;
  options.logits = LogitsMode::All;
  uint64_t logits = uint64_t(envelope.vocab) * sizeof(float) * 200;
  uint64_t before = hostMemory().reserved(), own = 0;
  {
    auto session = Session::create(model, options);
    ASSERT_TRUE(session.isOk());
    own = hostMemory().reserved() - before;
  }
  setHostMemoryLimitForTests(
      MemoryLimit{before + own + logits + bytesOfSnapshot(), "of a test"});
  auto session = Session::create(model, options);
  setHostMemoryLimitForTests(std::nullopt);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  auto run = [&](const Request &request) {
    auto id = (*session)->add(request);
    ASSERT_TRUE(id.isOk()) << id.status().toString();
    while (!(*session)->idle())
      ASSERT_TRUE((*session)->step().isOk());
    ASSERT_TRUE((*session)->release(*id).isOk());
    ASSERT_TRUE((*session)->checkInvariants().isOk());
  };
  for (uint32_t text = 0; text < 30; ++text)
    run(request(text, 2 * envelope.pageTokens + 1, 2));
  const Statistics &s = (*session)->statistics();
  uint64_t held = s.snapshotBytes, dropped = s.droppedSnapshots;
  EXPECT_GT(held, 2 * bytesOfSnapshot());
  run(request(40, 5, 200));
  EXPECT_GT(s.droppedSnapshots, dropped);
}

// Pages are short, prompts have equal beginnings, sequences are preempted and
// resume from snapshots, and drafts are rejected.
TEST_P(HybridStorm, ChangesNoBit) {
  uint32_t page = envelope.pageTokens, tokens = 50;
  std::vector<Request> all;
  for (uint32_t i = 0; i < 12; ++i)
    all.push_back(request(/*text=*/i % 3, 2 * page + i, tokens));
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  for (uint32_t k : {0u, 2u, envelope.maxK}) {
    SessionOptions options = single(k, envelope.maxBatch);
    options.prefixCache = true;
    options.snapshotTokens = page;
    options.prefillChunk = 13;
    options.kvPages = 1 + 2 * (2 * page + 12 + tokens + 9) / page;
    Outcome run = generate(model, options, all);
    expectSame(run, expected, options);
    EXPECT_GT(run.statistics.preemptions, 0u);
    EXPECT_GT(run.statistics.restoredPreemptions, 0u);
    EXPECT_GT(run.statistics.restoredSnapshots,
              run.statistics.restoredPreemptions);
    if (k > 0)
      EXPECT_GT(run.statistics.drafted[0], run.statistics.accepted[0]);
  }
}

/// Adds a request every other step, and cancels one of five.
static void runOneByOne(Session &session, const std::vector<Request> &all,
                        std::vector<SequenceId> &ids) {
  for (uint32_t step = 0; !session.idle() || ids.size() < all.size(); ++step) {
    if (ids.size() < all.size() && step % 2 == 0)
      ids.push_back(*session.add(all[ids.size()]));
    if (ids.size() % 5 == 0 && step % 2 == 1)
      ASSERT_TRUE(session.cancel(ids[ids.size() - 2]).isOk());
    auto updates = session.step();
    ASSERT_TRUE(updates.isOk()) << updates.status().toString();
    for (const SequenceUpdate &update : *updates)
      ASSERT_TRUE(update.error.isOk()) << update.error.toString();
    Status invariants = session.checkInvariants();
    ASSERT_TRUE(invariants.isOk()) << invariants.toString();
  }
}

// Sequences arrive one by one. Two of them continue a finished text, some are
// preempted, and one of five is cancelled. With memory for all snapshots, and
// for few.
TEST_P(HybridStorm, SequencesComeAndGo) {
  uint32_t page = envelope.pageTokens, tokens = 44;
  std::vector<Request> all;
  for (uint32_t i = 0; i < 15; ++i)
    all.push_back(request(/*text=*/i / 4, page + 3 * i, tokens));
  Outcome first = generate(model, single(/*k=*/0, /*slots=*/1), all);
  for (uint32_t i : {0, 1}) {
    Request turn = all[i];
    const std::vector<int32_t> &answer = first.sequences[i].tokens;
    turn.prompt.insert(turn.prompt.end(), answer.begin(), answer.end());
    turn.prompt.push_back(3);
    all.push_back(turn);
  }
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  for (uint32_t copies : {100, 6}) {
    SessionOptions options = single(envelope.maxK, envelope.maxBatch);
    options.prefixCache = true;
    options.snapshotTokens = page;
    options.prefillChunk = 13;
    options.snapshotBytes = copies * bytesOfSnapshot();
    options.kvPages = 1 + 11;
    auto opened = Session::create(model, options);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    Session &session = **opened;
    std::vector<SequenceId> ids;
    ASSERT_NO_FATAL_FAILURE(runOneByOne(session, all, ids));
    for (size_t i = 0; i < all.size(); ++i) {
      std::span<const int32_t> output = *session.output(ids[i]);
      const std::vector<int32_t> &whole = expected.sequences[i].tokens;
      ASSERT_LE(output.size(), whole.size());
      EXPECT_TRUE(std::equal(output.begin(), output.end(), whole.begin())) << i;
      if (i % 5 != 3)
        EXPECT_EQ(output.size(), whole.size()) << i;
    }
    const Statistics &s = session.statistics();
    EXPECT_GT(s.preemptions, 0u);
    EXPECT_GT(s.restoredPreemptions, 0u) << copies;
    EXPECT_GT(s.restoredSnapshots, s.restoredPreemptions) << copies;
    EXPECT_GT(s.drafted[0], s.accepted[0]);
    EXPECT_GT(s.accepted[0], 0u);
    EXPECT_GT(s.droppedSnapshots, 0u);
  }
}

static constexpr DeviceKind kCpu = DeviceKind::Cpu;

INSTANTIATE_TEST_SUITE_P(Cpu, HybridStorm,
                         testing::Values(OnDevice{"hybrid", kCpu},
                                         OnDevice{"hybrid.int4", kCpu},
                                         OnDevice{"hybrid.mixed", kCpu}),
                         nameOf);
