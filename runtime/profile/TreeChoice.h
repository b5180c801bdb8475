//===- TreeChoice.h - The static tree that a profile favors -----*- C++ -*-===//
//
// A tree grows by the node with the largest acceptance. If the acceptance of a
// node depends on its depth and rank alone, then each tree on the way accepts
// the most tokens of all trees of its size: Sequoia (arXiv:2402.12374) and
// OPT-Tree (arXiv:2406.17276). The search grows a tree for each limit on the
// depth. It divides the tokens of every tree on the way by the time of a round
// of its size, and keeps the best quotient.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_PROFILE_TREECHOICE_H
#define MTP_RUNTIME_PROFILE_TREECHOICE_H

#include "runtime/core/Result.h"
#include "runtime/profile/Profile.h"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtp::profile {

using Path = NodeOutcomes::Path;

/// The drafts of the model that a profile has measured.
class MeasuredDrafts {
public:
  /// Reads the name of the drafter, and the nodes that have outcomes. Fails if
  /// mtp-import cannot arrange the drafts of such a drafter.
  static Result<MeasuredDrafts> of(const Profile &profile);

  /// Whether only drafts of rank 0 were made.
  bool isChain() const { return !isTree; }
  /// Whether one pass makes all drafts of a round, in a row each.
  bool isBlock() const { return isOnePass; }
  /// Returns the passes of a drafter in a round of `k` drafts.
  uint32_t passes(uint32_t k) const { return isOnePass && k > 0 ? 1 : k; }
  /// Returns the rows of all passes of a drafter in a round of `k` drafts,
  /// without the first row of each pass.
  double moreRows(uint32_t k, double slots) const;

private:
  bool isTree = false, isOnePass = false;
  /// Rows of a slot by pass. Further passes have the rows of the last one.
  std::vector<double> rows = {1};
};

/// How often a node is accepted if its parent is, by depth and rank.
class NodeRates {
public:
  /// Takes the outcomes of nodes, or for chains always the outcomes by
  /// position. Fails if a profile has too few; the message tells how to record
  /// them.
  static Result<NodeRates> of(const Profile &profile);

  /// Returns the rate of a node with this rank among its siblings, `depth`
  /// drafts below the anchor. 0 without enough outcomes.
  double rate(size_t depth, uint32_t rank) const;
  /// Returns how often the whole path is accepted.
  double pathRate(const Path &path) const;
  /// Returns the number of ranks that have outcomes.
  uint32_t ranks() const;

private:
  static Result<NodeRates> ofChain(const Profile &profile);

  std::map<std::pair<size_t, uint32_t>, double> rates;
};

/// Returns by depth how often a round accepts a draft of that depth from the
/// drafter that was measured, the first depth first. A chain's rates are those
/// of its positions. A tree's are the sum over its nodes, whatever the tree of
/// a round was. Fails like NodeRates::of().
Result<std::vector<double>> acceptedByDepth(const Profile &profile);

/// The time of a round by its size, from the costs of a machine. Plain steps of
/// n slots give the time of a pass over n rows. Rounds with drafts give the
/// time of more rows, and of a drafter's pass.
class RoundCosts {
public:
  /// Fails if the costs do not separate the drafter from more rows: plain steps
  /// of two numbers of slots and rounds with drafts are needed.
  static Result<RoundCosts> of(const MachineCosts &machine,
                               const MeasuredDrafts &drafts);

  /// Returns the seconds of the target's pass over `rows` rows.
  double target(double rows) const;
  /// Returns the seconds of a drafter's pass over `rows` rows.
  double drafter(double rows) const { return draft + draftRow * (rows - 1); }
  /// Returns the seconds of the measured drafter's passes in a round of `k`
  /// drafts.
  double drafting(uint32_t k, double slots) const;
  /// Returns the seconds of the drafter's passes over the nodes of a tree.
  double drafting(const std::vector<Path> &paths, double slots) const;
  /// Whether one pass of the drafter makes all drafts of a round.
  bool isBlock() const { return drafts.isBlock(); }
  /// Returns the largest number of slots that was measured.
  uint32_t mostSlots() const { return slots; }
  /// Returns the numbers of rows of the measured plain steps.
  std::vector<uint32_t> measuredRows() const;

private:
  void fit(const std::vector<Cost> &rounds, const MachineCosts &machine);

  MeasuredDrafts drafts;
  /// Seconds by rows. Beyond the last one, each row takes `row` more.
  std::map<double, double> steps;
  double row = 0, draft = 0, draftRow = 0;
  uint32_t slots = 0;
};

/// A tree, or a chain, with its expected speed.
struct TreeChoice {
  /// Nodes without the anchor, parents first.
  std::vector<Path> paths;
  /// Tokens of a slot per round, and seconds of a round of one slot.
  double tokens = 1, seconds = 0;
  /// Tokens per second over the rate of plain steps, a mean over the load.
  double gain = 1;

  size_t depth() const { return paths.empty() ? 0 : paths.back().size(); }
  bool isChain() const { return depth() == paths.size(); }
  /// Returns the largest number of nodes of one depth that have children.
  size_t width() const;
};

/// Sorts the nodes of a static tree by their rows in a round: by depth, then by
/// path.
void sortByRow(std::vector<Path> &paths);

/// Limits on the width and the nodes of a dynamic tree; the anchor is a node.
inline constexpr int64_t kLeastTreeWidth = 2, kMostTreeWidth = 10,
                         kMostDynamicNodes = 64;

/// The sizes of a dynamic tree, see mtp-import --draft-tree.
struct DynamicSizes {
  int64_t depth = 1, width = kLeastTreeWidth, nodes = 2;
};

/// Returns a dynamic tree with the depth, the nodes and the width of a static
/// one: nodes of a depth that have children, or children of a node.
DynamicSizes dynamicSizes(const TreeChoice &choice);

/// Limits of a search.
struct TreeLimits {
  size_t nodes = 63, depth = 16;
  /// The exact number of nodes; 0: any.
  size_t exactNodes = 0;
  /// Ranks of a node's children: 1 for chains.
  uint32_t ranks = UINT32_MAX;
};

/// Returns the shares of a load's rounds by slots, at most `most`. Without a
/// load all rounds have one slot.
std::map<uint32_t, double> slotShares(const Load &load, uint32_t most);

struct TreeReport;

/// Finds trees for a model on a machine.
class TreeSearch {
public:
  /// Weighs numbers of slots by the profile's load; without a load one slot
  /// counts.
  TreeSearch(NodeRates rates, RoundCosts costs, const Load &load);

  /// Returns the tree with the largest gain. Without any gain it is empty.
  TreeChoice best(const TreeLimits &limits) const;
  /// Returns the rows of all slots together beyond which more rows do not pay:
  /// the most rows of the best trees for each measured number of slots up to
  /// `slots`.
  uint32_t bestRows(const TreeLimits &limits, uint32_t slots) const;
  /// Returns the expected speed of a tree. Parents come first.
  TreeChoice evaluate(std::vector<Path> paths) const;
  /// Fills in the speed of the measured drafts with all k.
  void addMeasured(const Profile &profile, const MachineCosts &machine,
                   TreeReport &report) const;

private:
  /// Grows a tree whose depth is limited, and updates `best`.
  void grow(const TreeLimits &limits, TreeChoice &best) const;
  double secondsOf(const std::vector<Path> &paths, double slots) const;

  NodeRates rates;
  RoundCosts costs;
  /// Shares of the rounds by slots.
  std::map<uint32_t, double> shares;
};

/// The best chain and the best tree, which may be a chain. For a given tree:
/// its speed, and the best tree of equal cost.
struct TreeReport {
  /// The measured drafts with all k; paths are unknown.
  std::string drafter;
  TreeChoice measured;
  uint32_t measuredK = 0, measuredNodes = 0;
  /// The number of ranks of nodes that have outcomes. With one rank all trees
  /// are chains.
  uint32_t ranks = 1;
  /// Whether the drafter makes all drafts in one pass, so that its chains are
  /// blocks.
  bool isBlock = false;
  TreeChoice chain, tree;
  /// Chains by their number of drafts, from none on.
  std::vector<TreeChoice> chains;
  std::optional<TreeChoice> given, equal;
  /// See TreeSearch::bestRows().
  uint32_t rows = 0;

  /// Returns the drafts to import without further limits: the tree, or the best
  /// chain if no tree is better.
  const TreeChoice &best() const { return tree.isChain() ? chain : tree; }
};

/// Compares trees under the costs of a machine. Limits of one rank compare
/// chains only. `slots`: the most slots of the model. `given`: a tree to
/// compare with, may be empty. A tree of equal cost has the same number of
/// nodes and is not deeper. It is the given tree if none is faster, and absent
/// if too few ranks were measured.
Result<TreeReport> chooseTree(const Profile &profile,
                              const MachineCosts &machine,
                              const TreeLimits &limits, uint32_t slots,
                              std::vector<Path> given);

/// Returns a report as lines of text; the last one is the verdict.
std::string treeText(const TreeReport &report);

/// Says whether drafts pay, and whether trees do.
std::string treeVerdict(const TreeReport &report);

/// Returns a choice's expected tokens per second over the tokens of the
/// measured drafts with all k, as text; empty if the measured drafts have no
/// speed.
std::string gainText(const TreeReport &report, const TreeChoice &of);

/// Returns a tree as a list of paths, the form that --draft-tree=FILE reads.
std::string choicesText(const std::vector<Path> &paths);

} // namespace mtp::profile

#endif // MTP_RUNTIME_PROFILE_TREECHOICE_H
