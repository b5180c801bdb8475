//===- SlotTypes.h - Types of one slot and of all slots ---------*- C++ -*-===//
//
// A tensor over slots has one row for each slot. In the body of an mtp.per_slot
// each slot has its row: a number if the rows are numbers.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_MTP_IR_SLOTTYPES_H
#define MTP_DIALECTS_MTP_IR_SLOTTYPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::mtp {

/// Returns the type of one slot's row of `rows`.
Type typeOfRow(Type rows);

/// Returns the type of all rows if one slot's row has the type `row`.
RankedTensorType typeOfRows(int64_t slots, Type row);

} // namespace mlir::mtp

#endif // MTP_DIALECTS_MTP_IR_SLOTTYPES_H
