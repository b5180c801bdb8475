//===- WeightLayout.h - Layouts of packed weights ---------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_WEIGHTLAYOUT_H
#define MTP_DIALECTS_EXEC_IR_WEIGHTLAYOUT_H

#include "dialects/Exec/IR/ExecAttrInterfaces.h"
#include "runtime/schema/WeightFormat.h"

namespace mlir::exec {

/// What a packed weight holds, whatever its layout.
struct PackedMatrices {
  ::mtp::WeightFormat format;
  /// Inputs and outputs of one matrix, and the number of matrices.
  int64_t k, n, stack;
};

/// The panels that `n` outputs fill.
inline int64_t panelCount(int64_t n, int64_t width) {
  return n / width + (n % width != 0);
}

/// The outputs in a panel as the file format has them, without which nothing is
/// said of a width: those of integers have no other.
int64_t formatPanelWidth();

/// The outputs in a panel of a buffer that a layout of panels gave.
int64_t panelWidthOf(Value weight);

/// Whether such a buffer has its panels in the order of tensor cores.
bool isInFragments(Value weight);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_WEIGHTLAYOUT_H
