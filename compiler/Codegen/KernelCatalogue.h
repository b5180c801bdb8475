//===- KernelCatalogue.h - Kinds of kernels and their keys ------*- C++ -*-===//
//
// What the configuration of a kernel may say, whatever the target. The buffers,
// params and tasks of each kind are said beside its op
// (dialects/Exec/IR/Exec*Kernels.cpp), its configuration in
// compiler/Codegen/README.md. Row kernels (compiler/Codegen/Rows) have their
// code here as well, written once for all targets; for the others each target
// has a table of emitters.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_KERNELCATALOGUE_H
#define COMPILER_CODEGEN_KERNELCATALOGUE_H

#include "compiler/Codegen/KernelBuilder.h"
#include <string>
#include <vector>

namespace mtp::codegen {

/// One kernel to emit: its exported name, its kind and what it is
/// specialised on.
struct KernelSpec {
  std::string symbol;
  std::string kind;
  mlir::DictionaryAttr config;
  /// What one task does, where the kernel carries it (`exec.kernel`).
  mlir::Region *body = nullptr;
};

/// A kind of the exec dialect's catalogue.
struct KernelKind {
  llvm::StringLiteral name;
  llvm::ArrayRef<ConfigKey> keys;
  /// What the types of the keys do not say; null when nothing.
  mlir::LogicalResult (*verify)(const KernelConfig &, EmitError) = nullptr;
};

/// What a task divides into (`KernelBuilder::forItems`), or the stretches of
/// its elements: a target with many threads has some for each.
struct TaskItems {
  int64_t count = 1;
  /// Whether the lanes of an item wait for each other or are joined.
  bool areJoined = true;

  /// Elements that need nothing of each other.
  static TaskItems elements(int64_t count) {
    constexpr int64_t stretch = 256;
    return {(count + stretch - 1) / stretch, /*areJoined=*/false};
  }
};

/// A kind whose code is the same on every target.
struct RowKernel {
  KernelKind kind;
  void (*emit)(KernelBuilder &, const KernelConfig &);
  /// Scratch bytes of a task; null for none.
  int64_t (*scratch)(const KernelConfig &) = nullptr;
  /// Null where a task is one item.
  TaskItems (*items)(const KernelConfig &) = nullptr;
};

/// All kinds, sorted.
std::vector<llvm::StringRef> kernelKinds();

/// The kind of that name; null where there is none.
const KernelKind *findKind(llvm::StringRef name);
/// Its code, where that is written once; null otherwise.
const RowKernel *findRowKernel(llvm::StringRef name);

/// The checked configuration of a kernel without a body; an error names what
/// is wrong.
mlir::FailureOr<KernelConfig> resolveConfig(mlir::Location loc,
                                            const KernelSpec &spec);
/// The same, where the spec may have a body.
mlir::LogicalResult verifyKernel(mlir::Location loc, const KernelSpec &spec);

/// Reports unless every one of `keys` that is present is at least `least`.
mlir::LogicalResult verifyAtLeast(const KernelConfig &config,
                                  llvm::ArrayRef<llvm::StringRef> keys,
                                  int64_t least, EmitError emitError);

// One array per family, beside the emitters of a row kernel.
llvm::ArrayRef<RowKernel> argmaxKernels();
llvm::ArrayRef<RowKernel> cacheKernels();
llvm::ArrayRef<RowKernel> elementwiseKernels();
llvm::ArrayRef<RowKernel> embeddingKernels();
llvm::ArrayRef<RowKernel> expertRowKernels();
llvm::ArrayRef<RowKernel> moeRouteKernels();
llvm::ArrayRef<RowKernel> normKernels();
llvm::ArrayRef<RowKernel> ropeAppendKernels();
llvm::ArrayRef<RowKernel> ropeKernels();
llvm::ArrayRef<RowKernel> stateRowsKernels();
// Kinds that each target emits itself.
llvm::ArrayRef<KernelKind> attentionKinds();
llvm::ArrayRef<KernelKind> productKinds();
/// What the CPU leaves to the runtime's builtins.
llvm::ArrayRef<KernelKind> sampleKinds();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_KERNELCATALOGUE_H
