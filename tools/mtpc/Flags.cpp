//===- Flags.cpp - Parse the flags of mtpc --------------------------------===//

#include "tools/mtpc/Flags.h"
#include "compiler/Driver/DraftVocabulary.h"
#include "compiler/Driver/QuantizeFlags.h"
#include "compiler/KernelCache/KernelCache.h"
#include "runtime/cache/CacheFolder.h"
#include "runtime/core/Processors.h"
#include "runtime/schema/Limits.h"

namespace cl = llvm::cl;
using namespace mtp::compiler;

namespace {

cl::OptionCategory category("mtpc options");
cl::extrahelp moreHelp(R"(
The options of MLIR and LLVM (--mlir-timing and so on) are taken too:
--help-hidden lists them.

Examples:
  mtpc model.mlir -o model.bin
  mtpc model.mlir -o model.bin --quantize=int4 --target-cpu=x86-64-v3
  mtpc model.mlir --compile-to=exec --plan-report
  mtpc model.mlir --compile-to=fuse -o fused.mlir
)");

cl::opt<std::string> inputPath(cl::Positional, cl::desc("<model.mlir>"),
                               cl::init("-"), cl::cat(category));
cl::opt<std::string>
    outputPath("o",
               cl::desc("The artifact to write; if --compile-to stops earlier, "
                        "the module (default: standard output)"),
               cl::value_desc("model.bin"), cl::cat(category));
cl::list<std::string> targetNames(
    "target", cl::CommaSeparated, cl::value_desc("name,..."),
    cl::desc(
        "The machines to compile for: cpu (default), cuda; the artifact has a "
        "plan for each, and the plans share weights of equal packing"),
    cl::cat(category));
cl::opt<std::string>
    targetCpu("target-cpu",
              cl::desc("The processor: native, x86-64-v3, x86-64-v4, znver4 or "
                       "sapphirerapids"),
              cl::init("native"), cl::cat(category));
cl::opt<std::string>
    chip("chip", cl::desc("For the target cuda: the GPU, sm_90 or later"),
         cl::value_desc("sm_90"), cl::init("sm_90"), cl::cat(category));
cl::opt<std::string> profilePath(
    "profile", cl::value_desc("FILE"),
    cl::desc("Choose values of tunables by the costs that mtp-tune has "
             "measured; the output stays the same"),
    cl::cat(category));
cl::list<std::string> tuned(
    "tune", cl::CommaSeparated, cl::value_desc("NAME=VALUE,..."),
    cl::desc("Set tunables (runtime/schema/Tunables.h), instead of --profile; "
             "the output stays the same"),
    cl::cat(category));
cl::opt<int64_t>
    libraryRows("library-rows",
                cl::desc("For the target cuda: least rows of a prompt's chunk "
                         "that cuBLASLt multiplies; 0: never. Like --tune="
                         "gpu-library-rows=N"),
                cl::value_desc("N"),
                cl::init(::mtp::tunable::kLibraryRows.value),
                cl::cat(category));
cl::opt<std::string>
    compileTo("compile-to",
              cl::desc("Stop after a phase and print the module: input, fuse, "
                       "shape, cache, exec, codegen or artifact"),
              cl::init("artifact"), cl::cat(category));
cl::opt<std::string> dumpPhasesTo("dump-phases-to",
                                  cl::desc("Write the module after each phase"),
                                  cl::value_desc("dir"), cl::cat(category));
cl::opt<Report>
    planReport("plan-report", cl::desc("Print programs, kernels and bytes"),
               cl::values(clEnumValN(Report::Text, "", "for people"),
                          clEnumValN(Report::Text, "text", "for people"),
                          clEnumValN(Report::Json, "json", "as JSON")),
               cl::ValueOptional, cl::init(Report::None), cl::cat(category));
cl::opt<std::string> quantize(
    "quantize",
    cl::desc(
        "Store the weights of projections as integers. int8: one f16 scale for "
        "32 inputs, on a GPU one f32 scale for 64; group=N: one f32 scale for "
        "N. int4 chooses formats of "
        "4 to 6 bits for each weight: 5 bits on average and a head of 6 bits, "
        "or bits=N on average of all. symmetric: 4 bits, one scale per group. "
        "keep=PATTERN (a glob over tensor keys; repeat it for more) leaves "
        "weights unchanged"),
    cl::value_desc(quantizeUsage(QuantizeFlag::All)), cl::cat(category));
cl::opt<std::string> quantizeHead(
    "quantize-head", cl::desc("Format of the head, instead of --quantize"),
    cl::value_desc(quantizeUsage(QuantizeFlag::Head)), cl::cat(category));
cl::opt<std::string>
    quantizeEmbedding("quantize-embedding",
                      cl::desc("Format of embedding tables. Without it they "
                               "stay unchanged, and a table of the head's "
                               "tensor is read from a quantised head; keep= of "
                               "--quantize applies"),
                      cl::value_desc(quantizeUsage(QuantizeFlag::Embedding)),
                      cl::cat(category));
cl::opt<std::string> calibration(
    "calibrate", cl::value_desc("FILE|self"),
    cl::desc("Text with which int4 weights are quantised, or statistics "
             "(.safetensors) from mtp-run --collect-activations; self: texts "
             "that the model writes"),
    cl::cat(category));
cl::opt<bool> collectInputs(
    "collect-inputs",
    cl::desc("Add a function that returns the inputs of projections, for "
             "mtp-run --collect-activations"),
    cl::cat(category));
cl::opt<std::string> draftVocabulary(
    "draft-vocab",
    cl::desc("Draft only the most frequent tokens of a list (lines of a token "
             "id and a count); the output stays the same. profile: tokens and "
             "size by the counts and costs of --profile"),
    cl::value_desc("FILE[,size=N]|profile"), cl::cat(category));
cl::opt<std::string>
    drafterLibrary("drafter-library",
                   cl::desc("A folder that is searched before mtpc's own "
                            "drafter library (mtp-import --print-library)"),
                   cl::value_desc("DIR"), cl::cat(category));
cl::opt<unsigned> runThreads(
    "run-threads",
    cl::desc("Threads of mtp-run, among which long contexts are split "
             "(default: this machine's processors); the output stays the same"),
    cl::init(0), cl::cat(category));
// The old name of --run-threads.
cl::alias workersAlias("workers", cl::aliasopt(runThreads), cl::Hidden);
// LLVM has its own --threads.
cl::opt<unsigned>
    jobs("jobs",
         cl::desc("Threads with which mtpc itself compiles kernels and packs "
                  "weights (default: this machine's processors)"),
         cl::init(0), cl::cat(category));
cl::opt<std::string> kernelCache(
    "kernel-cache", cl::value_desc("DIR|off"),
    cl::desc("Folder that keeps compiled kernels for the next compilation "
             "(default: $MTPC_KERNEL_CACHE, or mtpc/kernels in $XDG_CACHE_HOME "
             "or ~/.cache); the artifact stays the same"),
    cl::cat(category));
cl::opt<uint64_t> kernelCacheSize(
    "kernel-cache-size", cl::value_desc("MiB"),
    cl::desc("Size of the kernel cache; the kernels that were used least "
             "recently are removed"),
    cl::init(KernelCache::kDefaultBytes >> 20), cl::cat(category));
cl::opt<bool> timing("timing",
                     cl::desc("Print the time of each phase and of the ten "
                              "most expensive kernels to standard error"),
                     cl::cat(category));

cl::opt<std::string> randomWeights(
    "random-weights", cl::ValueOptional, cl::value_desc("seed"),
    cl::desc("Random weights for a model without files, for measuring"),
    cl::cat(category));

cl::opt<bool> omitWeights("omit-weights",
                          cl::desc("With --random-weights: write instructions "
                                   "for mtp-fill in place of the weights"),
                          cl::cat(category));

cl::opt<bool>
    widenWeights("widen-weights",
                 cl::desc("Store weights as f32 or bf16 even if their files "
                          "have integers, so that rows are not rounded to "
                          "integers before products"),
                 cl::cat(category));

/// Returns the flag's value, or else the number of usable processors.
unsigned threadsOf(const cl::opt<unsigned> &flag) {
  return flag ? flag : ::mtp::usableProcessors();
}

/// Returns the value of a flag if it was given.
std::optional<std::string_view> given(const cl::opt<std::string> &flag) {
  return flag.getNumOccurrences() ? std::optional(std::string_view(flag))
                                  : std::nullopt;
}

mtp::Status wrong(const llvm::Twine &message) {
  return mtp::invalidArgument(message.str());
}

/// Checks that compilation reaches phase `least`, from which on `flag` has an
/// effect.
mtp::Status needsPhase(const cl::Option &flag, Phase least, Phase stopAfter,
                       llvm::StringRef name) {
  if (flag.getNumOccurrences() == 0 || stopAfter >= least)
    return mtp::okStatus();
  return wrong("expected --compile-to=" + name + " for --" + flag.ArgStr +
               ", got '" + compileTo + "'");
}

mtp::Status checkPhases(Phase stopAfter) {
  for (const cl::Option *flag :
       {static_cast<cl::Option *>(&planReport),
        static_cast<cl::Option *>(&runThreads),
        static_cast<cl::Option *>(&draftVocabulary),
        static_cast<cl::Option *>(&quantize),
        static_cast<cl::Option *>(&quantizeHead),
        static_cast<cl::Option *>(&quantizeEmbedding)}) {
    MTP_RETURN_IF_ERROR(
        needsPhase(*flag, Phase::Exec, stopAfter, "exec or later"));
  }
  for (const cl::Option *flag : {static_cast<cl::Option *>(&jobs),
                                 static_cast<cl::Option *>(&kernelCache),
                                 static_cast<cl::Option *>(&kernelCacheSize)}) {
    MTP_RETURN_IF_ERROR(
        needsPhase(*flag, Phase::Codegen, stopAfter, "codegen or artifact"));
  }
  MTP_RETURN_IF_ERROR(
      needsPhase(collectInputs, Phase::Fuse, stopAfter, "fuse or later"));
  return needsPhase(randomWeights, Phase::Artifact, stopAfter, "artifact");
}

mtp::Status checkThreads() {
  for (const cl::opt<unsigned> *flag : {&runThreads, &jobs}) {
    if (*flag > ::mtp::kMostWorkers) {
      return wrong("expected at most " + llvm::Twine(::mtp::kMostWorkers) +
                   " for --" + flag->ArgStr + ", got " + llvm::Twine(*flag));
    }
  }
  return mtp::okStatus();
}

/// Returns whether a flag of MLIR only changes printed output, not code.
bool onlyPrints(const cl::Option &option) {
  static constexpr llvm::StringLiteral prefixes[] = {
      "mlir-timing", "mlir-print", "mlir-disable-threading", "mlir-pass-stat"};
  return llvm::any_of(prefixes, [&](llvm::StringRef prefix) {
    return option.ArgStr.starts_with(prefix);
  });
}

/// Returns the first flag of LLVM or MLIR that may change code; null if there
/// is none.
const cl::Option *findForeignFlag() {
  for (const auto &[name, option] : cl::getRegisteredOptions())
    if (option->getNumOccurrences() && !isOwnFlag(*option) &&
        !onlyPrints(*option))
      return option;
  return nullptr;
}

/// Reads the cache folder from the flag, the environment or the user's
/// settings.
mtp::Status readKernelCache(CacheSettings &cache) {
  cache.bytes = kernelCacheSize << 20;
  if (kernelCacheSize == 0 || kernelCacheSize > (uint64_t(1) << 32))
    return wrong("expected 1 to 2^32 MiB for --kernel-cache-size, got " +
                 llvm::Twine(kernelCacheSize));
  if (const cl::Option *foreign = findForeignFlag()) {
    // Cache keys do not include such flags.
    if (kernelCache.getNumOccurrences() && kernelCache != "off")
      return wrong("expected --kernel-cache=off with --" + foreign->ArgStr +
                   ", which may change code, got '" + kernelCache + "'");
    return mtp::okStatus();
  }
  const char *variable = std::getenv("MTPC_KERNEL_CACHE");
  if (kernelCache.getNumOccurrences())
    cache.folder = kernelCache;
  else if (variable && *variable)
    cache.folder = variable;
  else
    cache.folder = ::mtp::cache::defaultFolder("kernels");
  if (kernelCache.getNumOccurrences() && cache.folder.empty())
    return wrong("expected a folder or 'off' for --kernel-cache, got ''");
  if (cache.folder == "off")
    cache.folder.clear();
  return mtp::okStatus();
}

mtp::Result<std::optional<uint64_t>> readSeed() {
  if (randomWeights.getNumOccurrences() == 0) {
    if (omitWeights)
      return wrong("expected --random-weights with --omit-weights");
    return std::optional<uint64_t>();
  }
  uint64_t number = 1;
  if (!randomWeights.empty() &&
      llvm::StringRef(randomWeights).getAsInteger(10, number)) {
    return wrong("expected a number of 0 to 2^64 - 1 for --random-weights, "
                 "got '" +
                 randomWeights + "'");
  }
  return std::optional(number);
}

mtp::Result<Phase> readPhase() {
  std::optional<Phase> stopAfter = findPhase(compileTo);
  if (!stopAfter) {
    return wrong("expected a phase for --compile-to (input, fuse, shape, "
                 "cache, exec, codegen, artifact), got '" +
                 compileTo + "'");
  }
  MTP_RETURN_IF_ERROR(checkPhases(*stopAfter));
  if (*stopAfter == Phase::Artifact && outputPath.empty())
    return wrong("expected -o with the path of the artifact");
  return *stopAfter;
}

/// Checks that a printed module or report is for one target: from the phase
/// exec on, modules are per target.
mtp::Status checkOneTarget(const Invocation &invocation) {
  bool showsPlan =
      invocation.report != Report::None ||
      (invocation.stopAfter >= Phase::Exec && invocation.printsModule());
  if (invocation.targets.size() == 1 || !showsPlan)
    return mtp::okStatus();
  llvm::StringRef flag =
      invocation.report != Report::None ? "plan-report" : "compile-to";
  return wrong("expected one target for --" + flag + ", got " +
               llvm::Twine(invocation.targets.size()));
}

/// Checks that flags for GPUs are only given with a GPU target.
mtp::Status checkGpuFlags(llvm::ArrayRef<std::string> names,
                          const Targets &targets) {
  if (llvm::any_of(targets,
                   [](const auto &target) { return target->runsGraphs(); }))
    return mtp::okStatus();
  for (const cl::Option *flag :
       std::initializer_list<const cl::Option *>{&chip, &libraryRows})
    if (flag->getNumOccurrences())
      return wrong("expected --target=cuda for --" + flag->ArgStr + ", got " +
                   llvm::join(names, ","));
  return mtp::okStatus();
}

/// Reads the values of --tune and --library-rows into `tuning`.
mtp::Status readTuned(Tuning &tuning) {
  for (llvm::StringRef text : tuned) {
    auto [name, number] = text.split('=');
    int64_t value;
    if (number.getAsInteger(10, value))
      return wrong("expected NAME=VALUE for --tune, got '" + text + "'");
    if (mtp::Status status = tuning.set(name, value); !status.isOk())
      return status.withContext("--tune");
  }
  if (libraryRows.getNumOccurrences() == 0)
    return mtp::okStatus();
  if (libraryRows < 0)
    return wrong("expected 0 or more for --library-rows, got " +
                 llvm::Twine(libraryRows));
  mtp::Status status =
      tuning.set(::mtp::tunable::kLibraryRows.name, libraryRows);
  return status.isOk() ? status : status.withContext("--library-rows");
}

/// Reads the profile, if one is given.
mtp::Result<std::optional<ProfileChoice>> readProfile() {
  if (profilePath.getNumOccurrences() == 0)
    return std::optional<ProfileChoice>();
  auto choice = ProfileChoice::read(profilePath, threadsOf(runThreads));
  if (!choice)
    return choice.status().withContext("--profile");
  return std::optional(std::move(*choice));
}

mtp::Result<Targets> readTargets(const TargetRegistry &registry,
                                 const std::optional<ProfileChoice> &profile) {
  std::vector<std::string> names(targetNames.begin(), targetNames.end());
  if (names.empty())
    names.push_back("cpu");
  TargetOptions options;
  options.cpu = targetCpu;
  options.chip = chip;
  if (profile) {
    options.tuning = profile->tuning;
    options.findAlgorithms = profile->findAlgorithms();
  }
  MTP_RETURN_IF_ERROR(readTuned(options.tuning));
  options.workers = threadsOf(runThreads);
  MTP_ASSIGN_OR_RETURN(Targets targets, registry.create(names, options));
  MTP_RETURN_IF_ERROR(checkGpuFlags(names, targets));
  return targets;
}

/// Returns the flags of a compilation that collects statistics on this machine.
std::vector<std::string> readCollectFlags() {
  std::vector<std::string> flags;
  for (const cl::opt<std::string> *flag : {&drafterLibrary, &kernelCache})
    if (flag->getNumOccurrences())
      flags.push_back("--" + flag->ArgStr.str() + "=" + flag->getValue());
  if (jobs.getNumOccurrences())
    flags.push_back("--jobs=" + std::to_string(jobs));
  return flags;
}

/// Returns the tokens of --draft-vocab; empty: the whole vocabulary.
mtp::Result<std::vector<int32_t>>
readDraftTokens(std::optional<ProfileChoice> &profile) {
  if (!draftVocabulary.getNumOccurrences())
    return std::vector<int32_t>();
  if (draftVocabulary != "profile")
    return readDraftVocabulary(draftVocabulary);
  if (!profile)
    return wrong("expected --profile with --draft-vocab=profile");
  auto choice = profile->chooseVocabulary();
  if (!choice)
    return choice.status().withContext("--profile");
  llvm::errs() << "mtpc: note: " << ::mtp::profile::vocabularyText(*choice);
  if (!choice->tokens.empty())
    llvm::errs() << "mtpc: note: the weights are not compared with the "
                    "profile's, whose drafter reads all tokens\n";
  return choice->tokens;
}

mtp::Result<LoweringOptions>
readLowering(std::optional<ProfileChoice> &profile) {
  LoweringOptions lowering;
  lowering.collectInputs = collectInputs;
  MTP_RETURN_IF_ERROR(parseQuantizeFlags(
      {given(quantize), given(quantizeHead), given(quantizeEmbedding)},
      lowering.formats));
  MTP_ASSIGN_OR_RETURN(lowering.draftTokens, readDraftTokens(profile));
  return lowering;
}

} // namespace

bool isOwnFlag(const cl::Option &option) {
  return llvm::is_contained(option.Categories, &category);
}

mtp::Result<Invocation> readFlags(const TargetRegistry &registry) {
  Invocation invocation;
  invocation.input = inputPath;
  invocation.output = outputPath;
  invocation.dumpFolder = dumpPhasesTo;
  invocation.drafterLibrary = drafterLibrary;
  invocation.report = planReport;
  MTP_ASSIGN_OR_RETURN(invocation.stopAfter, readPhase());
  MTP_RETURN_IF_ERROR(checkThreads());
  invocation.jobs = threadsOf(jobs);
  invocation.timing = timing;
  MTP_RETURN_IF_ERROR(readKernelCache(invocation.cache));
  MTP_ASSIGN_OR_RETURN(invocation.profile, readProfile());
  MTP_ASSIGN_OR_RETURN(invocation.targets,
                       readTargets(registry, invocation.profile));
  MTP_RETURN_IF_ERROR(checkOneTarget(invocation));
  MTP_ASSIGN_OR_RETURN(invocation.randomWeights, readSeed());
  invocation.omitWeights = omitWeights;
  invocation.widensWeights = widenWeights;
  MTP_ASSIGN_OR_RETURN(invocation.lowering, readLowering(invocation.profile));
  invocation.calibration = calibration;
  invocation.collectFlags = readCollectFlags();
  const WeightFormats &formats = invocation.lowering.formats;
  if (!calibration.empty() &&
      (formats.format != "int4" && formats.headFormat != "int4" &&
       formats.headFormat != "int6"))
    return wrong("expected --quantize=int4 with --calibrate");
  MTP_RETURN_IF_ERROR(needsPhase(calibration, Phase::Artifact,
                                 invocation.stopAfter, "artifact"));
  return invocation;
}
