//===- ExpandDraftHeads.cpp - mtp.draft_heads as core ops -----------------===//
//
// In a round the first heads, one per level of the tree, run over the rows that
// were verified last. The anchor's row of each head gives the candidates of its
// depth. In a prefill all heads run over the prompt's rows to fill their
// caches.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/Refresh.h"
#include "passes/round/TreePicks.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDDRAFTHEADSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandDraftHeadsPass
    : public mlir::mtp::impl::ExpandDraftHeadsPassBase<ExpandDraftHeadsPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// Returns the first nodes of the tree that the round has; a chain if there is
/// no tree.
static SmallVector<int64_t> parentsOf(DraftHeadsOp op, const Expansion &e) {
  if (op.getTree())
    return llvm::to_vector(op.getTree()->take_front(e.roundNodes()));
  return llvm::to_vector(llvm::seq<int64_t>(-1, e.roundNodes() - 1));
}

static FailureOr<SmallVector<Value>> expandInRound(DraftHeadsOp op) {
  Expansion e(op);
  if (op.getTree() && failed(checkTree(op, e, *op.getTree())))
    return failure();
  SmallVector<int64_t> parents = parentsOf(op, e);
  TreePicks picks(e, parents, op.getVocabularyAttr(),
                  op.getDraftLogits() && !op.getDraftLogits().use_empty());
  Refresh refresh(e, /*takesHidden=*/true);
  refresh.writePlaces([](SlotBody &, Value) { return SmallVector<Value>(); });
  Value rows = refresh.makeRows(1);
  Value hidden =
      refresh.readHidden(widthOf(op.getHeads().front().getArgument(0)));
  for (size_t depth = 0; depth < picks.levels().size(); ++depth) {
    Value logits = e.inlineRegion(op.getHeads()[depth], {hidden, rows})[0];
    if (failed(picks.rank(e.gatherRows(logits, refresh.anchor(1)), depth,
                          /*isShared=*/true)))
      return failure();
  }
  return picks.results();
}

/// Expands the heads in a prefill. The row of a position has the hidden state
/// there, and its next token belongs to the prompt. The first round runs the
/// last row.
static LogicalResult expandInPrefill(DraftHeadsOp op) {
  auto verifies = op->getBlock()->getOps<VerifyOp>();
  auto recents = op->getBlock()->getOps<RecentHiddenOp>();
  bool isBehind = !verifies.empty() && (*verifies.begin())->isBeforeInBlock(op);
  if (recents.empty() && !isBehind)
    return op->emitOpError("expected an mtp.verify before it, whose hidden "
                           "states fill the heads' caches");
  Expansion e(op);
  auto tokens =
      RankedTensorType::get({ShapedType::kDynamic}, e.builder.getI32Type());
  auto prompt = PromptRowsOp::create(e.builder, e.loc, tokens,
                                     RowsType::get(op->getContext()),
                                     /*ahead=*/1);
  // A catch-up reads the target's hidden states that commits have kept.
  Value hidden = recents.empty() ? (*verifies.begin()).getHidden()
                                 : (*recents.begin()).getResult();
  for (Region &head : op.getHeads())
    e.inlineRegion(head, {hidden, prompt.getRows()});
  op->erase();
  return success();
}

static LogicalResult expand(DraftHeadsOp op) {
  if (isa<PrefillOp>(op->getParentOp()))
    return expandInPrefill(op);
  FailureOr<SmallVector<Value>> results = expandInRound(op);
  if (failed(results))
    return failure();
  op->replaceAllUsesWith(*results);
  op.erase();
  return success();
}

void ExpandDraftHeadsPass::runOnOperation() {
  if (failed(expandInstantiated<DraftHeadsOp>(getOperation(), numExpanded,
                                              expand)))
    signalPassFailure();
}
