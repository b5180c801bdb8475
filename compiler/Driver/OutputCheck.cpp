//===- OutputCheck.cpp - Checks of the output path ------------------------===//

#include "compiler/Driver/OutputCheck.h"
#include "compiler/Artifact/AtomicFile.h"
#include "runtime/core/StrCat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <sys/resource.h>

using namespace mtp;

Status mtp::compiler::checkOutput(const std::string &output,
                                  std::span<const std::string> inputs) {
  for (const std::string &input : inputs) {
    bool same = false;
    // The reader of an input reports that the input is inaccessible.
    if (!llvm::sys::fs::equivalent(output, input, same) && same) {
      return invalidArgument(strCat("expected -o unlike the inputs, got '",
                                    output, "', which is '", input, "'"));
    }
  }
  return AtomicFile::create(output).status();
}

Status mtp::compiler::checkSpace(const std::string &output, uint64_t bytes) {
  auto refuse = [&](uint64_t least, llvm::StringRef where) {
    return resourceExhausted(strCat("cannot write '", output, "': it needs ",
                                    bytes, " bytes at least, more than the ",
                                    least, " bytes ", where.str()));
  };
  struct rlimit size;
  if (::getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY &&
      size.rlim_cur < bytes)
    return refuse(size.rlim_cur, "that a file may have (ulimit -f)");
  llvm::StringRef folder = llvm::sys::path::parent_path(output);
  llvm::ErrorOr<llvm::sys::fs::space_info> space =
      llvm::sys::fs::disk_space(folder.empty() ? "." : folder);
  // If the space is unknown, the write itself reports the error.
  if (space && space->available < bytes)
    return refuse(space->available, "that its file system has left");
  return Status();
}
