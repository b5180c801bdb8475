//===- PromptPrograms.h - What follows from a round for prompts -*- C++ -*-===//

#ifndef MTP_PASSES_ROUND_PROMPTPROGRAMS_H
#define MTP_PASSES_ROUND_PROMPTPROGRAMS_H

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::mtp {

/// Makes the prefill that follows from a round of readable ops.
FailureOr<PrefillOp> makePrefill(RoundOp round);

/// Makes a function of the target on `rows` given rows, which returns logits. A
/// row of position -1 is padding. Returns null if the target needs more than
/// rows.
FailureOr<func::FuncOp> makeTargetFunction(VerifyOp verify,
                                           llvm::StringRef name, int64_t rows);

/// Makes the target function that scores texts.
LogicalResult makePromptLogits(VerifyOp verify, EnvelopeAttr envelope);

} // namespace mlir::mtp

#endif // MTP_PASSES_ROUND_PROMPTPROGRAMS_H
