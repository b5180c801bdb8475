//===- AttentionView.h - What a row of attention sees -----------*- C++ -*-===//
//
// Which positions a row sees, and where their keys and values lie. Numbers that
// are read are clamped: they must not lead out of a buffer.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H
#define COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H

#include "compiler/Codegen/GPU/GpuBuilder.h"
#include "compiler/Codegen/GPU/attention/AttentionShape.h"

namespace mtp::codegen {

/// A row's view: positions [begin, end) of its slot. What a row of a tree sees
/// of its window has the positions that it would have as a chain.
class AttentionView {
public:
  AttentionView(GpuBuilder &kb, const AttentionShape &shape, Value row,
                bool tree);

  Value begin, end;

  /// Of a tree: the place of the window's first row, and what the row sees of
  /// the window.
  Value root, mask;

  /// How far from the begin of the layer's pages the first head's share of a
  /// position's entry lies, in bytes. The position must be seen.
  Value entryAt(Value position) const { return entryAt(position, mask); }
  /// The same of a row of this window that sees this much of it.
  Value entryAt(Value position, Value seen) const;

private:
  void viewTree(Value row, Value count);
  Value placeOf(Value position, Value seen) const;

  GpuBuilder &kb;
  const AttentionShape &shape;
  /// The slot's page numbers.
  Value pages;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H
