//===- PlainHead.h - The head behind a pick ---------------------*- C++ -*-===//

#ifndef MTP_PASSES_PLAINHEAD_H
#define MTP_PASSES_PLAINHEAD_H

#include "dialects/Exec/IR/ExecOps.h"

namespace mlir::mtp {

/// Whether `call` picks a token per row of logits: `argmax`, `mtp.sample` or
/// `mtp.sample_mapped`.
bool isPick(exec::InvokeOp call);

/// The projection of whose logits `pick` sees every row and every column, as
/// they are stored; null where something lies between, where the projection
/// adds a residual or has an activation, or where the pick sees a part of them.
exec::InvokeOp findPlainHead(exec::InvokeOp pick);

} // namespace mlir::mtp

#endif // MTP_PASSES_PLAINHEAD_H
