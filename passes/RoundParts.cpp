//===- RoundParts.cpp - The regions that a round is made of ---------------===//

#include "passes/ProgramWriter.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns the only op of its kind in the round.
template <typename Op>
static Op findOne(RoundOp round) {
  auto found = round.getBody()->template getOps<Op>();
  return found.empty() ? Op() : *found.begin();
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
  auto verify = findOne<VerifyOp>(round);
  auto accept = findOne<AcceptOp>(round);
  // The verifier of the round has seen to it that both are there.
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
