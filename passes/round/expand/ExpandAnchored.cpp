//===- ExpandAnchored.cpp - Noise relative to the anchor ------------------===//
//
// In a round, a row's distance from the anchor is its position minus the slot's
// length, for rows of the target or a drafter, packed rows and rows of a tree.
// In a prefill there is no anchor yet, and the last row of a prompt picks like
// the anchor's row later.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDANCHOREDPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandAnchoredPass
    : public mlir::mtp::impl::ExpandAnchoredPassBase<ExpandAnchoredPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

static LogicalResult expand(SampleOp op) {
  if (!op.getAnchored())
    return success();
  if (!op->getParentOfType<RoundOp>() && !op->getParentOfType<PrefillOp>())
    return op.emitOpError("expected in a round or a prefill: there is no "
                          "anchor in a function that is run by itself");
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type numbers = op.getType().clone({ShapedType::kDynamic});
  Value slots = RowSlotsOp::create(builder, loc, numbers, op.getRows());
  if (op->getParentOfType<PrefillOp>()) {
    SlotBody body(builder, loc, "anchored", slots);
    op.getNumberMutable().assign(body.yield(body.constant(0)).front());
  } else {
    useState(op->getParentOfType<ModuleOp>(), states::kLength);
    Value positions =
        RowPositionsOp::create(builder, loc, numbers, op.getRows());
    SlotBody body(builder, loc, "anchored", slots, positions);
    Value anchor = body.load(states::kLength);
    ValueRange places = body.yield({anchor, body.sub(body.input(0), anchor)});
    op.getRowsMutable().assign(
        MakeRowsOp::create(builder, loc, slots, places[0]));
    op.getNumberMutable().assign(places[1]);
  }
  op.setAnchored(false);
  return success();
}

void ExpandAnchoredPass::runOnOperation() {
  if (failed(expandAll<SampleOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
