//===- TreePicks.h - The drafts of a static tree, level by level *- C++ -*-===//
//
// A level's rows of logits give the children of its nodes. Siblings are the
// best by logit plus noise, each without those before it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_TREEPICKS_H
#define MTP_PASSES_ROUND_TREEPICKS_H

#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// The nodes of a depth that have children.
struct Level {
  SmallVector<int64_t> nodes;
  /// The most children that one of them has.
  int64_t width = 0;
};

class TreePicks {
public:
  /// Logits have columns for the tokens of `vocabulary`, which may be null, and
  /// those that drafts were picked from are kept where they are wanted.
  TreePicks(Expansion &e, ArrayRef<int64_t> parents,
            FlatSymbolRefAttr vocabulary, bool keepsLogits);

  ArrayRef<Level> levels() const { return depths; }
  /// Picks the children of the nodes at `depth` from logits that have a row for
  /// each of these nodes of a slot, or with `isShared` one for all.
  LogicalResult rank(Value logits, int64_t depth, bool isShared = false);

  /// The drafts of `nodes`, slot by slot.
  Value tokensOf(ArrayRef<int64_t> nodes);
  /// The drafts of all nodes but the anchor, and where they are kept, the
  /// logits of each.
  SmallVector<Value> results();

private:
  /// Where a node's draft is: an element of what a level's picks have of each
  /// slot.
  struct Pick {
    Value picks;
    int64_t element, elements;
    /// What they were picked from, a row of some of each slot.
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
