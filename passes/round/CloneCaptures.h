//===- CloneCaptures.h - What clones read of their old place ----*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_CLONECAPTURES_H
#define MTP_PASSES_ROUND_CLONECAPTURES_H

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"

namespace mlir::mtp {

/// Says whether `made`, an op of the old place that `user` reads, means the
/// same in the new one; reports what does not.
using MayClone =
    llvm::function_ref<LogicalResult(Operation *user, Operation *made)>;

/// Ops of `body` were cloned out of `from`, or out of regions in it. What they
/// and the regions in them read of `from`, and `mapping` does not have, is
/// cloned in front of them, with all that it reads in turn. Afterwards nothing
/// in `body` refers to `from`.
LogicalResult cloneCaptures(Block &body, Block &from, IRMapping &mapping,
                            MayClone mayClone);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_CLONECAPTURES_H
