//===- UnmodifiedLmHead.h - The head that a pick reads ----------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_UNMODIFIEDLMHEAD_H
#define MTP_PASSES_EXEC_UNMODIFIEDLMHEAD_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Returns the projection whose result is exactly `logits`, all rows and
/// columns as stored; null if an op is between them, or if the projection adds
/// a residual or gates.
exec::LinearOp findUnmodifiedLmHead(Value logits);

/// A head, and the op that changes its logits: the op before the pick, or the
/// head itself if it adds a residual or gates.
struct ChangedHead {
  exec::LinearOp head;
  Operation *change = nullptr;
};

/// Returns the head of `logits` that is not plain; none if a `mask_tokens`
/// follows it.
ChangedHead findChangedHead(Value logits);

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_UNMODIFIEDLMHEAD_H
