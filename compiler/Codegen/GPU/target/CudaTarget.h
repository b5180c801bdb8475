//===- CudaTarget.h - NVIDIA GPUs as a target -------------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H
#define COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include "compiler/Target/Target.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

namespace mtp::codegen {

/// Kernels as PTX and, where the toolkit has ptxas and nvlink, a cubin. A
/// target for another driver of CUDA's interface is a class derived of this
/// one, which makes images of its own.
class CudaTarget : public compiler::Target {
public:
  static constexpr llvm::StringLiteral kName = "cuda";

  /// Fails where the options name a chip that is not known.
  static Result<std::unique_ptr<Target>>
  create(const compiler::TargetOptions &options);

  llvm::StringRef name() const override { return kName; }
  compiler::Machine machine() const override;
  int64_t panelWidth() const override;
  bool runsGraphs() const override { return true; }
  void addSchedulePasses(mlir::OpPassManager &manager) const override;
  mlir::FailureOr<compiler::KernelCode>
  generateCode(mlir::ModuleOp module,
               const compiler::CodegenOptions &options) const override;

protected:
  /// What a plan says of its machine where kernels are a GPU's.
  static constexpr llvm::StringLiteral kArch = "nvptx";

  explicit CudaTarget(const compiler::TargetOptions &options)
      : chip(options.chip), libraryRows(options.libraryRows),
        tuneGemms(options.tuneGemms) {}

  /// Fails where options are wrong for any such target.
  static Status checkOptions(const compiler::TargetOptions &options);

  /// Makes what compiles kernels.
  virtual std::unique_ptr<KernelBackend> makeBackend() const;

  /// Appends images of compiled kernels to those in `code`, says of what format
  /// they are, and returns the number of the image of each object.
  virtual llvm::Expected<std::vector<uint32_t>>
  addImages(llvm::ArrayRef<const KernelObject *> objects,
            compiler::KernelCode &code) const;

  /// Reads what the assembler says of the one kernel of an object.
  virtual std::vector<compiler::KernelResources>
  readResources(const KernelObject &object) const;

  /// Bytes that a library may use in one product.
  virtual int64_t workspace() const;

private:
  mlir::LogicalResult compileKernels(mlir::ModuleOp module,
                                     const compiler::CodegenOptions &options,
                                     compiler::KernelCode &code) const;
  mlir::LogicalResult compileLoop(mlir::ModuleOp module,
                                  const compiler::CodegenOptions &options,
                                  compiler::KernelCode &code) const;

  std::string chip;
  int64_t libraryRows;
  compiler::TuneGemms tuneGemms;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H
