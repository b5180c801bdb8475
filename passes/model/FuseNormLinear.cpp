//===- FuseNormLinear.cpp - Fuse norms into projections -------------------===//
//
// A projection reads its whole row anyway, so it can compute the row's norm on
// the way, and the normalized row never goes to memory. Each of several readers
// recomputes the norm. That is cheaper than a separate pass over the rows.
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

/// Returns whether `use` is the operand that a projection without a norm
/// multiplies.
static bool isProjected(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<LinearOp>(user))
    return use.getOperandNumber() == 0;
  auto fused = dyn_cast<FusedLinearOp>(user);
  return fused && use.getOperandNumber() == 0 && !fused.getNorm();
}

/// Makes the projection `user` of `norm` read the norm's operand.
static void fuseInto(Operation *user, RmsNormOp norm) {
  auto fused = dyn_cast<FusedLinearOp>(user);
  if (!fused) {
    OpBuilder builder(user);
    fused =
        FusedLinearOp::create(builder, user->getLoc(), cast<LinearOp>(user));
    user->replaceAllUsesWith(fused);
    user->erase();
  }
  fused.getXMutable().set(norm.getX());
  fused.getNormMutable().assign(norm.getWeight());
  fused.setEpsAttr(norm.getEpsAttr());
  fused.setOffsetAttr(norm.getOffsetAttr());
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
