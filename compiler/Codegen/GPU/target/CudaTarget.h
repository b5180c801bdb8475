//===- CudaTarget.h - NVIDIA GPUs as a target -------------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H
#define COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H

#include "compiler/Target/Target.h"

namespace mtp::codegen {

/// One gpu.module of all kernels: as PTX and, where the toolkit has ptxas, a
/// cubin; for the chip "sim" as an image of the simulator.
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
  generateCode(mlir::ModuleOp module) const override;

private:
  explicit CudaTarget(const compiler::TargetOptions &options)
      : chip(options.chip), libraryRows(options.libraryRows),
        tuneGemms(options.tuneGemms) {}

  bool isSimulated() const;

  std::string chip;
  int64_t libraryRows;
  compiler::TuneGemms tuneGemms;
};

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_GPU_TARGET_CUDATARGET_H
