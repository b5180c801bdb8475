//===- WeightLayout.h - Layouts of packed weights ---------------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_WEIGHTLAYOUT_H
#define MTP_DIALECTS_EXEC_IR_WEIGHTLAYOUT_H

#include "dialects/Exec/IR/ExecAttrInterfaces.h"
#include "runtime/schema/WeightFormat.h"

namespace mlir::exec {

/// Contents of a packed weight, independent of its layout.
struct PackedMatrices {
  ::mtp::WeightFormat format;
  /// Inputs and outputs of one matrix, and the number of matrices.
  int64_t k, n, stack;
};

/// Returns the number of panels that `n` outputs fill.
inline int64_t panelCount(int64_t n, int64_t width) {
  return n / width + (n % width != 0);
}

/// Returns the outputs of a panel in the file format: the only width that
/// panels of integers have.
int64_t formatPanelWidth();

/// Returns the outputs of a panel in a buffer of a layout with panels.
int64_t panelWidthOf(Value weight);

/// Returns whether the panels of such a buffer are in the order of tensor
/// cores.
bool isInFragments(Value weight);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_WEIGHTLAYOUT_H
