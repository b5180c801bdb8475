//===- CountRows.h - Rows of a program's values -----------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_COUNTROWS_H
#define MTP_PASSES_SUPPORT_COUNTROWS_H

#include "dialects/Exec/IR/Count.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// What a program runs over.
struct ProgramRows {
  /// Slots of a round, sequences of a chunk.
  exec::Count slots;
  /// Rows of a chunk, or of prompts beside a round's.
  exec::Count chunk;
  /// Of prompts beside a round.
  exec::Count sequences = {};
  /// The values of n; what a budget trims is known for these.
  exec::Points points = {};
};

/// Gives the results of `op`, whose operands have counts of rows, as many rows
/// as they have. An error where no count says how many.
LogicalResult countRows(Operation *op, const ProgramRows &program);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_COUNTROWS_H
