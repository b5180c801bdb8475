//===- SameRows.h - Operands with one kind of rows --------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_SAMEROWS_H
#define MTP_PASSES_SUPPORT_SAMEROWS_H

#include "dialects/Exec/IR/Count.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// The value that has as many rows as `rows`, which has no type to count them
/// by; null where no op that makes rows made it.
Value countedRows(Value rows);

/// Checks that operands of `op` that belong together row by row have equally
/// many rows. Before a round is a program all of them are as many as there may
/// be, so that no verifier can tell.
LogicalResult checkSameRows(Operation *op);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_SAMEROWS_H
