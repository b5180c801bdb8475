//===- CompileSampling.cpp - Sampling as kernels of the target ------------===//
//
// Where the runtime brings no code that samples, every sample becomes a kernel
// of the plan's image: specialised on its vocabulary, with a contract.
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
