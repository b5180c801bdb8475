//===- mtpc.cpp - The compiler: model.mlir to model.bin -------------------===//

#include "compiler/Driver/Compile.h"
#include "compiler/Driver/DraftVocabulary.h"
#include "compiler/Driver/PlanReport.h"
#include "compiler/Driver/QuantizeFlags.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "runtime/core/Processors.h"
#include "tools/mtpc/Progress.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <csignal>

namespace cl = llvm::cl;
using namespace mtp::compiler;

namespace {

cl::OptionCategory category("mtpc options");
cl::extrahelp
    moreHelp("\nThe options of MLIR and LLVM (--mlir-timing and so on) are taken "
             "too: --help-hidden lists them.\n");

cl::opt<std::string> inputPath(cl::Positional, cl::desc("<model.mlir>"),
                               cl::init("-"), cl::cat(category));
cl::opt<std::string> outputPath("o", cl::desc("The artifact to write"),
                                cl::value_desc("model.bin"), cl::cat(category));
cl::opt<std::string> target("target", cl::desc("The device to compile for: cpu"),
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
cl::opt<Report> planReport(
    "plan-report", cl::desc("Print programs, kernels and bytes"),
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
cl::opt<std::string> quantizeHead(
    "quantize-head", cl::desc("The same for the head, instead of --quantize"),
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
cl::opt<unsigned>
    workers("workers",
            cl::desc("Threads that a step should keep busy: long contexts are "
                     "shared out among as many (default: this machine's "
                     "processors); the output stays the same"),
            cl::init(0), cl::cat(category));
cl::opt<unsigned> jobs("jobs",
                       cl::desc("Threads that pack weights (default: this "
                                "machine's processors)"),
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

/// Lists the options of MLIR and LLVM under --help-hidden alone.
/// (cl::HideUnrelatedOptions would take them out of that, too.)
void hideForeignOptions() {
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    bool isOurs = llvm::any_of(option->Categories, [](auto *of) {
      return of == &category || of->getName() == "Generic Options";
    });
    if (!isOurs && option->getOptionHiddenFlag() == cl::NotHidden) {
      option->setHiddenFlag(cl::Hidden);
    }
  }
}

int fail(const llvm::Twine &message) {
  llvm::errs() << "mtpc: error: " << message << "\n";
  return 1;
}

/// The folder that the module's paths are relative to.
std::string folderOf(const std::string &path) {
  if (path == "-") {
    return ".";
  }
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

/// The value of a flag, if it was given.
std::optional<std::string_view> given(const cl::opt<std::string> &flag) {
  return flag.getNumOccurrences() ? std::optional(std::string_view(flag))
                                  : std::nullopt;
}

int compile(Phase stopAfter, const LoweringOptions &lowering,
            std::optional<uint64_t> seed) {
  // The linker, a library, resets all flags of the process when it is called.
  const Report report = planReport;
  const bool printModule =
      stopAfter < Phase::Artifact && dumpPhasesTo.empty();
  mlir::DialectRegistry registry;
  registerCompilerDialects(registry);
  mlir::MLIRContext context(registry);
  // An error of a flag stands at the module; nobody wants to read all of that
  // without having asked for it.
  const auto &flags = cl::getRegisteredOptions();
  auto printOp = flags.find("mlir-print-op-on-diagnostic");
  if (printOp == flags.end() || !printOp->second->getNumOccurrences())
    context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseModel(context, sources, inputPath);
  if (!module) {
    return 1;
  }
  mlir::DefaultTimingManager timing;
  mlir::applyDefaultTimingManagerCLOptions(timing);
  mlir::TimingScope rootScope = timing.getRootScope();

  Progress progress;
  CompileOptions options;
  options.stopAfter = stopAfter;
  options.dumpFolder = dumpPhasesTo;
  options.targetCpu = targetCpu;
  options.lowering = lowering;
  options.input = inputPath;
  options.output = outputPath;
  options.randomWeights = seed;
  options.write.threads = threadsOf(jobs);
  options.write.progress = [&](uint64_t done, uint64_t total) {
    progress.packed(done, total);
  };
  std::vector<QuantizedWeight> quantized;
  options.write.onQuantized = [&](const mtp::WeightRecipe &recipe,
                                  const mtp::QuantizationError &error) {
    quantized.push_back({recipe.name, recipe.bits, recipe.group, error});
  };
  options.onPhase = [&](const PhaseInfo &info) {
    progress.phase(info.description);
  };
  auto configure = [&](mlir::PassManager &manager) {
    manager.enableTiming(rootScope);
    return mlir::applyPassManagerCLOptions(manager);
  };
  mlir::LogicalResult result =
      compileModule(*module, folderOf(inputPath), options, configure);
  progress.finish();
  if (failed(result)) {
    return 1;
  }
  if (report != Report::None) {
    return failed(printPlanReport(*module, quantized, report == Report::Json,
                                  llvm::outs()));
  }
  if (printModule) {
    module->print(llvm::outs());
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // A write beyond the limit of file sizes is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  hideForeignOptions();
  cl::ParseCommandLineOptions(
      argc, argv, "mtpc: compile a model with its drafter into one artifact\n");
  std::optional<Phase> stopAfter = findPhase(compileTo);
  if (!stopAfter) {
    return fail("expected a phase for --compile-to (input, fuse, shape, cache, "
                "exec, codegen, artifact), got '" + compileTo + "'");
  }
  if (target != "cpu") {
    return fail("expected --target=cpu, got '" + target + "'");
  }
  if (planReport != Report::None && *stopAfter < Phase::Exec) {
    return fail("expected --compile-to=exec or later for --plan-report, got '" +
                compileTo + "'");
  }
  if (*stopAfter == Phase::Artifact && outputPath.empty()) {
    return fail("expected -o with the path of the artifact");
  }
  std::optional<uint64_t> seed;
  if (randomWeights.getNumOccurrences() > 0) {
    uint64_t number = 1;
    if (!randomWeights.empty() &&
        llvm::StringRef(randomWeights).getAsInteger(10, number)) {
      return fail("expected a number of 0 to 2^64 - 1 for --random-weights, "
                  "got '" + randomWeights + "'");
    }
    if (*stopAfter != Phase::Artifact) {
      return fail("expected --compile-to=artifact for --random-weights, got '" +
                  compileTo + "'");
    }
    seed = number;
  }
  LoweringOptions lowering;
  for (const cl::opt<unsigned> *flag : {&workers, &jobs}) {
    if (*flag > kMostThreads) {
      return fail("expected at most " + llvm::Twine(kMostThreads) + " for --" +
                  flag->ArgStr + ", got " + llvm::Twine(*flag));
    }
  }
  if (workers.getNumOccurrences() && *stopAfter < Phase::Exec) {
    return fail("expected --compile-to=exec or later for --workers, got '" +
                compileTo + "'");
  }
  lowering.workers = threadsOf(workers);
  mtp::Status status = parseQuantizeFlags(
      {given(quantize), given(quantizeHead), given(quantizeEmbedding)},
      lowering.formats);
  if (!status.isOk()) {
    return fail(std::string(status.message()));
  }
  if (draftVocabulary.getNumOccurrences()) {
    auto tokens = readDraftVocabulary(draftVocabulary);
    if (!tokens.isOk()) {
      return fail(std::string(tokens.status().message()));
    }
    lowering.draftTokens = std::move(*tokens);
  }
  if (!lowering.draftTokens.empty() && *stopAfter < Phase::Exec) {
    return fail("expected --compile-to=exec or later for --draft-vocab, got '" +
                compileTo + "'");
  }
  if (lowering.formats.changeWeights() && *stopAfter < Phase::Exec) {
    return fail("expected --compile-to=exec or later for --quantize, got '" +
                compileTo + "'");
  }
  return compile(*stopAfter, lowering, seed);
}
