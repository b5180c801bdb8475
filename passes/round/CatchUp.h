//===- CatchUp.h - What refreshes a drafter that fell behind ----*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_CATCHUP_H
#define MTP_PASSES_ROUND_CATCHUP_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Makes of a copy of a drafting prefill, `prefill`, the one that does for a
/// drafter alone what it does for a prompt: over rows that rounds have
/// verified, of hidden states that commits have kept. Declares the state that
/// has these, which reaches `rows` tokens back. Erases the copy where the
/// method has no drafter with a cache, and with a warning where its drafter
/// takes more than the target's hidden states.
LogicalResult makeCatchUp(PrefillOp prefill, int64_t rows);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_CATCHUP_H
