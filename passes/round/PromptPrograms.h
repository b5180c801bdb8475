//===- PromptPrograms.h - What follows from a round for prompts -*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_PROMPTPROGRAMS_H
#define MTP_PASSES_ROUND_PROMPTPROGRAMS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Makes the prefill that follows from a round of readable ops.
FailureOr<PrefillOp> makePrefill(RoundOp round);

/// Makes a function of the target on given rows; a row of position -1 is
/// padding. Makes none if the target needs more than rows.
LogicalResult makePromptLogits(VerifyOp verify, EnvelopeAttr envelope);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_PROMPTPROGRAMS_H
