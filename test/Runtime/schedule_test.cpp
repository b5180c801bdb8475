//===- schedule_test.cpp - Order of prompts -------------------------------===//
//
// The tests count rows, and use a clock that advances with rows: nothing is
// timed.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/schedule/PrefillCostModel.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns options with chunks of up to 64 rows, of 1, 2 or 4 prompts. If not
/// shared, chunks have 64, 16 or 4 rows of one prompt.
FakeOptions withChunks(bool areShared) {
  FakeOptions fake;
  fake.maxContext = 256;
  fake.maxBatch = 10;
  if (areShared) {
    fake.chunks = {64};
    fake.hasRanges = fake.hasAudit = true;
    fake.sequences = {1, 2, 4};
  } else {
    fake.chunks = {64, 16, 4};
  }
  return fake;
}

std::unique_ptr<Session> open(bool areShared,
                              const SessionOptions &options = {}) {
  auto session = Session::create(loadFakeModel(withChunks(areShared)), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

/// Returns a prompt that shares no page with a prompt of another seed.
Request promptOf(uint32_t tokens, int32_t seed, uint32_t maxTokens = 4) {
  Request r;
  for (uint32_t i = 0; i < tokens; ++i)
    r.prompt.push_back((seed * 5 + int32_t(i * (seed + 3) + i * i)) % 64);
  r.prompt[0] = seed % 64;
  r.maxTokens = maxTokens;
  return r;
}

SequenceId add(Session &session, const Request &request) {
  auto id = session.add(request);
  EXPECT_TRUE(id.isOk()) << id.status().toString();
  return *id;
}

void step(Session &session) {
  auto updates = session.step();
  EXPECT_TRUE(updates.isOk()) << updates.status().toString();
  EXPECT_TRUE(session.checkInvariants().isOk());
}

void expectOutput(Session &session, SequenceId id, const Request &request) {
  auto output = *session.output(id);
  EXPECT_EQ(std::vector<int32_t>(output.begin(), output.end()),
            expectedOutput(request).tokens)
      << "sequence " << id;
}

} // namespace

TEST(Schedule, AShortPromptDoesNotWaitForLongOnes) {
  for (bool areShared : {false, true}) {
    auto session = open(areShared);
    std::vector<std::pair<SequenceId, Request>> all;
    for (int32_t i = 0; i < 8; ++i)
      all.emplace_back(0, promptOf(100, i));
    all.emplace_back(0, promptOf(5, 20));
    for (auto &[id, request] : all)
      id = add(*session, request);
    step(*session);
    // Other prompts share the pass as long as it stays short.
    EXPECT_FALSE(session->output(all.back().first)->empty());
    EXPECT_EQ(session->statistics().prefillTokens, areShared ? 20u : 5u);
    drain(*session);
    for (auto &[id, request] : all)
      expectOutput(*session, id, request);
  }
}

TEST(Schedule, APassOfLongPromptsHasAllRows) {
  auto session = open(true);
  for (int32_t i = 0; i < 3; ++i)
    add(*session, promptOf(100, i));
  step(*session);
  // 64 rows, then 36 of the first and 28 of the second.
  EXPECT_EQ(session->statistics().prefillTokens, 128u);
  EXPECT_EQ(session->statistics().prefillChunks, 2u);
}

TEST(Schedule, FewestTokensLeftComeFirst) {
  SessionOptions options;
  options.chunksPerStep = 1;
  options.prefillChunk = 16;
  auto session = open(false, options);
  SequenceId a = add(*session, promptOf(48, 1));
  step(*session);
  SequenceId b = add(*session, promptOf(40, 2));
  SequenceId c = add(*session, promptOf(16, 3));
  // 32, 40 and 16 tokens remain.
  std::vector<SequenceId> order;
  while (order.size() < 3) {
    step(*session);
    for (SequenceId id : {a, b, c})
      if (!session->output(id)->empty() && std::ranges::count(order, id) == 0)
        order.push_back(id);
  }
  EXPECT_EQ(order, (std::vector{c, a, b}));
}

TEST(Schedule, ShortPromptsDoNotHoldBackALongOneForEver) {
  for (uint32_t chunksPerStep : {0u, 1u}) {
    SessionOptions options;
    options.chunksPerStep = chunksPerStep;
    options.prefillChunk = 16;
    auto session = open(false, options);
    SequenceId patient = add(*session, promptOf(60, 1));
    // In each step new prompts with fewer tokens arrive.
    int32_t seed = 2;
    while (session->output(patient)->empty()) {
      for (int i = 0; i < 3; ++i, ++seed)
        add(*session, promptOf(4 + uint32_t(seed % 9), seed, 1));
      step(*session);
      uint64_t others = session->statistics().prefillTokens -
                        session->statistics(patient)->prefillTokens;
      ASSERT_LE(others, (8u + 10) * 60);
    }
  }
}

TEST(Schedule, AnOvertakerLeavesWhatIsNeeded) {
  // The second prompt waits for the first one's pages; the third does not.
  SessionOptions options;
  options.maxSlots = 3;
  auto session = open(false, options);
  Request first = promptOf(100, 1), second = first, third = promptOf(5, 2);
  second.prompt.back() ^= 1;
  third.maxTokens = 90;
  SequenceId a = add(*session, first), b = add(*session, second);
  SequenceId c = add(*session, third), d = add(*session, third);
  step(*session);
  EXPECT_FALSE(session->output(c)->empty());
  // The free slot is reserved for the second prompt.
  while (session->output(a)->empty()) {
    EXPECT_TRUE(session->output(d)->empty());
    step(*session);
  }
  drain(*session);
  EXPECT_EQ(session->statistics(b)->cachedTokens, 96u);
  expectOutput(*session, a, first);
  expectOutput(*session, b, second);
  expectOutput(*session, d, third);
  // Two pages fewer than the second prompt needs in addition to the third.
  options.kvPages = 1 + 26 + 26 + 24 - 2;
  session = open(false, options);
  a = add(*session, first), b = add(*session, second);
  third.prompt = promptOf(80, 2).prompt;
  c = add(*session, third);
  step(*session);
  EXPECT_FALSE(session->output(a)->empty());
  EXPECT_EQ(session->statistics(c)->prefillTokens, 0u);
  drain(*session);
  expectOutput(*session, b, second);
  expectOutput(*session, c, third);
}

//===----------------------------------------------------------------------===//
// By time
//===----------------------------------------------------------------------===//

namespace {

/// Seconds of a pass, of each of its rows, and of a round.
struct Costs {
  double pass = 0.002, row = 0.0005, round = 0.004;
};

/// Returns the prompt rows of each step while another sequence runs, until a
/// prompt of `tokens` tokens has its first token.
std::vector<uint64_t> mixedRows(const SessionOptions &options, Costs costs,
                                uint32_t tokens, bool areShared = true) {
  auto session = openClocked(loadFakeModel(withChunks(areShared)), options,
                             [costs](const Statistics &done) {
                               return double(done.prefillChunks) * costs.pass +
                                      double(done.prefillTokens) * costs.row +
                                      double(done.rounds) * costs.round;
                             });
  const Statistics &done = session->statistics();
  Request running = promptOf(3, 30, 200), late = promptOf(tokens, 31, 2);
  SequenceId first = add(*session, running);
  step(*session);
  SequenceId second = add(*session, late);
  std::vector<uint64_t> rows;
  while (session->output(second)->empty()) {
    uint64_t rounds = done.rounds, before = done.prefillTokens;
    step(*session);
    EXPECT_EQ(done.rounds, rounds + 1);
    rows.push_back(done.prefillTokens - before);
  }
  drain(*session);
  expectOutput(*session, first, running);
  expectOutput(*session, second, late);
  return rows;
}

} // namespace

TEST(Schedule, PromptsBesideRoundsFollowATime) {
  SessionOptions options;
  // 36 rows take 20 ms. The first pass, of 3 rows, tells little about that.
  std::vector<uint64_t> rows = mixedRows(options, Costs(), 200);
  EXPECT_EQ(rows[0], 17u);
  for (size_t i = 2; i + 1 < rows.size(); ++i)
    EXPECT_NEAR(double(rows[i]), 36, 1);
  // A target of 10 ms.
  options.promptMilliseconds = 11;
  rows = mixedRows(options, Costs(), 200);
  for (size_t i = 2; i + 1 < rows.size(); ++i)
    EXPECT_NEAR(double(rows[i]), 18, 1);
  // At least 16 rows, and at most a chunk.
  options.promptMilliseconds = 1;
  EXPECT_EQ(mixedRows(options, Costs(), 40),
            (std::vector<uint64_t>{16, 16, 8}));
  EXPECT_EQ(mixedRows({}, {0.0005, 1e-6, 0.004}, 140),
            (std::vector<uint64_t>{64, 64, 12}));
  options.promptMilliseconds = 0;
  EXPECT_EQ(mixedRows(options, Costs(), 140),
            (std::vector<uint64_t>{64, 64, 12}));
  // The time of a round, if that is longer: 26 ms.
  options.promptMilliseconds = 1;
  rows = mixedRows(options, {0.002, 0.0005, 0.026}, 200);
  for (size_t i = 2; i + 1 < rows.size(); ++i)
    EXPECT_NEAR(double(rows[i]), 48, 1);
  // A bound that the caller sets limits only rows.
  options.chunksPerStep = 1;
  EXPECT_EQ(mixedRows(options, Costs(), 140),
            (std::vector<uint64_t>{64, 64, 12}));
}

TEST(Schedule, ChunksOfOldFilesFollowATime) {
  // Programs of 64, 16 and 4 rows.
  SessionOptions options;
  EXPECT_EQ(mixedRows(options, Costs(), 80, /*areShared=*/false),
            (std::vector<uint64_t>{16, 32, 32}));
  options.promptMilliseconds = 1;
  EXPECT_EQ(mixedRows(options, Costs(), 40, /*areShared=*/false),
            (std::vector<uint64_t>{16, 16, 8}));
}

TEST(PrefillCostModel, FindsTheTimeOfAPassAndOfARow) {
  PrefillCostModel cost;
  EXPECT_EQ(cost.rowsIn(1), 0u);
  // After one pass, all of its time may belong to its rows.
  cost.add(10, 0.010);
  EXPECT_EQ(cost.rowsIn(0.0205), 20u);
  for (uint32_t rows : {20u, 40u, 30u})
    cost.add(rows, 0.002 + rows * 0.0008);
  EXPECT_EQ(cost.rowsIn(0.0421), 50u);
  EXPECT_EQ(cost.rowsIn(0.001), 0u);
  // Slow because of another process: soon forgotten.
  cost.add(128, 3);
  for (int i = 0; i < 40; ++i)
    cost.add(i % 2 ? 24 : 16, 0.002 + (i % 2 ? 24 : 16) * 0.0008);
  EXPECT_NEAR(double(cost.rowsIn(0.0421)), 50, 4);
  // Passes with equal times at any size are not assumed to be free.
  for (int i = 0; i < 40; ++i)
    cost.add(i % 2 ? 24 : 16, 0.010);
  EXPECT_NEAR(double(cost.rowsIn(0.020)), 60, 4);
}

/// Returns the longest round while a prompt of 2,000 tokens is read in mixed
/// batches with `own` other rows. The target time of a round is `limit`.
static double longestRound(double limit, uint32_t own,
                           const std::function<double(uint32_t)> &cost) {
  PrefillCostModel known;
  for (int i = 0; i < 50; ++i)
    known.add(own, cost(own));
  double longest = 0;
  for (uint32_t left = 2000; left > 0;) {
    uint64_t fit = std::max<uint64_t>(known.rowsIn(limit), own + 1) - own;
    auto rows = uint32_t(std::min<uint64_t>({fit, 128, left}));
    known.add(own + rows, cost(own + rows));
    longest = std::max(longest, cost(own + rows));
    left -= rows;
  }
  return longest;
}

TEST(PrefillCostModel, ExceedsATimeByLittleWhereTheFirstRowsAreFree) {
  // A round takes the time to read weights or, from some number of rows on, the
  // time to compute the rows. At first only a round without a prompt is known.
  for (double reads : {5e-3, 10e-3, 20e-3, 28e-3})
    for (double row : {0.1e-3, 0.2e-3, 0.4e-3, 0.7e-3, 1e-3, 1.5e-3, 2e-3})
      for (double limit : {30e-3, 60e-3, 100e-3})
        for (uint32_t own : {1u, 4u, 16u}) {
          auto cost = [&](uint32_t rows) {
            return std::max(reads, rows * row);
          };
          if (cost(own + 1) <= limit)
            EXPECT_LE(longestRound(limit, own, cost), 1.2 * limit)
                << reads << " or " << row << " a row, " << own << " of "
                << limit;
        }
}
