//===- KernelKinds.h - Queries on kernels -----------------------*- C++ -*-===//
//
// The number of buffers and scalars of a kernel, its results, and the number of
// its tasks. Passes use these functions to choose kernels, and the verifier of
// the exec dialect uses them to check dispatches. Each kind gives the answers
// beside its op (ExecKernels.td, KernelContract.h).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELKINDS_H
#define MTP_DIALECTS_EXEC_IR_KERNELKINDS_H

#include "dialects/Exec/IR/ExecAttrInterfaces.h"
#include <vector>

namespace mlir::exec {

/// The signature of a kernel.
struct KernelSignature {
  /// Buffers in binding order: inputs, including those updated in place,
  /// followed by the `outputs` results.
  int64_t buffers;
  int64_t outputs;
  /// 64-bit scalars.
  int64_t params;
};

KernelSignature kernelSignature(KernelAttrInterface kernel);

/// Returns whether `kernel` updates its buffer number `buffer`, which is not
/// one of its results, in place.
bool updatesBuffer(KernelAttrInterface kernel, int64_t buffer);

/// Returns whether there is a task per row or per slot.
bool dividesByRow(KernelAttrInterface kernel);

/// Returns whether there is one task per row that accesses no other rows of any
/// activation.
bool isRowLocal(KernelAttrInterface kernel);

TaskShape taskShape(KernelAttrInterface kernel);

/// Returns the number of tasks of a dispatch. Tasks may run on different
/// threads; no task reads what another task writes.
int64_t kernelTasks(KernelAttrInterface kernel, llvm::ArrayRef<int64_t> params);

/// Returns the names of all kinds, without the runtime's builtins.
std::vector<llvm::StringRef> allKernelKinds();

/// Names starting with this prefix are builtins of the runtime.
inline constexpr llvm::StringLiteral kBuiltinPrefix = "mtp.";

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELKINDS_H
