//===- budget_test.cpp - Rounds with a limited number of rows -------------===//
//
// A round verifies at most the rows that the envelope has memory for
// (`max_rows`), and no row beyond the context's last position. Further drafts
// of a slot are trimmed. Neither limit changes a bit of the output, and a
// slot's share does not depend on the tokens of other sequences.
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::test;

namespace {

class Rows : public OnDeviceTest {
protected:
  bool isCpu() const { return GetParam().device == DeviceKind::Cpu; }

  Request request(uint32_t text, uint32_t prompt, uint32_t tokens,
                  float temperature) const {
    Request request;
    for (uint32_t i = 0; i < prompt; ++i)
      request.prompt.push_back(textToken(text + 31, i, envelope.vocab));
    request.maxTokens = tokens;
    request.ignoreEos = true;
    request.sampling = {temperature, 20, 0.9f, 0.02f, 5 + text};
    return request;
  }

  std::vector<Request> requests(uint32_t count, float temperature) const {
    std::vector<Request> all;
    for (uint32_t i = 0; i < count; ++i)
      all.push_back(
          request(i, 2 + 5 * (i % 3), isCpu() ? 24 - i : 8, temperature));
    return all;
  }

  /// Runs without drafts, one sequence after the other.
  Outcome expectedOf(const std::vector<Request> &all, LogitsMode logits) const {
    SessionOptions plain = single(/*k=*/0, /*slots=*/1);
    plain.roundsPerLaunch = 1;
    return generate(model, plain, all, logits);
  }

  /// The simulator takes 20 ms for a round.
  std::vector<float> temperatures() const {
    return isCpu() ? std::vector<float>{0.0f, 0.8f} : std::vector<float>{0.8f};
  }

  /// Returns the depths that a test runs.
  std::vector<uint32_t> depths() const {
    if (!isCpu())
      return {envelope.maxK};
    return {1, envelope.maxK / 2, envelope.maxK - 1, envelope.maxK};
  }
};

using Trimmed = Rows;
using ContextEnd = Rows;

} // namespace

TEST_P(Trimmed, RowsChangeNoBit) {
  ASSERT_LT(envelope.maxRows, 4 * envelope.maxNodes);
  for (float temperature : temperatures()) {
    std::vector<Request> all = requests(4, temperature);
    Outcome expected = expectedOf(all, LogitsMode::All);
    for (uint32_t k : depths())
      for (uint32_t slots : isCpu() ? std::vector<uint32_t>{1, 2, 3, 4}
                                    : std::vector<uint32_t>{4}) {
        SessionOptions options = single(k, slots);
        Outcome run = generate(model, options, all);
        expectSame(run, expected, options);
        EXPECT_LE(run.statistics.roundRows,
                  run.statistics.rounds * envelope.maxRows);
      }
  }
}

// Sequences come and go, launches have many rounds, pages are short, and
// prompts are merged into rounds if the artifact supports it.
TEST_P(Trimmed, RowsChangeNoTokenOfManyRounds) {
  uint64_t preempted = 0, beside = 0;
  for (float temperature : temperatures()) {
    uint32_t slots = isCpu() ? envelope.maxBatch : 4;
    std::vector<Request> all = requests(slots + 2, temperature);
    Outcome expected = expectedOf(all, LogitsMode::None);
    for (uint32_t rounds : {3, 32}) {
      SessionOptions options = single(envelope.maxK, slots);
      options.roundsPerLaunch = rounds;
      options.chunksPerStep = SessionOptions::kOneBesideRunning;
      // Pages for half of a batch at its longest.
      uint32_t pages = (39 + envelope.maxNodes) / envelope.pageTokens + 1;
      options.kvPages = pages * envelope.maxBatch / 2 + 1;
      Outcome run = generate(model, options, all, LogitsMode::None);
      expectSame(run, expected, options);
      preempted += run.statistics.preemptions;
      beside += run.statistics.mixedTokens;
      // Statistics count the active rows, and the drafts that could be
      // accepted.
      const Statistics &s = run.statistics;
      EXPECT_LE(s.roundRows, s.rounds * envelope.maxRows);
      EXPECT_LT(s.roundRows, s.roundCapacity);
      for (size_t j = 0; j < s.drafted.size(); ++j)
        EXPECT_LE(s.accepted[j], s.drafted[j]) << j;
    }
  }
  // If requests are long enough.
  EXPECT_EQ(preempted > 0, isCpu());
  EXPECT_EQ(beside > 0, GetParam().mixes);
}

// Requests of several k in one round: a sequence that wants fewer rows leaves
// them to the others.
TEST_P(Trimmed, EveryRequestsOwnKChangesNoToken) {
  std::vector<Request> all = requests(4, 0.8f);
  Outcome expected = expectedOf(all, LogitsMode::None);
  all[0].k = 0;
  all[1].k = 1;
  all[3].k = Request::kAutomatic;
  SessionOptions options = single(envelope.maxK, 4);
  options.roundsPerLaunch = 4;
  expectSame(generate(model, options, all, LogitsMode::None), expected,
             options);
}

// A sequence has the same rows for any tokens of other sequences.
TEST_P(Trimmed, RowsDependOnNoOthersTokens) {
  auto mixedStatistics = [&](uint32_t text, float temperature) {
    uint32_t slots = isCpu() ? envelope.maxBatch : 4, tokens = isCpu() ? 12 : 6;
    SessionOptions options = single(envelope.maxK, slots);
    options.roundsPerLaunch = 4;
    options.chunksPerStep = SessionOptions::kUnbounded;
    auto session = Session::create(model, options);
    EXPECT_TRUE(session.isOk()) << session.status().toString();
    SequenceId first = *(*session)->add(request(0, 3, tokens, 0.8f));
    // They run longer than the first sequence.
    for (uint32_t i = 1; i < slots; ++i)
      EXPECT_TRUE(
          (*session)->add(request(text + i, 3, 70, temperature)).isOk());
    while ((*session)->output(first)->size() < tokens)
      EXPECT_TRUE((*session)->step().isOk());
    return *(*session)->statistics(first);
  };
  Statistics one = mixedStatistics(/*text=*/100, 0.0f);
  Statistics other = mixedStatistics(/*text=*/200, 1.5f);
  EXPECT_EQ(one.rounds, other.rounds);
  EXPECT_EQ(one.drafted, other.drafted);
  EXPECT_EQ(one.accepted, other.accepted);
}

// Runs to the last token of the context, at each k.
TEST_P(ContextEnd, NeedsNoPagesBehind) {
  uint32_t context = envelope.maxContext, slots = 2;
  for (float temperature : temperatures()) {
    std::vector<Request> all;
    for (uint32_t rest : {1, 9, 2, isCpu() ? 30 : 14})
      all.push_back(request(rest, context - rest, rest, temperature));
    // A short prompt makes launches long.
    if (isCpu())
      all.push_back(request(50, 7, context - 7, temperature));
    Outcome expected = expectedOf(all, LogitsMode::All);
    for (uint32_t k = isCpu() ? 1 : envelope.maxK; k <= envelope.maxK; ++k)
      for (LogitsMode logits : {LogitsMode::None, LogitsMode::All}) {
        if (!isCpu() && logits == LogitsMode::All)
          continue;
        SessionOptions options = single(k, slots);
        options.roundsPerLaunch = 32;
        // Exactly the pages of full contexts, and the dummy.
        uint32_t pages =
            (context + envelope.pageTokens - 1) / envelope.pageTokens;
        options.kvPages = slots * pages + 1;
        Outcome run = generate(model, options, all, logits);
        EXPECT_EQ(run.statistics.preemptions, 0u);
        for (size_t i = 0; i < all.size(); ++i) {
          EXPECT_EQ(run.sequences[i].tokens, expected.sequences[i].tokens)
              << describe(options) << ", request " << i;
          if (logits == LogitsMode::All)
            EXPECT_TRUE(
                bitEqual(run.sequences[i].logits, expected.sequences[i].logits))
                << describe(options) << ", request " << i;
        }
      }
  }
}

static std::string nameOnDevice(const testing::TestParamInfo<OnDevice> &info) {
  return testName(info.param.artifact) +
         (info.param.device == DeviceKind::Cpu ? "_cpu" : "_gpu");
}

static OnDevice onCpu(const char *artifact, bool mixes = false) {
  return {artifact, DeviceKind::Cpu, mixes};
}

INSTANTIATE_TEST_SUITE_P(Cpu, Trimmed,
                         testing::Values(onCpu("eagle26.trimmed"),
                                         onCpu("lookahead.trimmed"),
                                         onCpu("topology.trimmed"),
                                         onCpu("dspark-speculators.block"),
                                         onCpu("hybrid.trimmed"),
                                         onCpu("dsv3-chain-mtp2.trimmed",
                                               /*mixes=*/true)),
                         nameOnDevice);
INSTANTIATE_TEST_SUITE_P(Cpu, ContextEnd,
                         testing::Values(onCpu("eagle26"), onCpu("lookahead"),
                                         onCpu("topology"), onCpu("eagle2"),
                                         onCpu("dspark.block"),
                                         onCpu("dsv3-chain-mtp2.trimmed")),
                         nameOnDevice);
#ifdef MTP_E2E_CUDASIM
static OnDevice onGpu(const char *artifact) {
  return {artifact, DeviceKind::Cuda};
}

INSTANTIATE_TEST_SUITE_P(Gpu, Trimmed,
                         testing::Values(onGpu("eagle26.trimmed"),
                                         onGpu("topology.trimmed")),
                         nameOnDevice);
INSTANTIATE_TEST_SUITE_P(Gpu, ContextEnd, testing::Values(onGpu("eagle26")),
                         nameOnDevice);
#endif
