//===- SlotTypes.h - Types of one slot and of all ---------------*- C++ -*-===//
//
// What slots have together is a tensor with a row for each; in the body of an
// mtp.per_slot each has its row, a number where the rows are numbers.
//
//===----------------------------------------------------------------------===//

#ifndef DIALECTS_MTP_IR_SLOTTYPES_H
#define DIALECTS_MTP_IR_SLOTTYPES_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::mtp {

/// What one slot has of `rows`.
Type typeOfRow(Type rows);

/// The rows of which one slot has `row`.
RankedTensorType typeOfRows(int64_t slots, Type row);

} // namespace mlir::mtp

#endif // DIALECTS_MTP_IR_SLOTTYPES_H
