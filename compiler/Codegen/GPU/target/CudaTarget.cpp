//===- CudaTarget.cpp - NVIDIA GPUs as a target ---------------------------===//

#include "compiler/Codegen/GPU/target/CudaTarget.h"

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/target/CudaBackend.h"
#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/GPU/target/LoopKernels.h"
#include "compiler/Codegen/GPU/target/PtxasReport.h"
#include "compiler/Codegen/Units/BackendCode.h"
#include "compiler/Codegen/Units/KernelUnits.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Passes.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include <set>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Size that NVIDIA recommends for an sm_90.
static constexpr int64_t kWorkspace = 32 << 20;

/// Returns the number of a chip, 90 of "sm_90a", or 0 for any other name.
static unsigned numberOf(StringRef name) {
  unsigned number = 0;
  if (!name.consume_front("sm_") || name.consumeInteger(10, number))
    return 0;
  return name.empty() || name == "a" || name == "f" ? number : 0;
}

/// Refuses chips that lack an instruction that kernels need. LLVM's backend
/// would end the process instead.
static ::mtp::Status checkChip(StringRef chip) {
  unsigned number = numberOf(chip);
  if (number != 0 && number < ::mtp::gpu::kLeastChip)
    return invalidArgument(
        ("expected sm_" + llvm::Twine(::mtp::gpu::kLeastChip) +
         " or a later chip for --chip, since kernels wait for each other "
         "within a graph (griddepcontrol), got '" +
         chip + "'")
            .str());
  std::vector<std::string> known = ::mtp::gpu::knownChips();
  if (llvm::is_contained(known, chip))
    return okStatus();
  return invalidArgument("expected a chip among " + llvm::join(known, ", ") +
                         " for --chip, got '" + chip.str() + "'");
}

Result<std::unique_ptr<compiler::Target>>
CudaTarget::create(const compiler::TargetOptions &options) {
  MTP_RETURN_IF_ERROR(checkChip(options.chip));
  return std::unique_ptr<Target>(new CudaTarget(options));
}

compiler::Machine CudaTarget::machine() const {
  return {kArch.str(), chip, {}};
}

int64_t CudaTarget::workspace() const { return kWorkspace; }

int64_t CudaTarget::panelWidth() const { return QuantizedPanel::kOutputs; }

void CudaTarget::addSchedulePasses(OpPassManager &manager) const {
  // A GPU has no builtins, so sampling is compiled.
  manager.addPass(mlir::mtp::createCompileSamplingPass());
  mlir::mtp::SplitAttentionPassOptions split;
  split.workers = tuned.at(tunable::kAttentionBlocks);
  split.blocks = true;
  split.shortPositions = tuned.at(tunable::kShortPositions);
  manager.addPass(mlir::mtp::createSplitAttentionPass(split));
  manager.addPass(mlir::mtp::createOrderFragmentsPass());
  mlir::mtp::CallLibraryPassOptions library;
  library.rows = tuned.at(tunable::kLibraryRows);
  library.workspace = workspace();
  manager.addPass(mlir::mtp::createCallLibraryPass(library));
  manager.addPass(mlir::mtp::createPrepareRowsPass(
      {tuned.at(tunable::kPrepareRows),
       tuned.at(tunable::kPrepareIntegerRows)}));
}

/// Returns the name of a kernel in its image. PTX allows no other characters.
static std::string symbolInImage(StringRef symbol) {
  std::string name = symbol.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

/// Loads dialects anew: an interface for lowering to LLVM that was registered
/// after the context was created is visible only to dialects loaded later.
static void loadGpuDialects(MLIRContext &context) {
  DialectRegistry registry;
  ::mtp::gpu::registerGpuDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

/// Returns the kernels to which some dispatch passes a number of active rows.
static llvm::StringSet<> kernelsWithActive(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](exec::DispatchOp dispatch) {
    if (dispatch.getLive())
      names.insert(dispatch.getKernel());
  });
  return names;
}

std::unique_ptr<KernelBackend> CudaTarget::makeBackend() const {
  return std::make_unique<::mtp::gpu::CudaBackend>(
      chip, std::string(kernelBackendCode()));
}

/// Makes an image for each kernel. ptxas then gives the kernel the registers
/// that it would give it in a file with others. Linked relocatable cubins do
/// not.
llvm::Expected<std::vector<uint32_t>>
CudaTarget::addImages(ArrayRef<const KernelObject *> objects,
                      compiler::KernelCode &code) const {
  using ::mtp::gpu::CudaBackend;
  std::vector<uint32_t> numbers;
  for (const KernelObject *object : objects) {
    numbers.push_back(code.images.size());
    compiler::KernelImage &image = code.images.emplace_back();
    // The driver takes PTX as a string, which ends with a zero.
    std::vector<char> text = object->parts[CudaBackend::kPtx];
    text.push_back(0);
    if (object->parts.size() <= CudaBackend::kCubin) {
      code.format = schema::ImageFormat::Ptx;
      image.bytes = std::move(text);
      continue;
    }
    code.format = schema::ImageFormat::Cubin;
    image.bytes = object->parts[CudaBackend::kCubin];
    image.ptx = std::move(text);
  }
  return numbers;
}

std::vector<compiler::KernelResources>
CudaTarget::readResources(const KernelObject &object) const {
  using ::mtp::gpu::CudaBackend;
  if (object.parts.size() <= CudaBackend::kReport)
    return {};
  const std::vector<char> &report = object.parts[CudaBackend::kReport];
  return ::mtp::gpu::readPtxasReport(StringRef(report.data(), report.size()));
}

/// Returns the products that programs leave to a library, each one once.
static std::vector<compiler::LibraryGemm> libraryGemms(ModuleOp module) {
  std::set<compiler::LibraryGemm> gemms;
  SymbolTable symbols(module);
  module.walk([&](exec::DispatchOp dispatch) {
    auto kernel = symbols.lookup<exec::KernelOp>(dispatch.getKernel());
    auto gemm = kernel ? dyn_cast<exec::GemmKernelAttr>(kernel.getKernel())
                       : exec::GemmKernelAttr();
    if (!gemm)
      return;
    int64_t rows =
        dispatch.getCounts().front().at(exec::pointsOf(dispatch).least);
    gemms.insert({uint32_t(rows), uint32_t(gemm.getN()), uint32_t(gemm.getK()),
                  uint64_t(gemm.getWorkspace())});
  });
  return {gemms.begin(), gemms.end()};
}

/// Returns the objects of `units`, in order.
static std::vector<const KernelObject *>
objectsOf(ArrayRef<CompiledUnit> units) {
  std::vector<const KernelObject *> objects;
  for (const CompiledUnit &unit : units)
    objects.push_back(unit.object.get());
  return objects;
}

namespace {
/// Kernels of a plan that need code, and their launch shapes.
struct PlanKernels {
  std::vector<exec::KernelOp> ops;
  std::vector<UnitRequest> requests;
  /// Filled when the requests are emitted.
  std::vector<GpuLaunch> launches;
  std::vector<bool> takesActive;
};
} // namespace

/// Returns the name of a kernel without its number, as profilers show it.
static StringRef stemOf(StringRef name) {
  StringRef stem = name.rtrim("0123456789");
  return stem.consume_back("_") && !stem.empty() ? stem : name;
}

/// Emits a kernel into a gpu.module of `unit`.
static LogicalResult emitUnit(OpBuilder &builder, ModuleOp unit,
                              exec::KernelOp kernel, bool takesActive,
                              GpuLaunch &launch) {
  builder.setInsertionPointToEnd(unit.getBody());
  auto module =
      mlir::gpu::GPUModuleOp::create(builder, unit.getLoc(), "kernels");
  KernelSpec spec{kUnitSymbol.str(), kernel.getKernel(),
                  kernel.hasBody() ? &kernel.getBody() : nullptr, takesActive};
  FailureOr<GpuLaunch> emitted = emitGpuKernel(builder, module, spec);
  if (failed(emitted))
    return kernel.emitOpError("has no code on this target");
  launch = *emitted;
  return success();
}

/// Lists the kernels of `module`; `kernels` must outlive the requests.
static void listKernels(ModuleOp module, PlanKernels &kernels) {
  llvm::StringSet<> withActive = kernelsWithActive(module);
  for (auto kernel : module.getOps<exec::KernelOp>())
    if (!isa<exec::GemmKernelAttr>(kernel.getKernel()))
      kernels.ops.push_back(kernel);
  kernels.launches.resize(kernels.ops.size());
  for (auto [kernel, launch] : llvm::zip(kernels.ops, kernels.launches)) {
    bool takesActive = withActive.contains(kernel.getSymName());
    kernels.takesActive.push_back(takesActive);
    kernels.requests.push_back(
        {kernel.getSymName().str(), symbolInImage(stemOf(kernel.getSymName())),
         [kernel, takesActive, &launch](OpBuilder &builder, ModuleOp unit) {
           return emitUnit(builder, unit, kernel, takesActive, launch);
         }});
  }
}

LogicalResult
CudaTarget::compileKernels(ModuleOp module,
                           const compiler::CodegenOptions &options,
                           compiler::KernelCode &code) const {
  PlanKernels kernels;
  listKernels(module, kernels);
  if (kernels.ops.empty())
    return success();
  auto units = compileUnits(*module.getContext(), module.getLoc(),
                            kernels.requests, *makeBackend(), options);
  if (failed(units))
    return failure();
  auto images = addImages(objectsOf(*units), code);
  if (!images)
    return module.emitError("cannot make an image of the kernels: ")
           << llvm::toString(images.takeError());
  for (auto [i, unit] : llvm::enumerate(*units)) {
    const GpuLaunch &launch = kernels.launches[i];
    StringRef name = kernels.ops[i].getSymName();
    code.launchOf[name] = {unit.symbol,
                           (*images)[i],
                           uint64_t(launch.blocks),
                           uint32_t(launch.rowsPerGroup),
                           uint32_t(launch.threads),
                           /*sharedBytes=*/0,
                           uint64_t(launch.mostBlocks),
                           kernels.takesActive[i]};
    for (compiler::KernelResources &own : readResources(*unit.object)) {
      own.symbol = symbolInImage(name);
      own.threads = uint64_t(launch.threads);
      code.resources.push_back(std::move(own));
    }
  }
  // The module lists the kernels of a program in reverse order.
  std::reverse(code.resources.begin(), code.resources.end());
  return success();
}

LogicalResult CudaTarget::compileLoop(ModuleOp module,
                                      const compiler::CodegenOptions &options,
                                      compiler::KernelCode &code) const {
  llvm::StringMap<uint64_t> threads;
  UnitRequest request{"loop", "loop", [&](OpBuilder &builder, ModuleOp unit) {
                        builder.setInsertionPointToEnd(unit.getBody());
                        auto loop = mlir::gpu::GPUModuleOp::create(
                            builder, unit.getLoc(), "loop");
                        emitLoopKernels(builder, loop);
                        for (auto kernel : loop.getOps<mlir::gpu::GPUFuncOp>())
                          threads[kernel.getName()] =
                              kernel.getKnownBlockSize()->front();
                        return success();
                      }};
  auto units = compileUnits(*module.getContext(), module.getLoc(), request,
                            *makeBackend(), options);
  if (failed(units))
    return failure();
  const KernelObject *object = units->front().object.get();
  auto images = addImages(object, code);
  if (!images)
    return module.emitError("cannot make an image of the kernels: ")
           << llvm::toString(images.takeError());
  code.loopImage = int(images->front());
  for (compiler::KernelResources &own : readResources(*object)) {
    own.threads = threads.lookup(own.symbol);
    code.resources.push_back(std::move(own));
  }
  return success();
}

FailureOr<compiler::KernelCode>
CudaTarget::generateCode(ModuleOp module,
                         const compiler::CodegenOptions &options) const {
  loadGpuDialects(*module.getContext());
  compiler::KernelCode code{schema::ImageFormat::Ptx};
  if (failed(compileKernels(module, options, code)))
    return failure();
  if (code.launchOf.empty())
    return code;
  if (failed(compileLoop(module, options, code)))
    return failure();
  if (findAlgorithms)
    code.algorithms = findAlgorithms(libraryGemms(module));
  return code;
}
