//===- FuseNormLinear.cpp - Normalise inside projections ------------------===//
//
// A projection reads its whole row anyway, so it can compute the row's norm on
// the way and the normalised row never goes to memory. Each of several readers
// computes it again; that is cheaper than a pass over the rows of its own.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "passes/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSENORMLINEARPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

#define DEBUG_TYPE "mtp-fuse-norm-linear"

namespace {
struct FuseNormLinearPass
    : public mlir::mtp::impl::FuseNormLinearPassBase<FuseNormLinearPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// Whether `use` is what a projection without a norm multiplies.
static bool isProjected(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<LinearOp>(user))
    return use.getOperandNumber() == 0;
  auto fused = dyn_cast<FusedLinearOp>(user);
  return fused && use.getOperandNumber() == 0 && !fused.getNorm();
}

/// Rebuilds the projection `user` of `norm` on the norm's operand.
static void fuseInto(Operation *user, RmsNormOp norm) {
  OpBuilder builder(user);
  SmallVector<Value> weights, biases;
  Value residual;
  ActivationKind activation = ActivationKind::None;
  if (auto fused = dyn_cast<FusedLinearOp>(user)) {
    weights.assign(fused.getWeights().begin(), fused.getWeights().end());
    biases.assign(fused.getBiases().begin(), fused.getBiases().end());
    residual = fused.getResidual();
    activation = fused.getActivation();
  } else {
    auto linear = cast<LinearOp>(user);
    weights.push_back(linear.getWeight());
    if (linear.getBias())
      biases.push_back(linear.getBias());
  }
  auto result = FusedLinearOp::create(
      builder, user->getLoc(), user->getResult(0).getType(), norm.getX(),
      norm.getWeight(), weights, biases, residual, norm.getEpsAttr(),
      norm.getOffsetAttr(),
      ActivationKindAttr::get(builder.getContext(), activation));
  user->replaceAllUsesWith(result);
  user->erase();
}

void FuseNormLinearPass::runOnOperation() {
  SmallVector<RmsNormOp> norms;
  getOperation().walk([&](RmsNormOp norm) { norms.push_back(norm); });
  for (RmsNormOp norm : norms) {
    if (norm.getGroups() != 1 || norm->use_empty() ||
        !llvm::all_of(norm->getUses(), isProjected)) {
      LDBG() << "stays, as not only projections read it: " << norm;
      continue;
    }
    for (Operation *user : llvm::to_vector(norm->getUsers()))
      fuseInto(user, norm);
    norm.erase();
    ++numFused;
  }
}
