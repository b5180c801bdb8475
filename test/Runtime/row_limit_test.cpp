//===- row_limit_test.cpp - Limits on verified rows from profiles ---------===//

#include "runtime/profile/RowLimit.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

/// A chain of three drafts whose last one is seldom accepted, in rounds of four
/// slots.
Profile chainProfile(uint64_t third) {
  Profile profile;
  profile.model.drafter = "mtp";
  profile.outcomes.push_back({false, 5, {1000, 800, 560}, {800, 560, third}});
  profile.load.slots = {0, 0, 100};
  return profile;
}

const std::vector<Path> kChain = {{0}, {0, 0}, {0, 0, 0}};

/// A machine where a pass over `rows` rows takes `seconds(rows)`, and a
/// drafter's pass 0.3 ms.
MachineCosts machineOf(const std::vector<uint32_t> &batches,
                       double (*seconds)(uint32_t rows)) {
  MachineCosts machine;
  machine.name = "a processor";
  for (uint32_t batch : batches)
    for (uint32_t k = 0; k <= 3; ++k) {
      Cost cost;
      cost.batch = batch;
      cost.k = k;
      cost.rows = batch * (k + 1);
      cost.median = seconds(cost.rows) + k * 3e-4;
      cost.lower = cost.upper = cost.median;
      cost.count = 30;
      machine.costs.push_back(cost);
    }
  return machine;
}

/// 5 ms, and 0.2 ms for each row after the first.
double evenRows(uint32_t rows) { return 5e-3 + 2e-4 * (rows - 1); }
/// Rows beyond 13 are dear.
double dearRows(uint32_t rows) { return rows <= 13 ? 5e-3 : 9e-3; }

TEST(RowLimit, LeavesOutDraftsThatDoNotPay) {
  Result<RowLimit> limit =
      chooseRowLimit(chainProfile(11), machineOf({1, 2, 4}, evenRows), kChain,
                     /*slots=*/4);
  ASSERT_TRUE(limit) << limit.status().message();
  // Two drafts of each slot, of the three.
  EXPECT_EQ(limit->rows, 12u);
  EXPECT_EQ(limit->allRows, 16u);
  double two = 1 + 0.8 + 0.56, three = two + 0.011;
  double all = evenRows(16) + 9e-4, few = evenRows(12) + 9e-4;
  EXPECT_NEAR(limit->gain, (two / few) / (three / all), 1e-3);
  EXPECT_EQ(rowLimitText(*limit),
            "verified rows: at most 12 of 16, 1.09 of the tokens per second "
            "without a limit (--max-verify-tokens=profile)\n");
}

// One slot has the thirteenth row, and three slots have three rows.
TEST(RowLimit, SharesRowsAsRoundsDo) {
  Result<RowLimit> limit = chooseRowLimit(
      chainProfile(500), machineOf({1, 13, 16}, dearRows), kChain, /*slots=*/4);
  ASSERT_TRUE(limit) << limit.status().message();
  EXPECT_EQ(limit->rows, 13u);
  double tokens = 1 + 0.8 + 0.56 + 0.5 / 4, all = 1 + 0.8 + 0.56 + 0.5;
  EXPECT_NEAR(limit->gain, (tokens / 5.9e-3) / (all / 9.9e-3), 1e-3);
  // A third draft that is never accepted: limits of 12 and 13 rows are equal.
  limit = chooseRowLimit(chainProfile(0), machineOf({1, 13, 16}, dearRows),
                         kChain, /*slots=*/4);
  EXPECT_EQ(limit->rows, 13u);
}

TEST(RowLimit, NoneIfAllDraftsPay) {
  Result<RowLimit> limit =
      chooseRowLimit(chainProfile(500), machineOf({1, 2, 4}, evenRows), kChain,
                     /*slots=*/4);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->rows, 0u);
  EXPECT_EQ(rowLimitText(*limit), "verified rows: all 16; no limit pays\n");
  // A limit has a row for each slot, so it never trims the rounds of one slot.
  Profile alone = chainProfile(11);
  alone.load.slots = {100};
  MachineCosts machine = machineOf({1, 2, 4}, evenRows);
  EXPECT_EQ(chooseRowLimit(alone, machine, kChain, 4)->rows, 0u);
  EXPECT_EQ(chooseRowLimit(alone, machine, kChain, 1)->rows, 3u);
  EXPECT_EQ(chooseRowLimit(alone, machine, {}, 1)->rows, 0u);
}

TEST(RowLimit, ErrorsTellWhatIsMissing) {
  MachineCosts machine = machineOf({1, 2, 4}, evenRows);
  Profile profile;
  profile.model.drafter = "mtp";
  EXPECT_NE(chooseRowLimit(profile, machine, kChain, 4)
                .status()
                .message()
                .find("outcomes.tried: expected at least 20 of draft 1, got 0"),
            std::string::npos);
  EXPECT_NE(chooseRowLimit(chainProfile(11), {}, kChain, 4)
                .status()
                .message()
                .find("machines.costs: expected plain steps"),
            std::string::npos);
}

} // namespace
