//===- Tune.cpp - Tune the GPU library on this machine --------------------===//

#include "tools/mtpc/Tune.h"
#include "runtime/device/cuda/TuneGemms.h"

using namespace mtp::compiler;

mtp::Result<std::vector<LibraryAlgorithm>>
mtp::compiler::tuneOnThisMachine(llvm::ArrayRef<LibraryGemm> gemms) {
  std::vector<GemmToTune> shapes;
  for (const LibraryGemm &gemm : gemms)
    shapes.push_back({gemm.rows, gemm.outputs, gemm.inputs, gemm.workspace});
  MTP_ASSIGN_OR_RETURN(TunedGemms tuned, tuneGemms(shapes));
  std::vector<LibraryAlgorithm> algorithms;
  for (auto [gemm, words] : llvm::zip(gemms, tuned.algorithms))
    algorithms.push_back({tuned.version, tuned.chip, gemm, words});
  return algorithms;
}
