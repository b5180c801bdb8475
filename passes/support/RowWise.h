//===- RowWise.h - Ops that treat rows one by one ---------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_ROWWISE_H
#define MTP_PASSES_SUPPORT_ROWWISE_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Whether a row of the op's result needs that row of its operands alone, and
/// weights.
bool isRowWise(Operation *op);

/// Whether all that is made of `rows`, up to the ops of which `ends` is true,
/// goes row by row and takes nothing else that has rows: then it may be made of
/// some of them.
bool isMadeByRows(Value rows, llvm::function_ref<bool(Operation *)> ends);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_ROWWISE_H
