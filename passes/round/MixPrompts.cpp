//===- MixPrompts.cpp - Rows of prompts beside those of rounds ------------===//
//
// A round with prompts has run its verify over the rows of both. What is left
// to do with the prompt stands in the prefill beside it, and comes behind the
// round's own ops: the drafter's rows, the pick for the last row, the commit.
//
// Rows of prompts come from the first on. So those that live stay where they
// are when they are packed, and what is made of them need not be computed for
// the others. All have the rows of the tokens themselves, whatever they read
// ahead: so one number says how many live. What is made of the last rows of a
// prompt, which have no token so far ahead, nobody shares and the first round
// makes again.
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
  Value liveRows(PromptRowsOp like);
  void write(Operation &op);
  Value slots(SlotsOp like);

  RoundOp round;
  OpBuilder builder;
  IRMapping mapping;
  /// The rows of prompts, packed; null until somebody reads them.
  Value live;
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

Value PromptWriter::liveRows(PromptRowsOp like) {
  if (live)
    return live;
  auto rows =
      PromptRowsOp::create(builder, like.getLoc(), like.getTokens().getType(),
                           RowsType::get(builder.getContext()), /*ahead=*/0);
  auto pack =
      PackOp::create(builder, like.getLoc(), rows.getRows(), rows.getTokens());
  return live = pack.getPacked();
}

void PromptWriter::write(Operation &op) {
  if (auto slotsOp = dyn_cast<SlotsOp>(op)) {
    mapping.map(slotsOp.getResult(), slots(slotsOp));
    return;
  }
  Operation *copy = builder.clone(op, mapping);
  if (auto output = dyn_cast<OutputOp>(copy))
    output.setName(("prompt_" + output.getName()).str());
  if (auto rows = dyn_cast<PromptRowsOp>(op))
    mapping.map(rows.getRows(), liveRows(rows));
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
