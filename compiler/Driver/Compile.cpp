//===- Compile.cpp - model.mlir to model.bin ------------------------------===//

#include "compiler/Driver/Compile.h"
#include "compiler/Driver/FormatMixture.h"
#include "compiler/Driver/Imports.h"
#include "compiler/Driver/OutputCheck.h"
#include "compiler/Tokenizer/ChatFiles.h"
#include "compiler/Tokenizer/TokenizerFiles.h"
#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/core/PathKind.h"
#include "runtime/tokenizer/Pieces.h"
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

OwningOpRef<ModuleOp> compiler::parseModel(MLIRContext &context,
                                           llvm::SourceMgr &sources,
                                           const std::string &path,
                                           const std::string &libraryFolder) {
  auto report = [&](const llvm::Twine &message) {
    emitError(UnknownLoc::get(&context)) << message;
    return OwningOpRef<ModuleOp>();
  };
  if (path != "-")
    if (Status status = checkPath(path, PathUse::Compile); !status.isOk())
      return report(std::string(status.message()));
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return report("cannot read '" + path + "': " + buffer.getError().message());
  return parseWithImports(context, sources, std::move(*buffer), path,
                          libraryFolder);
}

/// Returns a location for errors in a flag or a path, which name no line of the
/// module.
static Location nowhere(ModuleOp module) {
  return UnknownLoc::get(module.getContext());
}

/// Writes the module after a phase as DIR/NAME.mlir.
static LogicalResult dumpPhase(ModuleOp module, const std::string &name,
                               const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder)) {
    return emitError(nowhere(module))
           << "cannot create '" << folder
           << "' (--dump-phases-to): " << error.message();
  }
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, name + ".mlir");
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

/// Reports an error if the contract of a kernel is unknown. The artifact states
/// the contract.
static LogicalResult checkContracts(ModuleOp module) {
  for (auto kernel : module.getOps<exec::KernelOp>()) {
    std::optional<exec::KernelContract> contract = exec::kernelContract(kernel);
    if (contract && !contract->error.empty())
      return kernel.emitOpError() << contract->error;
    if (failed(exec::verifyControlKernel(kernel)))
      return failure();
  }
  return success();
}

/// Joins a path of the module with the folder that it is relative to.
static std::string resolvePath(const std::string &folder, StringRef path) {
  llvm::SmallString<256> joined(folder);
  llvm::sys::path::append(joined, path);
  return std::string(joined);
}

/// Returns the weight files that the module names.
static std::vector<std::string> weightFiles(ModuleOp module,
                                            const std::string &folder) {
  std::vector<std::string> files;
  for (auto weights : module.getOps<mlir::mtp::WeightsOp>())
    for (auto file : weights.getFiles().getAsValueRange<StringAttr>())
      files.push_back(resolvePath(folder, file));
  return files;
}

/// Returns the key prefix of each weight file; empty if there are none.
static std::vector<std::string> weightPrefixes(ModuleOp module) {
  std::vector<std::string> prefixes;
  for (auto weights : module.getOps<mlir::mtp::WeightsOp>())
    if (std::optional<ArrayAttr> own = weights.getPrefixes())
      for (auto prefix : own->getAsValueRange<StringAttr>())
        prefixes.push_back(prefix.str());
  return prefixes;
}

/// Returns whether the module has a round, a public function or a program.
static bool hasProgram(ModuleOp module) {
  auto isExported = [](func::FuncOp func) {
    return func.isPublic() && !func.isExternal();
  };
  return !module.getOps<mlir::mtp::RoundOp>().empty() ||
         !module.getOps<exec::ProgramOp>().empty() ||
         llvm::any_of(module.getOps<func::FuncOp>(), isExported);
}

/// Opens the files that the module refers to, and checks that the artifact can
/// be written. Errors in them are therefore reported before code is generated.
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
    MTP_ASSIGN_OR_RETURN(weights,
                         WeightSet::openFiles(files, weightPrefixes(module)));
  }
  if (auto path =
          module->getAttrOfType<StringAttr>(mlir::mtp::kTokenizerAttr)) {
    std::string tokenizer = resolvePath(folder, path.getValue());
    MTP_ASSIGN_OR_RETURN(inputs.tokenizer, buildTokenizerTables(tokenizer));
    llvm::append_range(files, findTokenizerFiles(tokenizer));
    Result<ChatSource> chat = readChatFiles(tokenizer);
    if (chat)
      inputs.chat = std::move(*chat);
    else
      emitWarning(nowhere(module))
          << "no chat template: " << chat.status().message();
  }
  llvm::append_range(files, options.inputs);
  return checkOutput(options.output, files);
}

/// Returns a lower bound on the size of the artifact: the tokenizer and the
/// weights of its largest plan, because plans may share weights.
static uint64_t leastBytes(const ArtifactInputs &inputs) {
  uint64_t weights = 0;
  for (const PlanInputs &plan : inputs.plans)
    if (FailureOr<PlanLayout> layout = PlanLayout::get(plan.module);
        succeeded(layout))
      weights = std::max(weights, layout->weightBytes);
  return weights + inputs.tokenizer.size();
}

/// Finds the sources of the packed weights, so that a key that no file has is
/// reported before code is generated.
static Status checkWeights(ModuleOp module, const WeightSet *weights) {
  FailureOr<PlanLayout> layout = PlanLayout::get(module);
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

/// Returns the format of a projection that is stored in `format`, for a target
/// that orders fragments. Tensor cores multiply plain formats only, so a plain
/// format with equal bits replaces another one.
static WeightFormat fastFormatOf(const WeightFormat &format, int64_t k) {
  std::optional<WeightFormat> plain = plainFormatOf(format);
  bool isFast =
      plain && plain->bits() == format.bits() && plain->canBeInFragments(k);
  return isFast ? *plain : format;
}

/// Returns a target's format that keeps a weight as its tensors store it. A key
/// that no file has is reported by checkWeights.
static std::optional<WeightFormat> keptFormatOf(exec::WeightOp weight,
                                                const WeightSet &weights,
                                                const Target &target) {
  FailureOr<WeightRecipe> recipe = recipeOf(weight);
  if (failed(recipe))
    return std::nullopt;
  Result<std::optional<WeightFormat>> format = findKeptFormat(weights, *recipe);
  if (!format || !*format)
    return std::nullopt;
  bool isFragment =
      target.ordersFragments() && recipe->layout != WeightLayout::Raw;
  return isFragment ? fastFormatOf(**format, recipe->k) : **format;
}

/// Returns the format that keeps a tensor as it is stored.
static std::optional<WeightFormat> storedFormatOf(mlir::mtp::WeightOp weight,
                                                  const WeightSet &weights) {
  if (weights.randomSeed())
    return std::nullopt;
  WeightSource source;
  // A key of an entry function is absolute.
  source.keyPattern = weight.getKey().ltrim('/').str();
  Result<WeightRows> rows = WeightRows::resolve(weights, source, 0);
  return rows.isOk() ? rows->keptFormat() : std::nullopt;
}

using ConfigureFn = llvm::function_ref<LogicalResult(PassManager &)>;

namespace {

/// One compilation; each step has a member function.
class Compilation {
public:
  Compilation(ModuleOp module, const std::string &folder,
              const CompileOptions &options, ConfigureFn configure)
      : module(module), folder(folder), options(options), configure(configure) {
  }

  LogicalResult run();

private:
  LogicalResult runPhase(const PhaseInfo &info);
  LogicalResult runPasses(ModuleOp on,
                          llvm::function_ref<void(PassManager &)> populate);
  void startPlans();
  FailureOr<std::vector<WeightFormat>>
  chooseMixture(ArrayRef<mlir::mtp::WeightToQuantize> mixed);
  LoweringOptions modelOptions();
  LogicalResult lowerToExec();
  LogicalResult generateCode();
  LogicalResult writeFile();
  LogicalResult dump(const PhaseInfo &info);
  /// Reports an error in a flag or a path.
  LogicalResult report(const Status &status);
  const WeightSet *weightSet() { return weights ? &*weights : nullptr; }
  bool writesArtifact() const { return options.stopAfter == Phase::Artifact; }

  ModuleOp module;
  const std::string &folder;
  const CompileOptions &options;
  ConfigureFn configure;
  ArtifactInputs inputs;
  std::optional<WeightSet> weights;
  /// Energies of the inputs of projections, if formats were chosen.
  InputEnergies energies;
  /// Modules of the plans, if there are several.
  std::vector<OwningOpRef<ModuleOp>> copies;
};

} // namespace

LogicalResult Compilation::report(const Status &status) {
  return status.isOk()
             ? success()
             : LogicalResult(emitError(nowhere(module)) << status.message());
}

LogicalResult
Compilation::runPasses(ModuleOp on,
                       llvm::function_ref<void(PassManager &)> populate) {
  PassManager manager(on.getContext(), ModuleOp::getOperationName());
  if (failed(configure(manager)))
    return failure();
  populate(manager);
  return manager.size() > 0 ? manager.run(on) : success();
}

/// Gives every target the module in its current state.
void Compilation::startPlans() {
  for (const std::unique_ptr<Target> &target : options.targets) {
    ModuleOp own = module;
    if (options.targets.size() > 1)
      own = *copies.emplace_back(module.clone());
    inputs.plans.push_back({own, target.get(), {}});
  }
}

/// Returns the ids of the model's vocabulary for which the tokenizer has no
/// token. Excludes the ids that end a sequence, because a sequence could not
/// end without them.
static std::vector<int32_t> idsWithoutToken(ModuleOp module,
                                            const std::string &tables) {
  std::vector<int32_t> ids;
  if (tables.empty())
    return ids;
  const schema::Tokenizer &tokenizer = *schema::GetTokenizer(tables.data());
  std::vector<int32_t> ends;
  if (auto generation =
          module->getAttrOfType<DictionaryAttr>(mlir::mtp::kGenerationAttr))
    if (auto eos = generation.getAs<DenseI32ArrayAttr>("eos"))
      ends.assign(eos.asArrayRef().begin(), eos.asArrayRef().end());
  int64_t vocabulary =
      exec::moduleNumber(module, exec::kModelAttr, exec::kVocab);
  for (int64_t id = 0; id < vocabulary; ++id) {
    bool isToken = id < int64_t(vocabSizeOf(tokenizer)) &&
                   !pieceOf(tokenizer, uint32_t(id)).empty();
    if (!isToken && !llvm::is_contained(ends, int32_t(id)))
      ids.push_back(int32_t(id));
  }
  return ids;
}

/// Chooses the formats of `--quantize=int4`.
FailureOr<std::vector<WeightFormat>>
Compilation::chooseMixture(ArrayRef<mlir::mtp::WeightToQuantize> mixed) {
  std::vector<MixedWeight> known;
  for (const mlir::mtp::WeightToQuantize &one : mixed) {
    FailureOr<WeightRecipe> recipe = recipeOf(one.weight);
    if (failed(recipe))
      return failure();
    known.push_back({std::move(*recipe), one.isHead});
  }
  const WeightFormats &formats = options.lowering.formats;
  if (weights && !weights->randomSeed()) {
    Result<InputEnergies> estimated = estimateEnergies(*weights, known);
    if (!estimated)
      return report(estimated.status());
    energies = std::move(*estimated);
  }
  MixtureOptions mixture{formats.bits.value_or(WeightFormats::kProjectionBits),
                         formats.bits.has_value(), options.write.statistics,
                         &energies, options.codegen.jobs};
  Result<std::vector<WeightFormat>> chosen =
      chooseFormats(weightSet(), known, mixture);
  if (!chosen)
    return report(chosen.status());
  return std::move(*chosen);
}

/// Returns the options of the phases that all targets share.
LoweringOptions Compilation::modelOptions() {
  LoweringOptions lowering = options.lowering;
  if (weights && !options.widensWeights && lowering.formats.format == "none")
    lowering.storedFormat = [this](mlir::mtp::WeightOp weight) {
      return storedFormatOf(weight, *weights);
    };
  return lowering;
}

LogicalResult Compilation::lowerToExec() {
  LoweringOptions lowering = options.lowering;
  lowering.chooseFormats = [this](ArrayRef<mlir::mtp::WeightToQuantize> mixed) {
    return chooseMixture(mixed);
  };
  lowering.idsWithoutToken = idsWithoutToken(module, inputs.tokenizer);
  for (PlanInputs &plan : inputs.plans) {
    if (weights && !options.widensWeights)
      lowering.keptFormat = [&](exec::WeightOp weight) {
        return keptFormatOf(weight, *weights, *plan.target);
      };
    auto populate = [&](PassManager &manager) {
      populateExecPhase(manager, *plan.target, lowering);
    };
    if (failed(runPasses(plan.module, populate)))
      return failure();
    if (writesArtifact() &&
        failed(report(checkWeights(plan.module, weightSet()))))
      return failure();
  }
  return writesArtifact() && !options.write.omitWeights
             ? report(checkSpace(options.output, leastBytes(inputs)))
             : success();
}

LogicalResult Compilation::generateCode() {
  for (PlanInputs &plan : inputs.plans) {
    if (failed(checkContracts(plan.module)))
      return failure();
    FailureOr<KernelCode> code =
        plan.target->generateCode(plan.module, options.codegen);
    if (failed(code))
      return failure();
    if (options.onCode)
      options.onCode(*plan.target, *code);
    plan.code = std::move(*code);
  }
  return success();
}

LogicalResult Compilation::writeFile() {
  WriteOptions writing = options.write;
  writing.energies = &energies;
  return report(writeArtifact(inputs, weightSet(), options.output, writing));
}

LogicalResult Compilation::runPhase(const PhaseInfo &info) {
  switch (info.phase) {
  case Phase::Exec:
    startPlans();
    return lowerToExec();
  case Phase::Codegen:
    return generateCode();
  case Phase::Artifact:
    return writeFile();
  default:
    break;
  }
  if (failed(runPasses(module, [&](PassManager &manager) {
        populatePhase(manager, info.phase, modelOptions());
      })))
    return failure();
  if (info.phase == Phase::Input && writesArtifact())
    return report(openInputs(module, folder, options, inputs, weights));
  return success();
}

LogicalResult Compilation::dump(const PhaseInfo &info) {
  if (options.dumpFolder.empty() || info.phase >= Phase::Codegen)
    return success();
  std::string name =
      std::to_string(static_cast<int>(info.phase)) + "-" + info.name.str();
  if (copies.empty())
    return dumpPhase(module, name, options.dumpFolder);
  for (const PlanInputs &plan : inputs.plans) {
    std::string own = name + "-" + plan.target->name().str();
    if (failed(dumpPhase(plan.module, own, options.dumpFolder)))
      return failure();
  }
  return success();
}

/// Describes the tunables that differ from their defaults.
static std::string tunedValues(ArrayRef<std::unique_ptr<Target>> targets) {
  std::string text;
  for (const std::unique_ptr<Target> &target : targets)
    for (const auto &[name, value] : target->tuning())
      text += ", " + std::string(name) + "=" + std::to_string(value);
  return text;
}

LogicalResult Compilation::run() {
  inputs.producer = "mtpc " MTPC_VERSION;
  if (!options.profile.empty())
    inputs.producer += ", profile " + options.profile;
  inputs.producer += tunedValues(options.targets);
  if (module.getSymName())
    inputs.model = module.getSymName()->str();
  for (const PhaseInfo &info : allPhases()) {
    if (options.onPhase)
      options.onPhase(info);
    if (failed(runPhase(info)) || failed(dump(info)))
      return failure();
    if (info.phase == options.stopAfter)
      break;
  }
  return success();
}

LogicalResult compiler::compileModule(ModuleOp module,
                                      const std::string &folder,
                                      const CompileOptions &options,
                                      ConfigureFn configure) {
  return Compilation(module, folder, options, configure).run();
}
