//===- KernelTable.h - Registration of emitters -----------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_KERNELTABLE_H
#define COMPILER_CODEGEN_CPU_KERNELTABLE_H

#include "compiler/Codegen/CPU/KernelBuilder.h"

namespace mtp::codegen {

/// Emits one kind of the exec dialect's catalogue, which says what buffers it
/// has and how its work divides.
struct KernelEmitter {
  llvm::StringLiteral name;
  llvm::ArrayRef<ConfigKey> keys;
  void (*emit)(KernelBuilder &, const KernelConfig &);
  /// Scratch bytes per worker; null for none.
  int64_t (*scratch)(const KernelConfig &, const TargetDesc &) = nullptr;
  /// What the types of the keys do not say; null when nothing.
  mlir::LogicalResult (*verify)(const KernelConfig &, EmitError) = nullptr;
};

/// The emitter of `kind`; null where there is none.
const KernelEmitter *findEmitter(llvm::StringRef kind);

/// Reports unless every one of `keys` that is present is at least `least`.
mlir::LogicalResult verifyAtLeast(const KernelConfig &config,
                                  llvm::ArrayRef<llvm::StringRef> keys,
                                  int64_t least, EmitError emitError);

/// Puts the loop over tasks around the body of a kernel that carries it.
mlir::LogicalResult emitControl(mlir::OpBuilder &builder, KernelBuilder &kb,
                                mlir::Region &body);

// One array per family, defined beside its emitters.
llvm::ArrayRef<KernelEmitter> argmaxKernels();
llvm::ArrayRef<KernelEmitter> attentionKernels();
llvm::ArrayRef<KernelEmitter> cacheKernels();
llvm::ArrayRef<KernelEmitter> elementwiseKernels();
llvm::ArrayRef<KernelEmitter> embeddingKernels();
llvm::ArrayRef<KernelEmitter> linearArgmaxKernels();
llvm::ArrayRef<KernelEmitter> linearKernels();
llvm::ArrayRef<KernelEmitter> moeKernels();
llvm::ArrayRef<KernelEmitter> moeRouteKernels();
llvm::ArrayRef<KernelEmitter> normKernels();
llvm::ArrayRef<KernelEmitter> ropeAppendKernels();
llvm::ArrayRef<KernelEmitter> ropeKernels();
llvm::ArrayRef<KernelEmitter> stateRowsKernels();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_KERNELTABLE_H
