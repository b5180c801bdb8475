//===- CudaTarget.h - NVIDIA GPUs as a target -------------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H
#define MTP_COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H

#include "compiler/Codegen/Units/KernelBackend.h"
#include "compiler/Target/Target.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/Support/Error.h"

namespace mtp::codegen {

/// Target for NVIDIA GPUs. Emits kernels as PTX and, if the toolkit has ptxas,
/// as a cubin. A target for another driver with CUDA's interface derives from
/// this class and makes its own images.
class CudaTarget : public compiler::Target {
public:
  static constexpr llvm::StringLiteral kName = "cuda";

  /// Fails if the options name an unknown chip.
  static Result<std::unique_ptr<Target>>
  create(const compiler::TargetOptions &options);

  llvm::StringRef name() const override { return kName; }
  compiler::Machine machine() const override;
  int64_t panelWidth() const override;
  compiler::Tuning tuning() const override { return tuned; }
  bool ordersFragments() const override { return true; }
  bool runsGraphs() const override { return true; }
  void addSchedulePasses(mlir::OpPassManager &manager) const override;
  mlir::FailureOr<compiler::KernelCode>
  generateCode(mlir::ModuleOp module,
               const compiler::CodegenOptions &options) const override;

protected:
  /// Name of the machine in a plan with GPU kernels.
  static constexpr llvm::StringLiteral kArch = "nvptx";

  explicit CudaTarget(const compiler::TargetOptions &options)
      : chip(options.chip), tuned(options.tuning.of(TunedFor::Gpu)),
        findAlgorithms(options.findAlgorithms) {}

  /// Creates the backend that compiles kernels.
  virtual std::unique_ptr<KernelBackend> makeBackend() const;

  /// Appends images of compiled kernels to the images in `code` and sets their
  /// format. Returns the number of the image of each object.
  virtual llvm::Expected<std::vector<uint32_t>>
  addImages(llvm::ArrayRef<const KernelObject *> objects,
            compiler::KernelCode &code) const;

  /// Reads the assembler's report on the one kernel of an object.
  virtual std::vector<compiler::KernelResources>
  readResources(const KernelObject &object) const;

  /// Returns the number of bytes that a library may use in one product.
  virtual int64_t workspace() const;

private:
  mlir::LogicalResult compileKernels(mlir::ModuleOp module,
                                     const compiler::CodegenOptions &options,
                                     compiler::KernelCode &code) const;
  mlir::LogicalResult compileLoop(mlir::ModuleOp module,
                                  const compiler::CodegenOptions &options,
                                  compiler::KernelCode &code) const;

  std::string chip;
  compiler::Tuning tuned;
  compiler::FindAlgorithms findAlgorithms;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H
