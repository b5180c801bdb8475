//===- mtp-fill.cpp - Make the weights that an artifact lacks -------------===//
//
// Exit status: 0 success, 1 the file cannot be completed, 2 wrong flags.
//
//===----------------------------------------------------------------------===//

#include "compiler/Artifact/WeightlessFile.h"
#include "runtime/core/Processors.h"
#include "tools/support/Flags.h"

using namespace mtp;

static const char *const kExamples = R"(Examples:
  mtpc model.mlir -o model.fill --random-weights=1 --omit-weights
  mtp-fill model.fill -o /dev/shm/model.bin
)";

int main(int argc, char **argv) {
  CLI::App app("Make the random weights that mtpc left out of an artifact, "
               "byte for byte as mtpc would have written them",
               "mtp-fill");
  app.footer(kExamples);
  std::string input, output;
  uint32_t jobs = 0;
  addArtifact(app, input);
  addText(app, "-o", output, "FILE", "The artifact to write");
  addNumber(app, "--jobs", jobs,
            "Threads that make weights (default: this machine's processors)");
  return toolMain(
      app, argc, argv,
      [&] {
        return output.empty() ? invalidArgument("expected -o with the path of "
                                                "the artifact")
                              : okStatus();
      },
      [&] {
        return compiler::fillArtifact(input, output,
                                      jobs ? jobs : usableProcessors());
      });
}
