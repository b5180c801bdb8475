//===- capture_test.cpp - The choice of graphs for rounds -----------------===//

#include "runtime/profile/CaptureChoice.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

constexpr uint32_t kSlots = 7;

/// Returns costs of rounds without and with drafts, which grow with the slots.
MachineCosts costsOf(double first, double slot) {
  MachineCosts machine;
  for (uint32_t k : {0u, 2u})
    for (uint32_t slots : {1u, kSlots}) {
      Cost cost;
      cost.batch = slots;
      cost.k = k;
      cost.rows = slots * (k + 1);
      cost.lower = cost.median = cost.upper = first + slot * cost.rows;
      cost.count = 9;
      cost.nodes = 100;
      machine.costs.push_back(cost);
    }
  return machine;
}

CaptureInput inputOf(uint64_t graphs) {
  return {kSlots, /*mostK=*/2, 100 * graphs,
          [](uint32_t, uint32_t) { return uint64_t(100); }};
}

/// Returns the mean seconds of a round with sizes, without the time to build.
double secondsOf(const CaptureSizes &sizes, const Load &load, double first,
                 double slot) {
  double sum = 0, count = 0;
  for (const auto &[shape, rounds] : load.rounds) {
    auto [slots, k] = shape;
    uint32_t rows = capturedSize(sizes, k, slots) * (k + 1);
    sum += double(rounds) * (first + slot * rows);
    count += double(rounds);
  }
  return sum / count;
}

} // namespace

TEST(Captures, OfASizeAreTheNextLarger) {
  CaptureSizes sizes = {{1, {2, 4}}};
  EXPECT_EQ(capturedSize(sizes, 1, 1), 2u);
  EXPECT_EQ(capturedSize(sizes, 1, 2), 2u);
  EXPECT_EQ(capturedSize(sizes, 1, 3), 4u);
  EXPECT_EQ(capturedSize(sizes, 1, 5), 5u);
  EXPECT_EQ(capturedSize(sizes, 0, 3), 3u);
}

TEST(Captures, AreExactIfAllFit) {
  Load load;
  for (uint32_t k : {0u, 2u})
    for (uint32_t slots = 1; slots <= kSlots; ++slots)
      load.rounds[{slots, k}] = 50;
  auto choice = chooseCaptures(costsOf(1e-3, 1e-4), load, inputOf(100));
  ASSERT_TRUE(choice);
  for (uint32_t k : {0u, 2u})
    for (uint32_t slots = 1; slots <= kSlots; ++slots)
      EXPECT_EQ(capturedSize(choice->sizes, k, slots), slots);
  EXPECT_NEAR(choice->seconds, choice->exactSeconds,
              1e-3 * choice->exactSeconds);
}

TEST(Captures, SaveTheTimeOfBuilding) {
  Load load;
  load.rounds = {{{1, 0}, 900}, {{2, 0}, 300}, {{5, 0}, 300}, {{6, 0}, 200},
                 {{1, 2}, 700}, {{2, 2}, 300}, {{3, 2}, 200}, {{7, 2}, 100}};
  auto choice = chooseCaptures(costsOf(1e-3, 1e-5), load, inputOf(5));
  ASSERT_TRUE(choice);
  EXPECT_GT(choice->padded, 0);
  // Building 100 nodes takes as long as a round.
  EXPECT_LT(choice->seconds, 0.97 * choice->exactSeconds);
  double best = secondsOf({}, load, 1e-3, 1e-5);
  EXPECT_GT(choice->seconds, best * 0.95);
  for (uint32_t k : {0u, 1u, 2u})
    for (uint32_t slots = 1; slots <= kSlots; ++slots)
      EXPECT_LE(capturedSize(choice->sizes, k, slots), 2 * slots);
  // The most used graphs come first.
  EXPECT_TRUE(std::ranges::is_sorted(choice->graphs, std::greater(),
                                     &CaptureGraph::share));
}

// If padding rows cost more than building, each round has its own graph.
TEST(Captures, AreExactIfPaddingIsSlower) {
  Load load;
  load.rounds = {{{1, 0}, 1000}, {{7, 0}, 30}};
  auto choice = chooseCaptures(costsOf(1e-4, 1e-2), load, inputOf(1));
  ASSERT_TRUE(choice);
  EXPECT_EQ(capturedSize(choice->sizes, 0, 1), 1u);
}

/// Returns costs with rounds of 4 slots in 7, in which a padding row takes
/// `part` of the time of an active row.
static MachineCosts paddedCosts(double first, double slot, double part) {
  MachineCosts machine = costsOf(first, slot);
  for (uint32_t k : {0u, 2u}) {
    Cost cost = machine.costs.back();
    cost.batch = 4;
    cost.padding = 3;
    cost.k = k;
    cost.rows = 4 * (k + 1);
    cost.lower = first + slot * (k + 1) * (4 + 3 * part);
    cost.median = cost.upper = cost.lower;
    machine.costs.push_back(cost);
  }
  return machine;
}

// Measured padding decides: padding rows that are free pay, and such that take
// longer than active rows do not.
TEST(Captures, UseMeasuredPadding) {
  Load load;
  load.rounds = {{{4, 0}, 500}, {{5, 0}, 500}, {{7, 0}, 500},
                 {{4, 2}, 500}, {{5, 2}, 500}, {{7, 2}, 500}};
  CaptureInput input = inputOf(3);
  auto plain = chooseCaptures(costsOf(2e-3, 4e-4), load, input);
  auto cheap = chooseCaptures(paddedCosts(2e-3, 4e-4, 0), load, input);
  auto dear = chooseCaptures(paddedCosts(2e-3, 4e-4, 1.9), load, input);
  ASSERT_TRUE(plain && cheap && dear);
  EXPECT_EQ(plain->measured, 0u);
  EXPECT_EQ(cheap->measured, 3u) << "k = 1 has the times of k = 2";
  EXPECT_EQ(capturedSize(cheap->sizes, 2, 4), kSlots);
  EXPECT_EQ(capturedSize(cheap->sizes, 2, 5), kSlots);
  EXPECT_EQ(capturedSize(dear->sizes, 2, 4), 4u);
  EXPECT_LT(cheap->seconds, plain->seconds);
  EXPECT_NEAR(cheap->exactSeconds, plain->exactSeconds, 1e-12);
  EXPECT_NE(captureText(*cheap).find("3 times of measured rounds with padding"),
            std::string::npos);
  EXPECT_NE(captureText(*plain).find("none was measured"), std::string::npos);
}

// A session builds the most used graphs within its limit on nodes.
TEST(Captures, AreBuiltAtTheStart) {
  Load load;
  load.rounds = {{{7, 2}, 900}, {{5, 2}, 700}, {{4, 2}, 500}, {{7, 0}, 300}};
  CaptureInput input{kSlots, /*mostK=*/2, 100'000,
                     [](uint32_t, uint32_t) { return uint64_t(1300); }};
  auto choice = chooseCaptures(costsOf(2e-3, 4e-4), load, input);
  ASSERT_TRUE(choice);
  ASSERT_GT(choice->graphs.size(), 4u);
  EXPECT_EQ(choice->built(), 3u) << "of 4096 nodes";
  EXPECT_TRUE(choice->graphs[2].isBuilt);
  EXPECT_TRUE(choice->graphs[3].isExpected && !choice->graphs[3].isBuilt);
  EXPECT_NE(captureText(*choice).find("3 are built at the start"),
            std::string::npos);
}

// A measured part of 1 predicts what an active row takes.
TEST(Captures, CountUnmeasuredPaddingAsActiveRows) {
  Load load;
  load.rounds = {{{1, 0}, 900}, {{2, 0}, 300}, {{5, 0}, 300}, {{6, 0}, 200},
                 {{1, 2}, 700}, {{2, 2}, 300}, {{3, 2}, 200}, {{7, 2}, 100}};
  auto plain = chooseCaptures(costsOf(1e-3, 1e-5), load, inputOf(5));
  auto measured = chooseCaptures(paddedCosts(1e-3, 1e-5, 1), load, inputOf(5));
  ASSERT_TRUE(plain && measured);
  EXPECT_EQ(plain->sizes, measured->sizes);
  EXPECT_NEAR(plain->seconds, measured->seconds, 1e-9);
}

TEST(Captures, NeedALoadAndCosts) {
  Load load;
  EXPECT_FALSE(chooseCaptures(costsOf(1e-3, 1e-4), load, inputOf(9)));
  load.rounds = {{{1, 0}, 3}};
  EXPECT_TRUE(chooseCaptures(costsOf(1e-3, 1e-4), load, inputOf(9)));
  EXPECT_FALSE(chooseCaptures(MachineCosts(), load, inputOf(9)));
  EXPECT_FALSE(captureInputOf(MachineCosts()));
  auto input = captureInputOf(costsOf(1e-3, 1e-4));
  ASSERT_TRUE(input);
  EXPECT_EQ(input->mostSlots, kSlots);
  EXPECT_EQ(input->nodesOf(1, 1), 100u);
}

// The choice is made when a session begins.
TEST(Captures, OfManySlotsAreFast) {
  Load load;
  for (uint32_t slots = 1; slots <= 1024; ++slots)
    load.rounds[{slots, 2}] = slots % 13 + 1;
  CaptureInput input = inputOf(20);
  input.mostSlots = 1024;
  input.mostK = 8;
  auto choice = chooseCaptures(costsOf(1e-3, 1e-5), load, input);
  ASSERT_TRUE(choice);
  EXPECT_LT(choice->seconds, choice->exactSeconds);
  EXPECT_GE(choice->sizes[2].size(), 5u);
}
