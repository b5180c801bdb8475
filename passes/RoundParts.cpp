//===- RoundParts.cpp - The regions that a round is made of ---------------===//

#include "mlir/Transforms/RegionUtils.h"
#include "passes/ProgramWriter.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns the only op of its kind in the round.
template <typename Op>
static Op findOne(RoundOp round) {
  auto found = round.getBody()->template getOps<Op>();
  return found.empty() ? Op() : *found.begin();
}

/// Programs are written from the regions of draft, verify and accept alone, and
/// commit has a kernel: anything else would be lost.
static LogicalResult checkParts(RoundOp round) {
  for (Operation &op : *round.getBody()) {
    if (!isa<DraftChainOp, DraftTreeOp, VerifyOp, AcceptOp, CommitOp>(op)) {
      return op.emitOpError("has no program beside the parts of a round: "
                            "expected one draft, verify, accept and commit "
                            "only");
    }
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    if (!captured.empty()) {
      InFlightDiagnostic diag =
          op.emitOpError("expected regions that use their own values only");
      diag.attachNote(captured.front().getLoc())
          << "this value of the round is used in one";
      return diag;
    }
  }
  return success();
}

/// The one rule of which the kernel accept_commit knows.
static LogicalResult checkRule(AcceptOp accept) {
  if (accept.getRule() == AcceptRule::Exact) {
    return success();
  }
  return accept.emitOpError("has no program: expected the rule ")
         << stringifyAcceptRule(AcceptRule::Exact) << ", got "
         << stringifyAcceptRule(accept.getRule());
}

FailureOr<RoundParts> RoundParts::get(RoundOp round) {
  auto module = round->getParentOfType<ModuleOp>();
  auto envelope = module->getAttrOfType<EnvelopeAttr>("mtp.envelope");
  if (!envelope) {
    return round.emitOpError("expected an mtp.envelope on the module");
  }
  if (auto tree = findOne<DraftTreeOp>(round)) {
    return tree.emitOpError("has no program: rounds are compiled for draft "
                            "chains; a tree can be verified in a function");
  }
  if (failed(checkParts(round))) {
    return failure();
  }
  auto verify = findOne<VerifyOp>(round);
  auto accept = findOne<AcceptOp>(round);
  // The verifier of the round has seen to it that both are there.
  if (failed(checkRule(accept))) {
    return failure();
  }
  auto logits = cast<RankedTensorType>(verify.getLogits().getType());
  auto hidden = cast<RankedTensorType>(verify.getHidden().getType());
  RoundParts parts{{},
                   verify.getBody(),
                   accept.getBody(),
                   {envelope, 0, hidden.getDimSize(1), logits.getDimSize(1)},
                   module,
                   round.getLoc()};
  if (auto chain = findOne<DraftChainOp>(round)) {
    for (Region &step : chain.getSteps()) {
      parts.modules.push_back(&step.front());
    }
  }
  parts.shape.modules = parts.modules.size();
  return parts;
}
