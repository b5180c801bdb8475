//===- ExecAttrInterfaces.h - What all kernels and layouts say --*- C++ -*-===//

#ifndef MTP_DIALECTS_EXEC_IR_EXECATTRINTERFACES_H
#define MTP_DIALECTS_EXEC_IR_EXECATTRINTERFACES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::exec {

class ContractWriter;
struct PackedMatrices;

/// Begins an error about a kernel; what is wrong with it is appended.
using KernelErrorFn = llvm::function_ref<InFlightDiagnostic()>;

/// How the work of a kernel divides into tasks.
struct TaskShape {
  /// Rows or slots, the first param, of which each group has `tasks`; 0 where
  /// there are as many tasks whatever the params.
  int64_t rowsPerGroup;
  int64_t tasks;
};

/// How a kind's work divides into tasks.
enum class Division {
  /// One task per row: the first param. A task reads and writes its own row of
  /// every activation.
  Rows,
  /// One task per row, which reads other rows, too.
  GatheredRows,
  /// One task per slot of the batch: the first param.
  Slots,
  /// A task for each row and stretch of the vocabulary, which is the second
  /// param.
  RowStretches,
  /// As `getTasks` says.
  Other,
};

/// `stride`, or `width` where rows lie side by side.
inline int64_t strideOr(int64_t stride, int64_t width) {
  return stride ? stride : width;
}

/// Reports a number of a kernel that is less than `least`.
LogicalResult verifyLeast(KernelErrorFn emitError, llvm::StringRef name,
                          int64_t value, int64_t least);

} // namespace mlir::exec

#include "dialects/Exec/IR/ExecAttrInterfaces.h.inc"

#endif // MTP_DIALECTS_EXEC_IR_EXECATTRINTERFACES_H
