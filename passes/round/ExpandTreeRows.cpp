//===- ExpandTreeRows.cpp - mtp.tree_rows as core ops ---------------------===//
//
// The rows of a tree stand at positions that follow each other, the root's
// first: their places in the cache. What a place says beside the node's number
// is where the root is; the node's depth is added to that for its rotation.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/RoundExpansion.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDTREEROWSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

namespace {
struct ExpandTreeRowsPass
    : public mlir::mtp::impl::ExpandTreeRowsPassBase<ExpandTreeRowsPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

static LogicalResult expand(TreeRowsOp op) {
  auto plain = op.getRows().getDefiningOp<MakeRowsOp>();
  if (!plain)
    return op.emitOpError("expected rows that mtp.make_rows made");
  OpBuilder builder(op);
  ArrayRef<int64_t> parents = op.getParents();
  // A body for each row; it touches no state, so that slots may come again.
  SlotBody body(builder, op.getLoc(), "tree_rows", plain.getSlots(),
                plain.getPositions());
  SmallVector<Value> depths;
  for (int64_t depth : nodeDepths(parents))
    depths.push_back(body.constant(depth));
  Value place = body.input(0), dead = body.constant(-1);
  Value node = body.rem(body.index(), parents.size());
  Value root = body.sub(place, node);
  Value position = body.add(root, body.element(body.vector(depths), node));
  Value isLive = body.compare(Predicate::sge, place, 0);
  ValueRange rows = body.yield(
      {body.select(isLive, position, dead), body.select(isLive, root, dead)});
  op.replaceAllUsesWith(
      MakeTreeRowsOp::create(builder, op.getLoc(), plain.getSlots(), rows[0],
                             rows[1], plain.getPositions(), parents,
                             /*nodes=*/DenseI64ArrayAttr())
          .getRows());
  op.erase();
  return success();
}

void ExpandTreeRowsPass::runOnOperation() {
  if (failed(expandAll<TreeRowsOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
