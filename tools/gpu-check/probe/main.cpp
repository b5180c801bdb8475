//===- main.cpp - One part of the probes ----------------------------------===//
//
// gpu_probe FOLDER PART [CUBLASLT]: FOLDER contains the kernels, and a manifest
// of products.
//
//===----------------------------------------------------------------------===//

#include "Gpu.h"
#include "Parts.h"

#include <cstdio>
#include <cstring>

using namespace mtp::gpu_check;

int main(int argc, char **argv) {
  const struct {
    const char *name;
    void (*run)();
  } parts[] = {
      {"bandwidth", runBandwidth}, {"load", runLoad},
      {"edges", runEdges},         {"order", runOrder},
      {"graphs", runGraphs},       {"numbers", runNumbers},
      {"products", runProducts},   {"elementary", runElementary},
      {"cublaslt", runCublasLt},   {"kernels", runReplay},
      {"ring", runRing},           {"carveout", runCarveout},
  };
  if (argc >= 3) {
    for (const auto &part : parts) {
      if (std::strcmp(part.name, argv[2]) != 0)
        continue;
      if (argc >= 4)
        machine.cublasLt = argv[3];
      machine.start(argv[1]);
      part.run();
      return 0;
    }
  }
  std::fprintf(stderr,
               "expected gpu_probe FOLDER PART [CUBLASLT], PART one of");
  for (const auto &part : parts)
    std::fprintf(stderr, " %s", part.name);
  std::fprintf(stderr, "\n");
  return 2;
}
