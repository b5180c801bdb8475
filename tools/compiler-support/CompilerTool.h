//===- CompilerTool.h - What the compiler's tools share ---------*- C++ -*-===//

#ifndef MTP_TOOLS_COMPILER_SUPPORT_COMPILERTOOL_H
#define MTP_TOOLS_COMPILER_SUPPORT_COMPILERTOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"

namespace mtp {

/// Exit codes of all tools.
enum ExitCode { kSuccess = 0, kFailure = 1, kWrongFlags = 2 };

/// Parses the flags of a tool of LLVM's command line; exits with kWrongFlags
/// where one is wrong. Of the options that are registered --help lists those of
/// `isOurs`, --help-hidden all of them. From here on a lost standard output is
/// an error and no abort, whenever the process ends.
void parseToolFlags(int argc, char **argv, llvm::StringRef tool,
                    llvm::StringRef overview,
                    llvm::function_ref<bool(const llvm::cl::Option &)> isOurs);

/// Writes a whole file, or none, at `path`; "-" is standard output.
llvm::Error writeWholeFile(llvm::StringRef path,
                           llvm::function_ref<void(llvm::raw_ostream &)> write);

/// Prints "TOOL: error: MESSAGE" and returns `code`.
int toolError(llvm::StringRef tool, const llvm::Twine &message,
              ExitCode code = kFailure);

} // namespace mtp

#endif // MTP_TOOLS_COMPILER_SUPPORT_COMPILERTOOL_H
