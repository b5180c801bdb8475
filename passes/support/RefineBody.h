//===- RefineBody.h - Types that follow from operands -----------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_REFINEBODY_H
#define MTP_PASSES_SUPPORT_REFINEBODY_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Folds what stands in `op`.
void fold(Operation *op);

/// The value that `value` is a cast of, with a type that says more.
Value peelCast(Value value);

/// Gives a body's arguments the types of the operands' rows, and its results
/// those of what it yields when that is folded.
void refineBody(PerSlotOp op);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_REFINEBODY_H
