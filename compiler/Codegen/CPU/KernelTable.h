//===- KernelTable.h - Emitters of the CPU's own ----------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_KERNELTABLE_H
#define COMPILER_CODEGEN_CPU_KERNELTABLE_H

#include "compiler/Codegen/CPU/CpuBuilder.h"
#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// Emits one kind of the catalogue that is not a row kernel.
struct KernelEmitter {
  llvm::StringLiteral kind;
  void (*emit)(CpuBuilder &, const KernelConfig &);
  /// Scratch bytes per worker.
  int64_t (*scratch)(const KernelConfig &, const TargetDesc &);
  /// What this target asks of a configuration beyond what the kind does; null
  /// when nothing.
  mlir::LogicalResult (*verify)(const KernelConfig &, EmitError) = nullptr;
};

/// Puts the loop over tasks around the body of a kernel that carries it.
mlir::LogicalResult emitControl(mlir::OpBuilder &builder, CpuBuilder &kb,
                                mlir::Region &body);

// One array per family, defined beside its emitters.
llvm::ArrayRef<KernelEmitter> attentionKernels();
llvm::ArrayRef<KernelEmitter> linearArgmaxKernels();
llvm::ArrayRef<KernelEmitter> linearKernels();
llvm::ArrayRef<KernelEmitter> moeKernels();

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_KERNELTABLE_H
