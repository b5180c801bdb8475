//===- CatchUp.h - Refresh drafters that missed rounds ----------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_CATCHUP_H
#define MTP_PASSES_ROUND_CATCHUP_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Turns `prefill`, a copy of a drafting prefill, into a catch-up. It runs only
/// the drafter, over rows that rounds have verified, on hidden states that
/// commits have kept. Declares the state with these hidden states, which
/// reaches `rows` tokens back. Erases the copy if the method has no drafter
/// with a cache. Erases it with a warning if the drafter takes more than the
/// target's hidden states.
LogicalResult makeCatchUp(PrefillOp prefill, int64_t rows);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_CATCHUP_H
