//===- ToyTarget.h - A target for tests only --------------------*- C++ -*-===//

#ifndef MTP_TEST_TARGET_TOYTARGET_H
#define MTP_TEST_TARGET_TOYTARGET_H

#include "compiler/Target/Target.h"

namespace mtp::test {

/// A machine that differs from the CPU in everything that a target decides. Its
/// panels have 16 outputs, its calls run in written order, its code is the text
/// of its kernels, and it has no mixtures of experts. No device runs it.
class ToyTarget : public compiler::Target {
public:
  static constexpr llvm::StringLiteral kName = "toy";

  static Result<std::unique_ptr<Target>>
  create(const compiler::TargetOptions &options);

  llvm::StringRef name() const override { return kName; }
  compiler::Machine machine() const override;
  int64_t panelWidth() const override { return 16; }
  mlir::FailureOr<compiler::KernelCode>
  generateCode(mlir::ModuleOp module,
               const compiler::CodegenOptions &options) const override;
};

} // namespace mtp::test

#endif // MTP_TEST_TARGET_TOYTARGET_H
