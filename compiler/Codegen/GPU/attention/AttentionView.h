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

/// A row's view: positions [begin, end) of its slot. The nodes of a tree row's
/// path have the positions that they would have as a chain.
class AttentionView {
public:
  AttentionView(GpuBuilder &kb, const AttentionShape &shape, Value row,
                bool tree);

  Value begin, end;

  /// How far from the begin of the layer's pages the first head's share of a
  /// position's entry lies, in bytes. The position must be seen.
  Value entryAt(Value position) const;

private:
  void viewTree(Value row, Value place, Value count);
  Value nodeAt(Value place) const;

  GpuBuilder &kb;
  const AttentionShape &shape;
  /// The slot's page numbers.
  Value pages;
  /// Of a tree: where it begins, and the nodes of the row's path.
  Value base, mask;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_ATTENTION_ATTENTIONVIEW_H
