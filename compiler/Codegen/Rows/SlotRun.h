//===- SlotRun.h - The rows of a slot, one behind another -------*- C++ -*-===//
//
// Private to the kernels whose state goes from row to row.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_ROWS_SLOTRUN_H
#define COMPILER_CODEGEN_ROWS_SLOTRUN_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Where a kernel has what says whose row a row is, and what to do with it.
struct RunBuffers {
  int64_t slots, positions, pending, keeps;
};

/// Rows of a slot that live. All are uniform i64.
struct SlotRun {
  Value slot, first, count;
  /// The run begins at position 0, and so with no state.
  Value isFresh;
  /// Kept rows that go into the state first; none where it is fresh.
  Value pending;
  /// Rows that are not kept, and so the first one that is: all behind it are.
  Value lead;
};

/// Calls `body` where `row` is dead: its task gives it zeros, so that whoever
/// reads all rows finds numbers.
void forDeadRowAt(KernelBuilder &kb, Value row, const RunBuffers &buffers,
                  llvm::function_ref<void()> body);

/// Calls `body` with the run that begins with row `row`, if one does and has
/// rows that live. `kept` is how many rows a slot keeps at most, `slots` how
/// many slots there are; numbers out of range are taken for the nearest.
void forRunAt(KernelBuilder &kb, Value row, const RunBuffers &buffers,
              int64_t kept, int64_t slots,
              llvm::function_ref<void(const SlotRun &)> body);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_SLOTRUN_H
