//===- EndingChain.h - Chains that end slot by slot -------------*- C++ -*-===//
//
// Where a slot's drafts may be fewer than its round's, because their
// probability is low (`p_min`), the program wants fewer (`want_k`) or the host
// does, nothing is computed of those that it does not want: rows of a step that
// it does not want are dead, and the others are packed.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_PASSES_ROUND_ENDINGCHAIN_H
#define MTP_PASSES_ROUND_ENDINGCHAIN_H

#include "passes/round/Refresh.h"

namespace mlir::mtp {

/// Whether the slots of a chain may end it.
bool mayEnd(DraftChainOp op);

/// Writes in a round what such a chain does, and returns the values of its
/// results; those of draft logits that nobody reads are null.
FailureOr<SmallVector<Value>> writeEndingChain(DraftChainOp op, Region *input);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_ENDINGCHAIN_H
