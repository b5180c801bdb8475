//===- Logits.h - What is done to logits before a pick ----------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_LOGITS_H
#define MTP_PASSES_SUPPORT_LOGITS_H

#include "mlir/IR/Operation.h"

namespace mlir::mtp {

/// Whether `result` of an op holds logits where `operand` does: rows as wide,
/// some of its columns, or it beside others. What a projection multiplies is
/// not passed on, what it adds is.
bool passesLogits(Value operand, OpResult result);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_LOGITS_H
