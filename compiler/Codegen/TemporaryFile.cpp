//===- TemporaryFile.cpp - Files for tools that take no memory ------------===//

#include "compiler/Codegen/TemporaryFile.h"

#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"

using namespace llvm;

Expected<SmallString<128>> mtp::codegen::makeTemporary(StringRef prefix,
                                                       StringRef suffix) {
  SmallString<128> path;
  int descriptor = -1;
  if (std::error_code error =
          sys::fs::createTemporaryFile(prefix, suffix, descriptor, path))
    return createStringError(
        errc::io_error, "cannot create a temporary file: " + error.message());
  sys::Process::SafelyCloseFileDescriptor(descriptor);
  // Ctrl-C leaves no file either.
  sys::RemoveFileOnSignal(path);
  return path;
}
