//===- PlainHead.h - The head behind a pick ---------------------*- C++ -*-===//

#ifndef MTP_PASSES_EXEC_PLAINHEAD_H
#define MTP_PASSES_EXEC_PLAINHEAD_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// The projection that gives `logits`, every row and every column, as they are
/// stored; null where something lies between, and where the projection adds a
/// residual or gates.
exec::LinearOp findPlainHead(Value logits);

} // namespace mlir::mtp

#endif // MTP_PASSES_EXEC_PLAINHEAD_H
