//===- tree_choice_test.cpp - Trees from profiles -------------------------===//

#include "runtime/profile/TreeChoice.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace mtp;
using namespace mtp::profile;

namespace {

/// A node's rate by depth and rank.
constexpr double kRates[3][3] = {
    {0.6, 0.2, 0.08}, {0.55, 0.15, 0.1}, {0.5, 0.12, 0.05}};

Profile nodeProfile() {
  Profile profile;
  for (uint8_t a = 0; a < 3; ++a) {
    profile.nodes.counts[{a}] = {1000, uint64_t(1000 * kRates[0][a])};
    for (uint8_t b = 0; b < 3; ++b) {
      profile.nodes.counts[{a, b}] = {1000, uint64_t(1000 * kRates[1][b])};
      for (uint8_t c = 0; c < 3; ++c)
        profile.nodes.counts[{a, b, c}] = {1000, uint64_t(1000 * kRates[2][c])};
    }
  }
  return profile;
}

/// A machine where a pass takes `step` and `row` for each row after the first,
/// and a drafter's pass `draft` and `draftRow` likewise.
MachineCosts machineOf(double step, double row, double draft, double draftRow) {
  MachineCosts machine;
  machine.name = "a processor";
  for (uint32_t batch : {1, 2, 4})
    for (uint32_t k = 0; k <= 3; ++k) {
      Cost cost;
      cost.batch = batch;
      cost.k = k;
      cost.rows = batch * (k + 1);
      cost.positions = uint64_t(batch) * 100;
      cost.median =
          step + row * (cost.rows - 1) + k * (draft + draftRow * (batch - 1));
      cost.lower = cost.upper = cost.median;
      cost.count = 30;
      machine.costs.push_back(cost);
    }
  return machine;
}

double tokensOf(const std::vector<Path> &paths) {
  double tokens = 1;
  for (const Path &path : paths) {
    double all = 1;
    for (size_t d = 0; d < path.size(); ++d)
      all *= kRates[d][path[d]];
    tokens += all;
  }
  return tokens;
}

/// Visits every tree of up to `most` nodes: whole sets of paths that contain
/// the parent and the better sibling of each path.
void forTrees(std::set<Path> tree, const Path &least, size_t most,
              const std::function<void(const std::set<Path> &)> &visit) {
  visit(tree);
  if (tree.size() == most)
    return;
  for (const auto &[path, count] : nodeProfile().nodes.counts) {
    if (path <= least)
      continue;
    Path parent(path.begin(), path.end() - 1), better = path;
    --better.back();
    if ((!parent.empty() && !tree.contains(parent)) ||
        (path.back() > 0 && !tree.contains(better)))
      continue;
    std::set<Path> larger = tree;
    larger.insert(path);
    forTrees(larger, path, most, visit);
  }
}

TEST(TreeChoice, FindsTheMostTokensOfEverySize) {
  Profile profile = nodeProfile();
  Result<NodeRates> rates = NodeRates::of(profile);
  // Rounds of all sizes take one time, so the most tokens win.
  Result<RoundCosts> costs = RoundCosts::of(machineOf(1, 0, 0, 0));
  ASSERT_TRUE(rates && costs);
  TreeSearch search(*rates, *costs, {});
  std::vector<double> most(8);
  forTrees({}, {}, 7, [&](const std::set<Path> &tree) {
    double tokens = tokensOf({tree.begin(), tree.end()});
    most[tree.size()] = std::max(most[tree.size()], tokens);
  });
  for (size_t nodes = 1; nodes <= 7; ++nodes) {
    TreeLimits limits;
    limits.exactNodes = nodes;
    TreeChoice found = search.best(limits);
    EXPECT_EQ(found.paths.size(), nodes);
    EXPECT_NEAR(found.tokens, most[nodes], 1e-9) << nodes;
  }
}

TEST(TreeChoice, SeparatesTheDrafterFromRows) {
  Result<RoundCosts> costs = RoundCosts::of(machineOf(5e-3, 4e-4, 7e-4, 1e-4));
  ASSERT_TRUE(costs);
  EXPECT_NEAR(costs->target(3), 5.8e-3, 1e-6);
  EXPECT_NEAR(costs->target(30), 16.6e-3, 1e-5);
  EXPECT_NEAR(costs->drafter(1), 7e-4, 1e-6);
  EXPECT_NEAR(costs->drafter(4), 1e-3, 1e-6);
}

TEST(TreeChoice, FindsTheBestRateOfAllSizes) {
  Profile profile = nodeProfile();
  MachineCosts machine = machineOf(5e-3, 2e-4, 5e-4, 5e-5);
  Result<TreeReport> report = chooseTree(profile, machine, {}, 4, {});
  Result<RoundCosts> costs = RoundCosts::of(machine);
  Result<NodeRates> rates = NodeRates::of(profile);
  ASSERT_TRUE(report && costs && rates);
  TreeSearch search(*rates, *costs, {});
  double best = 0;
  forTrees({}, {}, 8, [&](const std::set<Path> &tree) {
    best = std::max(best, search.evaluate({tree.begin(), tree.end()}).gain);
  });
  EXPECT_GE(report->tree.gain, best - 1e-9);
  EXPECT_FALSE(report->tree.isChain());
  EXPECT_GT(report->tree.gain, report->chain.gain);
  EXPECT_TRUE(report->chain.isChain());
}

TEST(TreeChoice, ComparesAGivenTreeAtEqualCost) {
  Result<TreeReport> report =
      chooseTree(nodeProfile(), machineOf(5e-3, 2e-4, 5e-4, 5e-5), {}, 4,
                 {{0}, {1}, {2}, {0, 0}, {0, 1}, {0, 2}});
  ASSERT_TRUE(report && report->given && report->equal);
  EXPECT_EQ(report->equal->paths.size(), 6u);
  EXPECT_LE(report->equal->depth(), 2u);
  EXPECT_GE(report->equal->gain, report->given->gain);
  EXPECT_NE(treeText(*report).find("of equal cost: 6 nodes"),
            std::string::npos);
}

TEST(TreeChoice, NoTreePaysIfRowsAreDear) {
  Result<TreeReport> report =
      chooseTree(nodeProfile(), machineOf(5e-3, 3e-3, 1e-4, 0), {}, 4, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->tree.isChain());
  EXPECT_NE(treeText(*report).find("no tree pays"), std::string::npos);
}

TEST(TreeChoice, WeighsTheLoad) {
  // Many slots: rows are dear there, because steps of few rows are cheap.
  Profile profile = nodeProfile();
  profile.load.slots = {0, 0, 100};
  MachineCosts machine = machineOf(5e-3, 5e-4, 5e-4, 5e-5);
  Result<TreeReport> loaded = chooseTree(profile, machine, {}, 4, {});
  Result<TreeReport> alone = chooseTree(nodeProfile(), machine, {}, 4, {});
  ASSERT_TRUE(loaded && alone);
  EXPECT_LT(loaded->tree.paths.size(), alone->tree.paths.size());
}

TEST(TreeChoice, ChainsNeedNoNodes) {
  Profile profile;
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 800, 560};
  profile.outcomes[0].accepted = {800, 560, 10};
  TreeLimits chains;
  chains.ranks = 1;
  Result<TreeReport> report =
      chooseTree(profile, machineOf(5e-3, 1e-4, 3e-4, 0), chains, 4, {});
  ASSERT_TRUE(report);
  // The third draft costs 0.4 ms of 5.8 and is almost never accepted.
  EXPECT_EQ(report->chain.depth(), 2u);
  EXPECT_EQ(report->rows, 12u);
}

TEST(TreeChoice, ErrorsTellWhatIsMissing) {
  Profile chain;
  EXPECT_EQ(
      chooseTree(chain, machineOf(1, 0, 0, 0), {}, 4, {}).status().message(),
      "nodes: expected outcomes of a dynamic tree, got none; import the "
      "model with --draft-tree=dynamic:4,8,60 --show-drafts, compile it, "
      "and measure it with mtp-tune");
  MachineCosts machine = machineOf(1, 0, 0, 0);
  std::erase_if(machine.costs, [](const Cost &c) { return c.batch > 1; });
  EXPECT_EQ(RoundCosts::of(machine).status().message(),
            "machines.costs: expected plain steps of at least two numbers of "
            "slots and rounds with drafts, got 1 and 3 on 'a processor'; "
            "measure with mtp-tune -b 1,2 or more");
}

TEST(TreeChoice, WritesThePathsOfAFile) {
  EXPECT_EQ(choicesText({{0}, {1}, {0, 0}}), "[[0], [1], [0, 0]]");
  EXPECT_EQ(choicesText({}), "[]");
}

} // namespace
