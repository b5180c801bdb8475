//===- CudaTarget.cpp - NVIDIA GPUs as a target ---------------------------===//

#include "compiler/Codegen/GPU/target/CudaTarget.h"

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "compiler/Codegen/GPU/target/LoopKernels.h"
#include "compiler/Codegen/GPU/target/PtxasReport.h"
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

/// Blocks of attention that keep a GPU's memory busy: two for each of the 132
/// processors of an H100. Programs are the same for all chips.
static constexpr int64_t kAttentionBlocks = 2 * 132;

/// What NVIDIA asks for on an sm_90.
static constexpr int64_t kWorkspace = 32 << 20;

/// The number of a chip, 90 of "sm_90a"; 0 of what is no such name.
static unsigned numberOf(StringRef name) {
  unsigned number = 0;
  if (!name.consume_front("sm_") || name.consumeInteger(10, number))
    return 0;
  return name.empty() || name == "a" || name == "f" ? number : 0;
}

/// Backends end the process at what a chip cannot do: chips that lack anything
/// are refused before.
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

::mtp::Status CudaTarget::checkOptions(const compiler::TargetOptions &options) {
  if (options.libraryRows >= 0)
    return okStatus();
  return invalidArgument("expected 0 or more for --library-rows, got " +
                         std::to_string(options.libraryRows));
}

Result<std::unique_ptr<compiler::Target>>
CudaTarget::create(const compiler::TargetOptions &options) {
  MTP_RETURN_IF_ERROR(checkChip(options.chip));
  MTP_RETURN_IF_ERROR(checkOptions(options));
  return std::unique_ptr<Target>(new CudaTarget(options));
}

compiler::Machine CudaTarget::machine() const {
  return {kArch.str(), chip, {}};
}

int64_t CudaTarget::workspace() const { return kWorkspace; }

int64_t CudaTarget::panelWidth() const { return QuantizedPanel::kOutputs; }

void CudaTarget::addSchedulePasses(OpPassManager &manager) const {
  // A GPU has no builtins.
  manager.addPass(mlir::mtp::createCompileSamplingPass());
  manager.addPass(
      mlir::mtp::createSplitAttentionPass({kAttentionBlocks, /*blocks=*/true}));
  manager.addPass(mlir::mtp::createOrderFragmentsPass());
  mlir::mtp::CallLibraryPassOptions library;
  library.rows = libraryRows;
  library.workspace = workspace();
  manager.addPass(mlir::mtp::createCallLibraryPass(library));
  manager.addPass(mlir::mtp::createPrepareRowsPass());
}

/// The name of a kernel in its image: PTX has no other characters.
static std::string symbolInImage(StringRef symbol) {
  std::string name = symbol.str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
}

/// Dialects whose lowering to LLVM was registered after the context began are
/// known to it only when they are loaded anew.
static void loadGpuDialects(MLIRContext &context) {
  DialectRegistry registry;
  ::mtp::gpu::registerGpuDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

/// The kernels that some dispatch says a number of rows to.
static llvm::StringSet<> kernelsWithLive(ModuleOp module) {
  llvm::StringSet<> names;
  module.walk([&](exec::DispatchOp dispatch) {
    if (dispatch.getLive())
      names.insert(dispatch.getKernel());
  });
  return names;
}

/// Emits all kernels of `module` into `kernels`.
static LogicalResult emitKernels(ModuleOp module,
                                 mlir::gpu::GPUModuleOp kernels,
                                 compiler::KernelCode &code) {
  OpBuilder builder(module.getContext());
  llvm::StringSet<> withLive = kernelsWithLive(module);
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    if (isa<exec::GemmKernelAttr>(kernel.getKernel()))
      continue;
    KernelSpec spec{symbolInImage(kernel.getSymName()), kernel.getKernel(),
                    kernel.hasBody() ? &kernel.getBody() : nullptr,
                    withLive.contains(kernel.getSymName())};
    FailureOr<GpuLaunch> launch = emitGpuKernel(builder, kernels, spec);
    if (failed(launch))
      return kernel.emitOpError("has no code on this target");
    code.launchOf[kernel.getSymName()] = {spec.symbol,
                                          uint64_t(launch->blocks),
                                          uint32_t(launch->rowsPerGroup),
                                          uint32_t(launch->threads),
                                          /*sharedBytes=*/0,
                                          uint64_t(launch->mostBlocks),
                                          spec.takesLive};
  }
  return success();
}

llvm::Expected<compiler::KernelImage>
CudaTarget::emitImage(llvm::Module &module, compiler::KernelCode &code) const {
  compiler::KernelImage image;
  auto ptx = ::mtp::gpu::emitPtx(module, chip);
  if (!ptx)
    return ptx.takeError();
  auto cubin = ::mtp::gpu::assemblePtx(*ptx, chip);
  if (!cubin)
    return cubin.takeError();
  // The driver takes PTX as a string, which ends with a zero.
  std::vector<char> text(ptx->c_str(), ptx->c_str() + ptx->size() + 1);
  if (cubin->bytes.empty()) {
    code.format = schema::ImageFormat::Ptx;
    image.bytes = std::move(text);
    return image;
  }
  code.format = schema::ImageFormat::Cubin;
  image.bytes = std::move(cubin->bytes);
  image.ptx = std::move(text);
  llvm::append_range(code.resources,
                     ::mtp::gpu::readPtxasReport(cubin->report));
  return image;
}

/// The products that programs leave to a library, each once.
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

FailureOr<compiler::KernelImage>
CudaTarget::makeImage(mlir::gpu::GPUModuleOp kernels,
                      compiler::KernelCode &code) const {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      ::mtp::gpu::translateGpuModule(kernels, context);
  if (!translated)
    return failure();
  llvm::Expected<compiler::KernelImage> image = emitImage(*translated, code);
  if (!image)
    return kernels.emitError("cannot make an image of the kernels: ")
           << llvm::toString(image.takeError());
  return std::move(*image);
}

/// The threads that each kernel was written for.
static llvm::StringMap<uint64_t> threadsOfKernels(ModuleOp holder) {
  llvm::StringMap<uint64_t> threads;
  holder.walk([&](mlir::gpu::GPUFuncOp kernel) {
    threads[kernel.getName()] = kernel.getKnownBlockSize()->front();
  });
  return threads;
}

FailureOr<compiler::KernelCode>
CudaTarget::generateCode(ModuleOp module) const {
  loadGpuDialects(*module.getContext());
  Location loc = module.getLoc();
  OwningOpRef<ModuleOp> holder = ModuleOp::create(loc);
  OpBuilder builder(holder->getBodyRegion());
  auto kernels = mlir::gpu::GPUModuleOp::create(builder, loc, "kernels");
  auto loop = mlir::gpu::GPUModuleOp::create(builder, loc, "loop");
  compiler::KernelCode code{schema::ImageFormat::Ptx};
  if (failed(emitKernels(module, kernels, code)))
    return failure();
  if (code.launchOf.empty())
    return code;
  emitLoopKernels(builder, loop);
  llvm::StringMap<uint64_t> threads = threadsOfKernels(*holder);
  if (failed(::mtp::gpu::lowerGpuModules(*holder)))
    return module.emitError("cannot lower the kernels to the llvm dialect");
  FailureOr<compiler::KernelImage> image = makeImage(kernels, code);
  FailureOr<compiler::KernelImage> loopImage = makeImage(loop, code);
  if (failed(image) || failed(loopImage))
    return failure();
  for (compiler::KernelResources &kernel : code.resources)
    kernel.threads = threads.lookup(kernel.symbol);
  code.image = std::move(*image);
  code.loop = std::move(*loopImage);
  std::vector<compiler::LibraryGemm> gemms = libraryGemms(module);
  if (tuneGemms && gemms.empty())
    return module.emitError("expected products of prompts for --tune-gemm: "
                            "weights in bf16, and chunks of --library-rows "
                            "rows, got none");
  if (tuneGemms) {
    auto algorithms = tuneGemms(gemms);
    if (!algorithms)
      return module.emitError("cannot tune products of a library: ")
             << algorithms.status().message();
    code.algorithms = std::move(*algorithms);
  }
  return code;
}
