//===- Compile.h - model.mlir to model.bin ----------------------*- C++ -*-===//

#ifndef MTP_COMPILER_DRIVER_COMPILE_H
#define MTP_COMPILER_DRIVER_COMPILE_H

#include "compiler/Artifact/ArtifactWriter.h"
#include "compiler/Pipeline/Phases.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>

namespace mtp::compiler {

struct CompileOptions {
  /// The phase after which to stop.
  Phase stopAfter = Phase::Artifact;
  /// Where to write the module after each phase; empty for nowhere.
  std::string dumpFolder;
  /// What to compile for, one at least; the artifact has a plan for each, in
  /// this order. From the phase Exec on a module is one target's: to stop
  /// between that and the artifact there may be one only.
  llvm::ArrayRef<std::unique_ptr<Target>> targets;
  LoweringOptions lowering;
  /// The module's file and those that it imports, which the artifact must not
  /// replace.
  std::vector<std::string> inputs;
  /// The artifact's path; used by the artifact phase alone.
  std::string output;
  WriteOptions write;
  CodegenOptions codegen;
  /// The seed of random weights for a module that names no weight files.
  std::optional<uint64_t> randomWeights;
  /// Told what became of the kernels of each target.
  std::function<void(const Target &, const KernelCode &)> onCode;
  /// Told when a phase begins.
  std::function<void(const PhaseInfo &)> onPhase;
};

/// Registers the dialects that a compilation may load.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Parses the model at `path` ("-" for standard input), whose text `sources`
/// holds from then on: with an mlir::SourceMgrDiagnosticHandler on it, errors
/// of all phases point at lines. `libraryFolder` is as in parseWithImports.
/// Errors go to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp>
parseModel(mlir::MLIRContext &context, llvm::SourceMgr &sources,
           const std::string &path, const std::string &libraryFolder = "");

/// Takes `module` through the phases, with one target in place; several targets
/// leave it as it is for all of them. Paths of weights and tokenizer in it are
/// relative to `folder`. `configure` sees every pass manager before it runs
/// (timing, IR printing). Errors go to the context's diagnostics.
mlir::LogicalResult compileModule(
    mlir::ModuleOp module, const std::string &folder,
    const CompileOptions &options,
    llvm::function_ref<mlir::LogicalResult(mlir::PassManager &)> configure);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_COMPILE_H
