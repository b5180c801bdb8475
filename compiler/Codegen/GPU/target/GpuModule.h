//===- GpuModule.h - From a gpu.module to LLVM IR ---------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_GPUMODULE_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_GPUMODULE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include <memory>

namespace llvm {
class Module;
} // namespace llvm

namespace mtp::gpu {

/// Registers the dialects of GPU kernels and their lowerings to LLVM. A
/// registry must have them before a gpu.module is lowered.
void registerGpuDialects(mlir::DialectRegistry &registry);

/// Adds the passes that lower a gpu.module to the llvm and nvvm dialects.
void addGpuLowering(mlir::OpPassManager &kernels);

/// Lowers every gpu.module in `module`, in place, to the llvm and nvvm
/// dialects. The result does not depend on chip or driver: they differ in LLVM
/// IR only.
mlir::LogicalResult lowerGpuModules(mlir::ModuleOp module);

/// Translates a lowered gpu.module to LLVM IR. Errors are reported on it, and
/// the result is null.
std::unique_ptr<llvm::Module> translateGpuModule(mlir::gpu::GPUModuleOp module,
                                                 llvm::LLVMContext &context);

} // namespace mtp::gpu

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_GPUMODULE_H
