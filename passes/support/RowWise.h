//===- RowWise.h - Ops that treat rows one by one ---------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_ROWWISE_H
#define MTP_PASSES_SUPPORT_ROWWISE_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Returns whether row i of the op's result depends only on row i of its
/// operands and on weights.
bool isRowWise(Operation *op);

/// Returns whether all ops from `rows` up to the ops for which `ends` is true
/// work row by row and take no other operand with rows. If so, they can be
/// computed for some of the rows only.
bool isMadeByRows(Value rows, llvm::function_ref<bool(Operation *)> ends);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ROWWISE_H
