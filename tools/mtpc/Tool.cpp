//===- Tool.cpp - The compiler as a tool ----------------------------------===//

#include "tools/mtpc/Tool.h"
#include "compiler/Driver/Compile.h"
#include "compiler/Driver/Imports.h"
#include "compiler/Driver/OutputCheck.h"
#include "compiler/Driver/PlanReport.h"
#include "compiler/KernelCache/KernelCache.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "tools/compiler-support/CompilerTool.h"
#include "tools/mtpc/Calibrate.h"
#include "tools/mtpc/Flags.h"
#include "tools/mtpc/Progress.h"
#include "tools/mtpc/Timing.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
using namespace mtp::compiler;

namespace {

int fail(const llvm::Twine &message, mtp::ExitCode code = mtp::kFailure) {
  return mtp::toolError("mtpc", message, code);
}

/// Disables printing of ops in diagnostics unless a flag asks for it. Errors
/// about flags are attached to the module, and would print all of it.
void quietDiagnostics(mlir::MLIRContext &context) {
  const auto &flags = cl::getRegisteredOptions();
  auto printOp = flags.find("mlir-print-op-on-diagnostic");
  if (printOp == flags.end() || !printOp->second->getNumOccurrences())
    context.printOpOnDiagnostic(false);
}

/// Prints diagnostics about a flag or a path, which have no location in the
/// module, and clears the progress line. Other diagnostics are left to other
/// handlers.
mlir::LogicalResult reportDiagnostic(mlir::Diagnostic &diagnostic,
                                     Progress &progress) {
  progress.finish();
  if (!llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
    return mlir::failure();
  using Severity = mlir::DiagnosticSeverity;
  Severity severity = diagnostic.getSeverity();
  if (severity == Severity::Error)
    fail(diagnostic.str());
  else
    llvm::errs() << "mtpc: "
                 << (severity == Severity::Warning  ? "warning"
                     : severity == Severity::Remark ? "remark"
                                                    : "note")
                 << ": " << diagnostic << "\n";
  return mlir::success();
}

/// One run of the tool after its flags are read.
class Run {
public:
  explicit Run(const Invocation &invocation)
      : invocation(invocation), context(makeRegistry()),
        atSource(sources, &context),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          return reportDiagnostic(diagnostic, progress);
        }) {
    quietDiagnostics(context);
  }

  mlir::LogicalResult run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerCompilerDialects(registry);
    return registry;
  }

  std::vector<std::string> readFiles();
  mlir::LogicalResult checkPrintable(const std::vector<std::string> &files);
  void openCache();
  void closeCache();
  CompileOptions compileOptions();
  mlir::LogicalResult calibrate();
  void scoreCalibration();
  mlir::LogicalResult compile(mlir::ModuleOp module);
  mlir::LogicalResult print(mlir::ModuleOp module);

  const Invocation &invocation;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler atSource;
  Progress progress;
  Timing timing;
  /// Null: kernels are not cached.
  std::unique_ptr<KernelCache> cache;
  mlir::ScopedDiagnosticHandler handler;
  CompiledParts parts;
  std::optional<Calibrator> calibrator;
};

} // namespace

/// Returns the module's file and the files that it imports.
std::vector<std::string> Run::readFiles() {
  std::vector<std::string> files;
  for (unsigned i = 1; i <= sources.getNumBuffers(); ++i)
    files.push_back(sources.getMemoryBuffer(i)->getBufferIdentifier().str());
  return files;
}

/// Checks in advance that the module can be printed.
mlir::LogicalResult Run::checkPrintable(const std::vector<std::string> &files) {
  const std::string &path = invocation.output;
  if (!invocation.printsModule() || path.empty() || path == "-" ||
      path == "/dev/null")
    return mlir::success();
  mtp::Status status = checkOutput(path, files);
  if (!status.isOk())
    fail(llvm::StringRef(status.message()));
  return mlir::success(status.isOk());
}

static void warnOfCache(llvm::StringRef why) {
  llvm::errs() << "mtpc: warning: kernels are not cached: " << why
               << " (--kernel-cache)\n";
}

/// Opens the kernel cache. An unusable cache only costs time, so it is no
/// error.
void Run::openCache() {
  const CacheSettings &settings = invocation.cache;
  if (settings.folder.empty() || invocation.stopAfter < Phase::Codegen)
    return;
  auto opened = KernelCache::open(settings.folder, settings.bytes);
  if (opened.isOk())
    cache = std::move(*opened);
  else
    warnOfCache(llvm::StringRef(opened.status().message()));
}

void Run::closeCache() {
  if (!cache)
    return;
  cache->trim();
  if (std::string why = cache->storeError(); !why.empty())
    warnOfCache(why);
}

CompileOptions Run::compileOptions() {
  CompileOptions options;
  options.stopAfter = invocation.stopAfter;
  options.dumpFolder = invocation.dumpFolder;
  options.targets = invocation.targets;
  options.lowering = invocation.lowering;
  options.inputs = readFiles();
  options.output = invocation.output;
  options.randomWeights = invocation.randomWeights;
  options.codegen.jobs = invocation.jobs;
  options.codegen.cache = cache.get();
  options.codegen.progress = [this](size_t done, size_t all) {
    progress.compiled(done, all);
  };
  options.codegen.onKernel = [this](const KernelTiming &kernel) {
    timing.kernel(kernel);
  };
  options.write.threads = invocation.jobs;
  options.write.statistics = calibrator ? &calibrator->statistics() : nullptr;
  options.write.omitWeights = invocation.omitWeights;
  options.widensWeights = invocation.widensWeights;
  options.write.progress = [this](uint64_t done, uint64_t total) {
    progress.packed(done, total);
  };
  options.write.onQuantized = [this](const mtp::WeightRecipe &recipe,
                                     const mtp::QuantizationError &error) {
    parts.quantized.push_back({recipe.name, recipe.format, error});
  };
  options.write.onPacked = [this](const mtp::WeightRecipe &recipe,
                                  const mtp::StoredTypes &stored) {
    // Vectors keep their elements as f32.
    if (recipe.n > 1)
      parts.packed.push_back({recipe, stored});
  };
  options.onCode = [this](const Target &, const KernelCode &code) {
    parts.resources = code.resources;
  };
  if (invocation.profile) {
    options.profile = llvm::utohexstr(invocation.profile->hash, true, 16);
    options.write.checkArtifact = [this](const mtp::Artifact &artifact) {
      mtp::Status status = invocation.profile->checkModel(artifact);
      return status.isOk() ? status : status.withContext("--profile");
    };
  }
  options.onPhase = [this](const PhaseInfo &info) {
    progress.phase(info.description);
    timing.begin(info.name);
  };
  return options;
}

mlir::LogicalResult Run::compile(mlir::ModuleOp module) {
  openCache();
  mlir::DefaultTimingManager passTiming;
  mlir::applyDefaultTimingManagerCLOptions(passTiming);
  mlir::TimingScope rootScope = passTiming.getRootScope();
  auto configure = [&](mlir::PassManager &manager) {
    manager.enableTiming(rootScope);
    return mlir::applyPassManagerCLOptions(manager);
  };
  mlir::LogicalResult result = compileModule(module, folderOf(invocation.input),
                                             compileOptions(), configure);
  timing.end();
  progress.finish();
  closeCache();
  return result;
}

/// Prints the report and the module if they are requested.
mlir::LogicalResult Run::print(mlir::ModuleOp module) {
  // A report requires a single target.
  parts.hasGraphs = invocation.targets.front()->runsGraphs();
  if (invocation.report != Report::None &&
      failed(printPlanReport(module, parts, invocation.report == Report::Json,
                             llvm::outs())))
    return mlir::failure();
  if (!invocation.printsModule())
    return mlir::success();
  const std::string &path = invocation.output;
  llvm::Error error = mtp::writeWholeFile(
      path.empty() ? "-" : path,
      [&](llvm::raw_ostream &stream) { module.print(stream); });
  if (!error)
    return mlir::success();
  fail(llvm::toString(std::move(error)));
  return mlir::failure();
}

/// Runs the text of --calibrate.
mlir::LogicalResult Run::calibrate() {
  if (invocation.calibration.empty())
    return mlir::success();
  std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&runMtpc));
  auto collected = Calibrator::collect(
      {invocation.calibration, invocation.input,
       llvm::sys::path::parent_path(self).str(), invocation.collectFlags});
  if (!collected.isOk()) {
    fail(llvm::StringRef(collected.status().message()));
    return mlir::failure();
  }
  calibrator = std::move(*collected);
  return mlir::success();
}

/// Scores the text for the report. An artifact for another machine cannot be
/// run here, so a failure is no error.
void Run::scoreCalibration() {
  if (!calibrator || invocation.report == Report::None)
    return;
  auto score = calibrator->score(invocation.output);
  if (score.isOk())
    parts.calibration = *score;
  else
    llvm::errs() << "mtpc: warning: the report has no perplexity: "
                 << score.status().message() << "\n";
}

mlir::LogicalResult Run::run() {
  if (failed(checkPrintable({invocation.input})) || failed(calibrate()))
    return mlir::failure();
  timing.begin("parse");
  mlir::OwningOpRef<mlir::ModuleOp> module =
      parseModel(context, sources, invocation.input, invocation.drafterLibrary);
  if (!module || failed(checkPrintable(readFiles())) ||
      failed(compile(*module)))
    return mlir::failure();
  scoreCalibration();
  if (invocation.timing)
    timing.print(llvm::errs());
  return print(*module);
}

int runMtpc(int argc, char **argv, const TargetRegistry &registry) {
  llvm::InitLLVM init(argc, argv);
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerPassManagerCLOptions();
  mlir::registerDefaultTimingManagerCLOptions();
  mtp::parseToolFlags(
      argc, argv, "mtpc",
      "mtpc: compile a model with its drafter into one artifact\n", isOwnFlag);
  mtp::Result<Invocation> invocation = readFlags(registry);
  if (!invocation.isOk())
    return fail(llvm::StringRef(invocation.status().message()),
                mtp::kWrongFlags);
  return succeeded(Run(*invocation).run()) ? mtp::kSuccess : mtp::kFailure;
}
