//===- Kernels.h - CPU kernels as functions ---------------------*- C++ -*-===//
//
// Every kernel has the signature
//
//   void NAME(void *const *buffers, const int64_t *params,
//             int64_t taskBegin, int64_t taskEnd, void *scratch);
//
// A caller may split [0, tasks) among threads in any way; the result does not
// depend on the split.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_CODEGEN_CPU_KERNELS_H
#define MTP_COMPILER_CODEGEN_CPU_KERNELS_H

#include "compiler/Codegen/CPU/target/TargetDesc.h"
#include "compiler/Codegen/KernelCatalogue.h"
#include "mlir/IR/BuiltinOps.h"

namespace mtp::codegen {

/// Returns the kinds that the CPU has its own code for.
std::vector<llvm::StringRef> cpuKernelKinds();

/// Returns the bytes of scratch that each worker must provide, 64-byte aligned.
/// Precondition: the spec verifies.
int64_t kernelScratchBytes(const KernelSpec &spec, const TargetDesc &target);

/// Appends the kernel's function to `kernels`, in MLIR's vector, x86vector,
/// scf, arith and llvm dialects.
mlir::LogicalResult emitKernel(mlir::OpBuilder &builder, mlir::ModuleOp kernels,
                               const KernelSpec &spec,
                               const TargetDesc &target);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_KERNELS_H
