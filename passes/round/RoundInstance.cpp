//===- RoundInstance.cpp - The ops of a round for one k -------------------===//

#include "passes/round/RoundInstance.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "passes/support/RefineBody.h"
#include "passes/support/SlotBody.h"

using namespace mlir;
using namespace mlir::mtp;

void mlir::mtp::linkParts(Block &body) {
  OpBuilder builder(body.getParentOp()->getContext());
  for (auto verify : llvm::to_vector(body.getOps<VerifyOp>())) {
    if (verify.getRows())
      continue;
    builder.setInsertionPoint(verify);
    SmallVector<Type> types(verify.getResultTypes());
    types.push_back(RowsType::get(builder.getContext()));
    auto linked = VerifyOp::create(builder, verify.getLoc(), types,
                                   verify->getOperands(), verify->getAttrs());
    linked.getBodyRegion().takeBody(verify.getBodyRegion());
    verify.replaceAllUsesWith(linked.getResults().drop_back());
    verify.erase();
  }
  for (auto accept : llvm::to_vector(body.getOps<AcceptOp>())) {
    auto verifies = body.getOps<VerifyOp>();
    if (!verifies.empty() && !accept.getRows())
      accept.getRowsMutable().assign((*verifies.begin()).getRows());
    if (!accept.isTree() || accept.getPath())
      continue;
    builder.setInsertionPoint(accept);
    auto linked = AcceptOp::create(
        builder, accept.getLoc(), accept.getCount().getType(),
        accept.getPicks().getType(), accept.getPicks().getType(),
        accept.getDrafts(), accept.getLogits(), accept.getDraftLogits(),
        accept.getRows(), accept.getParents(), accept.getRule(),
        accept.getTreeAttr(), accept.getRuleArgsAttr());
    linked.getBodyRegion().takeBody(accept.getBodyRegion());
    linked.getRuleRegion().takeBody(accept.getRuleRegion());
    accept.replaceAllUsesWith(linked.getResults().take_front(2));
    accept.erase();
    for (auto commit : body.getOps<CommitOp>())
      if (commit.getCount() == linked.getCount() && !commit.getPath())
        commit.getPathMutable().assign(linked.getPath());
  }
}

void mlir::mtp::dropDrafts(VerifyOp verify) {
  verify.getDraftsMutable().clear();
  verify.getParentsMutable().clear();
  verify.removeTreeAttr();
}

void mlir::mtp::dropDrafts(AcceptOp accept) {
  accept.getDraftsMutable().clear();
  accept.getParentsMutable().clear();
  accept.getDraftLogitsMutable().clear();
  accept.removeTreeAttr();
  accept.setRule(AcceptRule::Exact);
  accept.removeRuleArgsAttr();
  accept.getRuleRegion().getBlocks().clear();
}

void mlir::mtp::dropDrafts(Block &body) {
  for (Operation &op : body)
    if (auto verify = dyn_cast<VerifyOp>(op))
      dropDrafts(verify);
    else if (auto accept = dyn_cast<AcceptOp>(op))
      dropDrafts(accept);
}

/// Returns an empty set of drafts per slot, where `type` has one number per
/// draft.
static Value makeNoDrafts(OpBuilder &builder, Operation *draft, Type type) {
  auto grid = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(grid.getShape());
  shape[1] = 0;
  auto ints =
      RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value slots = SlotsOp::create(builder, draft->getLoc(), ints);
  SlotBody body(builder, draft->getLoc(), "no_drafts", slots);
  auto none = RankedTensorType::get(ArrayRef(shape).drop_front(),
                                    grid.getElementType());
  return body.yield(body.empty(none)).front();
}

/// Erases the draft operation at k = 0. Other readers of drafts get none.
static void eraseDraft(Operation *op) {
  OpBuilder builder(op);
  for (Value result : op->getResults())
    if (!result.use_empty())
      result.replaceAllUsesWith(makeNoDrafts(builder, op, result.getType()));
  op->erase();
}

/// Replaces an mtp.draft by its contents.
static void inlineDraft(DraftRegionOp op) {
  Block &inner = *op.getBody();
  Operation *yield = inner.getTerminator();
  op.replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         inner.getOperations());
  op.erase();
}

void mlir::mtp::placeDrafts(Block &body, int64_t k) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    auto region = dyn_cast<DraftRegionOp>(op);
    if (k > 0 && region)
      inlineDraft(region);
    else if (k == 0 &&
             isa<DraftChainOp, DraftTreeOp, DraftHeadsOp, DraftRegionOp>(op))
      eraseDraft(&op);
  }
}

/// Replaces all ops of a kind in `op` by the constant `value`. Returns whether
/// there were any.
template <typename OpT>
static bool setConstant(Operation *op, int64_t value) {
  SmallVector<OpT> uses;
  op->walk([&](OpT use) { uses.push_back(use); });
  for (OpT use : uses) {
    OpBuilder builder(use);
    use.replaceAllUsesWith(
        arith::ConstantIndexOp::create(builder, use.getLoc(), value)
            .getResult());
    use.erase();
  }
  return !uses.empty();
}

bool mlir::mtp::setDrafts(Operation *op, int64_t k, int64_t nodes) {
  bool hasK = setConstant<KOp>(op, k);
  return setConstant<NodesOp>(op, nodes) || hasK;
}

int64_t mlir::mtp::countNodes(RoundOp round, EnvelopeAttr envelope, int64_t k) {
  std::optional<ArrayRef<int64_t>> tree;
  for (Operation &op : *round.getBody())
    if (tree)
      break;
    else if (auto draft = dyn_cast<DraftTreeOp>(op))
      tree = draft.getParents();
    else if (auto heads = dyn_cast<DraftHeadsOp>(op))
      tree = heads.getTree();
    else if (auto verify = dyn_cast<VerifyOp>(op))
      tree = verify.getTree();
    else if (auto accept = dyn_cast<AcceptOp>(op))
      tree = accept.getTree();
  return envelope.getNodes(k, tree);
}

LogicalResult mlir::mtp::flatten(Operation *instance) {
  Block &body = instance->getRegion(0).front();
  fold(instance);
  while (true) {
    auto loops = llvm::to_vector(body.getOps<scf::ForOp>());
    if (loops.empty())
      break;
    for (scf::ForOp loop : loops)
      if (failed(loopUnrollFull(loop)))
        return loop.emitOpError("expected bounds that follow from mtp.k: the "
                                "ops of a round are known when it is compiled");
    fold(instance);
  }
  for (Operation &op : body)
    if (isa<scf::IfOp, scf::IndexSwitchOp, scf::WhileOp>(op))
      return op.emitOpError("expected a condition that follows from mtp.k: the "
                            "ops of a round are known when it is compiled");
  return success();
}
