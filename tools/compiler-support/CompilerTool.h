//===- CompilerTool.h - Code shared by compiler tools -----------*- C++ -*-===//

#ifndef MTP_TOOLS_COMPILER_SUPPORT_COMPILERTOOL_H
#define MTP_TOOLS_COMPILER_SUPPORT_COMPILERTOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mtp {

/// Exit codes of all tools.
enum ExitCode { kSuccess = 0, kFailure = 1, kWrongFlags = 2 };

/// Parses the flags of a tool with LLVM's command line; exits with kWrongFlags
/// on an error. --help lists the registered options for which `isOurs` is true,
/// --help-hidden lists all. From here on, a failed write to standard output is
/// an error instead of an abort, whenever the process ends.
void parseToolFlags(int argc, char **argv, llvm::StringRef tool,
                    llvm::StringRef overview,
                    llvm::function_ref<bool(const llvm::cl::Option &)> isOurs);

/// Writes a whole file at `path`, or none; "-" is standard output.
llvm::Error writeWholeFile(llvm::StringRef path,
                           llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Prints "TOOL: error: MESSAGE" and returns `code`.
int toolError(llvm::StringRef tool, const llvm::Twine &message,
              ExitCode code = kFailure);

} // namespace mtp

#endif // MTP_TOOLS_COMPILER_SUPPORT_COMPILERTOOL_H
