//===- Compile.cpp - model.mlir to model.bin ------------------------------===//

#include "compiler/Driver/Compile.h"
#include "compiler/Codegen/CPU/Compile.h"
#include "compiler/Codegen/CPU/Kernels.h"
#include "compiler/Driver/OutputCheck.h"
#include "compiler/Driver/SourceCheck.h"
#include "compiler/Tokenizer/TokenizerTables.h"
#include "compiler/Weights/WeightPacker.h"
#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "runtime/schema/ArtifactFormat.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mtp;
using namespace mtp::compiler;
using namespace mlir;

void compiler::registerCompilerDialects(DialectRegistry &registry) {
  registry
      .insert<mlir::mtp::MTPDialect, exec::ExecDialect, func::FuncDialect>();
  mlir::mtp::registerControlDialects(registry);
}

/// Refuses the files that a model is easily confused with.
static Status checkKind(StringRef source) {
  if (source.starts_with(StringRef(kFileMagic, sizeof(kFileMagic)))) {
    return invalidArgument("expected a model in MLIR, got an artifact of mtpc "
                           "(mtp-dump prints it)");
  }
  // A safetensors file begins with the size of its JSON.
  if (source.size() > 8 && source[8] == '{' &&
      llvm::support::endian::read64le(source.data()) <= source.size() - 8) {
    return invalidArgument("expected a model in MLIR, got weights in "
                           "safetensors (mtp-import reads their folder)");
  }
  return Status();
}

OwningOpRef<ModuleOp> compiler::parseModel(MLIRContext &context,
                                           llvm::SourceMgr &sources,
                                           const std::string &path) {
  auto report = [&](const llvm::Twine &message) {
    emitError(UnknownLoc::get(&context)) << message;
    return OwningOpRef<ModuleOp>();
  };
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return report("cannot read '" + path + "': " + buffer.getError().message());
  if (Status status = checkKind((*buffer)->getBuffer()); !status.isOk())
    return report(path + ": " + std::string(status.message()));
  if (Status status = checkSource((*buffer)->getBuffer()); !status.isOk())
    return report(path + ": " + std::string(status.message()));
  sources.AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  return parseSourceFile<ModuleOp>(sources, &context);
}

/// Where the fault lies in a flag or a path, no line of the module is named.
static Location nowhere(ModuleOp module) {
  return UnknownLoc::get(module.getContext());
}

/// Writes the module after a phase as DIR/N-name.mlir.
static LogicalResult dumpPhase(ModuleOp module, const PhaseInfo &info,
                               const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
    return emitError(nowhere(module))
           << "cannot create '" << folder
           << "' (--dump-phases-to): " << error.message();
  }
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::Twine(static_cast<int>(info.phase)) +
                                    "-" + info.name + ".mlir");
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    module.print(stream);
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error) {
    return emitError(nowhere(module))
           << "cannot write '" << path << "': " << error.message();
  }
  return success();
}

/// Checks that the catalogue, by which dispatches were planned, and the code
/// generator divide the work of a kernel alike.
static LogicalResult checkTasks(exec::KernelOp kernel,
                                const codegen::KernelSpec &spec) {
  for (int64_t rows : {1, 7}) {
    int64_t planned =
        exec::kernelTasks(kernel.getKind(), kernel.getConfig(), rows);
    int64_t emitted = codegen::kernelTasks(spec, rows);
    if (planned != emitted) {
      return kernel.emitOpError("expected ")
             << planned << " tasks for " << rows << " rows, the kernel has "
             << emitted;
    }
  }
  return success();
}

/// Checks that it is known what a kernel may touch: the artifact says it.
static LogicalResult checkContract(exec::KernelOp kernel) {
  std::optional<exec::KernelContract> contract = exec::kernelContract(kernel);
  if (contract && !contract->error.empty())
    return kernel.emitOpError() << contract->error;
  return exec::verifyControlKernel(kernel);
}

/// Emits and links all kernels of the module.
static LogicalResult generateCode(ModuleOp module,
                                  const codegen::TargetDesc &target,
                                  ArtifactInputs &inputs) {
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  OpBuilder builder(module.getContext());
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    if (kernel.getKind().starts_with(exec::kBuiltinPrefix))
      continue;
    codegen::KernelSpec spec{kernel.getSymName().str(), kernel.getKind().str(),
                             kernel.getConfig(),
                             kernel.hasBody() ? &kernel.getBody() : nullptr};
    if (failed(codegen::verifyKernel(kernel.getLoc(), spec)) ||
        failed(checkContract(kernel)) || failed(checkTasks(kernel, spec)) ||
        failed(codegen::emitKernel(builder, *kernels, spec, target))) {
      return kernel.emitOpError("has no code on this target");
    }
    uint64_t scratch = codegen::kernelScratchBytes(spec, target);
    inputs.kernelScratch[kernel.getSymName()] = scratch;
    inputs.scratchBytes = std::max(inputs.scratchBytes, scratch);
  }
  FailureOr<std::vector<char>> image =
      codegen::compileKernels(*kernels, target);
  if (failed(image))
    return failure();
  inputs.image = std::move(*image);
  return success();
}

/// Joins a path of the module with the folder that it is relative to.
static std::string resolvePath(const std::string &folder, StringRef path) {
  llvm::SmallString<256> joined(folder);
  llvm::sys::path::append(joined, path);
  return std::string(joined);
}

/// The weight files that the module names.
static std::vector<std::string> weightFiles(ModuleOp module,
                                            const std::string &folder) {
  std::vector<std::string> files;
  for (auto weights : module.getOps<mlir::mtp::WeightsOp>())
    for (auto file : weights.getFiles().getAsValueRange<StringAttr>())
      files.push_back(resolvePath(folder, file));
  return files;
}

/// A round or a function that others can call.
static bool hasProgram(ModuleOp module) {
  auto isExported = [](func::FuncOp func) {
    return func.isPublic() && !func.isExternal();
  };
  return !module.getOps<mlir::mtp::RoundOp>().empty() ||
         llvm::any_of(module.getOps<func::FuncOp>(), isExported);
}

/// Opens what the module refers to, and sees that the artifact can be written:
/// what is wrong there is said before any code is generated.
static Status openInputs(ModuleOp module, const std::string &folder,
                         const CompileOptions &options, ArtifactInputs &inputs,
                         std::optional<WeightSet> &weights) {
  if (!hasProgram(module)) {
    return invalidArgument("expected a round or a public function to compile, "
                           "got a module without");
  }
  std::vector<std::string> files = weightFiles(module, folder);
  if (options.randomWeights) {
    if (!files.empty()) {
      return invalidArgument(
          "--random-weights: expected `mtp.weights files []` "
          "(mtp-import --no-weights), got \"" +
          files.front() + "\"");
    }
    weights = WeightSet::random(*options.randomWeights);
    inputs.producer +=
        ", random weights of seed " + std::to_string(*options.randomWeights);
  } else if (!files.empty()) {
    MTP_ASSIGN_OR_RETURN(weights, WeightSet::openFiles(files));
  }
  if (auto path = module->getAttrOfType<StringAttr>("mtp.tokenizer")) {
    std::string tokenizer = resolvePath(folder, path.getValue());
    MTP_ASSIGN_OR_RETURN(inputs.tokenizer, buildTokenizerTables(tokenizer));
    files.push_back(tokenizer + "/tokenizer.json");
    files.push_back(tokenizer + "/tokenizer.model");
  }
  files.push_back(options.input);
  return checkOutput(options.output, files);
}

/// Finds what the packed weights are made of: a key that no file has is said
/// before any code is generated.
static Status checkWeights(ModuleOp module, const WeightSet *weights) {
  FailureOr<ArtifactLayout> layout = ArtifactLayout::get(module);
  if (failed(layout))
    return internalError("the module cannot be laid out as an artifact");
  if (!weights && !layout->recipes.empty()) {
    return failedPrecondition("expected weight files for the module's weights, "
                              "got `mtp.weights files []`");
  }
  for (const WeightRecipe &recipe : layout->recipes)
    MTP_RETURN_IF_ERROR(checkSources(*weights, recipe));
  return Status();
}

using ConfigureFn = llvm::function_ref<LogicalResult(PassManager &)>;

static LogicalResult runPasses(ModuleOp module, Phase phase,
                               const LoweringOptions &lowering,
                               ConfigureFn configure) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  if (failed(configure(manager)))
    return failure();
  populatePhase(manager, phase, lowering);
  return manager.size() > 0 ? manager.run(module) : success();
}

LogicalResult compiler::compileModule(ModuleOp module,
                                      const std::string &folder,
                                      const CompileOptions &options,
                                      ConfigureFn configure) {
  ArtifactInputs inputs;
  inputs.producer = "mtpc " MTPC_VERSION;
  if (module.getSymName())
    inputs.model = module.getSymName()->str();
  llvm::Expected<codegen::TargetDesc> target =
      codegen::TargetDesc::parse(options.targetCpu);
  if (!target)
    return emitError(nowhere(module)) << llvm::toString(target.takeError());
  inputs.cpu = target->cpu;
  inputs.features = target->requiredFeatures;
  std::optional<WeightSet> weights;
  auto report = [&](const Status &status) {
    return status.isOk()
               ? success()
               : LogicalResult(emitError(nowhere(module)) << status.message());
  };
  for (const PhaseInfo &info : allPhases()) {
    if (options.onPhase)
      options.onPhase(info);
    if (failed(runPasses(module, info.phase, options.lowering, configure)))
      return failure();
    if (info.phase == Phase::Input && options.stopAfter == Phase::Artifact &&
        failed(report(openInputs(module, folder, options, inputs, weights)))) {
      return failure();
    }
    if (info.phase == Phase::Exec && options.stopAfter == Phase::Artifact &&
        failed(report(checkWeights(module, weights ? &*weights : nullptr)))) {
      return failure();
    }
    if (info.phase == Phase::Codegen &&
        failed(generateCode(module, *target, inputs))) {
      return failure();
    }
    if (info.phase == Phase::Artifact &&
        failed(
            report(writeArtifact(module, inputs, weights ? &*weights : nullptr,
                                 options.output, options.write)))) {
      return failure();
    }
    bool changesModule = info.phase < Phase::Codegen;
    if (!options.dumpFolder.empty() && changesModule &&
        failed(dumpPhase(module, info, options.dumpFolder))) {
      return failure();
    }
    if (info.phase == options.stopAfter)
      break;
  }
  return success();
}
