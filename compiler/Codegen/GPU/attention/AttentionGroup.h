//===- AttentionGroup.h - Rows of a slot in one block -----------*- C++ -*-===//
//
// Rows beside each other that are of one slot see nearly the same positions,
// so one block takes several of them. Their first one's block does the work of
// all; those of the others end at once. Rows of a tree have one window. They go
// together over the blocks before the one in which the window begins; from that
// one on each sees other entries.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONGROUP_H
#define COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONGROUP_H

#include "compiler/Codegen/GPU/attention/AttentionView.h"

namespace mtp::codegen {

class AttentionGroup {
public:
  /// Of up to `most` rows from `row` on.
  AttentionGroup(GpuBuilder &kb, const AttentionShape &shape, Value row,
                 int64_t most, bool tree);

  /// Whether `row` is the first of a group.
  Value isFirst() const { return leads; }
  /// How many rows there are.
  Value count() const { return rows; }
  /// Finds what the rows see; all threads of the block call it, and only in the
  /// block of a first row.
  void open();

  /// The first position that any row sees, and the one behind the last.
  Value begin, end;
  /// Those of one row; none if the second is not above the first.
  std::pair<Value, Value> seenBy(Value number) const;
  /// Of a tree: the place of the window's first row, or one before it.
  Value root() const { return kb.max(view->root, kb.integer(0)); }
  /// The rows [first, second) of which one is number `only`, or all where that
  /// is null or negative.
  std::pair<Value, Value> rowsOf(Value only) const;
  /// Where the entry of `position` lies in what those rows see, or one that is
  /// seen if none of them sees this one: there may be no page.
  Value entryAt(Value position, Value only) const;

private:
  void findRun();
  void findSeen();
  Value maskOf(Value number) const;

  GpuBuilder &kb;
  const AttentionShape &shape;
  Value row;
  const int64_t most;
  const bool tree;
  Value leads, rows, bounds;
  /// Of a tree: what each row sees of the window, and where an entry lies that
  /// is seen.
  Value masks, fallback;
  std::optional<AttentionView> view;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONGROUP_H
