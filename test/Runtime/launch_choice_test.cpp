//===- launch_choice_test.cpp - The choice of rounds per launch -----------===//

#include "runtime/profile/LaunchChoice.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

/// A launch takes 100 us, and each round 1 ms and 200 us for each slot.
constexpr double kLaunch = 1e-4, kRound = 1e-3, kSlot = 2e-4;

LaunchCost costOf(uint32_t slots, uint32_t rounds, double seconds) {
  LaunchCost cost;
  cost.program = 7;
  cost.batch = slots;
  cost.rounds = rounds;
  cost.positions = uint64_t(slots) * 40;
  cost.lower = cost.median = cost.upper = seconds;
  cost.count = 8;
  return cost;
}

/// Returns a GPU with launches of one k at 1 and 8 slots.
MachineCosts machineOf(double launch) {
  MachineCosts machine;
  for (uint32_t slots : {1u, 8u})
    for (uint32_t rounds : {1u, 2u, 8u, 32u})
      machine.launches.push_back(
          costOf(slots, rounds, launch + rounds * (kRound + kSlot * slots)));
  return machine;
}

/// Returns a load of one number of slots whose outputs have about `tokens`
/// tokens.
Profile loadOf(uint32_t slots, uint64_t tokens) {
  Profile profile;
  profile.load.rounds = {{{slots, 0}, 1000}};
  if (tokens > 0) {
    profile.load.outputs.resize(bucketOf(tokens) + 1);
    profile.load.outputs.back() = 50;
  }
  return profile;
}

constexpr LaunchInput kInput = {16, 4, /*mostRounds=*/32, /*usualRounds=*/16};

LaunchChoice choose(const Profile &profile, const MachineCosts &machine,
                    const LaunchInput &input = kInput) {
  auto choice = chooseLaunch(profile, machine, input);
  EXPECT_TRUE(choice);
  return choice ? *choice : LaunchChoice();
}

LaunchOption optionOf(const LaunchChoice &choice, uint32_t rounds) {
  for (const LaunchOption &option : choice.options)
    if (option.rounds == rounds)
      return option;
  ADD_FAILURE() << rounds;
  return {};
}

double gainOf(const LaunchChoice &choice, uint32_t rounds) {
  return optionOf(choice, rounds).gain;
}

double secondsOf(const LaunchChoice &choice, uint32_t rounds) {
  return optionOf(choice, rounds).seconds;
}

/// Returns the seconds of a round of `slots` slots in launches of 32 rounds, if
/// sequences have `life` rounds and rows of an ended one take `wasted`.
double secondsOf32(uint32_t slots, double life, double wasted) {
  double ends = slots / life;
  double length = (1 - std::pow(1 - ends, 32)) / ends;
  return (kRound + kSlot * slots + kLaunch / length +
          ends * (length - 1) / 2 * wasted) *
         (1 + 1 / life);
}

} // namespace

// A launch of one slot ends with its sequence, so it wastes nothing.
TEST(Launches, OfOneSlotAreAsLongAsPossible) {
  LaunchChoice choice = choose(loadOf(1, 4096), machineOf(kLaunch));
  EXPECT_EQ(choice.rounds, 32u);
  EXPECT_EQ(choice.usualRounds, 16u);
  EXPECT_EQ(choice.tokens, 1.5 * 4096);
  EXPECT_FALSE(choice.isAssumed);
  // A sixteenth and a thirty-second of a launch for each round.
  EXPECT_NEAR(choice.gain,
              (kRound + kSlot + kLaunch / 16) / (kRound + kSlot + kLaunch / 32),
              1e-4);
  EXPECT_GT(choice.gain, 1 + choice.doubt);
  EXPECT_LT(gainOf(choice, 1), gainOf(choice, 2));
}

// Many short sequences end within a launch, whose other rounds still have their
// rows, and their launches end early.
TEST(Launches, AreShorterIfSequencesEndWithinThem) {
  LaunchChoice longer = choose(loadOf(8, 4096), machineOf(kLaunch));
  LaunchChoice shorter = choose(loadOf(8, 64), machineOf(kLaunch));
  EXPECT_GE(longer.rounds, 16u);
  EXPECT_LT(shorter.rounds, longer.rounds);
  EXPECT_GT(shorter.gain, 1 + shorter.doubt);
}

TEST(Launches, WasteTheRowsOfEndedSequences) {
  MachineCosts machine = machineOf(kLaunch);
  EXPECT_NEAR(secondsOf(choose(loadOf(8, 64), machine), 32),
              secondsOf32(8, 1.5 * 64, kSlot), 1e-9);
  // More slots take no less time than fewer: the difference is noise.
  for (LaunchCost &cost : machine.launches)
    if (cost.batch == 1)
      cost.lower = cost.median = cost.upper =
          kLaunch + cost.rounds * (kRound + kSlot * 9);
  EXPECT_NEAR(secondsOf(choose(loadOf(8, 64), machine), 32),
              secondsOf32(8, 1.5 * 64, 0), 1e-9);
}

// A launch of one round needs no loop, and stands for itself.
TEST(Launches, OfOneRoundAreApart) {
  MachineCosts machine = machineOf(kLaunch);
  for (LaunchCost &cost : machine.launches)
    if (cost.rounds == 1)
      cost.lower = cost.median = cost.upper = 5e-4;
  LaunchChoice choice = choose(loadOf(1, 4096), machine);
  EXPECT_EQ(secondsOf(choice, 1), 5e-4);
  EXPECT_NEAR(secondsOf(choice, 32), secondsOf32(1, 1.5 * 4096, 0), 1e-9);
}

// No launch takes less than no time.
TEST(Launches, OfFewRoundsAreNoCheaperThanTheirRounds) {
  MachineCosts machine;
  machine.launches = {costOf(1, 2, 2e-3), costOf(1, 8, 9e-3)};
  LaunchChoice choice = choose(loadOf(1, 4096), machine);
  EXPECT_NEAR(secondsOf(choice, 2), secondsOf(choice, 32), 1e-12);
}

// Many launches say more than few, up to 64.
TEST(Launches, CountByTheirNumber) {
  auto secondsWith = [](uint64_t count) {
    MachineCosts machine = machineOf(kLaunch);
    for (LaunchCost &cost : machine.launches) {
      cost.upper = cost.lower * 1.2;
      if (cost.rounds == 32) {
        cost.lower *= 0.9;
        cost.count = count;
      }
    }
    return secondsOf(choose(loadOf(1, 4096), machine), 32);
  };
  EXPECT_LT(secondsWith(64), secondsWith(8));
  EXPECT_EQ(secondsWith(1000), secondsWith(64));
}

TEST(Launches, WeighTheShapesOfTheLoad) {
  MachineCosts machine = machineOf(kLaunch);
  Profile profile = loadOf(1, 4096);
  auto seconds = [&] { return secondsOf(choose(profile, machine), 1); };
  auto single = [](double slots) { return kLaunch + kRound + kSlot * slots; };
  EXPECT_NEAR(seconds(), single(1), 1e-9);
  // Between measured numbers of slots.
  profile.load.rounds = {{{4, 0}, 1000}};
  EXPECT_NEAR(seconds(), single(4), 1e-9);
  profile.load.rounds = {{{1, 0}, 10}, {{8, 0}, 30}};
  EXPECT_NEAR(seconds(), 0.25 * single(1) + 0.75 * single(8), 1e-9);
  // Shapes beyond the limits of 16 slots and 4 drafts do not count.
  LaunchCost deep = machine.launches[0];
  for (uint32_t rounds : {1u, 8u}) {
    deep.k = 9;
    deep.rounds = rounds;
    deep.lower = deep.median = deep.upper = 1e-2 * rounds;
    machine.launches.push_back(deep);
  }
  profile.load.rounds = {{{1, 0}, 10}, {{1, 9}, 9000}, {{20, 0}, 9000}};
  EXPECT_NEAR(seconds(), single(1), 1e-9);
}

TEST(Launches, TakeTheTimesOfTheNearestNumberOfDrafts) {
  MachineCosts machine;
  for (auto [k, seconds] : {std::pair(0u, 1e-3), std::pair(4u, 3e-3)})
    for (uint32_t rounds : {1u, 8u}) {
      LaunchCost cost = costOf(1, rounds, seconds * rounds);
      cost.k = k;
      machine.launches.push_back(cost);
    }
  auto secondsWith = [&](uint32_t k) {
    Profile profile = loadOf(1, 4096);
    profile.load.rounds = {{{1, k}, 1000}};
    return secondsOf(choose(profile, machine), 1);
  };
  EXPECT_EQ(secondsWith(0), 1e-3);
  EXPECT_EQ(secondsWith(1), 1e-3);
  EXPECT_EQ(secondsWith(3), 3e-3);
}

// Each new prompt waits for a round that has begun, unless launches have one.
TEST(Launches, HaveOneRoundIfPromptsWouldWaitTooLong) {
  EXPECT_EQ(choose(loadOf(1, 4), machineOf(kLaunch)).rounds, 1u);
  // The launch is worth more than the wait.
  EXPECT_GT(choose(loadOf(1, 4), machineOf(20 * kLaunch)).rounds, 1u);
}

// Accepted drafts make sequences end in fewer rounds.
TEST(Launches, CountTheAcceptanceOfDrafts) {
  Profile profile = loadOf(8, 256);
  MachineCosts machine = machineOf(kLaunch);
  for (LaunchCost &cost : machine.launches)
    cost.k = 2;
  profile.load.rounds = {{{8, 2}, 1000}};
  Outcomes &outcomes = profile.outcomes.emplace_back();
  outcomes.tried = {1000, 0};
  outcomes.accepted = {0, 0};
  double rejected = gainOf(choose(profile, machine), 32);
  outcomes.tried = {1000, 1000};
  outcomes.accepted = {1000, 1000};
  EXPECT_LT(gainOf(choose(profile, machine), 32), rejected);
  // A draft counts only after the drafts before it, and from 20 outcomes on.
  auto gain = [&](std::vector<uint64_t> tried, std::vector<uint64_t> accepted) {
    outcomes.tried = std::move(tried);
    outcomes.accepted = std::move(accepted);
    return gainOf(choose(profile, machine), 32);
  };
  EXPECT_NEAR(gain({1000, 500}, {500, 250}), gain({1000, 500}, {750, 0}), 1e-9);
  EXPECT_EQ(gain({1000, 19}, {500, 19}), gain({1000, 19}, {500, 0}));
  EXPECT_LT(gain({1000, 20}, {500, 20}), gain({1000, 20}, {500, 0}));
  EXPECT_EQ(choose(loadOf(1, 1), machine).tokens, 1);
}

TEST(Launches, StayTheUsualOnesWithinDoubt) {
  MachineCosts machine = machineOf(kLaunch);
  for (LaunchCost &cost : machine.launches) {
    cost.upper *= 1.3;
    cost.median *= 1.2;
  }
  LaunchChoice choice = choose(loadOf(1, 4096), machine);
  EXPECT_EQ(choice.rounds, 16u);
  EXPECT_EQ(choice.gain, 1);
  EXPECT_GT(gainOf(choice, 32), 1);
}

TEST(Launches, AreWithinTheLimits) {
  LaunchInput few = {16, 4, /*mostRounds=*/8, /*usualRounds=*/8};
  LaunchChoice choice = choose(loadOf(1, 4096), machineOf(kLaunch), few);
  EXPECT_EQ(choice.rounds, 8u);
  EXPECT_EQ(choice.options.back().rounds, 8u);
  LaunchInput one = {16, 4, /*mostRounds=*/1, /*usualRounds=*/1};
  EXPECT_FALSE(chooseLaunch(loadOf(1, 4096), machineOf(kLaunch), one));
}

// Without a load, measured shapes count equally, and lengths are assumed.
TEST(Launches, NeedLaunchesOfSeveralNumbersOfRounds) {
  EXPECT_TRUE(choose(Profile(), machineOf(kLaunch)).isAssumed);
  EXPECT_FALSE(chooseLaunch(loadOf(1, 64), MachineCosts(), kInput));
  MachineCosts machine;
  machine.launches = {costOf(1, 1, 1e-3)};
  EXPECT_FALSE(chooseLaunch(loadOf(1, 64), machine, kInput));
  machine.launches = {costOf(1, 8, 1e-3)};
  EXPECT_FALSE(chooseLaunch(loadOf(1, 64), machine, kInput));
  // A launch of one round and one of eight are a line.
  machine.launches = {costOf(1, 1, 2e-3), costOf(1, 8, 9e-3)};
  EXPECT_TRUE(chooseLaunch(loadOf(1, 64), machine, kInput));
  // Longer launches that take less time do not.
  machine.launches = {costOf(1, 2, 9e-3), costOf(1, 8, 2e-3)};
  EXPECT_FALSE(chooseLaunch(loadOf(1, 64), machine, kInput));
}

TEST(Launches, AreDescribed) {
  Profile profile = loadOf(1, 4096);
  MachineCosts machine = machineOf(kLaunch);
  auto choice = launchOf(profile, machine);
  ASSERT_TRUE(choice);
  std::string text = launchText(*choice);
  EXPECT_EQ(text.find("rounds per launch  32, 1.00"), 0u) << text;
  EXPECT_NE(text.find(" times the rate of 16 (predicted), 6144 tokens of "
                      "output\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("rounds per launch  1  "), std::string::npos) << text;
}
