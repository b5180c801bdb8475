//===- DraftTree.h - The arrangement of drafts ------------------*- C++ -*-===//
//
// The value of --draft-tree: a chain, a static tree from a file, or a dynamic
// tree, whose shape is found in every round.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_PLAN_DRAFTTREE_H
#define MTP_COMPILER_IMPORT_PLAN_DRAFTTREE_H

#include "runtime/core/Result.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::importer {

enum class DraftTreeKind {
  Chain,
  Static,  ///< A tree with the same shape in every round.
  Dynamic, ///< EAGLE-2 (arXiv:2406.16858): the likeliest nodes of a beam.
};

/// The ranking of a dynamic tree's nodes.
enum class TreeRank {
  Coupled, ///< By the drafter's logits plus the noise of the target's pick.
  Raw,     ///< By the softmax of the drafter's logits, as in EAGLE's code.
};

/// Largest number of nodes in a window, and largest depth of a dynamic tree.
inline constexpr int64_t kMostNodes = 64, kMostDepth = 16;
inline constexpr int64_t kLeastWidth = 2, kMostWidth = 10;
inline constexpr double kMostSharp = 16;

struct DraftTree {
  DraftTreeKind kind = DraftTreeKind::Chain;
  /// The parent of each node of a static tree. Node 0 is the anchor, with
  /// parent -1. Nodes are listed level by level, siblings by rank.
  std::vector<int64_t> parents;
  /// Depth of the deepest node of a tree, and the number of nodes including the
  /// anchor.
  int64_t depth = 0, nodes = 0;
  /// The number of nodes per depth that a dynamic tree expands.
  int64_t width = 0;
  TreeRank rank = TreeRank::Coupled;
  /// Exponent of a dynamic tree, 1 to kMostSharp. The candidates of a node are
  /// weighted by the drafter's probability to this power. Absent: 1.
  std::optional<double> sharp;

  /// Returns the number of places in the window for drafts and for the rows of
  /// their drafter. 0 for a chain.
  int64_t window() const {
    int64_t rows = std::min((depth - 1) * width, kMostNodes);
    return kind == DraftTreeKind::Dynamic ? std::max(nodes, rows) : nodes;
  }
};

/// Reads `chain`, `dynamic:depth,width,nodes[,sharp=N][,raw]`, or the path of a
/// file with a static tree (parseChoices).
Result<DraftTree> parseDraftTree(std::string_view text);

/// Reads a list of paths in the form of `medusa_choices` and EAGLE's
/// `mc_sim_7b_63`: [[0], [1], [0, 0], ...]. Element d of a path is the rank of
/// its token among the candidates of depth d + 1; 0 is the best. Round brackets
/// are accepted too, and a name and "=" may precede the list. Each path is one
/// node. Every prefix of a path must be in the list, and so must all paths with
/// a better last rank.
Result<DraftTree> parseChoices(std::string_view text);

/// Returns a tree for messages: "chain", "tree:26", "dynamic:6,8,60" or
/// "dynamic:6,8,60,sharp=2,raw".
std::string describeTree(const DraftTree &tree);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_PLAN_DRAFTTREE_H
