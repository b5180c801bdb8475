//===- RowBudget.h - Whether a round may verify fewer rows ------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_ROWBUDGET_H
#define MTP_PASSES_ROUND_ROWBUDGET_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::mtp {

/// Checks that the envelope's budget does not trim a round that needs all rows.
/// The error names the rows of the largest of these rounds: with the rows of a
/// smaller one the next compilation would fail.
LogicalResult checkRowBudget(ModuleOp module);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_ROWBUDGET_H
