//===- Compile.h - From kernel functions to objects and images --*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_TARGET_COMPILE_H
#define MTP_COMPILER_CODEGEN_CPU_TARGET_COMPILE_H

#include "compiler/Codegen/CPU/target/TargetDesc.h"
#include "compiler/Codegen/Units/KernelBackend.h"
#include "mlir/IR/BuiltinOps.h"
#include <vector>

namespace mtp::codegen {

/// Loads the dialects that kernels are written in and lowered to. emitKernel
/// loads them too.
void loadKernelDialects(mlir::MLIRContext &context);

/// Registers the translations to LLVM IR. Must be called before threads
/// compile.
void registerKernelTranslations(mlir::MLIRContext &context);

/// Compiles CPU kernels to relocatable ELF objects with one part.
class CpuBackend : public KernelBackend {
public:
  /// Creates a backend. `code` identifies the backend's code, see
  /// kernelBackendCode.
  CpuBackend(TargetDesc target, std::string code)
      : target(std::move(target)), code(std::move(code)) {}

  std::string identity() const override;
  std::unique_ptr<KernelCompiler>
  makeCompiler(mlir::MLIRContext &context) const override;

private:
  TargetDesc target;
  std::string code;
};

/// Compiles a module of kernels for `target` and links a position-independent
/// ELF shared image that exports the kernels by their names. The image needs
/// only memcpy, memset and memmove from the process that loads it. Errors are
/// reported on the module.
mlir::FailureOr<std::vector<char>> compileKernels(mlir::ModuleOp kernels,
                                                  const TargetDesc &target);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_TARGET_COMPILE_H
