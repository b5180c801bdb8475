//===- RefineTypes.h - Types that follow from k -----------------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_REFINETYPES_H
#define MTP_PASSES_ROUND_REFINETYPES_H

#include "passes/support/RefineBody.h"

namespace mlir::mtp {

/// Gives the ops of `instance`, a round or a prefill with a k, the types that
/// follow from k and from the nodes of the round.
void refineTypes(Operation *instance);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_REFINETYPES_H
