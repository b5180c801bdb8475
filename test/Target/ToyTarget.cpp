//===- ToyTarget.cpp - A target for tests only ----------------------------===//

#include "ToyTarget.h"

#include "dialects/Exec/IR/ExecOps.h"

using namespace mtp;
using namespace mtp::test;

Result<std::unique_ptr<compiler::Target>>
ToyTarget::create(const compiler::TargetOptions &options) {
  return std::unique_ptr<Target>(new ToyTarget());
}

compiler::Machine ToyTarget::machine() const {
  return {"toy", "toy1", {"panels16"}};
}

mlir::FailureOr<compiler::KernelCode>
ToyTarget::generateCode(mlir::ModuleOp module,
                        const compiler::CodegenOptions &options) const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // The format has one kind of image, and only a device looks into an image.
  compiler::KernelCode code{schema::ImageFormat::ElfShared};
  for (auto kernel : module.getOps<mlir::exec::KernelOp>()) {
    if (kernel.getKernel().isBuiltin())
      continue;
    if (kernel.getKind().starts_with("moe_"))
      return kernel.emitOpError("expected no kernel of experts for target ")
             << kName << ", got kind '" << kernel.getKind() << "'";
    kernel.print(stream);
    stream << "\n";
    code.scratchOf[kernel.getSymName()] = 0;
  }
  code.images.push_back({{text.begin(), text.end()}, {}});
  return code;
}
