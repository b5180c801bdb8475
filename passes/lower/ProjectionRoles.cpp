//===- ProjectionRoles.cpp - Which projections are heads ------------------===//
//
// A model by hand need not say what its projections are for. Here it is still
// seen: from where experts are chosen, tokens picked or logits put out, back
// through whatever treats logits as such, to the projections that made them.
// Everything after this asks the projection.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/ProjectionRoles.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "passes/support/Logits.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mtp;

/// Gives a projection the role where it says none. A router that was merged
/// with a head is still one.
template <typename OpT>
static void setRole(OpT op, ProjectionRole role) {
  if (!op.getRole() || role == ProjectionRole::Router)
    op.setRole(role);
}

/// Gives it to those from which `logits` are made.
static void setRoles(Value logits, ProjectionRole role) {
  llvm::SetVector<Value> pending;
  pending.insert(logits);
  for (size_t i = 0; i < pending.size(); ++i) {
    auto result = dyn_cast<OpResult>(pending[i]);
    if (!result)
      continue;
    Operation *op = result.getOwner();
    if (auto linear = dyn_cast<LinearOp>(op))
      setRole(linear, role);
    else if (auto fused = dyn_cast<FusedLinearOp>(op))
      setRole(fused, role);
    for (Value operand : op->getOperands())
      if (passesLogits(operand, result))
        pending.insert(operand);
  }
}

/// Whether the best of some columns are tokens: with noise, or as an argmax
/// whose probability is asked for.
static bool isPick(TopKOp best) { return best.getNoise() || best.getK() == 1; }

void mlir::mtp::findRoles(exec::ProgramOp program) {
  // Routers first: few rows of weights, which are not to become a head's.
  for (auto route : program.getBody().getOps<MoeRouteOp>())
    setRoles(route.getLogits(), ProjectionRole::Router);
  for (Operation &op : program.getBody().front())
    if (auto argmax = dyn_cast<ArgmaxOp>(op))
      setRoles(argmax.getX(), ProjectionRole::Head);
    else if (auto sample = dyn_cast<SampleOp>(op))
      setRoles(sample.getLogits(), ProjectionRole::Head);
    else if (auto best = dyn_cast<TopKOp>(op); best && isPick(best))
      setRoles(best.getX(), ProjectionRole::Head);
    else if (auto output = dyn_cast<exec::OutputOp>(op);
             output && output.getName() == "logits")
      setRoles(output.getValue(), ProjectionRole::Head);
}
