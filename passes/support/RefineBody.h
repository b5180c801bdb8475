//===- RefineBody.h - Infer types of a body ---------------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_REFINEBODY_H
#define MTP_PASSES_SUPPORT_REFINEBODY_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Folds the ops inside `op`.
void fold(Operation *op);

/// Returns the source of the cast `value`, whose type is more precise; `value`
/// itself if it is no cast.
Value peelCast(Value value);

/// Gives a body's arguments the types of the operands' rows, folds the body,
/// and gives its results the types of the yielded values.
void refineBody(PerSlotOp op);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_REFINEBODY_H
