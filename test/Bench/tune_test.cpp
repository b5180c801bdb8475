//===- tune_test.cpp - What a profile decides -----------------------------===//

#include "test/Runtime/support/FakeModel.h"
#include "tools/mtp-tune/Measure.h"
#include "tools/mtp-tune/Report.h"
#include "tools/mtp-tune/compare/Compare.h"
#include "tools/mtp-tune/simulate/MachineFile.h"
#include "tools/support/DrafterCheck.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::tune;

namespace {

profile::Cost costOf(uint32_t batch, uint32_t k, double median) {
  profile::Cost cost;
  cost.batch = batch;
  cost.k = k;
  cost.rows = batch * (k + 1);
  cost.positions = uint64_t(batch) * 200;
  cost.lower = median * 0.98;
  cost.median = median;
  cost.upper = median * 1.02;
  cost.count = 24;
  return cost;
}

/// Drafts pay with one slot, and not with eight.
profile::Profile someProfile() {
  profile::Profile profile;
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 600, 10};
  profile.outcomes[0].accepted = {600, 300, 5};
  profile.machines.resize(1);
  profile.machines[0].name = "a processor";
  profile.machines[0].costs = {costOf(1, 0, 0.010), costOf(1, 1, 0.011),
                               costOf(1, 2, 0.016), costOf(8, 0, 0.020),
                               costOf(8, 1, 0.035), costOf(8, 2, 0.050)};
  return profile;
}

profile::Outcomes outcomesOf(std::vector<uint64_t> tried,
                             std::vector<uint64_t> accepted) {
  profile::Outcomes outcomes;
  outcomes.tried = std::move(tried);
  outcomes.accepted = std::move(accepted);
  return outcomes;
}

} // namespace

// The check of the drafter has fewer slots than the sizes of a server.
TEST(Tune, ChecksTheDrafterBesideCaptureSizes) {
  test::FakeOptions fake;
  fake.hasLimit = true;
  std::shared_ptr<const Model> model = test::loadFakeModel(fake);
  SessionOptions options;
  options.threads = 1;
  options.captureSizes = {1, 4};
  auto outcomes = measureOutcomes(model, options, {{3, 1, 4}, {1, 5}}, 12);
  ASSERT_TRUE(outcomes.isOk()) << outcomes.status().toString();
  EXPECT_GT(outcomes->tried[0], 0u);
}

TEST(Tune, MeasuresPaddingForSizes) {
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/false, 4), 0u);
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/true, 1), 0u);
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/true, 3), 0u);
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/true, 8), 4u);
  EXPECT_EQ(paddedSlots({1, 4}, /*hasGraphs=*/false, 4), 2u);
  EXPECT_EQ(paddedSlots({4, 3}, /*hasGraphs=*/true, 4), 0u);
  EXPECT_EQ(paddedSlots({2, 8}, /*hasGraphs=*/true, 4), 0u);
}

// Rounds with padding are no alternatives of rounds of all slots.
TEST(Tune, DecidesWithoutRoundsWithPadding) {
  profile::Profile profile = someProfile();
  std::string before = reportText(profile);
  profile::Cost padded = costOf(1, 2, 0.001);
  padded.padding = 7;
  profile.machines[0].costs.push_back(padded);
  EXPECT_EQ(reportText(profile), before);
}

TEST(Tune, DecidesByTokensPerSecond) {
  profile::Profile profile = someProfile();
  std::vector<Decision> decisions = decide(profile, profile.machines[0]);
  ASSERT_EQ(decisions.size(), 2u);
  const Decision &one = decisions[0], &eight = decisions[1];
  EXPECT_EQ(one.batch, 1u);
  EXPECT_EQ(one.context, 7u);
  EXPECT_EQ(one.alternatives[one.best].k, 1u);
  EXPECT_NEAR(one.alternatives[1].length, 1.6, 1e-12);
  EXPECT_NEAR(one.alternatives[1].gain, 1.6 / 1.1, 1e-12);
  // The default is the largest k.
  EXPECT_NEAR(one.gain, (1.6 / 0.011) / (1.9 / 0.016), 1e-9);
  EXPECT_GT(one.doubt, 0);
  EXPECT_LT(one.doubt, 0.1);
  EXPECT_EQ(eight.alternatives[eight.best].k, 0u);
  std::string text = reportText(profile);
  EXPECT_NE(text.find("slots 8, context 128..: k = 0"), std::string::npos)
      << text;
}

TEST(Tune, LeavesOutPositionsWithFewOutcomes) {
  profile::Profile profile = someProfile();
  EXPECT_FALSE(acceptanceLength(profile.outcomes[0], 3).has_value());
  profile.machines[0].costs.push_back(costOf(1, 3, 0.001));
  std::vector<Decision> decisions = decide(profile, profile.machines[0]);
  EXPECT_EQ(decisions[0].alternatives.size(), 3u);
  // A shape without a plain step has nothing to compare with.
  profile.machines[0].costs.erase(profile.machines[0].costs.begin());
  EXPECT_EQ(decide(profile, profile.machines[0]).size(), 1u);
}

TEST(Tune, MeasuresSlotsUpToTheLargest) {
  EXPECT_EQ(batchesUpTo(1), (std::vector<uint32_t>{1}));
  EXPECT_EQ(batchesUpTo(4), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(batchesUpTo(20),
            (std::vector<uint32_t>{1, 2, 3, 4, 6, 8, 12, 16, 20}));
  EXPECT_EQ(contextsUpTo(1024), (std::vector<uint32_t>{32, 640}));
  EXPECT_EQ(contextsUpTo(1 << 20), (std::vector<uint32_t>{32, 2048}));
}

TEST(Tune, NoticesADisturbedMachine) {
  profile::Profile profile = someProfile();
  EXPECT_FALSE(isDisturbed(profile.machines[0]));
  profile.machines[0].costs[0].upper *= 2;
  EXPECT_FALSE(isDisturbed(profile.machines[0]));
  profile.machines[0].costs[3].upper *= 2;
  EXPECT_TRUE(isDisturbed(profile.machines[0]));
}

TEST(Tune, ComparesADrafterWithNoise) {
  profile::Outcomes expected = outcomesOf({400, 240}, {240, 120});
  EXPECT_EQ(compareOutcomes(expected, expected), "");
  // A little less is noise; better drafts are no reason to warn.
  EXPECT_EQ(compareOutcomes(expected, outcomesOf({200, 112}, {112, 54})), "");
  EXPECT_EQ(compareOutcomes(expected, outcomesOf({200, 190}, {190, 180})), "");
  // A drafter without its weights.
  std::string text = compareOutcomes(expected, outcomesOf({400, 8}, {8, 1}));
  EXPECT_EQ(text.find("expected 0.90 accepted drafts per round as in the "
                      "profile, got 0.02 in 400 rounds"),
            0u)
      << text;
  // One that finds two thirds of the drafts.
  EXPECT_NE(compareOutcomes(expected, outcomesOf({400, 170}, {170, 70})), "");
  // A few rounds show nothing.
  EXPECT_EQ(compareOutcomes(expected, outcomesOf({19, 0}, {0, 0})), "");
}

TEST(Tune, IntervalsOfGeometricMeans) {
  // Logarithms 0, 1 and 2: mean 1, deviation 1, Student's 4.303 for two degrees
  // of freedom.
  Interval three = geometricMean({1, std::exp(1.0), std::exp(2.0)});
  EXPECT_NEAR(three.mean, std::exp(1.0), 1e-9);
  EXPECT_NEAR(std::log(three.upper), 1 + 4.303 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log(three.lower), 1 - 4.303 / std::sqrt(3.0), 1e-9);
  Interval one = geometricMean({5});
  EXPECT_NEAR(one.lower, 5, 1e-9);
  EXPECT_NEAR(one.upper, 5, 1e-9);
}

TEST(Tune, AcceptanceOfAllRounds) {
  std::vector<double> shares = acceptanceOf(someProfile());
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_NEAR(shares[0], 0.6, 1e-12);
  EXPECT_NEAR(shares[1], 0.3, 1e-12);
}

TEST(Tune, ReadsMachines) {
  Result<Machine> machine = parseMachine(
      R"({"name": "A", "kind": "cpu", "bytes_per_second": 2e10,
          "operations_per_second": {"int8": 4e11},
          "seconds_per_command": {"product": 1e-6, "other": 2e-6},
          "seconds_per_round": 1e-5, "sources": {"name": "a test"}})");
  ASSERT_TRUE(machine) << machine.status().message();
  EXPECT_FALSE(machine->isGpu);
  EXPECT_EQ(machine->rates.bytes, 2e10);
  EXPECT_EQ(machine->rates.peak(bench::Arithmetic::I4), 4e11);
  EXPECT_EQ(machine->productSeconds, 1e-6);
  EXPECT_EQ(machine->attentionSeconds, 0);
  EXPECT_EQ(machine->otherSeconds, 2e-6);
  EXPECT_EQ(machine->roundSeconds, 1e-5);
}
