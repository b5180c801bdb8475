//===- ExecAttrInterfaces.h - Shared interface of kernels -------*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECATTRINTERFACES_H
#define MTP_DIALECTS_EXEC_IR_EXECATTRINTERFACES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::exec {

class ContractWriter;
struct PackedMatrices;

/// Begins an error about a kernel; the caller appends the reason.
using KernelErrorFn = llvm::function_ref<InFlightDiagnostic()>;

/// The division of a kernel's work into tasks.
struct TaskShape {
  /// Rows or slots (of the first param) per group; each group has `tasks`
  /// tasks. 0: the kernel has `tasks` tasks in all.
  int64_t rowsPerGroup;
  int64_t tasks;
};

/// Divisions of the work of a kernel kind into tasks.
enum class Division {
  /// One task per row: the first param. A task reads and writes its own row of
  /// every activation.
  Rows,
  /// One task per row, which reads other rows, too.
  GatheredRows,
  /// One task per slot of the batch: the first param.
  Slots,
  /// One task for each row and stretch of the vocabulary, whose size is the
  /// second param.
  RowStretches,
  /// Given by `getTasks`.
  Other,
};

/// Returns `stride`, or `width` if rows lie side by side.
inline int64_t strideOr(int64_t stride, int64_t width) {
  return stride ? stride : width;
}

/// Reports an error if a number of a kernel is less than `least`.
LogicalResult verifyLeast(KernelErrorFn emitError, llvm::StringRef name,
                          int64_t value, int64_t least);

} // namespace mlir::exec

#include "dialects/Exec/IR/ExecAttrInterfaces.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECATTRINTERFACES_H
