//===- ExpandDraftTree.cpp - mtp.draft_tree as core ops -------------------===//
//
// The module is refreshed as a chain's first one, over as many rows as a path
// of the tree may have; the anchor's row gives the children of node 0. Then
// level by level: the module runs over the nodes that have children, each on
// its parent's hidden state, and sees the committed rows and the node's own
// path.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/Refresh.h"
#include "passes/round/TreePicks.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_EXPANDDRAFTTREEPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct ExpandDraftTreePass
    : public mlir::mtp::impl::ExpandDraftTreePassBase<ExpandDraftTreePass> {
  using Base::Base;

  void runOnOperation() override;
};

class TreeWriter {
public:
  explicit TreeWriter(DraftTreeOp op);

  FailureOr<SmallVector<Value>> write();

private:
  ModuleOutputs runLevel(const Level &level, const Level &above, int64_t depth,
                         Value hidden);

  Expansion e;
  ArrayRef<int64_t> parents;
  Refresh refresh;
  TreePicks picks;
};
} // namespace

/// How deep a tree is.
static int64_t deepest(ArrayRef<int64_t> parents) {
  return *llvm::max_element(nodeDepths(parents));
}

TreeWriter::TreeWriter(DraftTreeOp op)
    : e(op), parents(op.getParents().take_front(e.roundNodes())),
      refresh(e, &op.getBodyRegion(), /*count=*/1, deepest(parents)),
      picks(e, parents, op.getVocabularyAttr(),
            op.getDraftLogits() && !op.getDraftLogits().use_empty()) {}

/// Runs the module over the nodes of a level, each behind its parent's row of
/// the level above. A row's position is that of its hidden state, one before
/// its token's. The next round's refresh runs the accepted ones again.
ModuleOutputs TreeWriter::runLevel(const Level &level, const Level &above,
                                   int64_t depth, Value hidden) {
  int64_t rowsAbove = above.nodes.size();
  SmallVector<int64_t> masks = ancestorMasks(parents);
  int64_t behind = refresh.takesHidden();
  SlotBody body(e.builder, e.loc, "level", e.slots());
  Value root = body.sub(body.load(states::kLength), behind);
  auto each = [&](llvm::function_ref<Value(int64_t)> value) {
    return body.vector(llvm::map_to_vector(level.nodes, value));
  };
  SmallVector<Value> seen = llvm::map_to_vector(level.nodes, [&](int64_t node) {
    return body.wideConstant(masks[node]);
  });
  ValueRange places =
      body.yield({each([&](int64_t) { return body.slot(); }),
                  each([&](int64_t) { return body.add(root, depth); }),
                  each([&](int64_t) { return root; }),
                  each([&](int64_t node) { return body.add(root, node); }),
                  each([&](int64_t node) {
                    const auto *parent = llvm::find(above.nodes, parents[node]);
                    return body.add(body.mul(body.index(), rowsAbove),
                                    parent - above.nodes.begin());
                  }),
                  body.wideVector(level.nodes.size(), [&](Value row) {
                    return choose(body, row, seen);
                  })});
  Value tree = MakeTreeRowsOp::create(e.builder, e.loc, e.byRow(places[0]),
                                      e.byRow(places[1]), e.byRow(places[2]),
                                      e.byRow(places[3]), e.byRow(places[5]),
                                      /*refreshed=*/true);
  if (hidden)
    hidden = e.takeRows(hidden, e.byRow(places[4]));
  return refresh.step(/*module=*/1, e.byRow(picks.tokensOf(level.nodes)),
                      hidden, tree);
}

/// The drafts, and where they are read, the logits of each.
FailureOr<SmallVector<Value>> TreeWriter::write() {
  refresh.writePlaces([](SlotBody &, Value) { return SmallVector<Value>(); });
  ModuleOutputs last = refresh.run(/*module=*/1, Value(), {});
  Value logits = e.takeRows(last.logits, refresh.anchor(1));
  Value hidden =
      last.hidden ? e.takeRows(last.hidden, refresh.anchor(1)) : Value();
  ArrayRef<Level> levels = picks.levels();
  for (auto [depth, level] : llvm::enumerate(levels)) {
    if (depth > 0) {
      last = runLevel(level, levels[depth - 1], depth, hidden);
      logits = last.logits;
      hidden = last.hidden;
    }
    if (failed(picks.rank(logits, depth)))
      return failure();
  }
  return picks.results();
}

static LogicalResult expand(DraftTreeOp op) {
  if (isa<PrefillOp>(op->getParentOp()))
    return expandDraftPrefill(op, &op.getBodyRegion());
  if (failed(checkTree(op, Expansion(op), op.getParents())))
    return failure();
  FailureOr<SmallVector<Value>> results = TreeWriter(op).write();
  if (failed(results))
    return failure();
  op->replaceAllUsesWith(*results);
  op.erase();
  return success();
}

void ExpandDraftTreePass::runOnOperation() {
  if (failed(
          expandInstantiated<DraftTreeOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
