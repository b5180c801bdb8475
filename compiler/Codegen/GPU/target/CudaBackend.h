//===- CudaBackend.h - From one GPU kernel to PTX and cubin -----*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_CUDABACKEND_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_CUDABACKEND_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace mtp::gpu {

/// Lowers and translates units that hold one gpu.module, one after another.
class GpuUnitLowering {
public:
  explicit GpuUnitLowering(mlir::MLIRContext &context);

  /// Translates the kernels of `unit`. Renames the kernel kUnitSymbol, and
  /// variables whose names begin with it, to `symbol`. Returns null if that
  /// fails, with a diagnostic.
  std::unique_ptr<llvm::Module> translate(mlir::ModuleOp unit,
                                          llvm::StringRef symbol,
                                          llvm::LLVMContext &context);

private:
  mlir::PassManager manager;
};

/// Compiles GPU kernels. The parts of an object are PTX and, if the toolkit has
/// ptxas, a cubin and the report of `ptxas -v`.
class CudaBackend : public codegen::KernelBackend {
public:
  enum Part { kPtx, kCubin, kReport };

  /// `code` names the code of the backend, see kernelBackendCode.
  CudaBackend(std::string chip, std::string code)
      : chip(std::move(chip)), code(std::move(code)) {}

  std::string identity() const override;
  /// Returns false: each GPU kernel has a symbol of its own in the artifact.
  bool sharesSymbols() const override { return false; }
  std::unique_ptr<codegen::KernelCompiler>
  makeCompiler(mlir::MLIRContext &context) const override;

private:
  std::string chip;
  std::string code;
};

} // namespace mtp::gpu

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_CUDABACKEND_H
