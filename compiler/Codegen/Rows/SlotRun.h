//===- SlotRun.h - Consecutive rows of a slot -------------------*- C++ -*-===//
//
// Private to the kernels whose state carries over from row to row.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_SLOTRUN_H
#define MTP_COMPILER_CODEGEN_ROWS_SLOTRUN_H

#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

/// Numbers of the buffers that assign rows to slots and decide what is kept.
struct RunBuffers {
  int64_t slots, positions, pending, keeps;
};

/// Active rows of a slot. All values are uniform i64.
struct SlotRun {
  Value slot, first, count;
  /// True if the run begins at position 0, and so without state.
  Value isFresh;
  /// Number of kept rows to apply to the state first; 0 if the run is fresh.
  Value pending;
  /// Number of first rows that are not kept; all later rows are kept.
  Value lead;
};

/// Calls `body` if `row` is a padding row. Its task stores zeros for it, so
/// that a reader of all rows finds numbers.
void forPaddingRowAt(KernelBuilder &kb, Value row, const RunBuffers &buffers,
                     llvm::function_ref<void()> body);

/// Calls `body` with the run that begins at `row`. Does nothing if no run
/// begins there or the run has no active rows. `kept` is the most rows that a
/// slot keeps, and `slots` is the number of slots. Numbers out of range are
/// clamped.
void forRunAt(KernelBuilder &kb, Value row, const RunBuffers &buffers,
              int64_t kept, int64_t slots,
              llvm::function_ref<void(const SlotRun &)> body);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_SLOTRUN_H
