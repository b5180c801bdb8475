//===- DraftPrefill.h - What a prefill does for the drafter -----*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_DRAFTPREFILL_H
#define MTP_PASSES_ROUND_DRAFTPREFILL_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Replaces a draft operation of these steps in a prefill: the modules' caches
/// are filled. Module d runs over the rows whose token d places on belongs to
/// the prompt; the first round has the rows after those, and needs the hidden
/// state before them. A step that takes none runs over all rows.
LogicalResult expandDraftPrefill(Operation *op, ArrayRef<Region *> steps);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_DRAFTPREFILL_H
