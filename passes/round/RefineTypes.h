//===- RefineTypes.h - Types that follow from k -----------------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_REFINETYPES_H
#define MTP_PASSES_ROUND_REFINETYPES_H

#include "mlir/IR/Operation.h"

namespace mlir::mtp {

/// Folds what stands in `op`.
void fold(Operation *op);

/// Gives the ops of `instance`, a round or a prefill whose `mtp.k` is the
/// constant k, the types that follow from it.
void refineTypes(Operation *instance, int64_t k);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_REFINETYPES_H
