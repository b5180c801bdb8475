//===- OutputCheck.cpp - May the artifact be written there? ---------------===//

#include "compiler/Driver/OutputCheck.h"
#include "compiler/Artifact/AtomicFile.h"
#include "llvm/Support/FileSystem.h"

using namespace mtp;

Status mtp::compiler::checkOutput(const std::string &output,
                                  std::span<const std::string> inputs) {
  for (const std::string &input : inputs) {
    bool same = false;
    // An input that cannot be looked at is reported by whoever reads it.
    if (!llvm::sys::fs::equivalent(output, input, same) && same) {
      return invalidArgument("expected -o unlike the inputs, got '" + output +
                             "', which is '" + input + "'");
    }
  }
  return AtomicFile::create(output).status();
}
