//===- DraftTree.h - Which tree of drafts is asked for ----------*- C++ -*-===//
//
// What --draft-tree says: a chain, a static tree from a file, or a tree that is
// found in every round.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_IMPORT_DRAFTTREE_H
#define MTP_COMPILER_IMPORT_DRAFTTREE_H

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
  Static,  ///< Its shape is the same in every round.
  Dynamic, ///< EAGLE-2 (arXiv:2406.16858): the likeliest nodes of a beam.
};

/// By what the nodes of a dynamic tree are ranked.
enum class TreeRank {
  Coupled, ///< What the drafter says with the noise that the target picks with.
  Raw,     ///< The softmax of its logits, as in EAGLE's code.
};

/// Nodes that a window may have, and what a beam may be wide.
inline constexpr int64_t kMostNodes = 64, kMostDepth = 16;
inline constexpr int64_t kLeastWidth = 2, kMostWidth = 10;
inline constexpr double kMostSharp = 16;

struct DraftTree {
  DraftTreeKind kind = DraftTreeKind::Chain;
  /// Of a static tree: for each node the one that it continues, the anchor
  /// (node 0) first with -1. Nodes stand level by level, siblings by rank.
  std::vector<int64_t> parents;
  /// Of both trees: how deep the deepest node is, and how many nodes there are,
  /// the anchor among them.
  int64_t depth = 0, nodes = 0;
  /// Of a dynamic tree: the nodes of a depth that go on.
  int64_t width = 0;
  TreeRank rank = TreeRank::Coupled;
  /// Of a dynamic tree, where it is said: candidates of a node share it by this
  /// power of what the drafter gives them, 1 to kMostSharp.
  std::optional<double> sharp;

  /// The places of the window that drafts and the rows of their drafter take; 0
  /// of a chain.
  int64_t window() const {
    int64_t rows = std::min((depth - 1) * width, kMostNodes);
    return kind == DraftTreeKind::Dynamic ? std::max(nodes, rows) : nodes;
  }
};

/// Reads `chain`, `dynamic:depth,width,nodes[,sharp=N][,raw]`, or the path of a
/// file that holds a static tree (parseChoices).
Result<DraftTree> parseDraftTree(std::string_view text);

/// Reads a list of paths, as `medusa_choices` and EAGLE's `mc_sim_7b_63` are
/// written: [[0], [1], [0, 0], ...]. Element d of a path is the rank of its
/// token among the candidates of depth d + 1, 0 the best. Round brackets do as
/// well, and a name and "=" may stand in front. Each path is a node, so what it
/// begins with must be there, and so must be all better ranks.
Result<DraftTree> parseChoices(std::string_view text);

/// "chain", "tree:26", "dynamic:6,8,60", "dynamic:6,8,60,sharp=2,raw", for
/// people.
std::string describeTree(const DraftTree &tree);

} // namespace mtp::importer

#endif // MTP_COMPILER_IMPORT_DRAFTTREE_H
