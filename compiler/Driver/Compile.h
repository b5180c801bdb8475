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
  /// Last phase to run.
  Phase stopAfter = Phase::Artifact;
  /// Folder for the module after each phase; empty for none.
  std::string dumpFolder;
  /// Targets to compile for, at least one. The artifact has a plan for each, in
  /// this order. From the phase Exec on, a module belongs to one target. A
  /// compilation that stops between Exec and Artifact may therefore have only
  /// one.
  llvm::ArrayRef<std::unique_ptr<Target>> targets;
  LoweringOptions lowering;
  /// Paths of the module's file and of the files that it imports. The artifact
  /// must not replace them.
  std::vector<std::string> inputs;
  /// Path of the artifact; only the artifact phase uses it.
  std::string output;
  WriteOptions write;
  CodegenOptions codegen;
  /// Whether weights whose files have integers become values.
  bool widensWeights = false;
  /// The profile that chose values of tunables, for the artifact's producer;
  /// empty for none.
  std::string profile;
  /// Seed of random weights, for a module without weight files.
  std::optional<uint64_t> randomWeights;
  /// Called with the compiled kernels of each target.
  std::function<void(const Target &, const KernelCode &)> onCode;
  /// Called when a phase begins.
  std::function<void(const PhaseInfo &)> onPhase;
};

/// Registers the dialects that a compilation may load.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// Parses the model at `path` ("-" for standard input). `sources` holds its
/// text from then on, so that errors of all phases point at lines if an
/// mlir::SourceMgrDiagnosticHandler uses it. `libraryFolder` is as in
/// parseWithImports. Errors go to the context's diagnostics.
mlir::OwningOpRef<mlir::ModuleOp>
parseModel(mlir::MLIRContext &context, llvm::SourceMgr &sources,
           const std::string &path, const std::string &libraryFolder = "");

/// Runs the phases on `module`. With one target the module is changed in place;
/// with several it keeps the state before the phase Exec. Paths of weights and
/// tokenizer in it are relative to `folder`. `configure` is called for every
/// pass manager before it runs (timing, IR printing). Errors go to the
/// context's diagnostics.
mlir::LogicalResult compileModule(
    mlir::ModuleOp module, const std::string &folder,
    const CompileOptions &options,
    llvm::function_ref<mlir::LogicalResult(mlir::PassManager &)> configure);

} // namespace mtp::compiler

#endif // MTP_COMPILER_DRIVER_COMPILE_H
