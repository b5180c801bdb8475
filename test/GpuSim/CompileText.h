//===- CompileText.h - Compiles gpu modules that are text -------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_COMPILETEXT_H
#define MTP_TEST_GPUSIM_COMPILETEXT_H

#include <string>
#include <vector>

namespace mtp::gpusim::test {

struct CompiledImage {
  std::vector<char> image;
  /// Empty on success.
  std::string error;
};

struct CompiledPtx {
  std::string ptx;
  std::vector<char> cubin;
  /// Report of ptxas, and the reason if there is no cubin.
  std::string report, absence;
  std::string error;
};

/// Compiles the one gpu.module of an MLIR module for gpu-sim.
CompiledImage compileForSimulator(const std::string &text);

/// Compiles the module to PTX and, if ptxas is found, to a cubin.
CompiledPtx compileToPtx(const std::string &text, const std::string &chip);

} // namespace mtp::gpusim::test

#endif // MTP_TEST_GPUSIM_COMPILETEXT_H
