//===- RecurrenceUses.h - Check uses of recurrent layers --------*- C++ -*-===//

#ifndef MTP_PASSES_MODEL_RECURRENCEUSES_H
#define MTP_PASSES_MODEL_RECURRENCEUSES_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// Checks rules E3 to E6 of `mtp-verify-entries`.
LogicalResult verifyRecurrences(ModuleOp module);

} // namespace mlir::mtp

#endif // MTP_PASSES_MODEL_RECURRENCEUSES_H
