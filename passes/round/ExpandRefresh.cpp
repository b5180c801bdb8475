//===- ExpandRefresh.cpp - mtp.refresh as core ops ------------------------===//
//
// The rows of the first module of a draft chain, and nothing that runs on them.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/Refresh.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDREFRESHPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandRefreshPass
    : public mlir::mtp::impl::ExpandRefreshPassBase<ExpandRefreshPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

static LogicalResult expand(RefreshOp op) {
  if (!isa<RoundOp>(op->getParentOp()))
    return op.emitOpError("expected in a round: of a prompt no rows were "
                          "verified before, and mtp.prompt_rows has its own");
  Expansion e(op);
  Refresh refresh(e, /*takesHidden=*/bool(op.getHidden()));
  SmallVector<Value> next = refresh.writePlaces(
      [](SlotBody &, Value n) { return SmallVector<Value>{n}; });
  SmallVector<Value> results{refresh.tokens(), refresh.makeRows(1),
                             refresh.anchor(1), next.front()};
  if (op.getHidden())
    results.push_back(refresh.readHidden(widthOf(op.getHidden())));
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

void ExpandRefreshPass::runOnOperation() {
  if (failed(
          expandInstantiated<RefreshOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
