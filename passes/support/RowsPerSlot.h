//===- RowsPerSlot.h - Rows per slot of a value -----------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_ROWSPERSLOT_H
#define MTP_PASSES_SUPPORT_ROWSPERSLOT_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Returns the number of rows of `value` per slot, in a round that verifies
/// `window` rows per slot; none if the ops before `value` do not determine it.
std::optional<int64_t> rowsPerSlot(Value value, int64_t window);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ROWSPERSLOT_H
