//===- round_cost_test.cpp - The cost model of rounds ---------------------===//

#include "support/RecordedRounds.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mtp;
using namespace mtp::test;

// If one more draft makes rounds much longer, all shapes suggest that rows are
// expensive. A shape that takes hardly longer than a step shows that its own
// rows are not, and its rounds with fewer rows show it, too.
TEST(RoundCostModel, TellsWhatRowsCostInAShape) {
  const Recorded recorded = at("", 4, 90, {1.13, 1.70, 1.94, 2.48});
  std::mt19937_64 random(7);
  std::normal_distribution<> normal(1, 0.03);
  RoundCostModel cost;
  auto add = [&](uint32_t k, uint32_t rows) {
    RoundCostModel::Work work{4, k, rows, 400};
    cost.add(work, recorded.seconds(work, 0) * std::max(normal(random), 0.9));
  };
  for (int round = 0; round < 10; ++round)
    for (uint32_t k : {0, 1, 2, 3})
      add(k, 4 * (k + 1));
  RoundCostModel::Work full{4, 1, 8, 400}, few{4, 1, 4, 400};
  double row = (recorded.seconds(full, 0) - recorded.seconds(few, 0)) / 4;
  EXPECT_LT(cost.secondsOfRow(full) / row, 1.8);
  for (int round = 0; round < 40; ++round)
    add(1, round % 2 ? 8 : 4);
  EXPECT_LT(cost.secondsOfRow(full) / row, 1.6);
  EXPECT_NEAR(cost.seconds(few) / recorded.seconds(few, 0), 1, 0.03);
}

// The time of a round with drafts after a long text is predicted from rounds
// without drafts. The extra time is proportional to the extra positions; it is
// not a factor.
TEST(RoundCostModel, TellsWhatPositionsCost) {
  const Recorded &recorded = kRecorded[4]; // 16 slots of the bundled model
  for (bool grows : {true, false}) {
    std::mt19937_64 random(7);
    std::normal_distribution<> normal(1, 0.03);
    RoundCostModel cost;
    auto add = [&](uint32_t k, uint64_t tokens) {
      RoundCostModel::Work work{16, k, 16 * (k + 1), 16 * tokens};
      cost.add(work, recorded.full(k, grows ? double(tokens) : 0) *
                         std::max(normal(random), 0.9));
    };
    for (uint64_t tokens = 0; tokens < 20; tokens += 2)
      add(1, tokens);
    for (uint64_t tokens = 20; tokens < 900; ++tokens)
      add(0, tokens);
    double told = cost.seconds({16, 1, 32, 16 * 900});
    EXPECT_NEAR(told / recorded.full(1, grows ? 900 : 0), 1, 0.15) << grows;
    // Measured rounds decide.
    told = cost.seconds({16, 0, 16, 16 * 900});
    EXPECT_NEAR(told / recorded.full(0, grows ? 900 : 0), 1, 0.05) << grows;
  }
}

// Attention makes long contexts expensive. That must not make short ones look
// cheap, at which sessions begin.
TEST(RoundCostModel, KeepsTheTimesOfAProfileByContextAndRows) {
  const Recorded &recorded = kRecorded[7]; // 4 slots of SmolLM2
  auto seconds = [&](const RoundCostModel::Work &work) {
    double tokens = double(work.positions) / work.batch;
    return recorded.seconds(work, tokens) *
           (1 + 0.001 * std::max(tokens - 300, 0.0));
  };
  auto workOf = [](uint32_t k, uint32_t drafting, uint64_t tokens) {
    return RoundCostModel::Work{4, k, 4 + drafting * k, 4 * tokens};
  };
  std::vector<RoundCostModel::Measured> measured;
  for (uint64_t tokens : {40, 120, 300, 640})
    for (uint32_t k = 0; k <= kMaxK; ++k)
      for (uint32_t drafting : {4, 2})
        if (k > 0 || drafting == 4) {
          RoundCostModel::Work work = workOf(k, drafting, tokens);
          measured.push_back({work, seconds(work)});
        }
  RoundCostModel cost;
  cost.begin(measured);
  for (uint64_t tokens : {20, 40, 80, 300, 640})
    for (uint32_t k = 0; k <= kMaxK; ++k)
      for (uint32_t drafting : {4, 1}) {
        RoundCostModel::Work work = workOf(k, drafting, tokens);
        EXPECT_NEAR(cost.seconds(work) / seconds(work), 1, 0.05)
            << "k = " << k << ", rows " << work.rows << ", tokens " << tokens;
      }
}

// Without rounds of fewer rows, the rows of one draft look as expensive as
// those that a second draft adds. A step bounds their cost.
TEST(RoundCostModel, BoundsTheCostOfRowsByAStep) {
  std::vector<RoundCostModel::Measured> measured;
  for (uint32_t k = 0; k <= kMaxK; ++k)
    measured.push_back(
        {{4, k, 4 * (k + 1), 400}, k < 2 ? 4 + 0.2 * k : 3.0 + 2 * k});
  RoundCostModel cost;
  cost.begin(measured);
  EXPECT_LT(cost.secondsOfRow({4, 1, 0, 400}), 0.06);
  EXPECT_GT(cost.seconds({4, 1, 4, 400}), 3.9);
}

// A shape with padding begins with the time of the larger shape, and then has
// its own. Other shapes keep their times.
TEST(RoundCostModel, KeepsShapesWithPaddingApart) {
  RoundCostModel cost;
  for (uint32_t batch : {2u, 4u})
    for (uint32_t k : {0u, 2u})
      for (int round = 0; round < 10; ++round)
        cost.add({batch, k, batch * (k + 1), 100 * batch},
                 1e-3 * (10 + batch * (1 + 0.5 * k)));
  RoundCostModel::Work own{2, 2, 6, 200}, larger{4, 2, 12, 400};
  RoundCostModel::Work padded{2, 2, 6, 200, /*padding=*/2};
  double ownSeconds = cost.seconds(own), largerSeconds = cost.seconds(larger);
  EXPECT_NEAR(ownSeconds, 14e-3, 3e-4);
  EXPECT_NEAR(largerSeconds, 18e-3, 3e-4);
  EXPECT_TRUE(cost.isMeasured(2, 2, 2));
  // The larger round without the rows of drafts of two slots.
  RoundCostModel::Work few{4, 2, 8, 200};
  EXPECT_NEAR(cost.seconds(padded) / cost.seconds(few), 1, 1e-3);
  EXPECT_GT(cost.seconds(padded), ownSeconds * 1.05);
  for (int round = 0; round < 30; ++round)
    cost.add(padded, 15e-3);
  EXPECT_NEAR(cost.seconds(padded), 15e-3, 3e-4);
  EXPECT_NEAR(cost.seconds(own), ownSeconds, 5e-4);
  EXPECT_NEAR(cost.seconds(larger), largerSeconds, 5e-4);
  EXPECT_FALSE(cost.isMeasured(3, 2, 2));
  EXPECT_GT(cost.doubt(3, 2, 2), cost.doubt(2, 2, 2));
}

// Measured rounds with padding are cells of their own, too.
TEST(RoundCostModel, BeginsWithMeasuredPadding) {
  RoundCostModel cost;
  std::vector<RoundCostModel::Measured> measured;
  for (uint32_t batch : {1u, 4u})
    for (uint32_t k : {0u, 1u})
      measured.push_back({{batch, k, batch * (k + 1), 100 * batch},
                          1e-3 * (10 + batch * (1 + k)),
                          9});
  measured.push_back({{2, 1, 4, 200, /*padding=*/2}, 13e-3, 9});
  cost.begin(measured);
  EXPECT_NEAR(cost.seconds({2, 1, 4, 200, 2}), 13e-3, 1e-5);
  EXPECT_NEAR(cost.seconds({4, 1, 8, 400}), 18e-3, 1e-5);
  EXPECT_TRUE(cost.isMeasured(2, 1, 2));
  EXPECT_FALSE(cost.isMeasured(2, 1));
}

// Rows that differ between contexts only tell their cost, too.
TEST(RoundCostModel, LearnsRowsFromMeasuredContexts) {
  RoundCostModel cost;
  std::vector<RoundCostModel::Measured> measured = {
      {{4, 0, 4, 400}, 4.5e-3, 9},
      {{4, 0, 4, 2000}, 4.5e-3, 9},
      {{4, 4, 20, 400}, 10e-3, 9},
      {{4, 4, 8, 2000}, 6e-3, 9}};
  cost.begin(measured);
  EXPECT_NEAR(cost.secondsOfRow({4, 4, 8, 1200}), 4e-3 / 12, 2e-5);
}
