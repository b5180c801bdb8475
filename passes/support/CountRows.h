//===- CountRows.h - Rows of a program's values -----------------*- C++ -*-===//

#ifndef MTP_PASSES_SUPPORT_COUNTROWS_H
#define MTP_PASSES_SUPPORT_COUNTROWS_H

#include "dialects/Exec/IR/Count.h"
#include "dialects/MTP/IR/MTPOps.h"

namespace mlir::mtp {

/// The row counts that a program is specialized for.
struct ProgramRows {
  /// Slots of a round, or sequences of a chunk.
  exec::Count slots;
  /// Rows of a chunk, or prompt rows of a mixed batch.
  exec::Count chunk;
  /// Sequences of the prompts in a mixed batch.
  exec::Count sequences = {};
  /// The values of n. They determine whether a row budget trims the batch.
  exec::Points points = {};
};

/// Sets the row counts of the results of `op`, whose operands have row counts
/// already. Reports an error if no count determines the number of rows.
LogicalResult countRows(Operation *op, const ProgramRows &program);

} // namespace mlir::mtp

#endif // MTP_PASSES_SUPPORT_COUNTROWS_H
