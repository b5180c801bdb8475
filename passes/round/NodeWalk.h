//===- NodeWalk.h - Bodies that go through the nodes of a tree --*- C++ -*-===//
//
// A node's parent comes before it, so that one pass over the nodes finds what
// follows from their parents. These are numbers of the text or of a slot; the
// latter may be any: a node without a parent before it is dead, and so is all
// behind it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_NODEWALK_H
#define MTP_PASSES_ROUND_NODEWALK_H

#include "passes/support/SlotBody.h"

namespace mlir::mtp {

/// The depth of every node of a tree.
SmallVector<int64_t> nodeDepths(ArrayRef<int64_t> parents);

/// For every node of a tree the bits of the node and its ancestors.
SmallVector<int64_t> ancestorMasks(ArrayRef<int64_t> parents);

/// A vector of a static tree's parents.
Value parentsOf(SlotBody &body, ArrayRef<int64_t> tree);

/// Which of `values` is at `index`, found by comparing: in a vector a GPU's
/// thread would have it in memory.
Value choose(SlotBody &body, Value index, ArrayRef<Value> values);

/// The nodes that stay, for a body.
struct NodeWalk {
  /// Of every node, -1 of one that does not stay.
  Value depths;
  /// The lowest of the deepest nodes, and its depth.
  Value deepest, longest;
};

/// Keeps node 0 and every other whose parent stays and for which `stays`, given
/// the node and its parent, holds. Where `most` is given, none that is deeper.
NodeWalk walkNodes(SlotBody &body, int64_t nodes, Value parents,
                   llvm::function_ref<Value(Value, Value)> stays,
                   Value most = Value());

/// The same by the parents alone.
NodeWalk liveNodes(SlotBody &body, int64_t nodes, Value parents);

/// For every node the bits of the node and its ancestors, 0 of a dead one.
Value masksOf(SlotBody &body, int64_t nodes, Value parents, Value depths);

/// The nodes from node 0 to `walk.deepest`, and -1 behind it: `length` numbers,
/// more than that node is deep.
Value pathOf(SlotBody &body, int64_t length, Value parents,
             const NodeWalk &walk);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_NODEWALK_H
