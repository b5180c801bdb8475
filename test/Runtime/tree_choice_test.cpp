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
  Result<RoundCosts> costs = RoundCosts::of(machineOf(1, 0, 0, 0), {});
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
  Result<RoundCosts> costs =
      RoundCosts::of(machineOf(5e-3, 4e-4, 7e-4, 1e-4), {});
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
  Result<RoundCosts> costs =
      RoundCosts::of(machine, *MeasuredDrafts::of(profile));
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
  EXPECT_NE(treeText(*report).find("a tree pays: 1."), std::string::npos);
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
      chooseTree(nodeProfile(), machineOf(5e-3, 2e-3, 1e-4, 0), {}, 4, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->tree.paths, std::vector<Path>{{0}});
  EXPECT_EQ(treeVerdict(*report), "no tree pays: a chain is the best");
  EXPECT_NE(treeText(*report).find("no tree pays"), std::string::npos);
  report = chooseTree(nodeProfile(), machineOf(5e-3, 3e-3, 1e-4, 0), {}, 4, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(treeVerdict(*report), "no drafts pay: plain steps are the fastest");
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

// A chain has the rates of its outcomes by position. An old profile lacks most
// counts of nodes.
TEST(TreeChoice, ChainsNeedNoTree) {
  Profile profile;
  profile.model.drafter = "mtp";
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 800, 560};
  profile.outcomes[0].accepted = {800, 560, 10};
  for (int turn = 0; turn < 2; ++turn) {
    Result<TreeReport> report =
        chooseTree(profile, machineOf(5e-3, 1e-4, 3e-4, 0), {}, 4, {});
    ASSERT_TRUE(report);
    // The third draft costs 0.4 ms of 5.8 and is almost never accepted.
    EXPECT_EQ(report->chain.depth(), 2u);
    EXPECT_TRUE(report->tree.isChain());
    EXPECT_EQ(report->rows, 12u);
    ASSERT_EQ(report->chains.size(), 17u);
    EXPECT_EQ(report->chains[2].gain, report->chain.gain);
    EXPECT_NEAR(report->chains[3].gain, report->measured.gain, 1e-9);
    EXPECT_EQ(report->measuredNodes, 3u);
    EXPECT_NEAR(report->measured.tokens, 1 + 0.8 + 0.56 + 0.01, 1e-9);
    EXPECT_NEAR(report->measured.seconds, 6.2e-3, 1e-5);
    EXPECT_NE(treeText(*report).find("trees are unknown: only drafts of rank 0 "
                                     "were measured"),
              std::string::npos);
    EXPECT_EQ(gainText(*report, report->chain),
              "1.06 of the tokens per second of 'mtp' with k = 3");
    profile.nodes.counts = {
        {{0}, {30, 1}}, {{0, 0}, {20, 20}}, {{0, 0, 0}, {20, 20}}};
  }
}

// The passes of a tree's drafter have the rows of the nodes with children. They
// count when the cost of a pass is told from the cost of rows.
TEST(TreeChoice, KnowsTheRowsOfTheMeasuredDrafter) {
  Profile profile = nodeProfile();
  profile.model.drafter = "hass:dynamic:3,4,40,sharp=2";
  Result<MeasuredDrafts> dynamic = MeasuredDrafts::of(profile);
  profile.model.drafter = "hass:tree:40";
  Result<MeasuredDrafts> fixed = MeasuredDrafts::of(profile);
  profile.nodes = {};
  profile.model.drafter = "hass:chain:confidence:0.3";
  Result<MeasuredDrafts> chain = MeasuredDrafts::of(profile);
  ASSERT_TRUE(dynamic && fixed && chain);
  EXPECT_EQ(dynamic->moreRows(3, 2), 2 * (1 + 4 + 4) - 3);
  EXPECT_EQ(fixed->moreRows(3, 2), 2 * (1 + 3 + 9) - 3);
  EXPECT_EQ(chain->moreRows(3, 2), 2 * 3 - 3);
  EXPECT_FALSE(dynamic->isChain() || fixed->isChain());
  EXPECT_TRUE(chain->isChain());
}

// One pass makes all drafts of a block, with a row for each. Each further pass
// of a chain would cost 3 ms.
TEST(TreeChoice, ABlockHasOnePass) {
  Profile profile;
  profile.model.drafter = "lookup:3,5 before dflash:chain";
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 800, 640, 512};
  profile.outcomes[0].accepted = {800, 640, 512, 10};
  MachineCosts machine = machineOf(5e-3, 1e-4, 0, 0);
  auto draftSeconds = [](uint32_t k, uint32_t batch) {
    return k == 0 ? 0 : 3e-3 + 5e-5 * (batch * k - 1);
  };
  for (Cost &cost : machine.costs)
    cost.lower += draftSeconds(cost.k, cost.batch);
  Result<MeasuredDrafts> drafts = MeasuredDrafts::of(profile);
  ASSERT_TRUE(drafts);
  EXPECT_TRUE(drafts->isBlock());
  EXPECT_EQ(drafts->moreRows(3, 2), 2 * 3 - 1);
  EXPECT_EQ(drafts->moreRows(0, 2), 0);
  EXPECT_EQ(drafts->passes(3), 1u);
  EXPECT_EQ(drafts->passes(0), 0u);
  Result<TreeReport> report = chooseTree(profile, machine, {}, 4, {});
  ASSERT_TRUE(report) << report.status().message();
  for (uint32_t k = 0; k <= 4; ++k)
    EXPECT_NEAR(report->chains[k].seconds, 5e-3 + 1e-4 * k + draftSeconds(k, 1),
                1e-5)
        << k;
  EXPECT_EQ(report->chain.depth(), 3u);
  EXPECT_EQ(treeVerdict(*report),
            "a block of 3 drafts, made in one pass, is the best");
  EXPECT_NE(treeText(*report).find("best block: k = 3, "), std::string::npos);
  EXPECT_EQ(treeText(*report).find("tree"), std::string::npos);
  profile.model.drafter = "eagle:chain";
  EXPECT_FALSE(MeasuredDrafts::of(profile)->isBlock());
}

TEST(TreeChoice, AddsTheNodesOfADepth) {
  Profile profile;
  profile.model.drafter = "hass:dynamic:2,2,5";
  profile.nodes.counts = {{{0}, {1000, 500}},
                          {{1}, {900, 100}},
                          {{0, 0}, {500, 200}},
                          {{0, 1}, {300, 50}},
                          {{1, 0}, {100, 30}}};
  Result<std::vector<double>> tree = acceptedByDepth(profile);
  ASSERT_TRUE(tree) << tree.status().message();
  ASSERT_EQ(tree->size(), 2u);
  EXPECT_NEAR((*tree)[0], 0.6, 1e-9);
  EXPECT_NEAR((*tree)[1], 0.28, 1e-9);
  // A chain has its outcomes by position.
  profile.model.drafter = "hass:chain";
  profile.nodes = {};
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 800, 10};
  profile.outcomes[0].accepted = {800, 560, 9};
  Result<std::vector<double>> chain = acceptedByDepth(profile);
  ASSERT_TRUE(chain && chain->size() == 2);
  EXPECT_NEAR((*chain)[0], 0.8, 1e-9);
  EXPECT_NEAR((*chain)[1], 0.56, 1e-9);
}

TEST(TreeChoice, ErrorsTellWhatIsMissing) {
  auto message = [](const std::string &drafter) {
    Profile none;
    none.model.drafter = drafter;
    return std::string(
        chooseTree(none, machineOf(1, 0, 0, 0), {}, 4, {}).status().message());
  };
  EXPECT_EQ(message("mtp"),
            "outcomes.tried: expected at least 20 of draft 1, got 0; measure a "
            "model that drafts with mtp-tune");
  EXPECT_EQ(message("hass:dynamic:4,4,12"),
            "nodes.tried: expected at least 20 of a node of "
            "'hass:dynamic:4,4,12', got 0; import a dynamic tree with "
            "--show-drafts, compile it, and measure it with mtp-tune");
  EXPECT_EQ(message("lookahead:3,3,3"),
            "model.drafter: expected a chain or a tree that --draft-tree "
            "arranges, got 'lookahead:3,3,3'");
  MachineCosts machine = machineOf(1, 0, 0, 0);
  std::erase_if(machine.costs, [](const Cost &c) { return c.batch > 1; });
  EXPECT_EQ(RoundCosts::of(machine, {}).status().message(),
            "machines.costs: expected plain steps of at least two numbers of "
            "slots and rounds with drafts, got 1 and 3 on 'a processor'; "
            "measure with mtp-tune -b 1,2 or more");
}

TEST(TreeChoice, WritesThePathsOfAFile) {
  EXPECT_EQ(choicesText({{0}, {1}, {0, 0}}), "[[0], [1], [0, 0]]");
  EXPECT_EQ(choicesText({}), "[]");
}

} // namespace
