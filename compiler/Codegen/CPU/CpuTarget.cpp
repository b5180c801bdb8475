//===- CpuTarget.cpp - x86-64 processors as a target ----------------------===//

#include "compiler/Codegen/CPU/CpuTarget.h"
#include "compiler/Codegen/CPU/Kernels.h"
#include "compiler/Codegen/CPU/target/Compile.h"
#include "compiler/Codegen/CPU/target/Link.h"
#include "compiler/Codegen/Units/BackendCode.h"
#include "compiler/Codegen/Units/KernelUnits.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/ADT/bit.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

// The file format sets the width of integer panels, and kernels support no
// other.
static_assert(kPanelWidth == QuantizedPanel::kOutputs);

Result<std::unique_ptr<compiler::Target>>
CpuTarget::create(const compiler::TargetOptions &options) {
  llvm::Expected<TargetDesc> desc = TargetDesc::parse(options.cpu);
  if (!desc)
    return invalidArgument(llvm::toString(desc.takeError()));
  compiler::Tuning tuned = options.tuning.of(TunedFor::Cpu);
  desc->prefetchBytes = tuned.at(tunable::kPrefetchBytes);
  desc->blockRows = llvm::bit_floor(uint64_t(tuned.at(tunable::kBlockRows)));
  return std::unique_ptr<Target>(
      new CpuTarget(std::move(*desc), options.workers, std::move(tuned)));
}

compiler::Machine CpuTarget::machine() const {
  return {"x86_64", desc.cpu, desc.requiredFeatures};
}

int64_t CpuTarget::panelWidth() const { return kPanelWidth; }

void CpuTarget::addSchedulePasses(OpPassManager &manager) const {
  int64_t tasks = tuned.at(tunable::kAttentionTasks);
  mlir::mtp::SplitAttentionPassOptions split;
  split.workers = tasks ? tasks : workers;
  manager.addPass(mlir::mtp::createSplitAttentionPass(split));
  manager.addPass(
      mlir::mtp::createFormStagesPass({tuned.at(tunable::kSoloElements)}));
}

/// Emits a kernel into `unit`.
static LogicalResult emitUnit(OpBuilder &builder, ModuleOp unit,
                              exec::KernelOp kernel, const TargetDesc &desc) {
  KernelSpec spec{kUnitSymbol.str(), kernel.getKernel(),
                  kernel.hasBody() ? &kernel.getBody() : nullptr};
  if (failed(verifyKernel(kernel.getLoc(), spec)) ||
      failed(emitKernel(builder, unit, spec, desc)))
    return kernel.emitOpError("has no code on this target");
  return success();
}

/// Links the kernels of a plan. Exports each by its name in the plan.
static llvm::Expected<std::vector<char>>
linkUnits(ArrayRef<CompiledUnit> units, ArrayRef<UnitRequest> requests) {
  SmallVector<StringRef> objects;
  for (const KernelObject *object : distinctObjects(units))
    objects.emplace_back(object->parts.front().data(),
                         object->parts.front().size());
  std::vector<ExportedName> names;
  for (auto [unit, request] : llvm::zip_equal(units, requests))
    names.push_back({request.name, unit.symbol});
  return linkSharedImage(objects, names);
}

FailureOr<compiler::KernelCode>
CpuTarget::generateCode(ModuleOp module,
                        const compiler::CodegenOptions &options) const {
  MLIRContext &context = *module.getContext();
  loadKernelDialects(context);
  registerKernelTranslations(context);
  compiler::KernelCode code{schema::ImageFormat::ElfShared};
  std::vector<UnitRequest> requests;
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    if (kernel.getKernel().isBuiltin())
      continue;
    requests.push_back({kernel.getSymName().str(), kernel.getKind().str(),
                        [kernel, this](OpBuilder &builder, ModuleOp unit) {
                          return emitUnit(builder, unit, kernel, desc);
                        }});
    KernelSpec spec{kernel.getSymName().str(), kernel.getKernel(),
                    kernel.hasBody() ? &kernel.getBody() : nullptr};
    uint64_t scratch = kernelScratchBytes(spec, desc);
    code.scratchOf[kernel.getSymName()] = scratch;
    code.scratchBytes = std::max(code.scratchBytes, scratch);
  }
  auto units =
      compileUnits(context, module.getLoc(), requests,
                   CpuBackend(desc, std::string(kernelBackendCode())), options);
  if (failed(units))
    return failure();
  llvm::Expected<std::vector<char>> image = linkUnits(*units, requests);
  if (!image)
    return module.emitError("cannot link the kernels: ")
           << llvm::toString(image.takeError());
  code.images.push_back({std::move(*image), {}});
  return code;
}
