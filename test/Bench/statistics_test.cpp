//===- statistics_test.cpp - The arithmetic of a measurement --------------===//

#include "tools/mtp-bench/measure/Statistics.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::bench;

TEST(Statistics, TheMiddleAndTheQuartiles) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
  Summary s = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(s.median, 3);
  EXPECT_EQ(s.lower, 2);
  EXPECT_EQ(s.upper, 4);
  EXPECT_EQ(summarize({7}).upper, 7);
}

TEST(Statistics, ARatioIsThatOfOneTurn) {
  // The machine was three times slower in the second turn; the ratio was not.
  EXPECT_EQ(ratioOf({2, 6, 2}, {1, 3, 1}, Estimate::Median), 2);
  EXPECT_EQ(ratioOf({2, 6}, {1, 2}, Estimate::Median), 2.5);
  // Some turns were slow in one, some in the other.
  EXPECT_EQ(ratioOf({9, 2, 8}, {1, 7, 5}, Estimate::Fastest), 2);
}

TEST(Statistics, TheFastestHasComeAgainWhereThreeAgree) {
  EXPECT_FALSE(hasComeAgain({}));
  EXPECT_FALSE(hasComeAgain({1, 1}));
  EXPECT_TRUE(hasComeAgain({1, 1, 1}));
  EXPECT_TRUE(hasComeAgain({9, 1.019, 5, 1, 1.01}));
  EXPECT_FALSE(hasComeAgain({9, 1.021, 5, 1, 1.01}));
  // Agreement of slow runs proves nothing.
  EXPECT_FALSE(hasComeAgain({1, 2, 2, 2}));
}

TEST(Statistics, RatesAreSharesThatDoNotRise) {
  EXPECT_TRUE(checkRates({}).isOk());
  EXPECT_TRUE(checkRates({1, 0.5, 0.5, 0}).isOk());
  for (const std::vector<double> &wrong :
       {std::vector<double>{1.1}, {-0.1}, {0.5, 0.6}, {std::nan("")}})
    EXPECT_FALSE(checkRates(wrong).isOk());
  EXPECT_EQ(checkRates({0.5, 0.75}).message(),
            "--acceptance: expected 0 to 0.500000 for draft 2 (a draft stays "
            "only where the one before it does), got 0.750000");
}

TEST(Statistics, TokensOfARound) {
  std::vector<double> rates = {0.75, 0.5, 0.25};
  EXPECT_EQ(acceptanceLength(rates, 0), 1);
  EXPECT_EQ(acceptanceLength(rates, 2), 2.25);
  EXPECT_EQ(acceptanceLength(rates, 3), 2.5);
  // Drafts without a rate are not accepted.
  EXPECT_EQ(acceptanceLength(rates, 9), 2.5);
}

TEST(Statistics, EveryDraftIsAcceptedAtItsRate) {
  std::vector<double> rates = {0.75, 0.5, 0.25};
  const uint32_t k = 4, draws = 1000;
  std::vector<uint32_t> counts(k, 0);
  double tokens = 0;
  for (uint32_t i = 0; i < draws; ++i) {
    uint32_t accepted = acceptedDrafts(rates, k, i / double(draws));
    for (uint32_t draft = 0; draft < accepted; ++draft)
      ++counts[draft];
    tokens += 1 + accepted;
  }
  EXPECT_EQ(counts, (std::vector<uint32_t>{750, 500, 250, 0}));
  EXPECT_EQ(tokens / draws, acceptanceLength(rates, k));
  EXPECT_EQ(acceptedDrafts(rates, 1, 0.0), 1u);
  EXPECT_EQ(acceptedDrafts({}, 3, 0.0), 0u);
}

TEST(Statistics, TheLimitIsWhatTakesLonger) {
  Rates rates;
  rates.bytes = 100;
  rates.ops = {10, 20, 0, 0};
  Work work;
  work.weightBytes = 300;
  work.kvBytes = 100;
  work.ops = 10;
  EXPECT_EQ(limitSeconds(work, rates), 4);
  work.ops = 100;
  EXPECT_EQ(limitSeconds(work, rates), 10);
  work.type = Arithmetic::BF16;
  EXPECT_EQ(limitSeconds(work, rates), 5);
  // Without an instruction for it, int8 is multiplied as f32, and int4 as int8.
  work.type = Arithmetic::I8;
  EXPECT_EQ(limitSeconds(work, rates), 10);
  work.type = Arithmetic::I4;
  EXPECT_EQ(limitSeconds(work, rates), 10);
  rates.ops = {10, 20, 20, 0};
  EXPECT_EQ(limitSeconds(work, rates), 5);
  rates.ops = {10, 20, 20, 25};
  EXPECT_EQ(limitSeconds(work, rates), 4);
}

static MachineRates steady(double bytes) {
  MachineRates rates;
  rates.upper.bytes = rates.middle.bytes = bytes;
  rates.upper.ops = rates.middle.ops = {10, 20, 0, 0};
  rates.fastest = rates.upper;
  return rates;
}

TEST(Statistics, KnowsAMachineThatIsNotSteady) {
  EXPECT_FALSE(isNoisy({}, Estimate::Median));
  EXPECT_FALSE(
      isNoisy({steady(100), steady(70), steady(95)}, Estimate::Median));
  EXPECT_TRUE(
      isNoisy({steady(100), steady(100), steady(85)}, Estimate::Median));
  EXPECT_TRUE(isNoisy({steady(85), steady(100)}, Estimate::Median));
  MachineRates slower = steady(100);
  slower.upper.ops[1] = slower.middle.ops[1] = 15;
  EXPECT_TRUE(isNoisy({steady(100), slower}, Estimate::Median));
  // The rates are steady but shared: most tries were far from the best.
  MachineRates shared = steady(100);
  shared.middle.bytes = 60;
  EXPECT_TRUE(isNoisy({shared, shared, shared}, Estimate::Median));
}

TEST(Statistics, LimitsComeFromAllTurns) {
  std::vector<MachineRates> turns = {steady(10), steady(30), steady(20)};
  EXPECT_EQ(ratesOf(turns, Estimate::Median).bytes, 20);
  EXPECT_EQ(ratesOf(turns, Estimate::Fastest).bytes, 30);
  EXPECT_EQ(ratesOf({steady(10)}, Estimate::Median).ops[1], 20);
}

TEST(Statistics, OneRunStandsForATurn) {
  EXPECT_EQ(estimateSeconds({5, 2, 9}, Estimate::Median), 5);
  EXPECT_EQ(estimateSeconds({5, 2, 9}, Estimate::Fastest), 2);
  EXPECT_TRUE(std::isnan(estimateSeconds({}, Estimate::Fastest)));
  EXPECT_EQ(summarize({5, 2, 9, 1}).most, 9);
  EXPECT_STREQ(nameOf(Estimate::Median), "median");
  EXPECT_STREQ(nameOf(Estimate::Fastest), "fastest");
}

/// Returns rates of which most tries were far from the fastest.
static MachineRates stolen(double fastest) {
  MachineRates rates = steady(10);
  rates.middle.bytes = 5;
  rates.fastest.bytes = fastest;
  return rates;
}

TEST(Statistics, TheFastestRunIsHeldAgainstTheFastestTries) {
  std::vector<MachineRates> measured = {stolen(100), stolen(96), stolen(102),
                                        stolen(20), stolen(100)};
  EXPECT_EQ(ratesOf(measured, Estimate::Fastest).bytes, 102);
  EXPECT_EQ(ratesOf(measured, Estimate::Median).bytes, 10);
  EXPECT_EQ(measured[1].best(Estimate::Fastest).bytes, 96);
  EXPECT_EQ(measured[1].best(Estimate::Median).bytes, 10);
  // Slow tries in the median, or in one turn, do not matter.
  EXPECT_TRUE(isNoisy(measured, Estimate::Median));
  EXPECT_FALSE(isNoisy(measured, Estimate::Fastest));
  // But the fastest must come again.
  EXPECT_TRUE(isNoisy({stolen(100), stolen(50), stolen(60), stolen(98)},
                      Estimate::Fastest));
  EXPECT_TRUE(isNoisy({stolen(100), stolen(100)}, Estimate::Fastest));
  EXPECT_FALSE(isNoisy({stolen(100), stolen(91), stolen(91), stolen(20)},
                       Estimate::Fastest));
}

TEST(Statistics, ExpertsThatRowsChoose) {
  EXPECT_EQ(expectedExperts(8, 2, 1), 2);
  // The second row finds 2 of 8 taken.
  EXPECT_EQ(expectedExperts(8, 2, 2), 3.5);
  EXPECT_NEAR(expectedExperts(8, 2, 1000), 8, 1e-9);
  EXPECT_EQ(expectedExperts(4, 4, 3), 4);
}
