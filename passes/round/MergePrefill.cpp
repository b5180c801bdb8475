//===- MergePrefill.cpp - Merge prefills into rounds ----------------------===//
//
// A round with prompts has run its verify over the rows of slots and prompts.
// The remaining work on the prompt is in the prefill of the mixed batch: the
// drafter's rows, the pick for the last row, the commit. It is inserted after
// the round's own ops.
//
// Prompt rows come first in order, so packing leaves the active ones in place,
// and later ops need not compute the others. All rows are those of the tokens
// themselves, at any distance ahead, so one number counts the active ones.
// Results for the last rows of a prompt, which have no token that far ahead,
// are not read, and the first round recomputes them.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_MERGEPREFILLPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct MergePrefillPass
    : public mlir::mtp::impl::MergePrefillPassBase<MergePrefillPass> {
  using Base::Base;

  void runOnOperation() override;
};

/// Inserts the ops of a prefill after the ops of a round.
class PromptWriter {
public:
  PromptWriter(RoundOp round)
      : round(round), builder(OpBuilder::atBlockEnd(round.getBody())) {}

  LogicalResult write(PrefillOp prefill);

private:
  LogicalResult mapVerify(VerifyOp verify);
  Value activeRows(PromptRowsOp like);
  void write(Operation &op);
  Value slots(SlotsOp like);

  RoundOp round;
  OpBuilder builder;
  IRMapping mapping;
  /// The packed prompt rows; null until an op reads them.
  Value live;
};
} // namespace

Value PromptWriter::slots(SlotsOp like) {
  for (auto known : round.getBody()->getOps<SlotsOp>())
    if (known.getPrompts())
      return known;
  return SlotsOp::create(builder, like.getLoc(), like.getType(), true);
}

/// Maps the results of the prefill's verify to the round's values.
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

Value PromptWriter::activeRows(PromptRowsOp like) {
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
    mapping.map(rows.getRows(), activeRows(rows));
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

void MergePrefillPass::runOnOperation() {
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
