//===- CpuTarget.h - x86-64 processors as a target --------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_CPU_CPUTARGET_H
#define MTP_COMPILER_CODEGEN_CPU_CPUTARGET_H

#include "compiler/Codegen/CPU/target/TargetDesc.h"
#include "compiler/Target/Target.h"

namespace mtp::codegen {

/// The CPU as a target: kernels in one ELF image, programs in stages that
/// threads share.
class CpuTarget : public compiler::Target {
public:
  static constexpr llvm::StringLiteral kName = "cpu";

  /// Creates the target. Fails if the options name an unknown processor.
  static Result<std::unique_ptr<Target>>
  create(const compiler::TargetOptions &options);

  llvm::StringRef name() const override { return kName; }
  compiler::Machine machine() const override;
  int64_t panelWidth() const override;
  compiler::Tuning tuning() const override { return tuned; }
  void addSchedulePasses(mlir::OpPassManager &manager) const override;
  mlir::FailureOr<compiler::KernelCode>
  generateCode(mlir::ModuleOp module,
               const compiler::CodegenOptions &options) const override;

private:
  CpuTarget(TargetDesc desc, int64_t workers, compiler::Tuning tuned)
      : desc(std::move(desc)), workers(workers), tuned(std::move(tuned)) {}

  TargetDesc desc;
  int64_t workers;
  compiler::Tuning tuned;
};

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_CPU_CPUTARGET_H
