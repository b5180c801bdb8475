//===- planner_test.cpp - Passes and rounds from numbers ------------------===//

#include "runtime/exec/schedule/PrefillPlanner.h"
#include "runtime/exec/schedule/RoundPlanner.h"
#include "support/HandMadePlan.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

SessionOptions optionsOf(const PlanShapes &shapes) {
  SessionOptions options;
  options.k = shapes.maxK;
  options.maxSlots = shapes.slots;
  options.prefillChunk = shapes.chunk;
  options.promptMilliseconds = 0;
  return options;
}

/// A prefill planner over programs that nothing runs.
struct Prefills {
  PlanShapes shapes;
  Plan plan = handMadePlan(shapes);
  ProgramTable programs{plan};
  PrefillPlanner planner;
  /// Next run of each prompt whose run is not its whole rest.
  std::map<SequenceId, PrefillRun> runs;

  explicit Prefills(const PlanShapes &shapes = {}, uint32_t libraryRows = 0)
      : shapes(shapes), planner(programs, optionsOf(shapes), libraryRows) {}

  PrefillPlanner::RunOf runOf(const std::vector<PendingPrompt> &prompts) {
    return [&](SequenceId id) {
      auto of = std::ranges::find(prompts, id, &PendingPrompt::id);
      return runs.contains(id) ? runs[id]
                               : PrefillRun{PageProvenance::Plan, of->rest};
    };
  }
  PrefillPass next(const std::vector<PendingPrompt> &prompts,
                   const PrefillLimits &limits, bool hasFreeSlot = true) {
    return planner.nextPass(prompts, limits, hasFreeSlot, runOf(prompts));
  }
};

/// Returns a prompt that has just arrived.
PendingPrompt prompt(SequenceId id, uint64_t tokens, uint64_t arrival = 0) {
  return {id, 0, arrival, 0, tokens, tokens};
}

std::vector<std::pair<SequenceId, uint32_t>>
sharesOf(const std::vector<PrefillShare> &shares) {
  std::vector<std::pair<SequenceId, uint32_t>> all;
  for (auto [id, rows] : shares)
    all.emplace_back(id, rows);
  return all;
}

using Shares = std::vector<std::pair<SequenceId, uint32_t>>;

} // namespace

TEST(PrefillPlanner, PromptsGainByWaiting) {
  std::vector<PendingPrompt> prompts = {prompt(1, 40), prompt(2, 10, 200),
                                        prompt(3, 10, 300)};
  prompts.push_back({4, -1, 999, 0, 999, 999});
  PrefillPlanner::sort(prompts);
  std::vector<SequenceId> order;
  for (const PendingPrompt &of : prompts)
    order.push_back(of.id);
  // 8 tokens for each that is left: 320 against 280 and 380. A lower priority
  // value comes before all.
  EXPECT_EQ(order, (std::vector<SequenceId>{4, 2, 1, 3}));
}

TEST(PrefillPlanner, APassThatEndsAShortPromptIsShort) {
  Prefills of;
  PrefillPass pass = of.next({prompt(1, 3), prompt(2, 100)}, {1000, 64});
  EXPECT_EQ(sharesOf(pass.shares), (Shares{{1, 3}, {2, 13}}));
  EXPECT_EQ(pass.chunk, 16u);
  // Four times its own rows.
  pass = of.next({prompt(1, 10), prompt(2, 100)}, {1000, 64});
  EXPECT_EQ(sharesOf(pass.shares), (Shares{{1, 10}, {2, 30}}));
  // A long prompt has the whole chunk.
  pass = of.next({prompt(2, 100), prompt(1, 3)}, {1000, 64});
  EXPECT_EQ(sharesOf(pass.shares), (Shares{{2, 64}}));
}

TEST(PrefillPlanner, ThreePromptsNeedAFreeSlot) {
  Prefills of;
  std::vector<PendingPrompt> three = {prompt(1, 20), prompt(2, 20),
                                      prompt(3, 20)};
  PrefillPass pass = of.next(three, {1000, 64}, /*hasFreeSlot=*/true);
  EXPECT_EQ(sharesOf(pass.shares), (Shares{{1, 20}, {2, 20}, {3, 20}}));
  EXPECT_EQ(pass.sequences, 4u);
  pass = of.next(three, {1000, 64}, /*hasFreeSlot=*/false);
  EXPECT_EQ(sharesOf(pass.shares), (Shares{{1, 20}, {2, 20}}));
  EXPECT_EQ(pass.sequences, 2u);
}

TEST(PrefillPlanner, LimitsBoundPasses) {
  Prefills of;
  EXPECT_TRUE(of.next({}, {1000, 64}).shares.empty());
  EXPECT_TRUE(of.next({prompt(1, 50)}, {20, 64}).shares.empty());
  EXPECT_EQ(of.next({prompt(1, 50)}, {20, 20}).chunk, 20u);
  PrefillLimits none = of.planner.limits(/*isAnyRunning=*/false);
  EXPECT_EQ(none.budget, UINT64_MAX);
  EXPECT_EQ(of.planner.limits(/*isAnyRunning=*/true).budget, 64u);
}

TEST(PrefillPlanner, ALibraryHasWholeChunksOfOnePrompt) {
  Prefills of({}, /*libraryRows=*/32);
  of.runs[1] = {PageProvenance::Library, 64};
  std::vector<PendingPrompt> prompts = {prompt(1, 70), prompt(2, 5)};
  // Rows stand at their positions modulo the chunk.
  prompts[0].length = 8;
  PrefillPass pass = of.next(prompts, {1000, 64});
  EXPECT_TRUE(pass.byLibrary);
  EXPECT_EQ(pass.chunk, 32u);
  EXPECT_EQ(sharesOf(pass.shares), (Shares{{1, 24}}));
  // Only the first pass of a step may exceed the budget.
  EXPECT_FALSE(of.next(prompts, {10, 10, /*isFirst=*/true}).shares.empty());
  EXPECT_TRUE(of.next(prompts, {10, 10, /*isFirst=*/false}).shares.empty());
  // Other prompts pass it by in a pass of the plan's kernels.
  std::swap(prompts[0], prompts[1]);
  EXPECT_EQ(sharesOf(of.next(prompts, {1000, 64}).shares), (Shares{{2, 5}}));
}

TEST(PrefillPlanner, RoundsHavePromptRowsByTime) {
  PlanShapes shapes;
  shapes.beside = {1, 2};
  EXPECT_FALSE(Prefills().planner.canMix());
  Prefills of(shapes);
  EXPECT_TRUE(of.planner.canMix());
  std::vector<PendingPrompt> prompts = {prompt(1, 100), prompt(2, 100)};
  auto beside = [&] {
    return sharesOf(
        of.planner.mixedShares(prompts, {2, 1, 4}, true, of.runOf(prompts)));
  };
  // Without a time, all rows that the program has.
  EXPECT_EQ(beside(), (Shares{{1, 32}}));
  prompts[0] = prompt(1, 4);
  EXPECT_EQ(beside(), (Shares{{1, 4}, {2, 12}}));
  SessionOptions options = optionsOf(shapes);
  options.stepMilliseconds = 10;
  PrefillPlanner timed(of.programs, options, 0);
  prompts[0] = prompt(1, 100);
  for (int i = 0; i < 20; ++i)
    timed.addRound(i % 2 ? 4 : 8, i % 2 ? 0.004 : 0.008);
  EXPECT_EQ(
      sharesOf(timed.mixedShares(prompts, {2, 1, 4}, true, of.runOf(prompts))),
      (Shares{{1, 6}}));
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

namespace {

std::vector<std::pair<SequenceId, uint32_t>> rowsOf(const RoundPlan &plan) {
  std::vector<std::pair<SequenceId, uint32_t>> rows;
  for (auto [id, drafts] : plan.rows)
    rows.emplace_back(id, drafts);
  return rows;
}

} // namespace

TEST(RoundPlanner, SequencesOfOneKTakeTurns) {
  PlanShapes shapes;
  shapes.maxK = 4;
  Plan plan = handMadePlan(shapes);
  ProgramTable programs(plan);
  RoundPlanner planner(programs, {4, UINT32_MAX, /*hasDraftLimit=*/false}, {});
  const RoundCandidate running[] = {{1, 4}, {2, 0}, {3, 2}, {4, 0}};
  for (const auto &[k, rows] :
       std::vector<std::pair<uint32_t, Shares>>{{2, {{3, 2}}},
                                                {4, {{1, 4}}},
                                                {0, {{2, 0}, {4, 0}}},
                                                {2, {{3, 2}}}}) {
    RoundPlan round = planner.plan(running);
    EXPECT_EQ(round.k, k);
    EXPECT_EQ(rowsOf(round), rows);
    EXPECT_EQ(round.rounds, 1u);
  }
  EXPECT_TRUE(planner.plan({}).rows.empty());
}

TEST(RoundPlanner, ARoundHasTheLargestKAndWhatWasAccepted) {
  PlanShapes shapes;
  shapes.maxK = 4;
  Plan plan = handMadePlan(shapes);
  ProgramTable programs(plan);
  RoundPlanner planner(programs, {4, /*maxRows=*/5}, {});
  RoundPlan round =
      planner.plan(std::vector<RoundCandidate>{{1, 1}, {2, 3}, {3, 0}});
  EXPECT_EQ(round.k, 3u);
  EXPECT_EQ(rowsOf(round), (Shares{{1, 1}, {2, 3}, {3, 0}}));
  // Seven rows are wanted, of which five are allowed.
  EXPECT_EQ(planner.rowsOf(round), (std::vector<uint32_t>{2, 2, 1}));
  EXPECT_EQ(planner.allRowsOf(round), 5u);
  // The drafter of the first one refreshes four accepted drafts.
  round = planner.plan(
      std::vector<RoundCandidate>{{1, 1, nullptr, 9, /*accepted=*/4}, {2, 2}});
  EXPECT_EQ(round.k, 4u);
  EXPECT_EQ(round.rounds, 1u);
  EXPECT_EQ(rowsOf(round), (Shares{{1, 1}, {2, 2}}));
}
