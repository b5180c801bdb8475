//===- StaticRows.h - Rows of a program's values ----------------*- C++ -*-===//

#ifndef MTP_PASSES_STATICROWS_H
#define MTP_PASSES_STATICROWS_H

#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// What a program runs over.
struct ProgramRows {
  /// Slots of a round, sequences of a chunk.
  int64_t slots = 0;
  /// Rows of a chunk.
  int64_t chunk = 0;
};

/// Gives the results of `op`, whose operands are static, as many rows as they
/// have.
void setStaticRows(Operation *op, const ProgramRows &program);

} // namespace mlir::mtp

#endif // MTP_PASSES_STATICROWS_H
