//===- Logits.h - Ops between logits and a pick -----------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_LOGITS_H
#define MTP_PASSES_SUPPORT_LOGITS_H

#include "mlir/IR/Operation.h"

namespace mlir::mtp {

/// Returns whether `result` of an op holds logits if `operand` does: rows of
/// equal width, some of the operand's columns, or the operand concatenated with
/// others. A projection passes on its residual, but not the operand that it
/// multiplies.
bool passesLogits(Value operand, OpResult result);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_LOGITS_H
