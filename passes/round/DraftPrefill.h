//===- DraftPrefill.h - Fill drafters' caches in a prefill ------*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_DRAFTPREFILL_H
#define MTP_PASSES_ROUND_DRAFTPREFILL_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {

/// Replaces a draft operation with these steps in a prefill by runs that fill
/// the modules' caches. Module d runs over the rows whose token d places ahead
/// still belongs to the prompt. The first round runs the next rows, and needs
/// the hidden state of the row before them. A step without hidden states runs
/// over all rows.
LogicalResult expandDraftPrefill(Operation *op, ArrayRef<Region *> steps,
                                 Region *input = nullptr);

/// Keeps a hidden state of module - 1, taken from a chunk's rows. It belongs to
/// the row before the first round's window, and the first round reads it.
void keepCarry(Expansion &e, int64_t module, Value handedOn);

/// Writes the run of a drafter in core ops over the chunk's rows. The run
/// includes the attentions on rows of an mtp.refresh of `draft` and of an
/// mtp.refresh_module after it, with the ops that these need. `hidden` are the
/// target's hidden states of the rows. `mapping` holds the ops that were cloned
/// already.
LogicalResult cloneRefreshes(DraftRegionOp draft, Value hidden,
                             OpBuilder &builder, const IRMapping &mapping);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_DRAFTPREFILL_H
