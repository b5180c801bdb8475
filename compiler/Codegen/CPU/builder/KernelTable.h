//===- KernelTable.h - Table of the CPU's emitters --------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_BUILDER_KERNELTABLE_H
#define MTP_COMPILER_CODEGEN_CPU_BUILDER_KERNELTABLE_H

#include "compiler/Codegen/CPU/builder/CpuBuilder.h"
#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// Emitter of one kind that is not a row kernel.
struct KernelEmitter {
  llvm::StringLiteral kind;
  std::function<void(CpuBuilder &, exec::KernelAttrInterface)> emit;
  /// Scratch bytes per worker.
  std::function<int64_t(exec::KernelAttrInterface, const TargetDesc &)> scratch;
  /// Verifies the requirements of this target beyond the requirements of the
  /// kind.
  std::function<mlir::LogicalResult(exec::KernelAttrInterface, EmitError)>
      verify;
};

/// Returns the entry of the kind whose attribute the functions take.
template <typename KernelT>
KernelEmitter kernelEmitter(
    void (*emit)(CpuBuilder &, KernelT),
    std::type_identity_t<int64_t (*)(KernelT, const TargetDesc &)> scratch,
    std::type_identity_t<mlir::LogicalResult (*)(KernelT, EmitError)> verify) {
  using Kernel = exec::KernelAttrInterface;
  return {KernelT::kKind,
          [emit](CpuBuilder &kb, Kernel kernel) {
            emit(kb, mlir::cast<KernelT>(kernel));
          },
          [scratch](Kernel kernel, const TargetDesc &target) {
            return scratch(mlir::cast<KernelT>(kernel), target);
          },
          [verify](Kernel kernel, EmitError emitError) {
            return verify(mlir::cast<KernelT>(kernel), emitError);
          }};
}

/// Emits the loop over tasks around the body of a kernel that carries its code.
mlir::LogicalResult emitControl(mlir::OpBuilder &builder, CpuBuilder &kb,
                                mlir::Region &body);

// One array per family, defined beside its emitters.
llvm::ArrayRef<KernelEmitter> attentionKernels();
llvm::ArrayRef<KernelEmitter> linearArgmaxKernels();
llvm::ArrayRef<KernelEmitter> linearKernels();
llvm::ArrayRef<KernelEmitter> moeKernels();

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_BUILDER_KERNELTABLE_H
