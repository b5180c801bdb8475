//===- MixPrompts.cpp - Rows of prompts beside those of rounds ------------===//
//
// A round with prompts has run its verify over the rows of both. What is left
// to do with the prompt stands in the prefill beside it, and comes behind the
// round's own ops: the drafter's rows, the pick for the last row, the commit.
//
// Only one prompt is read beside a round, and its rows come from the first on.
// So those that live stay where they are when they are packed, and what is made
// of them need not be computed for the others.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_MIXPROMPTSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct MixPromptsPass
    : public mlir::mtp::impl::MixPromptsPassBase<MixPromptsPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// Puts what a prefill does behind the ops of a round.
class PromptWriter {
public:
  PromptWriter(RoundOp round)
      : round(round), builder(OpBuilder::atBlockEnd(round.getBody())) {}

  LogicalResult write(PrefillOp prefill);

private:
  LogicalResult mapVerify(VerifyOp verify);
  void write(Operation &op);
  Value slots(SlotsOp like);

  RoundOp round;
  OpBuilder builder;
  IRMapping mapping;
};
} // namespace

Value PromptWriter::slots(SlotsOp like) {
  for (auto known : round.getBody()->getOps<SlotsOp>())
    if (known.getPrompts())
      return known;
  return SlotsOp::create(builder, like.getLoc(), like.getType(), true);
}

/// The round has what the prefill's verify stands for.
LogicalResult PromptWriter::mapVerify(VerifyOp verify) {
  auto values = round.getBody()->getOps<PromptValuesOp>();
  if (values.empty() ||
      (*values.begin()).getNumOperands() != verify.getNumResults())
    return verify.emitOpError("expected the round beside its prefill to have "
                              "its results, is mtp-expand-verify missing "
                              "before this pass?");
  PromptValuesOp given = *values.begin();
  mapping.map(verify.getResults(), given.getValues());
  given.erase();
  return success();
}

void PromptWriter::write(Operation &op) {
  if (auto slotsOp = dyn_cast<SlotsOp>(op)) {
    mapping.map(slotsOp.getResult(), slots(slotsOp));
    return;
  }
  Operation *copy = builder.clone(op, mapping);
  if (auto output = dyn_cast<OutputOp>(copy))
    output.setName(("prompt_" + output.getName()).str());
  auto rows = dyn_cast<PromptRowsOp>(copy);
  if (!rows)
    return;
  auto pack =
      PackOp::create(builder, op.getLoc(), rows.getRows(), rows.getTokens());
  mapping.map(cast<PromptRowsOp>(op).getTokens(), pack.getPackedTokens());
  mapping.map(cast<PromptRowsOp>(op).getRows(), pack.getPacked());
}

LogicalResult PromptWriter::write(PrefillOp prefill) {
  for (Operation &op : *prefill.getBody())
    if (auto verify = dyn_cast<VerifyOp>(op)) {
      if (failed(mapVerify(verify)))
        return failure();
    } else {
      write(op);
    }
  return success();
}

void MixPromptsPass::runOnOperation() {
  ModuleOp module = getOperation();
  for (auto prefill : llvm::to_vector(module.getOps<PrefillOp>())) {
    if (!prefill.getBeside())
      continue;
    auto round = module.lookupSymbol<RoundOp>(*prefill.getBeside());
    if (!round) {
      prefill.emitOpError("expected a round @")
          << *prefill.getBeside() << " beside it, found none";
      return signalPassFailure();
    }
    if (failed(PromptWriter(round).write(prefill)))
      return signalPassFailure();
    prefill.erase();
    ++numMixed;
  }
}
