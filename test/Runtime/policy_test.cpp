//===- policy_test.cpp - The choice of k by replay ------------------------===//
//
// Tables of round costs and acceptance rates stand for machines and texts. The
// policy sees times with noise and random drafts. Its score uses the times of
// the table and the expected number of tokens.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/schedule/DraftPolicy.h"
#include "support/RecordedRounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace mtp;
using namespace mtp::test;

namespace {

using Rates = std::vector<double>;

/// Costs of rounds on a machine, in microseconds.
struct Machine {
  const char *name;
  double round, row, draft;
  /// Number of rows that cost nothing on top of reading the weights.
  double freeRows;

  double seconds(const RoundCostModel::Work &work) const {
    return 1e-6 * (round + draft * work.k * (1 + 0.02 * work.batch) +
                   row * std::max(work.rows - freeRows, 0.0));
  }
};

/// Four machines: a large model on a CPU that reads weights up to eight rows, a
/// small model that computes from the first row on, a GPU, and a model with
/// experts, where each row reads its own.
constexpr Machine kMachines[] = {{"streams", 44000, 3300, 6400, 8},
                                 {"computes", 60, 95, 38, 0},
                                 {"gpu", 4100, 14, 390, 0},
                                 {"experts", 9000, 7200, 1500, 1}};

/// Texts: how often a draft is accepted if all drafts before it were.
const Rates kEasy = {0.89, 0.88, 0.84, 0.8}, kMixed = {0.62, 0.5, 0.45, 0.4},
            kHard = {0.12, 0.1, 0.1, 0.1};

double tokensOf(const Rates &rates, uint32_t k) {
  double sum = 1, all = 1;
  for (uint32_t j = 0; j < k; ++j)
    sum += all *= rates[j];
  return sum;
}

/// A part of a replay: the texts of the slots, in turn, and the number of
/// tokens that each slot should reach.
struct Part {
  std::vector<Rates> rates;
  uint32_t batch;
  double tokens;
  /// Number of tokens that each slot has already output, and whether new
  /// sequences begin.
  double from = 0;
  bool isNew = false;

  const Rates &of(uint32_t slot) const { return rates[slot % rates.size()]; }
};

/// The time of a round if each slot has output `tokens` tokens.
using Cost = std::function<double(const RoundCostModel::Work &, double tokens)>;

/// Simulated rounds of some slots, with random noise.
class Replay {
public:
  Replay(Cost cost, uint64_t seed) : cost(std::move(cost)), random(seed) {}

  /// Runs until all slots together have their tokens.
  void run(const Part &part) {
    if (part.isNew)
      slots.clear();
    slots.resize(part.batch);
    for (double done = 0; done < part.tokens * part.batch;) {
      std::vector<DraftPolicy::Slot> given;
      for (const DraftHistory &slot : slots)
        given.push_back(
            {&slot, kMaxK, uint64_t(part.from + done / part.batch)});
      DraftPolicy::Choice choice = policy.choose(given);
      ++chosen[choice.k];
      done += runRound(part, choice, part.from + done / part.batch);
    }
  }

  /// Starts from the learned costs of another replay.
  void begin(const Replay &other) { begin(other.policy.learned()); }
  void begin(const DraftPolicy::LearnedCosts &learned) {
    policy.begin(learned);
  }

  /// Probability that other processes begin to use the machine in a round.
  double disturbance = 0;
  double time = 0;
  uint64_t chosen[kMaxK + 1] = {};

private:
  /// Returns the expected number of tokens of a round after `before` tokens per
  /// slot.
  double runRound(const Part &part, const DraftPolicy::Choice &choice,
                  double before) {
    double tokens = 0;
    RoundCostModel::Work work{part.batch, choice.k, part.batch,
                              uint64_t(before) * part.batch};
    for (uint32_t s = 0; s < part.batch; ++s) {
      // A gap makes drafters worse for some rounds.
      Rates own = part.of(s);
      for (double &rate : own)
        rate *= 1 - 0.012 * slots[s].gap;
      uint32_t drafts = choice.drafts[s], accepted = 0;
      EXPECT_LE(drafts, choice.k);
      work.rows += drafts;
      tokens += tokensOf(own, drafts);
      while (accepted < drafts && chance() < own[accepted])
        ++accepted;
      policy.addOutcome(slots[s], choice.k, drafts, accepted);
    }
    double noise = 1 + 0.03 * normal(random);
    if (chance() < 0.01)
      noise *= 3; // another process used the machine
    noise *= disturbed();
    double seconds = cost(work, before);
    policy.addRound(work, seconds * std::max(noise, 0.8));
    time += seconds;
    return tokens;
  }
  /// Returns the factor of a round while other processes use the machine: 1 to
  /// 3, for 20 rounds in the mean.
  double disturbed() {
    if (disturbance == 0)
      return 1;
    isDisturbed = chance() < (isDisturbed ? 0.95 : disturbance);
    return isDisturbed ? 1 + 2 * chance() : 1;
  }
  double chance() { return std::uniform_real_distribution<>()(random); }

  Cost cost;
  std::mt19937_64 random;
  std::normal_distribution<> normal;
  DraftPolicy policy;
  std::vector<DraftHistory> slots;
  bool isDisturbed = false;
};

/// Returns the time of a part with `drafts` drafts per slot; slots of one text
/// have equal numbers.
double partTime(const Machine &machine, const Part &part,
                const std::vector<uint32_t> &drafts) {
  RoundCostModel::Work work{part.batch, 0, part.batch};
  double tokens = 0;
  for (uint32_t s = 0; s < part.batch; ++s) {
    uint32_t own = drafts[s % drafts.size()];
    work.k = std::max(work.k, own);
    work.rows += own;
    tokens += tokensOf(part.of(s), own);
  }
  return part.tokens * part.batch / tokens * machine.seconds(work);
}

/// Returns the time of the parts with a constant k.
double fixedTime(const Machine &machine, const std::vector<Part> &parts,
                 uint32_t k) {
  double time = 0;
  for (const Part &part : parts)
    time += partTime(machine, part, {k});
  return time;
}

/// Time of the policy relative to the best constant k, and to k = 0. An average
/// of some replays, which differ by one or two hundredths.
struct Ratios {
  double best = 0, none = 0;
  std::string text;

  void add(const Replay &run, double bestTime, double noneTime, uint64_t of) {
    best += run.time / bestTime / double(of);
    none += run.time / noneTime / double(of);
    text += (text.empty() ? "" : ", ") + std::to_string(run.time / bestTime) +
            " with k = 0, 1, ..:";
    for (uint64_t rounds : run.chosen)
      text += " " + std::to_string(rounds);
  }
};
Ratios replay(const Machine &machine, const std::vector<Part> &parts) {
  double none = fixedTime(machine, parts, 0), best = none;
  for (uint32_t k = 1; k <= kMaxK; ++k)
    best = std::min(best, fixedTime(machine, parts, k));
  constexpr uint64_t kReplays = 5;
  Ratios ratios;
  for (uint64_t seed = 1; seed <= kReplays; ++seed) {
    Replay run([&](auto &work, double) { return machine.seconds(work); }, seed);
    for (const Part &part : parts)
      run.run(part);
    ratios.add(run, best, none, kReplays);
  }
  ratios.text = machine.name + (": " + ratios.text);
  return ratios;
}

constexpr uint32_t kBatches[] = {1, 2, 4, 8, 16};

class DraftPolicyOn : public testing::TestWithParam<Machine> {};

} // namespace

// In turns of 20 rounds, a constraint forces the next tokens or none. Drafts
// after them are never accepted.
TEST(DraftPolicy, ForcedTokensAreNoDrafts) {
  DraftPolicy policy;
  DraftHistory history;
  uint64_t forcedDrafts = 0, ownDrafts = 0;
  constexpr int kRounds = 800, kTurn = 20;
  for (int round = 0; round < kRounds; ++round) {
    bool isForced = round / kTurn % 2 != 0;
    DraftPolicy::Slot slot{&history, kMaxK, 100, isForced ? kMaxK : 0};
    DraftPolicy::Choice choice = policy.choose({&slot, 1});
    uint32_t drafts = choice.drafts[0], accepted = isForced ? drafts : 0;
    policy.addOutcome(history, choice.k, drafts, accepted, slot.forced);
    RoundCostModel::Work work{1, choice.k, 1 + drafts, 100};
    policy.addRound(work, kMachines[0].seconds(work));
    if (round >= kRounds / 2)
      (isForced ? forcedDrafts : ownDrafts) += drafts;
  }
  EXPECT_GT(double(forcedDrafts) / (kRounds / 4.0), 3.5);
  EXPECT_LT(double(ownDrafts) / (kRounds / 4.0), 0.5);
  EXPECT_LT(history.rate(0, 0.5, /*weight=*/1), 0.2);
}

// Rounds of two drafts or more run with padding slots, which makes them shapes
// of their own. The policy learns their times.
TEST(DraftPolicy, LearnsTheTimesOfRoundsWithPadding) {
  for (double price : {1.1, 6.0}) {
    DraftPolicy policy({}, UINT32_MAX, [](uint32_t batch, uint32_t k) {
      return k > 1 && batch < 4 ? 4 - batch : 0;
    });
    EXPECT_EQ(policy.paddingOf(1, 1), 0u);
    EXPECT_EQ(policy.paddingOf(1, 2), 3u);
    DraftHistory history;
    int padded = 0;
    constexpr int kRounds = 400;
    for (int round = 0; round < kRounds; ++round) {
      DraftPolicy::Slot slot{&history, kMaxK, 100};
      DraftPolicy::Choice choice = policy.choose({&slot, 1});
      uint32_t drafts = choice.drafts[0];
      policy.addOutcome(history, choice.k, drafts, drafts);
      policy.addRound(
          {1, choice.k, 1 + drafts, 100, policy.paddingOf(1, choice.k)},
          choice.k > 1 ? price : 1 + 0.05 * choice.k);
      padded += round >= kRounds / 2 && choice.k > 1;
    }
    if (price < 2)
      EXPECT_GT(padded, kRounds * 0.45);
    else
      EXPECT_LT(padded, kRounds * 0.025);
    EXPECT_TRUE(policy.learned().cost.isMeasured(1, 2, 3));
    EXPECT_FALSE(policy.learned().cost.isMeasured(1, 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, DraftPolicyOn, testing::ValuesIn(kMachines),
                         [](const auto &info) { return info.param.name; });

TEST_P(DraftPolicyOn, IsCloseToTheBestKOfOneText) {
  const Machine &machine = GetParam();
  for (uint32_t batch : kBatches)
    for (const Rates &rates : {kEasy, kMixed, kHard}) {
      Ratios of = replay(machine, {{{rates}, batch, 2500}});
      EXPECT_LE(of.best, 1.03)
          << of.text << "; " << batch << " slots, rate " << rates[0];
    }
}

TEST_P(DraftPolicyOn, IsCloseToTheBestKOfTextsThatSwitch) {
  const Machine &machine = GetParam();
  for (uint32_t batch : kBatches) {
    std::vector<Part> parts;
    for (const Rates *rates :
         {&kEasy, &kHard, &kMixed, &kHard, &kEasy, &kMixed})
      parts.push_back({{*rates}, batch, 800});
    Ratios of = replay(machine, parts);
    EXPECT_LE(of.best, 1.03) << of.text << "; " << batch << " slots";
  }
}

TEST_P(DraftPolicyOn, IsCloseToNoDraftsWhereTheyDoNotPay) {
  const Machine &machine = GetParam();
  for (uint32_t batch : kBatches) {
    Rates never = {0.02, 0.02, 0.02, 0.02};
    Ratios of = replay(machine, {{{never}, batch, 2500}});
    EXPECT_LE(of.none, 1.02) << of.text << "; " << batch << " slots";
  }
}

TEST_P(DraftPolicyOn, FollowsSlotsThatComeAndGo) {
  std::vector<Part> parts;
  for (int turn = 0; turn < 3; ++turn)
    for (uint32_t batch : {1, 3, 8, 16, 12, 5, 2})
      parts.push_back({{turn % 2 ? kMixed : kEasy}, batch, 300});
  Ratios of = replay(GetParam(), parts);
  EXPECT_LE(of.best, 1.03) << of.text;
}

// If some texts are easy and others hard, each slot has its own number of
// drafts. The best pair is missed by at most the loss of the best k for one
// text.
TEST_P(DraftPolicyOn, GivesSlotsWhatTheirDraftsAreWorth) {
  const Machine &machine = GetParam();
  for (uint32_t batch : {2, 4, 8, 16}) {
    Part part{{kEasy, kHard}, batch, 2500};
    double best = partTime(machine, part, {0, 0});
    for (uint32_t easy = 0; easy <= kMaxK; ++easy)
      for (uint32_t hard = 0; hard <= kMaxK; ++hard)
        best = std::min(best, partTime(machine, part, {easy, hard}));
    double one = fixedTime(machine, {part}, 0);
    for (uint32_t k = 1; k <= kMaxK; ++k)
      one = std::min(one, fixedTime(machine, {part}, k));
    Ratios of = replay(machine, {part});
    double time = of.best * one;
    EXPECT_LE(time, 1.03 * best) << of.text << "; " << batch << " slots";
  }
}

//===----------------------------------------------------------------------===//
// Recorded rounds
//===----------------------------------------------------------------------===//

namespace {

/// Three texts that the bundled model wrote.
const std::vector<Rates> kWritten = {
    {0.8, 0.72, 0.85, 0.82}, {0.69, 0.78, 0.3, 0.5}, {0.93, 0.95, 0.9, 0.92}};

class DraftPolicyOnRecord : public testing::TestWithParam<Recorded> {};

} // namespace

/// Returns the time of the parts with a constant k.
static double fixedTime(const Recorded &of, const std::vector<Part> &parts,
                        uint32_t k) {
  double time = 0;
  for (const Part &part : parts) {
    double each = 0;
    for (uint32_t s = 0; s < part.batch; ++s)
      each += tokensOf(part.of(s), k) / part.batch;
    double done = 0;
    while (done < part.tokens) {
      time += of.full(k, part.from + done);
      done += each;
    }
  }
  return time;
}

/// Replays the parts; the policy starts from `learned`.
static Ratios replay(const Recorded &of, const std::vector<Part> &parts,
                     uint64_t replays, const DraftPolicy::LearnedCosts &learned,
                     double disturbance = 0) {
  double none = fixedTime(of, parts, 0), best = none;
  for (uint32_t k = 1; k <= kMaxK; ++k)
    best = std::min(best, fixedTime(of, parts, k));
  Ratios ratios;
  for (uint64_t seed = 1; seed <= replays; ++seed) {
    Replay run([&](auto &work, double at) { return of.seconds(work, at); },
               seed);
    run.begin(learned);
    run.disturbance = disturbance;
    for (const Part &part : parts)
      run.run(part);
    ratios.add(run, best, none, replays);
  }
  return ratios;
}

/// Replays the parts; the policy starts from a session that ran `before`.
static Ratios replay(const Recorded &of, const std::vector<Part> &parts,
                     uint64_t replays, const std::vector<Part> &before = {}) {
  double none = fixedTime(of, parts, 0), best = none;
  for (uint32_t k = 1; k <= kMaxK; ++k)
    best = std::min(best, fixedTime(of, parts, k));
  Ratios ratios;
  for (uint64_t seed = 1; seed <= replays; ++seed) {
    auto cost = [&](auto &work, double at) { return of.seconds(work, at); };
    Replay run(cost, seed), other(cost, seed + replays);
    for (const Part &part : before)
      other.run(part);
    run.begin(other);
    for (const Part &part : parts)
      run.run(part);
    ratios.add(run, best, none, replays);
  }
  return ratios;
}

INSTANTIATE_TEST_SUITE_P(Rounds, DraftPolicyOnRecord,
                         testing::ValuesIn(kRecorded), [](const auto &info) {
                           return std::string(info.param.name) + "_of_" +
                                  std::to_string(info.param.batch);
                         });

// A new session knows neither costs nor texts, and is over soon. While it runs,
// its rounds become up to three times as long. It tries one more draft at a
// time.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKOfShortSessions) {
  for (double tokens : {300, 900}) {
    Ratios of = replay(GetParam(), {{kWritten, GetParam().batch, tokens}}, 10);
    EXPECT_LE(of.best, 1.035) << of.text << "; " << tokens << " tokens";
  }
}

// A session that starts from costs learned with other texts.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKBehindAnotherSession) {
  Part other{{kMixed, kHard, kEasy}, GetParam().batch, 900};
  Ratios of =
      replay(GetParam(), {{kWritten, GetParam().batch, 300}}, 10, {other});
  EXPECT_LE(of.best, 1.025) << of.text;
}

// Consecutive sequences of 900 tokens, in which the text changes once in the
// middle, or five times.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKOfTextsThatSwitch) {
  for (double length : {450, 150}) {
    std::vector<Part> parts;
    double from = 0;
    while (parts.size() < 2700 / length)
      for (const Rates *rates :
           {&kEasy, &kHard, &kMixed, &kHard, &kEasy, &kMixed}) {
        parts.push_back({{*rates}, GetParam().batch, length, from, from == 0});
        from = from + length < 900 ? from + length : 0;
      }
    Ratios of = replay(GetParam(), parts, 10);
    EXPECT_LE(of.best, 1.03) << of.text << "; " << length << " tokens";
    EXPECT_LE(of.none, 1.02) << of.text << "; " << length << " tokens";
  }
}

TEST_P(DraftPolicyOnRecord, IsCloseToNoDraftsWhereTheyDoNotPay) {
  std::vector<Part> parts;
  Rates never = {0.02, 0.02, 0.02, 0.02};
  for (int turn = 0; turn < 3; ++turn)
    parts.push_back({{never}, GetParam().batch, 900, 0, true});
  Ratios of = replay(GetParam(), parts, 10);
  EXPECT_LE(of.none, 1.02) << of.text;
}

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

/// Five workloads: three kinds of text, texts of the bundled model, and text
/// whose drafts are never accepted.
static const std::vector<std::vector<Rates>> kWorkloads = {
    {kEasy},
    {kMixed},
    {kHard},
    kWritten,
    {{0.02, 0.02, 0.02, 0.02}},
    {{0.53, 0.54, 0.58, 0.5}}};

/// The deviation of a cost that a busy machine measures.
static constexpr double kMeasuringError = 0.03;

/// Returns what a profile leaves: rounds of each k at two contexts, with all
/// rows and with half of the slots' drafts, as mtp-tune measures them, and the
/// mean acceptance of texts. With a seed, costs have errors.
static DraftPolicy::LearnedCosts profileOf(const Recorded &of,
                                           const std::vector<Rates> &texts,
                                           uint64_t seed = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> error(1, seed ? kMeasuringError : 0);
  DraftPolicy::LearnedCosts learned;
  std::vector<RoundCostModel::Measured> measured;
  for (uint64_t tokens : {40, 120, 640})
    for (uint32_t k = 0; k <= kMaxK; ++k)
      for (uint32_t drafting : {of.batch, of.batch / 2}) {
        RoundCostModel::Work work{of.batch, k, of.batch + drafting * k,
                                  of.batch * tokens};
        if (drafting == of.batch || (k > 0 && of.batch > 1))
          measured.push_back(
              {work, of.seconds(work, double(tokens)) * error(random)});
      }
  learned.cost.begin(measured);
  for (uint32_t j = 0; j < kMaxK; ++j) {
    double sum = 0;
    for (const Rates &rates : texts)
      sum += rates[j];
    learned.usual.push_back(sum / double(texts.size()));
    learned.all.begin(64, learned.usual.back());
    learned.evidence.push_back(64);
  }
  return learned;
}

static DraftPolicy::LearnedCosts profileOfAll(const Recorded &of) {
  std::vector<Rates> texts;
  for (const std::vector<Rates> &workload : kWorkloads)
    texts.insert(texts.end(), workload.begin(), workload.end());
  DraftPolicy::LearnedCosts learned = profileOf(of, texts);
  std::vector<DraftPolicy::KindCount> first;
  for (const Rates &rates : texts)
    first.push_back({1000, uint64_t(1000 * rates[0])});
  learned.spread = DraftPolicy::spreadOf(first);
  return learned;
}

// The kinds of requests in the profile differ, so trials may pay ahead.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKOfWorkloadsWithAProfile) {
  for (size_t i = 0; i < kWorkloads.size(); ++i) {
    std::vector<Part> parts;
    for (int turn = 0; turn < 3; ++turn)
      parts.push_back({kWorkloads[i], GetParam().batch, 900, 0, true});
    Ratios of = replay(GetParam(), parts, 10, profileOfAll(GetParam()));
    EXPECT_LE(of.best, 1.02) << of.text << "; workload " << i;
    EXPECT_LE(of.none, 1.01) << of.text << "; workload " << i;
  }
}

TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKOfSwitchesWithAProfile) {
  std::vector<Part> parts;
  for (int turn = 0; turn < 3; ++turn)
    for (const std::vector<Rates> &workload : kWorkloads)
      parts.push_back({workload, GetParam().batch, 300, 0, true});
  Ratios of = replay(GetParam(), parts, 10, profileOfAll(GetParam()));
  EXPECT_LE(of.best, 1.02) << of.text;
  EXPECT_LE(of.none, 1.01) << of.text;
}

// A profile of a busy machine, with other errors for each of some sessions.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKWithErrorsOfAProfile) {
  for (size_t i = 0; i < kWorkloads.size(); ++i) {
    double best = 0, none = 0;
    constexpr int kProfiles = 12;
    for (int seed = 1; seed <= kProfiles; ++seed) {
      Ratios of =
          replay(GetParam(), {{kWorkloads[i], GetParam().batch, 150}}, 2,
                 profileOf(GetParam(), kWorkloads[i], uint64_t(seed)));
      best += of.best / kProfiles;
      none += of.none / kProfiles;
    }
    EXPECT_LE(best, 1.03) << "workload " << i;
    EXPECT_LE(none, 1.02) << "workload " << i;
  }
}

// A profile of texts of the same kind needs no learning phase.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKOfShortSessionsWithAProfile) {
  for (size_t i = 0; i < kWorkloads.size(); ++i) {
    Ratios of = replay(GetParam(), {{kWorkloads[i], GetParam().batch, 150}}, 20,
                       profileOf(GetParam(), kWorkloads[i]));
    EXPECT_LE(of.best, 1.02) << of.text << "; workload " << i;
    EXPECT_LE(of.none, 1.0125) << of.text << "; workload " << i;
  }
}

// The profile's mean text is another one than the session's, and the session is
// too short to find out for free.
TEST_P(DraftPolicyOnRecord, LosesLittleInShortSessionsOfOtherTexts) {
  double best = 0, none = 0;
  for (size_t i = 0; i < kWorkloads.size(); ++i) {
    Ratios of = replay(GetParam(), {{kWorkloads[i], GetParam().batch, 300}}, 10,
                       profileOfAll(GetParam()));
    best += of.best / double(kWorkloads.size());
    none = std::max(none, of.none);
  }
  EXPECT_LE(best, 1.03);
  EXPECT_LE(none, 1.055);
}

// Other processes disturb every sixth round. Only the rounds of the current k
// become longer, and the other numbers of drafts are no better for it.
TEST_P(DraftPolicyOnRecord, IsCloseToTheBestKOnABusyMachineWithAProfile) {
  for (size_t i = 0; i < kWorkloads.size(); ++i) {
    Ratios of = replay(GetParam(), {{kWorkloads[i], GetParam().batch, 300}}, 20,
                       profileOf(GetParam(), kWorkloads[i]), 0.01);
    EXPECT_LE(of.best, 1.02) << of.text << "; workload " << i;
    EXPECT_LE(of.none, 1.0125) << of.text << "; workload " << i;
  }
}
