//===- TreePicks.h - Drafts of a static tree by level ---------------------===//
//
// A level's rows of logits give the children of its nodes. Siblings are the
// best by logit plus noise, each without the ones before it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_TREEPICKS_H
#define MTP_PASSES_ROUND_TREEPICKS_H

#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// The nodes of a depth that have children.
struct Level {
  SmallVector<int64_t> nodes;
  /// The largest number of children of a node.
  int64_t width = 0;
};

class TreePicks {
public:
  /// Logits have columns for the tokens of `vocabulary`, which may be null.
  /// With `keepsLogits` the logits of drafts are kept.
  TreePicks(Expansion &e, ArrayRef<int64_t> parents,
            FlatSymbolRefAttr vocabulary, bool keepsLogits);

  ArrayRef<Level> levels() const { return depths; }
  /// Picks the children of the nodes at `depth`. The logits have one row per
  /// node and slot, or with `isShared` one row per slot.
  LogicalResult rank(Value logits, int64_t depth, bool isShared = false);

  /// Returns the drafts of `nodes`, per slot.
  Value tokensOf(ArrayRef<int64_t> nodes);
  /// Returns the drafts of all nodes except the anchor and, if they are kept,
  /// the logits of each.
  SmallVector<Value> results();

private:
  /// The location of a node's draft: an element of a slot's picks for a level.
  struct Pick {
    Value picks;
    int64_t element, elements;
    /// The logits of the pick: row `row` of `rows` per slot.
    Value logits;
    int64_t row, rows;
  };

  PickedRows describe(ArrayRef<int64_t> nodes, int64_t depth,
                      SmallVector<int64_t> &through);
  Value repeated(Value logits, int64_t count);
  LogicalResult pickTogether(Value logits, const PickedRows &place,
                             const Level &level, bool &isDone);
  LogicalResult pickOneByOne(Value logits, const PickedRows &place,
                             const Level &level);
  void take(const Level &level, int64_t rank, const Pick &first, int64_t step);
  Value logitsOf(ArrayRef<int64_t> nodes);

  Expansion &e;
  ArrayRef<int64_t> parents;
  FlatSymbolRefAttr vocabulary;
  const bool keepsLogits;
  SmallVector<SmallVector<int64_t>> children;
  SmallVector<Level> depths;
  SmallVector<Pick> picked;
};

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_TREEPICKS_H
