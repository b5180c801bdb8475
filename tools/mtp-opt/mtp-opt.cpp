//===- mtp-opt.cpp - Run passes on a module -------------------------------===//
//
// Registers our dialects and passes and the few upstream dialects that they
// use, and resolves a file's imports. The rest is MlirOptMain.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Imports.h"
#include "dialects/Exec/IR/ExecDialect.h"
#include "dialects/MTP/IR/MTPDialect.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "tools/compiler-support/CompilerTool.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::desc("<model.mlir>"),
                                  cl::init("-"));
static cl::opt<std::string>
    output("o", cl::desc("File to which the module is printed"),
           cl::value_desc("file"), cl::init("-"));
static cl::opt<std::string> drafterLibrary(
    "drafter-library",
    cl::desc("A folder that is searched before mtp-opt's own drafter library"),
    cl::value_desc("DIR"));
static cl::extrahelp examples(R"(
The other options of MLIR and LLVM are taken too: --help-hidden lists them.

Examples:
  mtp-opt --mtp-fuse-norm-linear model.mlir
  mtp-opt --pass-pipeline='builtin.module(mtp-inline-layers,cse)' model.mlir
  mtp-opt --mtp-specialize-shapes --mlir-print-ir-after-all model.mlir
)");

/// Returns whether --help lists an option: the passes, which are the values of
/// one unnamed option, and the options that running them needs.
static bool isOurs(const cl::Option &option) {
  for (const char *name :
       {"", "o", "drafter-library", "pass-pipeline", "split-input-file",
        "verify-diagnostics", "mlir-print-ir-after-all", "mlir-timing",
        "mlir-pass-statistics"}) {
    if (option.ArgStr == name)
      return true;
  }
  return false;
}

static int fail(const llvm::Twine &message) {
  return mtp::toolError("mtp-opt", message);
}

#ifndef NDEBUG
/// Registers an option that LLVM only has in builds with assertions, unlike
/// Debian's: it enables LDBG() of the given types. A pass's type is its flag.
static void registerDebugOnly() {
  if (cl::getRegisteredOptions().count("debug-only"))
    return;
  static std::vector<std::string> types;
  static cl::list<std::string> option(
      "debug-only", cl::CommaSeparated, cl::value_desc("type,.."),
      cl::desc("Print the debug output of these types"),
      cl::callback([](const std::string &type) {
        types.push_back(type);
        std::vector<const char *> names;
        for (const std::string &name : types)
          names.push_back(name.c_str());
        llvm::DebugFlag = true;
        llvm::setCurrentDebugTypes(names.data(), names.size());
      }));
}
#endif

/// Returns the text of the module with its imports, since MLIR's driver parses
/// text itself. Null after an error.
static std::unique_ptr<llvm::MemoryBuffer>
resolveImports(const mlir::DialectRegistry &registry,
               std::unique_ptr<llvm::MemoryBuffer> buffer) {
  mlir::MLIRContext context(registry);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = mtp::compiler::parseWithImports(
      context, sources, std::move(buffer), input, drafterLibrary);
  if (!module)
    return nullptr;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  return llvm::MemoryBuffer::getMemBufferCopy(text, input);
}

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registry.insert<mlir::exec::ExecDialect, mlir::func::FuncDialect,
                  mlir::mtp::MTPDialect>();
  mlir::mtp::registerControlDialects(registry);
  return registry;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
#ifndef NDEBUG
  registerDebugOnly();
#endif
  mlir::DialectRegistry registry = makeRegistry();
  mlir::mtp::registerMTPPasses();
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  mlir::registerSymbolDCEPass();
  std::string overview =
      mlir::registerCLIOptions("multi-token prediction optimizer\n", registry);
  mtp::parseToolFlags(argc, argv, "mtp-opt", overview, isOurs);

  mlir::MlirOptMainConfig config =
      mlir::MlirOptMainConfig::createFromCLOptions();
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(input, &message);
  if (!buffer)
    return fail(message);
  // Imports need a folder and a file, which standard input and split modules
  // lack.
  if (input != "-" && config.inputSplitMarker().empty() &&
      buffer->getBuffer().contains("mtp.import")) {
    buffer = resolveImports(registry, std::move(buffer));
    if (!buffer)
      return mtp::kFailure;
  }
  auto run = [&](llvm::raw_ostream &stream) {
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(stream, std::move(buffer), registry, config));
  };
  if (output == "-")
    return run(llvm::outs());
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (int code = run(stream))
    return code;
  llvm::Error error = mtp::writeWholeFile(
      output, [&](llvm::raw_ostream &file) { file << text; });
  return error ? fail(llvm::toString(std::move(error))) : mtp::kSuccess;
}
