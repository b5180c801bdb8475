//===- KernelTable.h - Registration of kernel kinds -------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_KERNELTABLE_H
#define COMPILER_CODEGEN_CPU_KERNELTABLE_H

#include "compiler/Codegen/CPU/KernelBuilder.h"

namespace mtp::codegen {

/// One row of the catalogue.
struct KernelKind {
  llvm::StringLiteral name;
  llvm::ArrayRef<ConfigKey> keys;
  void (*emit)(KernelBuilder &, const KernelConfig &);
  /// Tasks of a dispatch with this many rows.
  int64_t (*tasks)(const KernelConfig &, int64_t rows);
  /// Scratch bytes per worker; null for none.
  int64_t (*scratch)(const KernelConfig &, const TargetDesc &) = nullptr;
  /// What the types of the keys do not say; null when nothing.
  mlir::LogicalResult (*verify)(const KernelConfig &, EmitError) = nullptr;
};

/// The two common task counts: one per row, and one for all rows.
int64_t taskPerRow(const KernelConfig &, int64_t rows);
int64_t singleTask(const KernelConfig &, int64_t rows);

/// Reports unless every one of `keys` that is present is at least `least`.
mlir::LogicalResult verifyAtLeast(const KernelConfig &config,
                                  llvm::ArrayRef<llvm::StringRef> keys,
                                  int64_t least, EmitError emitError);

/// Puts the loop over tasks around the body of a kernel that carries it.
mlir::LogicalResult emitControl(mlir::OpBuilder &builder, KernelBuilder &kb,
                                mlir::Region &body);

// One array per family, defined beside its emitters.
llvm::ArrayRef<KernelKind> argmaxKernels();
llvm::ArrayRef<KernelKind> attentionKernels();
llvm::ArrayRef<KernelKind> cacheKernels();
llvm::ArrayRef<KernelKind> elementwiseKernels();
llvm::ArrayRef<KernelKind> embeddingKernels();
llvm::ArrayRef<KernelKind> linearArgmaxKernels();
llvm::ArrayRef<KernelKind> linearKernels();
llvm::ArrayRef<KernelKind> moeKernels();
llvm::ArrayRef<KernelKind> moeRouteKernels();
llvm::ArrayRef<KernelKind> normKernels();
llvm::ArrayRef<KernelKind> ropeAppendKernels();
llvm::ArrayRef<KernelKind> ropeKernels();
llvm::ArrayRef<KernelKind> stateRowsKernels();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_KERNELTABLE_H
