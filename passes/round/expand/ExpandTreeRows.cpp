//===- ExpandTreeRows.cpp - mtp.tree_rows as core ops ---------------------===//
//
// The rows of a tree have consecutive positions, the root's first: their places
// in the cache. A place minus the node's number gives the root's place. Adding
// the node's depth to the root's place gives the position for rotation.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/NodeWalk.h"
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

/// Expands rows of a static tree: a body per row, which touches no state, so
/// that slots may repeat.
static FailureOr<MakeTreeRowsOp> expandStatic(TreeRowsOp op, MakeRowsOp plain) {
  OpBuilder builder(op);
  ArrayRef<int64_t> tree = *op.getTree();
  int64_t nodes = tree.size();
  auto type = plain.getSlots().getType();
  if (!type.isDynamicDim(0) && type.getDimSize(0) % nodes != 0)
    return op.emitOpError("expected whole trees of ")
           << nodes << " rows, got " << type.getDimSize(0) << " rows";
  SlotBody body(builder, op.getLoc(), "tree_rows", plain.getSlots(),
                plain.getPositions());
  SmallVector<Value> depths, masks;
  for (int64_t depth : nodeDepths(tree))
    depths.push_back(body.constant(depth));
  for (int64_t mask : ancestorMasks(tree))
    masks.push_back(body.wideConstant(mask));
  Value place = body.input(0), dead = body.constant(-1);
  Value node = body.rem(body.index(), nodes);
  Value root = body.sub(place, node);
  Value position = body.add(root, choose(body, node, depths));
  Value mask = choose(body, node, masks);
  Value isActive = body.compare(Predicate::sge, place, 0);
  ValueRange rows = body.yield(
      {body.select(isActive, position, dead), body.select(isActive, root, dead),
       body.select(isActive, mask, body.wideConstant(0))});
  return MakeTreeRowsOp::create(builder, op.getLoc(), plain.getSlots(), rows[0],
                                rows[1], plain.getPositions(), rows[2],
                                /*refreshed=*/false);
}

/// Expands rows of a slot's own tree: a body per slot. A row is active if it
/// has a place and its parent is active.
static FailureOr<MakeTreeRowsOp> expandBySlot(TreeRowsOp op, MakeRowsOp plain) {
  if (!isa<RoundOp, PrefillOp>(op->getParentOp()))
    return op.emitOpError("expected a round around rows whose parents are "
                          "numbers of its slots");
  int64_t nodes = widthOf(op.getParents());
  if (nodes < 1)
    return op.emitOpError("expected parents of a known number of nodes, got ")
           << op.getParents().getType();
  Expansion e(op);
  SlotBody body(e.builder, e.loc, "tree_rows", e.slots(),
                {e.bySlot(plain.getPositions(), nodes), op.getParents()});
  Value root = body.element(body.input(0), 0), parents = body.input(1);
  Value dead = body.constant(-1), lost = body.wideConstant(0);
  Value depths = activeNodes(body, nodes, parents).depths;
  Value masks = masksOf(body, nodes, parents, depths);
  Value hasRoot = body.compare(Predicate::sge, root, 0);
  auto isActive = [&](Value node) {
    Value hasPlace =
        body.compare(Predicate::sge, body.element(body.input(0), node), 0);
    return body.both(
        body.both(hasRoot, hasPlace),
        body.compare(Predicate::sge, body.element(depths, node), 0));
  };
  auto each = [&](llvm::function_ref<Value(Value)> value) {
    return body.vector(nodes, [&](Value node) {
      return body.select(isActive(node), value(node), dead);
    });
  };
  Value positions = each(
      [&](Value node) { return body.add(root, body.element(depths, node)); });
  Value roots = each([&](Value) { return root; });
  Value places = each([&](Value node) { return body.add(root, node); });
  Value seen = body.wideVector(nodes, [&](Value node) {
    return body.select(hasRoot, body.element(masks, node), lost);
  });
  ValueRange rows = body.yield({positions, roots, places, seen});
  return MakeTreeRowsOp::create(e.builder, e.loc, plain.getSlots(),
                                e.byRow(rows[0]), e.byRow(rows[1]),
                                e.byRow(rows[2]), e.byRow(rows[3]),
                                /*refreshed=*/false);
}

static LogicalResult expand(TreeRowsOp op) {
  auto plain = op.getRows().getDefiningOp<MakeRowsOp>();
  if (!plain)
    return op.emitOpError("expected rows that mtp.make_rows made");
  FailureOr<MakeTreeRowsOp> rows =
      op.getTree() ? expandStatic(op, plain) : expandBySlot(op, plain);
  if (failed(rows))
    return failure();
  op.replaceAllUsesWith(rows->getRows());
  op.erase();
  return success();
}

void ExpandTreeRowsPass::runOnOperation() {
  if (failed(expandAll<TreeRowsOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
