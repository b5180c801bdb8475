//===- ending_test.cpp - Slots that draft less than their round -----------===//
//
// A slot's drafts end if the drafter finds them unlikely (`p_min`), or if the
// program wants no more (`want_k`). Its drafts then depend only on the slot's
// own text. The tests compare with the probabilities that a round without an
// end outputs, and with a model of the program's wishes. (ending_chains.test
// compares drafters in folders with an oracle.)
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"
#include "runtime/exec/SessionProfile.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

/// A sequence's drafts and accepted drafts in one round.
struct Drafted {
  /// The number of tokens before the round.
  size_t known;
  uint64_t drafted, accepted;
};

/// A sequence, round by round.
struct Trace {
  std::vector<int32_t> tokens;
  std::vector<Drafted> rounds;
};

class Ending : public OnDeviceTest {
protected:
  bool isCpu() const { return GetParam().device == DeviceKind::Cpu; }

  std::vector<Request> requests(uint32_t count, float temperature) const;
  std::vector<Trace> trace(SessionOptions options,
                           const std::vector<Request> &requests,
                           Statistics *all = nullptr,
                           profile::Profile *recorded = nullptr) const;
};

/// Chains that end by probability; another artifact outputs the probabilities.
using EndingChains = Ending;
/// The method that sets want_k.
using Wishes = Ending;
/// Drafts with a confidence by which they end.
using Thresholds = Ending;

uint64_t sumOf(const std::vector<uint64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

} // namespace

std::vector<Request> Ending::requests(uint32_t count, float temperature) const {
  std::vector<Request> all;
  for (uint32_t i = 0; i < count; ++i) {
    Request request;
    for (uint32_t j = 0; j < 3 + 7 * (i % 3); ++j)
      request.prompt.push_back(textToken(i + 41, j, envelope.vocab));
    request.maxTokens = isCpu() ? 40 - i : 16 - i;
    request.ignoreEos = true;
    request.sampling = {temperature, 20, 0.9f, 0.02f, 3 + i};
    all.push_back(request);
  }
  return all;
}

/// Runs requests with one round per launch, and inspects each round.
std::vector<Trace> Ending::trace(SessionOptions options,
                                 const std::vector<Request> &requests,
                                 Statistics *all,
                                 profile::Profile *recorded) const {
  options.roundsPerLaunch = 1;
  options.recordsProfile = recorded != nullptr;
  auto opened = Session::create(model, options);
  EXPECT_TRUE(opened.isOk()) << opened.status().toString();
  if (!opened.isOk())
    return {};
  Session &session = **opened;
  std::vector<SequenceId> ids;
  for (const Request &request : requests)
    ids.push_back(*session.add(request));
  std::vector<Trace> traces(ids.size());
  std::vector<Statistics> before(ids.size());
  bool goesOn = true;
  while (goesOn) {
    // The counts of the last round are known one step later.
    goesOn = !session.idle();
    auto updates = session.step();
    EXPECT_TRUE(updates.isOk()) << updates.status().toString();
    if (!updates.isOk())
      return {};
    for (size_t i = 0; i < ids.size(); ++i) {
      Statistics now = *session.statistics(ids[i]);
      Trace &own = traces[i];
      EXPECT_LE(now.rounds, before[i].rounds + 1);
      // The prompt's own token may have come in the same step.
      size_t put = std::max<size_t>(1, own.tokens.size());
      if (now.rounds > before[i].rounds)
        own.rounds.push_back({requests[i].prompt.size() + put,
                              sumOf(now.drafted) - sumOf(before[i].drafted),
                              sumOf(now.accepted) - sumOf(before[i].accepted)});
      auto tokens = *session.output(ids[i]);
      own.tokens.assign(tokens.begin(), tokens.end());
      before[i] = std::move(now);
    }
  }
  if (all)
    *all = session.statistics();
  if (recorded)
    *recorded = SessionProfile::recorded(session);
  return traces;
}

/// Returns the log probabilities of the first drafts after a text. The last
/// token of the text is the pick that follows the other tokens.
static std::vector<float> chancesBehind(const std::shared_ptr<const Model> &to,
                                        std::span<const int32_t> text) {
  auto session = *Session::create(to, single(to->envelope()->maxK, 1));
  Request request;
  request.prompt.assign(text.begin(), text.end() - 1);
  request.maxTokens = 2;
  request.ignoreEos = true;
  request.outputs = {"chances"};
  EXPECT_TRUE(session->add(request).isOk());
  std::vector<float> chances;
  while (!session->idle()) {
    auto updates = session->step();
    EXPECT_TRUE(updates.isOk()) << updates.status().toString();
    if (!updates.isOk())
      break;
    for (const SequenceUpdate &update : *updates) {
      if (chances.empty() && !update.tokens.empty() && update.outputs.empty())
        EXPECT_EQ(update.tokens.front(), text.back());
      for (const OutputRows &rows : update.outputs)
        if (!rows.tokens.empty() && chances.empty()) {
          const float *first =
              reinterpret_cast<const float *>(rows.rows.bytes.data());
          chances.assign(first, first + to->envelope()->maxK);
        }
    }
  }
  return chances;
}

// A round drafts the tokens before the first draft that an endless chain at
// that place finds too unlikely.
TEST_P(EndingChains, EndByTheirProbabilities) {
  // As in artifact_table.py.
  bool isDsv3 = std::string_view(GetParam().artifact).starts_with("dsv3");
  double least = isDsv3 ? 0.99 : 0.3;
  auto endless =
      loadArtifact(isDsv3 ? "dsv3-chain-mtp2.chances" : "mimo-mtp1.chances",
                   DeviceKind::Cpu);
  ASSERT_TRUE(endless);
  std::vector<Request> all = requests(3, /*temperature=*/0);
  std::vector<Trace> traces = trace(single(envelope.maxK, 1), all);
  std::vector<uint64_t> lengths(envelope.maxK + 1);
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<int32_t> text = all[i].prompt;
    text.insert(text.end(), traces[i].tokens.begin(), traces[i].tokens.end());
    for (const Drafted &round : traces[i].rounds) {
      std::vector<float> chances =
          chancesBehind(endless, std::span(text).first(round.known));
      ASSERT_EQ(chances.size(), envelope.maxK);
      uint64_t expected = 0;
      while (expected < chances.size() && chances[expected] >= std::log(least))
        ++expected;
      EXPECT_EQ(round.drafted, expected)
          << "request " << i << ", " << round.known << " tokens known";
      ++lengths[expected];
    }
  }
  // None, all, and a number between.
  EXPECT_GE(lengths.front(), 2u);
  EXPECT_GE(lengths.back(), 2u);
  EXPECT_GE(sumOf(lengths) - lengths.front() - lengths.back(), 2u);
}

// Without a threshold, a profile counts the tried drafts by the probabilities
// that an endless chain has. With one it counts none, and no times of rounds.
TEST_P(EndingChains, RecordTheirConfidence) {
  bool isDsv3 = std::string_view(GetParam().artifact).starts_with("dsv3");
  auto endless =
      loadArtifact(isDsv3 ? "dsv3-chain-mtp2.chances" : "mimo-mtp1.chances",
                   DeviceKind::Cpu);
  ASSERT_TRUE(endless);
  std::vector<Request> all = requests(2, /*temperature=*/0);
  SessionOptions options = single(envelope.maxK, 1);
  profile::Profile recorded;
  trace(options, all, nullptr, &recorded);
  EXPECT_TRUE(recorded.confidence.isEmpty());
  EXPECT_FALSE(recorded.outcomes.empty());
  for (const profile::Cost &cost : recorded.machines[0].costs)
    EXPECT_TRUE(cost.work != profile::Work::Round || cost.k == 0);
  options.draftPMin = 0;
  std::vector<Trace> traces = trace(options, all, nullptr, &recorded);
  profile::ConfidenceOutcomes expected;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<int32_t> text = all[i].prompt;
    text.insert(text.end(), traces[i].tokens.begin(), traces[i].tokens.end());
    for (const Drafted &round : traces[i].rounds) {
      std::vector<float> chances =
          chancesBehind(endless, std::span(text).first(round.known));
      for (float &chance : chances)
        chance = std::exp(chance);
      expected.add(std::span(chances).first(round.drafted),
                   uint32_t(round.accepted));
    }
  }
  EXPECT_FALSE(expected.isEmpty());
  EXPECT_EQ(recorded.confidence.tried, expected.tried);
  EXPECT_EQ(recorded.confidence.accepted, expected.accepted);
}

// The threshold of a session, and of a request beside others, changes the
// number of drafts and no token.
TEST_P(Thresholds, ChangeNoToken) {
  std::vector<Request> all = requests(isCpu() ? 4 : 2, /*temperature=*/0.8f);
  Outcome expected =
      generate(model, single(/*k=*/0, /*slots=*/1), all, LogitsMode::None);
  auto drafted = [&](SessionOptions options, const std::vector<Request> &of) {
    Statistics statistics;
    std::vector<Trace> traces = trace(std::move(options), of, &statistics);
    for (size_t i = 0; i < of.size(); ++i)
      EXPECT_EQ(traces[i].tokens, expected.sequences[i].tokens);
    std::vector<uint64_t> counts;
    for (const Trace &own : traces) {
      counts.push_back(0);
      for (const Drafted &round : own.rounds)
        counts.back() += round.drafted;
    }
    return counts;
  };
  SessionOptions options = single(envelope.maxK, uint32_t(all.size()));
  options.draftPMin = 0;
  std::vector<uint64_t> many = drafted(options, all);
  options.draftPMin = 1;
  std::vector<uint64_t> few = drafted(options, all);
  EXPECT_LT(sumOf(few), sumOf(many));
  // A request's threshold is its own.
  all[0].draftPMin = 0;
  std::vector<uint64_t> mixed = drafted(options, all);
  EXPECT_EQ(mixed[0], many[0]);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_EQ(mixed[i], few[i]);
}

// Prompts are shared whatever the threshold is.
TEST_P(Thresholds, ShareTheirPrompts) {
  SessionOptions options = single(envelope.maxK, 1);
  options.prefixCache = true;
  auto session = *Session::create(model, options);
  uint64_t cached = 0;
  for (float least : {0.0f, 1.0f}) {
    Request request;
    for (uint32_t j = 0; j < 2 * envelope.pageTokens + 1; ++j)
      request.prompt.push_back(textToken(5, j, envelope.vocab));
    request.maxTokens = 1;
    request.draftPMin = least;
    auto id = session->add(request);
    ASSERT_TRUE(id) << id.status().message();
    while (!session->idle())
      ASSERT_TRUE(session->step().isOk());
    cached = session->statistics(*id)->cachedTokens;
  }
  EXPECT_GE(cached, envelope.pageTokens);
}

// Rounds that follow each other on the device leave a confidence each.
TEST_P(Thresholds, EveryRoundOfALaunchCounts) {
  std::vector<Request> all = requests(2, /*temperature=*/0);
  auto record = [&](uint32_t rounds) {
    SessionOptions options = single(envelope.maxK, 2);
    options.roundsPerLaunch = rounds;
    options.recordsProfile = true;
    options.draftPMin = 0;
    auto session = *Session::create(model, options);
    for (const Request &request : all)
      EXPECT_TRUE(session->add(request).isOk());
    Status status;
    while (status.isOk() && !session->idle())
      status = session->step().status();
    EXPECT_TRUE(status.isOk()) << status.toString();
    return SessionProfile::recorded(*session).confidence;
  };
  profile::ConfidenceOutcomes alone = record(1), together = record(4);
  EXPECT_FALSE(alone.isEmpty());
  EXPECT_EQ(together.tried, alone.tried);
  EXPECT_EQ(together.accepted, alone.accepted);
}

TEST_P(Thresholds, AreChecked) {
  SessionOptions options = single(envelope.maxK, 1);
  for (float wrong : {-0.5f, 1.5f, std::nanf("")}) {
    options.draftPMin = wrong;
    EXPECT_TRUE(Session::create(model, options)
                    .status()
                    .message()
                    .starts_with("draftPMin (--draft-p-min): expected a number "
                                 "of 0 to 1, got "));
  }
  auto other = loadArtifact("wish", DeviceKind::Cpu);
  ASSERT_TRUE(other);
  auto session = *Session::create(other, single(1, 1));
  Request request;
  request.prompt = {1};
  request.draftPMin = 0.5f;
  EXPECT_TRUE(session->add(request).status().message().starts_with(
      "draftPMin (--draft-p-min): expected a model whose drafts end by "
      "confidence (mtp-import --confidence), got one of the method '"));
}

// In one round one slot drafts all and another nothing. The target verifies
// only the rows of actual drafts.
TEST_P(Ending, SlotsOfARoundDraftApart) {
  std::vector<Request> all = requests(4, /*temperature=*/0);
  Statistics statistics;
  std::vector<Trace> traces = trace(single(envelope.maxK, 4), all, &statistics);
  bool isApart = false;
  uint64_t drafted = 0, rounds = 0;
  size_t longest = 0;
  for (const Trace &own : traces) {
    rounds += own.rounds.size();
    longest = std::max(longest, own.rounds.size());
    for (const Drafted &round : own.rounds)
      drafted += round.drafted;
  }
  // All sequences begin together. The simulator takes 100 ms for a round, so it
  // runs too few rounds to wait for one with all drafts.
  uint64_t most = isCpu() ? envelope.maxK : 2;
  for (size_t r = 0; r < longest; ++r) {
    auto has = [&](uint64_t least, uint64_t most) {
      return std::ranges::any_of(traces, [&](const Trace &own) {
        return r < own.rounds.size() && own.rounds[r].drafted >= least &&
               own.rounds[r].drafted <= most;
      });
    };
    isApart |= has(0, 0) && has(most, envelope.maxK);
  }
  EXPECT_TRUE(isApart);
  EXPECT_EQ(statistics.slotRounds, rounds);
  EXPECT_EQ(statistics.roundRows, rounds + drafted);
  EXPECT_LT(statistics.roundRows, statistics.roundCapacity);
  EXPECT_EQ(sumOf(statistics.drafted), drafted);
}

/// Returns a sequence's total drafts and accepted drafts, and its tokens.
static std::string summary(const Trace &trace) {
  std::string text;
  for (const Drafted &round : trace.rounds)
    text += std::to_string(round.known) + ":" + std::to_string(round.drafted) +
            "/" + std::to_string(round.accepted) + " ";
  return text;
}

// A sequence has the same rounds, and the tokens of rounds without drafts, for
// any other sequences, threads, short pages and shared pages.
TEST_P(Ending, RoundsAreTheSequencesOwn) {
  for (float temperature : {0.0f, 0.8f}) {
    // The simulator is slow.
    if (!isCpu() && temperature == 0)
      continue;
    std::vector<Request> all = requests(isCpu() ? 6 : 4, temperature);
    SessionOptions plain = single(/*k=*/0, /*slots=*/1);
    Outcome expected = generate(model, plain, all, LogitsMode::None);
    std::vector<Trace> alone = trace(single(envelope.maxK, 1), all);
    SessionOptions options = single(envelope.maxK, 4);
    options.threads = isCpu() ? 2 : 1;
    options.prefixCache = true;
    uint32_t pages = (60 + envelope.maxNodes) / envelope.pageTokens + 1;
    if (isCpu())
      options.kvPages = 2 * pages + 1;
    Statistics statistics;
    std::vector<Trace> beside = trace(options, all, &statistics);
    ASSERT_EQ(beside.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(summary(beside[i]), summary(alone[i])) << "request " << i;
      EXPECT_EQ(beside[i].tokens, expected.sequences[i].tokens);
      EXPECT_EQ(alone[i].tokens, expected.sequences[i].tokens);
    }
    EXPECT_EQ(statistics.preemptions > 0, isCpu());
  }
}

// A slot's own k and its program's wish are both upper limits.
TEST_P(Wishes, AreWhatSlotsDraft) {
  uint64_t none = 0, most = 0;
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> all = requests(4, temperature);
    all[1].k = 2;
    all[2].k = 3;
    std::vector<Trace> traces = trace(single(envelope.maxK, 4), all);
    for (size_t i = 0; i < all.size(); ++i) {
      uint64_t k = std::min(all[i].k, envelope.maxK), wanted = 1;
      for (const Drafted &round : traces[i].rounds) {
        EXPECT_EQ(round.drafted, std::min(k, wanted)) << "request " << i;
        none += round.drafted == 0;
        most += round.drafted == envelope.maxK;
        wanted = round.accepted ? round.accepted + 1 : wanted == 0 ? 2 : 0;
      }
    }
  }
  EXPECT_GT(none, isCpu() ? 4u : 1u);
  if (isCpu())
    EXPECT_GT(most, 4u);
}

static constexpr DeviceKind kCpu = DeviceKind::Cpu, kGpu = DeviceKind::Cuda;

INSTANTIATE_TEST_SUITE_P(Cpu, EndingChains,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.sure", kCpu},
                                         OnDevice{"mimo-mtp1.sure", kCpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, Ending,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.sure", kCpu},
                                         OnDevice{"mimo-mtp1.sure", kCpu},
                                         OnDevice{"eagle3.sure", kCpu},
                                         OnDevice{"wish", kCpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, Wishes, testing::Values(OnDevice{"wish", kCpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, Thresholds,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.sure", kCpu},
                                         OnDevice{"eagle3.sure", kCpu},
                                         OnDevice{"dspark.block", kCpu}),
                         nameOf);
#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Simulated, Thresholds,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.suresim",
                                                  kGpu},
                                         OnDevice{"dspark.block", kGpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Simulated, Ending,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.suresim",
                                                  kGpu},
                                         OnDevice{"wish", kGpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Simulated, Wishes,
                         testing::Values(OnDevice{"wish", kGpu}), nameOf);
#endif
