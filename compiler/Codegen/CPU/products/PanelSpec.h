//===- PanelSpec.h - Description of a product by panels ---------*- C++ -*-===//
//
// Input of the engines that multiply rows by packed weight panels.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELSPEC_H
#define MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELSPEC_H

#include "compiler/Codegen/CPU/builder/CpuBuilder.h"

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
  /// Panels are (gate, up) pairs; the output is activation(gate) * up.
  bool gated = false;
  mlir::mtp::ActivationKind activation = mlir::mtp::ActivationKind::Swiglu;

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

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_PRODUCTS_PANELSPEC_H
