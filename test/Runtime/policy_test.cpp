//===- policy_test.cpp - The choice of k by replay ------------------------===//
//
// Tables of what rounds cost and of what is accepted stand for machines and
// texts. The policy sees times with noise and drafts that fall by chance; what
// it is measured by are the times of the table and the tokens to be expected.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/DraftPolicy.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace mtp;

namespace {

constexpr uint32_t kMaxK = 4;
using Rates = std::vector<double>;

/// What rounds cost on a machine, in microseconds.
struct Machine {
  const char *name;
  double round, row, draft;
  /// Rows that cost nothing beside the weights, which are read in any case.
  double freeRows;

  double seconds(uint32_t batch, uint32_t k) const {
    double rows = double(batch) * (k + 1);
    return 1e-6 * (round + draft * k * (1 + 0.02 * batch) +
                   row * std::max(rows - freeRows, 0.0));
  }
};

/// A large model on a CPU that reads weights up to eight rows; a small one that
/// computes from the first row on; a GPU; and one with experts, each row of
/// which reads its own.
constexpr Machine kMachines[] = {{"streams", 44000, 3300, 6400, 8},
                                 {"computes", 60, 95, 38, 0},
                                 {"gpu", 4100, 14, 390, 0},
                                 {"experts", 9000, 7200, 1500, 1}};

/// Texts: how often a draft is accepted where all before it were.
const Rates kEasy = {0.89, 0.88, 0.84, 0.8}, kMixed = {0.62, 0.5, 0.45, 0.4},
            kHard = {0.12, 0.1, 0.1, 0.1};

double tokensOf(const Rates &rates, uint32_t k) {
  double sum = 1, all = 1;
  for (uint32_t j = 0; j < k; ++j)
    sum += all *= rates[j];
  return sum;
}

/// Rounds of some slots, with chance for noise.
class Replay {
public:
  Replay(const Machine &machine, uint64_t seed)
      : machine(machine), random(seed) {}

  /// Goes on for so many tokens of each slot.
  void run(const Rates &rates, uint32_t batch, double tokens) {
    slots.resize(batch);
    std::vector<DraftPolicy::Slot> given;
    for (const DraftHistory &slot : slots)
      given.push_back({&slot, kMaxK});
    for (double done = 0; done < tokens;) {
      DraftPolicy::Choice choice = policy.choose(given);
      ++chosen[choice.k];
      time += machine.seconds(batch, choice.k);
      done += runRound(rates, choice.k) / batch;
    }
  }

  double time = 0;
  uint64_t chosen[kMaxK + 1] = {};

private:
  /// The tokens to be expected of a round.
  double runRound(const Rates &rates, uint32_t k) {
    double tokens = 0;
    for (DraftHistory &slot : slots) {
      // A gap makes drafters worse for some rounds.
      Rates own = rates;
      for (double &rate : own)
        rate *= 1 - 0.012 * slot.gap;
      tokens += tokensOf(own, k);
      uint32_t accepted = 0;
      while (accepted < k && chance() < own[accepted])
        ++accepted;
      policy.addOutcome(slot, k, accepted);
    }
    double noise = 1 + 0.03 * normal(random);
    if (chance() < 0.01)
      noise *= 3; // others had the machine
    policy.addRound(uint32_t(slots.size()), k,
                    machine.seconds(uint32_t(slots.size()), k) *
                        std::max(noise, 0.8));
    return tokens;
  }
  double chance() { return std::uniform_real_distribution<>()(random); }

  const Machine &machine;
  std::mt19937_64 random;
  std::normal_distribution<> normal;
  DraftPolicy policy;
  std::vector<DraftHistory> slots;
};

/// A part of a replay: a text for so many slots.
struct Part {
  Rates rates;
  uint32_t batch;
  double tokens;
};

/// What the parts take with a k that never changes.
double fixedTime(const Machine &machine, const std::vector<Part> &parts,
                 uint32_t k) {
  double time = 0;
  for (const Part &part : parts)
    time +=
        part.tokens / tokensOf(part.rates, k) * machine.seconds(part.batch, k);
  return time;
}

/// The time of the policy over that of the best fixed k, and over k = 0: of
/// some replays, which chance makes differ by one hundredth or two.
struct Ratios {
  double best = 0, none = 0;
  std::string text;
};
Ratios replay(const Machine &machine, const std::vector<Part> &parts) {
  double best = fixedTime(machine, parts, 0), none = best;
  for (uint32_t k = 1; k <= kMaxK; ++k)
    best = std::min(best, fixedTime(machine, parts, k));
  constexpr uint64_t kReplays = 5;
  Ratios ratios;
  ratios.text = machine.name;
  for (uint64_t seed = 1; seed <= kReplays; ++seed) {
    Replay run(machine, seed);
    for (const Part &part : parts)
      run.run(part.rates, part.batch, part.tokens);
    ratios.best += run.time / best / kReplays;
    ratios.none += run.time / none / kReplays;
    ratios.text +=
        ", " + std::to_string(run.time / best) + " with k = 0, 1, ..:";
    for (uint64_t rounds : run.chosen)
      ratios.text += " " + std::to_string(rounds);
  }
  return ratios;
}

constexpr uint32_t kBatches[] = {1, 2, 4, 8, 16};

} // namespace

TEST(DraftPolicy, IsCloseToTheBestKOfOneText) {
  for (const Machine &machine : kMachines)
    for (uint32_t batch : kBatches)
      for (const Rates &rates : {kEasy, kMixed, kHard}) {
        Ratios of = replay(machine, {{rates, batch, 2500}});
        EXPECT_LE(of.best, 1.03)
            << of.text << "; " << batch << " slots, rate " << rates[0];
      }
}

TEST(DraftPolicy, IsCloseToTheBestKOfTextsThatSwitch) {
  for (const Machine &machine : kMachines)
    for (uint32_t batch : kBatches) {
      std::vector<Part> parts;
      for (const Rates *rates :
           {&kEasy, &kHard, &kMixed, &kHard, &kEasy, &kMixed})
        parts.push_back({*rates, batch, 800});
      Ratios of = replay(machine, parts);
      EXPECT_LE(of.best, 1.03) << of.text << "; " << batch << " slots";
    }
}

TEST(DraftPolicy, IsCloseToNoDraftsWhereTheyDoNotPay) {
  for (const Machine &machine : kMachines)
    for (uint32_t batch : kBatches) {
      Rates never = {0.02, 0.02, 0.02, 0.02};
      Ratios of = replay(machine, {{never, batch, 2500}});
      EXPECT_LE(of.none, 1.02) << of.text << "; " << batch << " slots";
    }
}

TEST(DraftPolicy, FollowsSlotsThatComeAndGo) {
  for (const Machine &machine : kMachines) {
    std::vector<Part> parts;
    for (int turn = 0; turn < 3; ++turn)
      for (uint32_t batch : {1, 3, 8, 16, 12, 5, 2})
        parts.push_back({turn % 2 ? kMixed : kEasy, batch, 300});
    Ratios of = replay(machine, parts);
    EXPECT_LE(of.best, 1.03) << of.text;
  }
}
