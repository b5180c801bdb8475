//===- AttentionView.h - Positions that an attention row sees ---*- C++ -*-===//
//
// The positions that a row sees, and the places of their keys and values.
// Numbers that are read from memory are clamped: they must not lead out of a
// buffer.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H
#define MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H

#include "compiler/Codegen/GPU/GpuBuilder.h"
#include "compiler/Codegen/GPU/attention/AttentionShape.h"

namespace mtp::codegen {

/// View of a row: positions [begin, end) of its slot. The rows that a tree row
/// sees in its window are numbered as if they were a chain.
class AttentionView {
public:
  AttentionView(GpuBuilder &kb, const AttentionShape &shape, Value row,
                bool tree);

  Value begin, end;

  /// For a tree: the place of the window's first row, and the mask of the
  /// window's rows that this row sees.
  Value root, mask;

  /// Returns the distance from the start of the layer's pages to the first
  /// head's share of a position's entry, in bytes. The row must see the
  /// position.
  Value entryAt(Value position) const { return entryAt(position, mask); }
  /// Returns the distance for another row of this window, which sees the rows
  /// in the mask `seen`.
  Value entryAt(Value position, Value seen) const;

private:
  void viewTree(Value row, Value count);
  Value placeOf(Value position, Value seen) const;

  GpuBuilder &kb;
  const AttentionShape &shape;
  /// Page numbers of the slot.
  Value pages;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H
