//===- threshold_choice_test.cpp - Where profiles end drafts --------------===//

#include "runtime/profile/ThresholdChoice.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

/// A chain of up to four drafts. Half of the drafts are sure and accepted; of
/// the others, `unsure` of 1000 are.
Profile chainProfile(uint64_t unsure, uint64_t scale = 1) {
  Profile profile;
  profile.model.drafter = "hass:chain:confidence";
  profile.confidence.tried[1] = 1000 * scale;
  profile.confidence.accepted[1] = unsure * scale;
  profile.confidence.tried[14] = 1000 * scale;
  profile.confidence.accepted[14] = 950 * scale;
  Outcomes &all = profile.outcomes.emplace_back();
  all.tried.assign(4, 2000);
  all.accepted.assign(4, 950 + unsure);
  return profile;
}

/// A machine where a row takes `row` and a pass of the drafter `draft`, in
/// times of a plain step's. One pass makes all drafts of a block.
MachineCosts machineOf(double row, double draft, bool isBlock = false) {
  MachineCosts machine;
  machine.name = "a processor";
  for (uint32_t batch : {1, 2, 4})
    for (uint32_t k = 0; k <= 4; ++k) {
      Cost cost;
      cost.batch = batch;
      cost.k = k;
      cost.rows = batch * (k + 1);
      cost.positions = uint64_t(batch) * 100;
      uint32_t passes = isBlock ? std::min(k, 1u) : k;
      cost.median = 1e-3 * (1 + row * (cost.rows - 1) + passes * draft);
      cost.lower = cost.upper = cost.median;
      cost.count = 30;
      machine.costs.push_back(cost);
    }
  return machine;
}

std::string messageOf(const Profile &profile) {
  return std::string(
      chooseThreshold(profile, machineOf(0.1, 0.1), {}).status().message());
}

TEST(ThresholdChoice, DearRowsEndUnsureChains) {
  auto report = chooseThreshold(chainProfile(50), machineOf(0.2, 0.2), {});
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_TRUE(report->pays());
  // Between the two confidences, and deeper than without a threshold.
  EXPECT_GT(report->best.least, 1.0 / 16);
  EXPECT_LE(report->best.least, 14.0 / 16);
  EXPECT_EQ(report->usual.least, 0);
  EXPECT_GT(report->gain, 1.05);
  EXPECT_LT(report->doubt, 0.05);
  EXPECT_NE(thresholdText(*report).find("confidence: a threshold pays: "),
            std::string::npos);
}

// With k drafts, of which each is sure with probability 1/2, a chain has
// 1/2 + 1/4 + .. drafts, and one pass more than drafts that were kept.
TEST(ThresholdChoice, CountsTokensDraftsAndTime) {
  // Drafts of the threshold's own confidence stay.
  for (double usual : {0.5, 14.0 / 16}) {
    auto report = chooseThreshold(chainProfile(50), machineOf(0.2, 0.3),
                                  {.leastK = 3, .mostK = 3, .usual = usual});
    ASSERT_TRUE(report) << report.status().message();
    double a = 0.5 * 950 / 1000;
    EXPECT_EQ(report->usual.k, 3u);
    EXPECT_NEAR(report->usual.tokens, 1 + a + a * a + a * a * a, 1e-9);
    EXPECT_NEAR(report->usual.drafts, 0.5 + 0.25 + 0.125, 1e-9);
    EXPECT_NEAR(report->usual.seconds * 1e3,
                1 + 0.2 * 0.875 + 0.3 * (1 + 0.5 + 0.25), 1e-3);
  }
}

TEST(ThresholdChoice, DraftsAsManyAsTheLimitIfTheyCostLittle) {
  auto report = chooseThreshold(chainProfile(950), machineOf(0, 0.01),
                                {.leastK = 1, .mostK = 3});
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_EQ(report->usual.k, 3u);
  EXPECT_EQ(report->best.k, 3u);
}

// A pass runs if any of the slots wants it, and the load weighs the slots.
TEST(ThresholdChoice, CountsTheSlotsOfALoad) {
  Profile profile = chainProfile(50);
  profile.load.slots = {0, 0, 100};
  auto report = chooseThreshold(profile, machineOf(0.2, 0.3),
                                {.leastK = 2, .mostK = 2, .usual = 0.5});
  ASSERT_TRUE(report) << report.status().message();
  double a = 0.5 * 950 / 1000, passes = 1 + (1 - 1.0 / 16);
  double time = 1 + 0.2 * (4 * 1.75 - 1) + 0.3 * passes;
  EXPECT_NEAR(report->usual.gain, (1 + a + a * a) * (1 + 0.2 * 3) / time, 1e-3);
}

// Outcomes by position may be of more texts than outcomes by confidence.
TEST(ThresholdChoice, ScalesRatesByPositionToThoseByConfidence) {
  Profile profile = chainProfile(50);
  ThresholdLimits limits{.leastK = 1, .mostK = 1, .usual = 0.5};
  auto tokens = [&](uint64_t accepted) {
    profile.outcomes[0].accepted.assign(4, accepted);
    auto report = chooseThreshold(profile, machineOf(0.2, 0.3), limits);
    EXPECT_TRUE(report) << report.status().message();
    return report ? report->usual.tokens : 0;
  };
  EXPECT_NEAR(tokens(1000), 1 + 0.5 * 0.95, 1e-9);
  EXPECT_NEAR(tokens(500), 1 + 0.5 * 0.95, 1e-9);
  // No draft is accepted more often than always.
  profile.outcomes[0].tried = {2000, 2000, 20'000, 20'000};
  limits.leastK = limits.mostK = 2;
  EXPECT_NEAR(tokens(2000), 1 + 0.95 + 0.95 * 0.95, 1e-9);
}

TEST(ThresholdChoice, PaysFromOnePercentAndTwoDeviationsOn) {
  ThresholdReport report;
  report.gain = 1.009;
  EXPECT_FALSE(report.pays());
  report.gain = 1.011;
  EXPECT_TRUE(report.pays());
  report.doubt = 0.006;
  EXPECT_FALSE(report.pays());
}

TEST(ThresholdChoice, NothingIsGainedWithoutCosts) {
  auto report = chooseThreshold(chainProfile(50), machineOf(0, 0), {});
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_FALSE(report->pays());
  EXPECT_EQ(report->best.least, 0);
  EXPECT_EQ(report->gain, 1);
  EXPECT_NE(thresholdText(*report).find("no other threshold pays"),
            std::string::npos);
}

// If unsure drafts are accepted as often as others, none should end.
TEST(ThresholdChoice, AConfidenceThatTellsNothingIsNotUsed) {
  auto report = chooseThreshold(chainProfile(950), machineOf(0.1, 0.1), {});
  ASSERT_TRUE(report) << report.status().message();
  EXPECT_FALSE(report->pays());
}

TEST(ThresholdChoice, FewOutcomesAreNoise) {
  Profile profile = chainProfile(400);
  MachineCosts machine = machineOf(0.26, 0.2);
  auto many = chooseThreshold(profile, machine, {.leastK = 2, .mostK = 2});
  for (auto *counts : {&profile.confidence.tried, &profile.confidence.accepted})
    for (uint64_t &count : *counts)
      count /= 16;
  auto few = chooseThreshold(profile, machine, {.leastK = 2, .mostK = 2});
  ASSERT_TRUE(many && few);
  EXPECT_NEAR(few->doubt, 4 * many->doubt, many->doubt);
  EXPECT_TRUE(many->pays()) << thresholdText(*many);
  EXPECT_FALSE(few->pays()) << thresholdText(*few);
}

// A block is drafted in one pass, so its end saves rows only.
TEST(ThresholdChoice, ABlockSavesNoPasses) {
  Profile profile = chainProfile(50);
  profile.model.drafter = "dspark:chain:confidence";
  auto block = chooseThreshold(profile, machineOf(0.2, 0.3, /*isBlock=*/true),
                               {.leastK = 3, .mostK = 3, .usual = 0.5});
  ASSERT_TRUE(block) << block.status().message();
  EXPECT_NEAR(block->usual.drafts, 0.875, 1e-9);
  EXPECT_NEAR(block->usual.seconds * 1e3, 1 + 0.2 * 0.875 + 0.3, 1e-2);
}

TEST(ThresholdChoice, ErrorsTellWhatIsMissing) {
  Profile profile = chainProfile(50);
  profile.confidence = {};
  EXPECT_EQ(messageOf(profile),
            "confidence_tried: expected at least 100 drafts of "
            "'hass:chain:confidence', got 0; import with --confidence=0.5 or "
            "any other number, compile, and measure with mtp-tune");
  profile.confidence.tried[3] = 99;
  EXPECT_EQ(messageOf(profile).find(
                "confidence_tried: expected at least 100 drafts of "
                "'hass:chain:confidence', got 99; "),
            0u);
  profile = chainProfile(50);
  profile.outcomes.clear();
  EXPECT_EQ(messageOf(profile),
            "outcomes.tried: expected at least 20 of draft 1, got 0; measure a "
            "model that drafts with mtp-tune");
}

} // namespace
