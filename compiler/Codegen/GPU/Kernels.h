//===- Kernels.h - GPU kernels as functions ---------------------*- C++ -*-===//
//
// A kernel is a gpu.func. It takes its buffers as pointers to global memory, a
// pointer to the number of active rows if it may have padding rows, and its
// params as i64. Block b runs task b.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_GPU_KERNELS_H
#define MTP_COMPILER_CODEGEN_GPU_KERNELS_H

#include "compiler/Codegen/GPU/GpuBuilder.h"
#include "compiler/Codegen/KernelCatalogue.h"

namespace mtp::codegen {

/// Number of threads in a block of a row kernel.
inline constexpr int64_t kRowThreads = 128;

/// Emitter of one kind of the catalogue that is not a row kernel.
struct GpuEmitter {
  llvm::StringLiteral kind;
  std::function<GpuLaunch(exec::KernelAttrInterface)> launch;
  std::function<void(GpuBuilder &, exec::KernelAttrInterface)> emit;
  /// Checks what this target requires of a kernel in addition to what its kind
  /// requires. Empty if there is nothing to check.
  std::function<mlir::LogicalResult(exec::KernelAttrInterface, EmitError)>
      verify;
};

/// Returns the entry for the kind that the functions take.
template <typename KernelT>
GpuEmitter gpuEmitter(
    std::type_identity_t<GpuLaunch (*)(KernelT)> launch,
    void (*emit)(GpuBuilder &, KernelT),
    std::type_identity_t<mlir::LogicalResult (*)(KernelT, EmitError)> verify =
        nullptr) {
  using Kernel = exec::KernelAttrInterface;
  GpuEmitter emitter{
      KernelT::kKind,
      [launch](Kernel kernel) { return launch(mlir::cast<KernelT>(kernel)); },
      [emit](GpuBuilder &kb, Kernel kernel) {
        emit(kb, mlir::cast<KernelT>(kernel));
      },
      {}};
  if (verify)
    emitter.verify = [verify](Kernel kernel, EmitError emitError) {
      return verify(mlir::cast<KernelT>(kernel), emitError);
    };
  return emitter;
}

/// Returns the kinds that have code for GPUs only.
std::vector<llvm::StringRef> gpuKernelKinds();

/// Appends the kernel to `module`, which may hold others, and returns its
/// launch shape.
mlir::FailureOr<GpuLaunch> emitGpuKernel(mlir::OpBuilder &builder,
                                         mlir::gpu::GPUModuleOp module,
                                         const KernelSpec &spec);

/// Emits the body of a kernel that carries it. A thread runs a task, or a block
/// does if the lanes share a loop of the body.
mlir::LogicalResult emitGpuControl(GpuBuilder &kb, mlir::Region &body);

// One array per family, defined next to its emitters.
llvm::ArrayRef<GpuEmitter> gpuArgmaxKernels();
llvm::ArrayRef<GpuEmitter> gpuAttentionKernels();
llvm::ArrayRef<GpuEmitter> gpuExpertKernels();
llvm::ArrayRef<GpuEmitter> gpuLinearKernels();
llvm::ArrayRef<GpuEmitter> gpuPackKernels();
llvm::ArrayRef<GpuEmitter> gpuPlanKernels();
llvm::ArrayRef<GpuEmitter> gpuPrepareKernels();
llvm::ArrayRef<GpuEmitter> gpuSampleKernels();
llvm::ArrayRef<GpuEmitter> gpuUnpackKernels();

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_KERNELS_H
