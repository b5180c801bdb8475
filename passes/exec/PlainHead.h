//===- PlainHead.h - The head behind a pick ---------------------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_PLAINHEAD_H
#define MTP_PASSES_EXEC_PLAINHEAD_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// The projection that gives `logits`, every row and every column, as they are
/// stored; null where something lies between, and where the projection adds a
/// residual or gates.
exec::LinearOp findPlainHead(Value logits);

/// A head, and what makes its logits other than its product: the op before the
/// pick, or the head itself, where that adds a residual or gates.
struct ChangedHead {
  exec::LinearOp head;
  Operation *change = nullptr;
};

/// The head behind `logits` that is no plain one; none behind an `exclude`.
ChangedHead findChangedHead(Value logits);

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_PLAINHEAD_H
