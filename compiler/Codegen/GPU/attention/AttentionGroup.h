//===- AttentionGroup.h - Rows of a slot in one block -----------*- C++ -*-===//
//
// Neighbouring rows of one slot see nearly the same positions, so one block
// takes several of them. The block of the first row does the work of all; the
// blocks of the other rows end at once. The rows of a tree have one window.
// They share the blocks of positions before the one in which the window begins.
// From that block on, each row sees other entries.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONGROUP_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONGROUP_H

#include "compiler/Codegen/GPU/attention/AttentionView.h"

namespace mtp::codegen {

class AttentionGroup {
public:
  /// A group of up to `most` rows, from `row` on.
  AttentionGroup(GpuBuilder &kb, const AttentionShape &shape, Value row,
                 int64_t most, bool tree);

  /// Returns true if `row` is the first row of a group.
  Value isFirst() const { return leads; }
  /// Returns the number of rows.
  Value count() const { return rows; }
  /// Finds the positions that the rows see. All threads of the block must call
  /// it, and only in the block of a first row.
  void open();

  /// First position that any row sees, and the end of the range of all rows.
  Value begin, end;
  /// Returns the range [first, second) of positions that row `number` sees. It
  /// may be empty.
  std::pair<Value, Value> seenBy(Value number) const;
  /// Returns the place of the first row of a tree's window, or 0 if it is
  /// negative.
  Value root() const { return kb.max(view->root, kb.integer(0)); }
  /// Returns the range of rows [first, second): row `only`, or all rows if
  /// `only` is null or negative.
  std::pair<Value, Value> rowsOf(Value only) const;
  /// Returns the place of the entry of `position` for rowsOf(only). If none of
  /// the rows sees the position, there may be no page, and the result is the
  /// place of an entry that some row sees.
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
  /// For a tree: the part of the window that each row sees, and the place of an
  /// entry that some row sees.
  Value masks, fallback;
  std::optional<AttentionView> view;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONGROUP_H
