//===- ProjectionRoles.cpp - Find heads and routers -----------------------===//
//
// A handwritten model need not state the roles of its projections. Here the
// roles are found by tracing back from chosen experts, picked tokens and logits
// outputs, through all ops that pass logits on, to the projections. Later
// passes only look at the role.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/ProjectionRoles.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "passes/support/Logits.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mtp;

/// Gives a projection the role unless it has one. A router that was merged with
/// a head stays a router.
template <typename OpT>
static void setRole(OpT op, ProjectionRole role) {
  if (!op.getRole() || role == ProjectionRole::Router)
    op.setRole(role);
}

/// Sets the role of the projections from which `logits` are made.
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

/// Returns whether the best columns are picked tokens: the op has noise, or it
/// returns a single column (an argmax with its probability).
static bool isPick(TopKOp best) { return best.getNoise() || best.getK() == 1; }

void mlir::mtp::findRoles(exec::ProgramOp program) {
  // Routers first: their weights have few rows and must not become a head's.
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
