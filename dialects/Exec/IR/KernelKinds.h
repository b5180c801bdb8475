//===- KernelKinds.h - The catalogue of kernels -----------------*- C++ -*-===//
//
// What every kernel kind takes: how many buffers and scalars, which buffers are
// its results, and into how many tasks its work splits. Passes choose kernels
// and the verifier of the exec dialect checks dispatches by these functions;
// what they know, each kind says beside its op (KernelFamily.h).
//
//===----------------------------------------------------------------------===//

#ifndef MTP_DIALECTS_EXEC_IR_KERNELKINDS_H
#define MTP_DIALECTS_EXEC_IR_KERNELKINDS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <vector>

namespace mlir::exec {

/// What a kernel of one kind and configuration takes.
struct KernelSignature {
  /// Buffers in binding order: inputs first, those updated in place among them,
  /// and the `outputs` results last.
  int64_t buffers;
  int64_t outputs;
  /// 64-bit scalars.
  int64_t params;
};

/// Returns the signature of `kind`, or nothing where the catalogue has no such
/// kind.
std::optional<KernelSignature> kernelSignature(llvm::StringRef kind,
                                               DictionaryAttr config);

/// Returns whether a kernel of `kind` updates its buffer number `buffer`, which
/// is not one of its results, in place.
bool updatesBuffer(llvm::StringRef kind, int64_t buffer);

/// Returns whether there is a task per row or per slot.
bool dividesByRow(llvm::StringRef kind);

/// Returns whether there is a task per row that touches nothing of the other
/// rows of any activation.
bool isRowLocal(llvm::StringRef kind);

/// How the work of a kernel divides into tasks.
struct TaskShape {
  /// Rows or slots, the first param, of which each group has `tasks`; 0 where
  /// there are as many tasks whatever the params.
  int64_t rowsPerGroup;
  int64_t tasks;
};
TaskShape taskShape(llvm::StringRef kind, DictionaryAttr config);

/// Returns the number of tasks of a dispatch: pieces of work that may run on
/// different threads, none of which reads what another writes.
int64_t kernelTasks(llvm::StringRef kind, DictionaryAttr config,
                    llvm::ArrayRef<int64_t> params);

/// Adds the sizes of buffers whose rows a kernel of `kind` finds by numbers
/// that it reads, where `config` does not give them (`slots`, `positions`): a
/// number beyond them must not lead out of the buffer. `buffers` are the types
/// of all buffers.
DictionaryAttr addIndexLimits(llvm::StringRef kind, DictionaryAttr config,
                              llvm::ArrayRef<Type> buffers);

/// The names of all kinds, builtins included.
std::vector<llvm::StringRef> allKernelKinds();

/// The kind of kernels that carry their body, see exec.kernel. It is no row of
/// the catalogue: the configuration counts the buffers.
inline constexpr llvm::StringLiteral kControlKind = "control";

/// Names starting with this prefix are builtins of the runtime.
inline constexpr llvm::StringLiteral kBuiltinPrefix = "mtp.";

/// The kind of products that a library of the GPU's vendor computes: no target
/// has code for it.
inline constexpr llvm::StringLiteral kLibraryKind = "gemm";

/// Reads an integer or boolean of a configuration; absent keys read as 0.
int64_t configInt(DictionaryAttr config, llvm::StringRef key);

/// The panels of the weight that a kernel streams, for `n` of its outputs. The
/// key `panel` says how many outputs a panel has; without it they are as many
/// as the file format's.
int64_t configPanels(DictionaryAttr config, int64_t n);
int64_t configPanelWidth(DictionaryAttr config);

} // namespace mlir::exec

#endif // MTP_DIALECTS_EXEC_IR_KERNELKINDS_H
