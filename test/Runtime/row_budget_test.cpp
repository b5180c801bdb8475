//===- row_budget_test.cpp - Shares of a round's rows ---------------------===//

#include "runtime/exec/schedule/RowBudget.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using Rows = std::vector<uint32_t>;

TEST(RowBudget, GivesAllThatIsWantedWhereThereIsRoom) {
  EXPECT_EQ(trimRows(Rows{5, 1, 3}, 9), (Rows{5, 1, 3}));
  EXPECT_EQ(trimRows(Rows{5, 1, 3}, 1000), (Rows{5, 1, 3}));
  EXPECT_EQ(trimRows(Rows{}, 4), Rows{});
}

TEST(RowBudget, TrimsWhoWantsMost) {
  // Five rows for each slot that wants more, and the remainder to the first.
  EXPECT_EQ(trimRows(Rows{64, 2, 64, 5, 64}, 23), (Rows{6, 2, 5, 5, 5}));
  EXPECT_EQ(trimRows(Rows{1, 64}, 20), (Rows{1, 19}));
  EXPECT_EQ(trimRows(Rows{8, 8, 8}, 11), (Rows{4, 4, 3}));
}

TEST(RowBudget, LeavesEachSlotItsAnchor) {
  EXPECT_EQ(trimRows(Rows{64, 64, 64}, 3), (Rows{1, 1, 1}));
}

TEST(RowBudget, HasAsManyRowsAsItMay) {
  for (uint32_t budget = 4; budget < 90; ++budget) {
    Rows shares = trimRows(Rows{26, 1, 40, 7}, budget);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0u),
              std::min(budget, 74u));
  }
}
