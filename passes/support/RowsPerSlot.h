//===- RowsPerSlot.h - How many rows of a value a slot has ------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_ROWSPERSLOT_H
#define MTP_PASSES_SUPPORT_ROWSPERSLOT_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// How many rows of `value`, which an op of a round makes that verifies
/// `window` rows of each slot, belong to each slot; none where that does not
/// follow from the ops before it.
std::optional<int64_t> rowsPerSlot(Value value, int64_t window);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ROWSPERSLOT_H
