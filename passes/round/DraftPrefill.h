//===- DraftPrefill.h - What a prefill does for the drafter -----*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_DRAFTPREFILL_H
#define MTP_PASSES_ROUND_DRAFTPREFILL_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// Replaces a draft operation of these steps in a prefill: the modules' caches
/// are filled. Module d runs over the rows whose token d places on belongs to
/// the prompt; the first round has the rows after those, and needs the hidden
/// state before them. A step that takes none runs over all rows.
LogicalResult expandDraftPrefill(Operation *op, ArrayRef<Region *> steps,
                                 Region *input = nullptr);

/// Keeps for the first round what module - 1 hands on in front of its window,
/// of a chunk's rows.
void keepCarry(Expansion &e, int64_t module, Value handedOn);

/// Writes what a drafter in core ops does with a prompt: what attends with the
/// rows that an mtp.refresh of `draft` gives, and an mtp.refresh_module behind
/// it, and what that is made of, over the chunk's rows. `hidden` are the
/// target's hidden states of these. `mapping` has what was cloned already.
LogicalResult cloneRefreshes(DraftRegionOp draft, Value hidden,
                             OpBuilder &builder, const IRMapping &mapping);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_DRAFTPREFILL_H
