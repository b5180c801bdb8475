//===- PanelMatmul.h - Rows times packed weight panels ----------*- C++ -*-===//
//
// The engine of linear, head_linear and the experts. Weights are packed in
// panels of 32 outputs that are streamed once per 64 rows; rows are copied
// into scratch in the form in which they are multiplied.
//
//  - Each output is one chain of fused multiply-adds (or bf16 dot products)
//    over k, the same chain in every row block, so a row's result does not
//    depend on how many rows there are or which block it falls in.
//  - Rows of a block are interleaved in scratch ([k][rows]): rows at a large
//    power-of-two stride would share one set of the L1 cache.
//
// A "unit" is what one 4-byte broadcast feeds: one f32 value of a row, or a
// pair of bf16 values where the target has a bf16 dot product.
//
// Weights of integers have an engine of their own behind the same interface,
// QuantizedMatmul.h; PanelWalk.h is what both share.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_PANELMATMUL_H
#define COMPILER_CODEGEN_CPU_PANELMATMUL_H

#include "compiler/Codegen/CPU/CpuBuilder.h"

namespace mtp::codegen {

/// One vector of a row's outputs.
struct OutputVector {
  /// The first output.
  Value column;
  Value values;
  /// The lanes that are outputs; null where all are.
  Value mask;
};

/// What to multiply; the callbacks emit code.
struct PanelMatmulSpec {
  int64_t k = 0;
  /// Outputs of one group, before gating.
  int64_t n = 0;
  WeightFormat format;
  /// Panels are (gate, up) pairs; the output is silu(gate) * up.
  bool gated = false;

  /// Independent matrices stacked in the weights (heads, experts).
  int64_t groups = 1;
  /// Whether a task is a panel of every group (experts, of which few have
  /// rows), or one of one group, counted through all of them.
  bool taskSpansGroups = false;
  Value weights;

  /// The number of rows that group `group` has.
  llvm::function_ref<Value(Value group)> rowCount;
  /// Where row `row` of a group lies: k values of f32.
  llvm::function_ref<Value(Value group, Value row)> rowPointer;
  /// Takes the outputs of a task of a row.
  llvm::function_ref<void(Value group, Value row,
                          llvm::ArrayRef<OutputVector> outputs)>
      store;

  /// Root-mean-square norm of the rows, if `normWeight` is not null.
  Value normWeight;
  float eps = 0;
  int64_t normOffset = 0;
};

/// Panels of one group, or panel pairs: its tasks.
int64_t panelTasks(int64_t n, bool gated);
/// Scratch for rows of `k` values.
int64_t panelScratchBytes(int64_t k, const WeightFormat &format,
                          const TargetDesc &target);
/// Emits the loop over the caller's tasks.
void emitPanelMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_PANELMATMUL_H
