//===- EndingChain.h - Chains that end slot by slot -------------*- C++ -*-===//
//
// A slot may end its drafts before the round's k: because a draft's probability
// is low (`p_min`), or because the program (`want_k`) or the host wants fewer.
// Unwanted drafts are not computed: rows of steps that a slot does not want are
// padding rows, and the others are packed.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_ENDINGCHAIN_H
#define MTP_PASSES_ROUND_ENDINGCHAIN_H

#include "passes/round/Refresh.h"

namespace mlir::mtp {

/// Returns whether the slots of a chain may end it.
bool mayEnd(DraftChainOp op);

/// Writes a chain that slots may end, in a round. Returns the values of its
/// results. Draft logits without readers are null.
FailureOr<SmallVector<Value>> writeEndingChain(DraftChainOp op, Region *input);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_ENDINGCHAIN_H
