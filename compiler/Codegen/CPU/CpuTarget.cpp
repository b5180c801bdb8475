//===- CpuTarget.cpp - x86-64 processors as a target ----------------------===//

#include "compiler/Codegen/CPU/CpuTarget.h"
#include "compiler/Codegen/CPU/Compile.h"
#include "compiler/Codegen/CPU/Kernels.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

// Panels of integers are what the file format says, and kernels know no others.
static_assert(kPanelWidth == QuantizedPanel::kOutputs);

Result<std::unique_ptr<compiler::Target>>
CpuTarget::create(const compiler::TargetOptions &options) {
  llvm::Expected<TargetDesc> desc = TargetDesc::parse(options.cpu);
  if (!desc)
    return invalidArgument(llvm::toString(desc.takeError()));
  return std::unique_ptr<Target>(
      new CpuTarget(std::move(*desc), options.workers));
}

compiler::Machine CpuTarget::machine() const {
  return {"x86_64", desc.cpu, desc.requiredFeatures};
}

int64_t CpuTarget::panelWidth() const { return kPanelWidth; }

void CpuTarget::addSchedulePasses(OpPassManager &manager) const {
  manager.addPass(mlir::mtp::createSplitAttentionPass({workers}));
  manager.addPass(mlir::mtp::createFormStagesPass());
}

FailureOr<compiler::KernelCode> CpuTarget::generateCode(ModuleOp module) const {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  OpBuilder builder(module.getContext());
  compiler::KernelCode code{schema::ImageFormat::ElfShared};
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    if (kernel.getKernel().isBuiltin())
      continue;
    KernelSpec spec{kernel.getSymName().str(), kernel.getKernel(),
                    kernel.hasBody() ? &kernel.getBody() : nullptr};
    if (failed(verifyKernel(kernel.getLoc(), spec)) ||
        failed(emitKernel(builder, *kernels, spec, desc)))
      return kernel.emitOpError("has no code on this target");
    uint64_t scratch = kernelScratchBytes(spec, desc);
    code.scratchOf[kernel.getSymName()] = scratch;
    code.scratchBytes = std::max(code.scratchBytes, scratch);
  }
  FailureOr<std::vector<char>> image = compileKernels(*kernels, desc);
  if (failed(image))
    return failure();
  code.image.bytes = std::move(*image);
  return code;
}
