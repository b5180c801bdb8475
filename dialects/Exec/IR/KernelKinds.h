//===- KernelKinds.h - What passes ask of kernels ---------------*- C++ -*-===//
//
// How many buffers and scalars a kernel takes, which buffers are its results,
// and into how many tasks its work divides. Passes choose kernels and the
// verifier of the exec dialect checks dispatches by these functions; what they
// know, each kind says beside its op (ExecKernels.td, KernelContract.h).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELKINDS_H
#define MTP_DIALECTS_EXEC_IR_KERNELKINDS_H

#include "dialects/Exec/IR/ExecAttrInterfaces.h"
#include <vector>

namespace mlir::exec {

/// What a kernel takes.
struct KernelSignature {
  /// Buffers in binding order: inputs first, those updated in place among them,
  /// and the `outputs` results last.
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

/// Returns whether there is a task per row that touches nothing of the other
/// rows of any activation.
bool isRowLocal(KernelAttrInterface kernel);

TaskShape taskShape(KernelAttrInterface kernel);

/// Returns the number of tasks of a dispatch: pieces of work that may run on
/// different threads, none of which reads what another writes.
int64_t kernelTasks(KernelAttrInterface kernel, llvm::ArrayRef<int64_t> params);

/// The names of all kinds, without the runtime's builtins.
std::vector<llvm::StringRef> allKernelKinds();

/// Names starting with this prefix are builtins of the runtime.
inline constexpr llvm::StringLiteral kBuiltinPrefix = "mtp.";

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELKINDS_H
