//===- NodeWalk.h - Bodies that visit a tree's nodes ------------*- C++ -*-===//
//
// A node's parent comes before it, so one pass over the nodes suffices to
// derive values from the parents. Parents are static or per slot. A slot's
// parents may be any numbers: a node without a parent before it is dropped, and
// so are its descendants.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_NODEWALK_H
#define MTP_PASSES_ROUND_NODEWALK_H

#include "passes/support/SlotBody.h"

namespace mlir::mtp {

/// Returns the depth of every node of a tree.
SmallVector<int64_t> nodeDepths(ArrayRef<int64_t> parents);

/// Returns for every node of a tree the bits of the node and its ancestors.
SmallVector<int64_t> ancestorMasks(ArrayRef<int64_t> parents);

/// Returns a vector of a static tree's parents.
Value parentsOf(SlotBody &body, ArrayRef<int64_t> tree);

/// Returns the element of `values` at `index`, found by comparing: a vector
/// would be in memory for a GPU's thread.
Value choose(SlotBody &body, Value index, ArrayRef<Value> values);

/// The nodes that stay, for a body.
struct NodeWalk {
  /// The depth of every node, -1 if it does not stay.
  Value depths;
  /// The lowest-numbered of the deepest nodes, and its depth.
  Value deepest, longest;
};

/// Keeps node 0, and every other node whose parent stays and for which `stays`,
/// given the node and its parent, holds. If `most` is given, deeper nodes are
/// dropped.
NodeWalk walkNodes(SlotBody &body, int64_t nodes, Value parents,
                   llvm::function_ref<Value(Value, Value)> stays,
                   Value most = Value());

/// Keeps nodes by their parents alone.
NodeWalk activeNodes(SlotBody &body, int64_t nodes, Value parents);

/// Returns for every node the bits of the node and its ancestors, 0 if dropped.
Value masksOf(SlotBody &body, int64_t nodes, Value parents, Value depths);

/// Returns the nodes from node 0 to `walk.deepest`, followed by -1: `length`
/// numbers, more than the node's depth.
Value pathOf(SlotBody &body, int64_t length, Value parents,
             const NodeWalk &walk);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_NODEWALK_H
