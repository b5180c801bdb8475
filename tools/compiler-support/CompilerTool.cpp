//===- CompilerTool.cpp - What the compiler's tools share -----------------===//

#include "tools/compiler-support/CompilerTool.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace mtp;
namespace cl = llvm::cl;

/// The tool's name, for what is said when the process ends.
static std::string &toolName() {
  static std::string name;
  return name;
}

int mtp::toolError(llvm::StringRef tool, const llvm::Twine &message,
                   ExitCode code) {
  llvm::errs() << tool << ": error: " << message << "\n";
  return code;
}

/// Runs before the destructor of llvm::outs(), which would end the process by
/// LLVM's fatal error.
static void checkStandardOutput() {
  llvm::outs().flush();
  std::error_code error = llvm::outs().error();
  if (!error)
    return;
  llvm::outs().clear_error();
  ::_exit(toolError(toolName(),
                    "cannot write to standard output: " + error.message()));
}

void mtp::parseToolFlags(int argc, char **argv, llvm::StringRef tool,
                         llvm::StringRef overview,
                         llvm::function_ref<bool(const cl::Option &)> isOurs) {
  // A write beyond the limit of file sizes is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  toolName() = tool.str();
  llvm::outs();
  std::atexit(checkStandardOutput);
  cl::SetVersionPrinter([](llvm::raw_ostream &stream) {
    stream << toolName() << " " MTP_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    bool isGeneric = llvm::any_of(option->Categories, [](auto *category) {
      return category->getName() == "Generic Options";
    });
    if (!isGeneric && !isOurs(*option) &&
        option->getOptionHiddenFlag() == cl::NotHidden) {
      option->setHiddenFlag(cl::Hidden);
    }
  }
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    std::exit(kWrongFlags);
  // LLVM takes the last value of a flag; the runtime's tools refuse two.
  for (auto &[name, option] : cl::getRegisteredOptions()) {
    bool repeats = option->getNumOccurrencesFlag() == cl::ZeroOrMore ||
                   option->getNumOccurrencesFlag() == cl::OneOrMore;
    if (isOurs(*option) && !repeats && option->getNumOccurrences() > 1) {
      std::exit(toolError(tool,
                          "--" + option->ArgStr + ": expected once, got " +
                              llvm::Twine(option->getNumOccurrences()) +
                              " times",
                          kWrongFlags));
    }
  }
}

llvm::Error
mtp::writeWholeFile(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> write) {
  auto checked = [&](llvm::raw_ostream &stream) -> llvm::Error {
    write(stream);
    // Standard output is looked at when the process ends, and writeToOutput()
    // makes no file stream for the other.
    if (path == "-" || path == "/dev/null")
      return llvm::Error::success();
    auto &file = static_cast<llvm::raw_fd_ostream &>(stream);
    file.flush();
    std::error_code code = file.error();
    file.clear_error();
    return code ? llvm::errorCodeToError(code) : llvm::Error::success();
  };
  llvm::Error error = llvm::writeToOutput(path, checked);
  return error
             ? llvm::createStringError("cannot write '" + path +
                                       "': " + llvm::toString(std::move(error)))
             : llvm::Error::success();
}
