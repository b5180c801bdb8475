//===- PanelMatmul.h - Rows times packed weight panels ----------*- C++ -*-===//
//
// Engine of linear, head_linear and the experts. Weights are packed in panels
// of 32 outputs, which are streamed once per 64 rows. Rows are copied into
// scratch in the form in which they are multiplied.
//
// - Each output is one chain of fused multiply-adds (or bf16 dot products) over
//   k. All row blocks have this chain, so a row's result does not depend on the
//   number of rows or on its block.
// - Rows of a block are interleaved in scratch ([k][rows]), because rows at a
//   large power-of-two stride would share one set of the L1 cache.
//
// A "unit" is the content of one 4-byte broadcast: one f32 value of a row, or a
// pair of bf16 values if the target has a bf16 dot product.
//
// Integer weights have their own engine with this interface, QuantizedMatmul.h.
// PanelWalk.h has the code that both engines share.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_PANELMATMUL_H
#define COMPILER_CODEGEN_CPU_PANELMATMUL_H

#include "compiler/Codegen/CPU/CpuBuilder.h"

namespace mtp::codegen {

/// One vector of a row's outputs.
struct OutputVector {
  /// Number of the first output.
  Value column;
  Value values;
  /// Lanes that are outputs; null if all lanes are.
  Value mask;
};

/// Description of a product; the callbacks emit code.
struct PanelMatmulSpec {
  int64_t k = 0;
  /// Outputs of one group, before gating.
  int64_t n = 0;
  WeightFormat format;
  /// Panels are (gate, up) pairs; the output is silu(gate) * up.
  bool gated = false;

  /// Number of independent matrices stacked in the weights (heads, experts).
  int64_t groups = 1;
  /// True if a task is a panel of every group. This suits experts, of which few
  /// have rows. Otherwise a task is a panel of one group, numbered through all
  /// groups.
  bool taskSpansGroups = false;
  Value weights;

  /// Returns the number of rows of group `group`.
  llvm::function_ref<Value(Value group)> rowCount;
  /// Returns the address of row `row` of a group: k values of f32.
  llvm::function_ref<Value(Value group, Value row)> rowPointer;
  /// Stores the outputs of a task for a row.
  llvm::function_ref<void(Value group, Value row,
                          llvm::ArrayRef<OutputVector> outputs)>
      store;

  /// Root-mean-square norm of the rows, if `normWeight` is not null.
  Value normWeight;
  float eps = 0;
  int64_t normOffset = 0;
};

/// Returns the number of tasks of one group: its panels, or its panel pairs if
/// gated.
int64_t panelTasks(int64_t n, bool gated);
/// Returns the scratch bytes for rows of `k` values.
int64_t panelScratchBytes(int64_t k, const WeightFormat &format,
                          const TargetDesc &target);
/// Emits the loop over the caller's tasks.
void emitPanelMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_PANELMATMUL_H
