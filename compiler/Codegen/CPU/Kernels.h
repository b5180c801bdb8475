//===- Kernels.h - The catalogue of CPU kernels -----------------*- C++ -*-===//
//
// Every kernel has the signature
//
//   void NAME(void *const *buffers, const int64_t *params,
//             int64_t taskBegin, int64_t taskEnd, void *scratch);
//
// The buffers, params and tasks of each kind are said beside its op
// (dialects/Exec/IR/Exec*Kernels.cpp), its configuration in
// compiler/Codegen/README.md. A caller may split [0, tasks) among threads as it
// likes; the result does not depend on the split.
//
//===----------------------------------------------------------------------===//

#ifndef COMPILER_CODEGEN_CPU_KERNELS_H
#define COMPILER_CODEGEN_CPU_KERNELS_H

#include "compiler/Codegen/CPU/TargetDesc.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>
#include <string>

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

/// All kinds, sorted.
std::vector<llvm::StringRef> kernelKinds();

/// Checks kind and config; an error names what is wrong.
mlir::LogicalResult verifyKernel(mlir::Location loc, const KernelSpec &spec);

/// Bytes of scratch that each worker must provide, 64-byte aligned.
/// The spec must verify.
int64_t kernelScratchBytes(const KernelSpec &spec, const TargetDesc &target);

/// Appends the kernel's function to `kernels`, in MLIR's vector, x86vector,
/// scf, arith and llvm dialects.
mlir::LogicalResult emitKernel(mlir::OpBuilder &builder, mlir::ModuleOp kernels,
                               const KernelSpec &spec,
                               const TargetDesc &target);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_KERNELS_H
