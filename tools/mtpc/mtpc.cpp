//===- mtpc.cpp - The compiler: model.mlir to model.bin -------------------===//

#include "compiler/Driver/Compile.h"
#include "compiler/Driver/DraftVocabulary.h"
#include "compiler/Driver/OutputCheck.h"
#include "compiler/Driver/PlanReport.h"
#include "compiler/Driver/QuantizeFlags.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "runtime/core/Processors.h"
#include "tools/compiler-support/CompilerTool.h"
#include "tools/mtpc/Progress.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

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
               cl::desc("The artifact to write; where --compile-to stops "
                        "earlier, the module (default: standard output)"),
               cl::value_desc("model.bin"), cl::cat(category));
cl::opt<std::string> target("target",
                            cl::desc("The device to compile for: cpu"),
                            cl::init("cpu"), cl::cat(category));
cl::opt<std::string>
    targetCpu("target-cpu",
              cl::desc("The processor: native, x86-64-v3, x86-64-v4, znver4 or "
                       "sapphirerapids"),
              cl::init("native"), cl::cat(category));
cl::opt<std::string>
    compileTo("compile-to",
              cl::desc("Stop after a phase and print the module: input, fuse, "
                       "shape, cache, exec, codegen or artifact"),
              cl::init("artifact"), cl::cat(category));
cl::opt<std::string> dumpPhasesTo("dump-phases-to",
                                  cl::desc("Write the module after each phase"),
                                  cl::value_desc("dir"), cl::cat(category));
enum class Report { None, Text, Json };
cl::opt<Report>
    planReport("plan-report", cl::desc("Print programs, kernels and bytes"),
               cl::values(clEnumValN(Report::Text, "", "for people"),
                          clEnumValN(Report::Text, "text", "for people"),
                          clEnumValN(Report::Json, "json", "as JSON")),
               cl::ValueOptional, cl::init(Report::None), cl::cat(category));
cl::opt<std::string> quantize(
    "quantize",
    cl::desc("Store the weights of projections as integers. keep=PATTERN "
             "(a glob over tensor keys, again for more) leaves weights as "
             "they are"),
    cl::value_desc("int8|int4[,group=N][,keep=PATTERN]..."), cl::cat(category));
cl::opt<std::string>
    quantizeHead("quantize-head",
                 cl::desc("The same for the head, instead of --quantize"),
                 cl::value_desc("int8|int4|none[,group=N]"), cl::cat(category));
cl::opt<std::string> quantizeEmbedding(
    "quantize-embedding",
    cl::desc("The same for embedding tables, which --quantize leaves as they "
             "are; its keep= counts"),
    cl::value_desc("int8|int4|none[,group=N]"), cl::cat(category));
cl::opt<std::string> draftVocabulary(
    "draft-vocab",
    cl::desc("Draft only the most frequent tokens of a list (lines of a token "
             "id and a count); the output stays the same"),
    cl::value_desc("FILE[,size=N]"), cl::cat(category));
cl::opt<unsigned> runThreads(
    "run-threads",
    cl::desc("Threads that mtp-run will have: long contexts are shared out "
             "among as many (default: this machine's processors); the output "
             "stays the same"),
    cl::init(0), cl::cat(category));
// Its former name.
cl::alias workersAlias("workers", cl::aliasopt(runThreads), cl::Hidden);
// LLVM has a --threads of its own.
cl::opt<unsigned> jobs("jobs",
                       cl::desc("Threads that mtpc itself packs weights with "
                                "(default: this machine's processors)"),
                       cl::init(0), cl::cat(category));

cl::opt<std::string> randomWeights(
    "random-weights", cl::ValueOptional, cl::value_desc("seed"),
    cl::desc("Random weights for a model without files, for measuring"),
    cl::cat(category));

/// More than any machine has processors.
constexpr unsigned kMostThreads = 1024;

/// What the flag says, or else the processors that are ours to use.
unsigned threadsOf(const cl::opt<unsigned> &flag) {
  return flag ? flag : ::mtp::usableProcessors();
}

int fail(const llvm::Twine &message, mtp::ExitCode code = mtp::kFailure) {
  return mtp::toolError("mtpc", message, code);
}

/// The folder that the module's paths are relative to.
std::string folderOf(const std::string &path) {
  if (path == "-")
    return ".";
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

/// The value of a flag, if it was given.
std::optional<std::string_view> given(const cl::opt<std::string> &flag) {
  return flag.getNumOccurrences() ? std::optional(std::string_view(flag))
                                  : std::nullopt;
}

/// What the flags ask for.
struct Invocation {
  Phase stopAfter = Phase::Artifact;
  LoweringOptions lowering;
  std::optional<uint64_t> seed;
};

/// Prints the module to -o or standard output.
int printModule(mlir::ModuleOp module, const std::string &path) {
  llvm::Error error = mtp::writeWholeFile(
      path.empty() ? "-" : path,
      [&](llvm::raw_ostream &stream) { module.print(stream); });
  return error ? fail(llvm::toString(std::move(error))) : mtp::kSuccess;
}

/// An error of a flag stands at the module; nobody wants to read all of that
/// without having asked for it.
void quietDiagnostics(mlir::MLIRContext &context) {
  const auto &flags = cl::getRegisteredOptions();
  auto printOp = flags.find("mlir-print-op-on-diagnostic");
  if (printOp == flags.end() || !printOp->second->getNumOccurrences())
    context.printOpOnDiagnostic(false);
}

CompileOptions compileOptions(const Invocation &invocation, Progress &progress,
                              std::vector<QuantizedWeight> &quantized) {
  CompileOptions options;
  options.stopAfter = invocation.stopAfter;
  options.dumpFolder = dumpPhasesTo;
  options.targetCpu = targetCpu;
  options.lowering = invocation.lowering;
  options.input = inputPath;
  options.output = outputPath;
  options.randomWeights = invocation.seed;
  options.write.threads = threadsOf(jobs);
  options.write.progress = [&](uint64_t done, uint64_t total) {
    progress.packed(done, total);
  };
  options.write.onQuantized = [&](const mtp::WeightRecipe &recipe,
                                  const mtp::QuantizationError &error) {
    quantized.push_back({recipe.name, recipe.bits, recipe.group, error});
  };
  options.onPhase = [&](const PhaseInfo &info) {
    progress.phase(info.description);
  };
  return options;
}

/// Prints what is wrong with a flag or a path, which is no fault of a line of
/// the module; others may print what is. The progress gives up its line.
mlir::LogicalResult reportDiagnostic(mlir::Diagnostic &diagnostic,
                                     Progress &progress) {
  progress.finish();
  bool isOurs = llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()) &&
                diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
  if (isOurs)
    fail(diagnostic.str());
  return mlir::success(isOurs);
}

/// Says why the module cannot be printed to `path`, before anything is done.
bool canPrint(const std::string &path) {
  if (path.empty() || path == "-" || path == "/dev/null")
    return true;
  mtp::Status status = checkOutput(path, {{inputPath}});
  if (!status.isOk())
    fail(llvm::StringRef(status.message()));
  return status.isOk();
}

int compile(const Invocation &invocation) {
  // The linker, a library, resets all flags of the process when it is called.
  const Report report = planReport;
  const std::string printTo = outputPath;
  const bool prints =
      invocation.stopAfter < Phase::Artifact &&
      (!printTo.empty() || (dumpPhasesTo.empty() && report == Report::None));
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  quietDiagnostics(context);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler atSource(sources, &context);
  Progress progress;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        return reportDiagnostic(diagnostic, progress);
      });
  if (prints && !canPrint(printTo))
    return mtp::kFailure;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseModel(context, sources, inputPath);
  if (!module)
    return mtp::kFailure;
  mlir::DefaultTimingManager timing;
  mlir::applyDefaultTimingManagerCLOptions(timing);
  mlir::TimingScope rootScope = timing.getRootScope();
  auto configure = [&](mlir::PassManager &manager) {
    manager.enableTiming(rootScope);
    return mlir::applyPassManagerCLOptions(manager);
  };
  std::vector<QuantizedWeight> quantized;
  mlir::LogicalResult result =
      compileModule(*module, folderOf(inputPath),
                    compileOptions(invocation, progress, quantized), configure);
  progress.finish();
  if (failed(result))
    return mtp::kFailure;
  if (report != Report::None &&
      failed(printPlanReport(*module, quantized, report == Report::Json,
                             llvm::outs()))) {
    return mtp::kFailure;
  }
  return prints ? printModule(*module, printTo) : mtp::kSuccess;
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

mtp::Status wrong(const llvm::Twine &message) {
  return mtp::invalidArgument(message.str());
}

/// `flag` changes what comes out of `least` and later phases.
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
  MTP_RETURN_IF_ERROR(needsPhase(jobs, Phase::Artifact, stopAfter, "artifact"));
  return needsPhase(randomWeights, Phase::Artifact, stopAfter, "artifact");
}

mtp::Status checkThreads() {
  for (const cl::opt<unsigned> *flag : {&runThreads, &jobs}) {
    if (*flag > kMostThreads) {
      return wrong("expected at most " + llvm::Twine(kMostThreads) + " for --" +
                   flag->ArgStr + ", got " + llvm::Twine(*flag));
    }
  }
  return mtp::okStatus();
}

mtp::Status readSeed(std::optional<uint64_t> &seed) {
  if (randomWeights.getNumOccurrences() == 0)
    return mtp::okStatus();
  uint64_t number = 1;
  if (!randomWeights.empty() &&
      llvm::StringRef(randomWeights).getAsInteger(10, number)) {
    return wrong("expected a number of 0 to 2^64 - 1 for --random-weights, "
                 "got '" +
                 randomWeights + "'");
  }
  seed = number;
  return mtp::okStatus();
}

mtp::Status readFlags(Invocation &invocation) {
  std::optional<Phase> stopAfter = findPhase(compileTo);
  if (!stopAfter) {
    return wrong("expected a phase for --compile-to (input, fuse, shape, "
                 "cache, exec, codegen, artifact), got '" +
                 compileTo + "'");
  }
  if (target != "cpu")
    return wrong("expected --target=cpu, got '" + target + "'");
  MTP_RETURN_IF_ERROR(checkPhases(*stopAfter));
  MTP_RETURN_IF_ERROR(checkThreads());
  if (*stopAfter == Phase::Artifact && outputPath.empty())
    return wrong("expected -o with the path of the artifact");
  invocation.stopAfter = *stopAfter;
  invocation.lowering.workers = threadsOf(runThreads);
  MTP_RETURN_IF_ERROR(readSeed(invocation.seed));
  MTP_RETURN_IF_ERROR(parseQuantizeFlags(
      {given(quantize), given(quantizeHead), given(quantizeEmbedding)},
      invocation.lowering.formats));
  if (draftVocabulary.getNumOccurrences()) {
    MTP_ASSIGN_OR_RETURN(invocation.lowering.draftTokens,
                         readDraftVocabulary(draftVocabulary));
  }
  return mtp::okStatus();
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mtp::parseToolFlags(
      argc, argv, "mtpc",
      "mtpc: compile a model with its drafter into one artifact\n",
      [](const cl::Option &option) {
        return llvm::is_contained(option.Categories, &category);
      });
  Invocation invocation;
  if (mtp::Status status = readFlags(invocation); !status.isOk())
    return fail(llvm::StringRef(status.message()), mtp::kWrongFlags);
  return compile(invocation);
}
