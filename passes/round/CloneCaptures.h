//===- CloneCaptures.h - Clone captured values ------------------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_CLONECAPTURES_H
#define MTP_PASSES_ROUND_CLONECAPTURES_H

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Operation.h"

namespace mlir::mtp {

/// Returns whether `made`, an op of the old place that `user` reads, has the
/// same meaning in the new place; reports an error if not.
using MayClone =
    llvm::function_ref<LogicalResult(Operation *user, Operation *made)>;

/// Clones captured values of the ops in `body`, which were cloned out of `from`
/// or out of regions in it. Values of `from` that they use and that `mapping`
/// lacks are cloned before them, with their operands in turn. Afterwards no op
/// in `body` refers to `from`.
LogicalResult cloneCaptures(Block &body, Block &from, IRMapping &mapping,
                            MayClone mayClone);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_CLONECAPTURES_H
