//===- SameRows.h - Check that operands have equal rows ---------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_SAMEROWS_H
#define MTP_PASSES_SUPPORT_SAMEROWS_H

#include "dialects/Exec/IR/Count.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Returns the value whose type gives the row count of `rows`, which has none
/// in its own type; null if no known op made `rows`.
Value countedRows(Value rows);

/// Checks that operands of `op` that belong together row by row have equal row
/// counts. Verifiers cannot check it before a round is a program, since the
/// counts are dynamic until then.
LogicalResult checkSameRows(Operation *op);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_SAMEROWS_H
