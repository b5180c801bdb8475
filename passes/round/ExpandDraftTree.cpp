//===- ExpandDraftTree.cpp - mtp.draft_tree as core ops -------------------===//
//
// The first module is refreshed as a chain's first one, over as many rows as a
// path of the tree may have; the anchor's row gives the children of node 0.
// Then level by level: a module runs over the nodes that have children, each on
// its parent's hidden state, and sees the committed rows and the node's own
// path. Module d has the level d - 1, and the true rows and what leads to that
// level in the same pass; the last one has all deeper levels.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/ModuleRows.h"
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
  NodeRows numbersOf(ArrayRef<int64_t> nodes, int64_t depth,
                     ArrayRef<int64_t> above = {});
  Value makeRows(const NodeRows &nodes);
  ModuleOutputs runLevel(const Level &level, const Level &above, int64_t depth,
                         Value hidden);
  SmallVector<int64_t> ancestorsOf(ArrayRef<int64_t> nodes, int64_t depth);
  Value rowsOfParents(ArrayRef<int64_t> nodes, int64_t depth);
  ModuleOutputs runModule(const Level &level, int64_t depth);

  Expansion e;
  ArrayRef<int64_t> parents;
  /// What a depth's module is; deeper ones are the last.
  const int64_t modules;
  /// Drafts in a row at most.
  const int64_t most;
  Refresh refresh;
  TreePicks picks;
  /// What the last module that ran for the first time handed on, and the nodes
  /// whose rows stand behind its true ones.
  Value handedOn;
  SmallVector<int64_t> ran;
};
} // namespace

/// How deep a tree is.
static int64_t deepest(ArrayRef<int64_t> parents) {
  return *llvm::max_element(nodeDepths(parents));
}

static SmallVector<Region *> stepsOf(DraftTreeOp op) {
  return llvm::to_vector(llvm::make_pointer_range(op.getSteps()));
}

TreeWriter::TreeWriter(DraftTreeOp op)
    : e(op), parents(op.getParents().take_front(e.roundNodes())),
      modules(op.getSteps().size()), most(deepest(parents)),
      refresh(e, stepsOf(op), /*count=*/1, most),
      picks(e, parents, op.getVocabularyAttr(),
            op.getDraftLogits() && !op.getDraftLogits().use_empty()) {}

//===----------------------------------------------------------------------===//
// A level
//===----------------------------------------------------------------------===//

/// Rows of nodes at one depth in the first module. A row's position is that of
/// its hidden state, one before its token's. Of the nodes of a level it says,
/// too, which rows of the level above their parents have.
NodeRows TreeWriter::numbersOf(ArrayRef<int64_t> nodes, int64_t depth,
                               ArrayRef<int64_t> above) {
  SmallVector<int64_t> masks = ancestorMasks(parents);
  int64_t behind = refresh.takesHidden();
  SlotBody body(e.builder, e.loc, "level", e.slots());
  Value root = body.sub(body.load(states::kLength), behind);
  auto each = [&](llvm::function_ref<Value(int64_t)> value) {
    return body.vector(llvm::map_to_vector(nodes, value));
  };
  SmallVector<Value> seen = llvm::map_to_vector(
      nodes, [&](int64_t node) { return body.wideConstant(masks[node]); });
  SmallVector<Value> values{
      each([&](int64_t) { return body.slot(); }),
      each([&](int64_t) { return body.add(root, depth); }),
      each([&](int64_t) { return root; }),
      each([&](int64_t node) { return body.add(root, node); })};
  if (!above.empty())
    values.push_back(each([&](int64_t node) {
      const auto *parent = llvm::find(above, parents[node]);
      return body.add(body.mul(body.index(), above.size()),
                      parent - above.begin());
    }));
  values.push_back(body.wideVector(
      nodes.size(), [&](Value row) { return choose(body, row, seen); }));
  ValueRange made = body.yield(values);
  NodeRows numbers{int64_t(nodes.size()), made[1], made[2], made[3],
                   made.back(),           made[0], {},      {}};
  if (!above.empty())
    numbers.parents = made[4];
  return numbers;
}

Value TreeWriter::makeRows(const NodeRows &nodes) {
  if (modules > 1)
    return ModuleRows(e, modules, most).move(nodes);
  return MakeTreeRowsOp::create(e.builder, e.loc, e.byRow(nodes.slots),
                                e.byRow(nodes.positions), e.byRow(nodes.roots),
                                e.byRow(nodes.places), e.byRow(nodes.masks),
                                /*refreshed=*/true);
}

/// Runs the last module over the nodes of a level, each behind its parent's row
/// of the level above. The next round's refresh runs the accepted ones again.
ModuleOutputs TreeWriter::runLevel(const Level &level, const Level &above,
                                   int64_t depth, Value hidden) {
  NodeRows nodes = numbersOf(level.nodes, depth, above.nodes);
  Value rows = makeRows(nodes);
  if (hidden)
    hidden = e.takeRows(hidden, e.byRow(nodes.parents));
  return refresh.step(modules, e.byRow(picks.tokensOf(level.nodes)), hidden,
                      rows);
}

//===----------------------------------------------------------------------===//
// A module's first level
//===----------------------------------------------------------------------===//

/// What of `depth` leads to `nodes`, which are themselves of it or deeper.
SmallVector<int64_t> TreeWriter::ancestorsOf(ArrayRef<int64_t> nodes,
                                             int64_t depth) {
  SmallVector<int64_t> depths = nodeDepths(parents), found;
  for (int64_t node : nodes) {
    while (depths[node] > depth)
      node = parents[node];
    if (!llvm::is_contained(found, node))
      found.push_back(node);
  }
  llvm::sort(found);
  return found;
}

/// Of each node the row of its parent among those of a slot that the module
/// before ran.
Value TreeWriter::rowsOfParents(ArrayRef<int64_t> nodes, int64_t depth) {
  SlotBody body(e.builder, e.loc, "module", e.slots());
  Value anchor = body.min(body.load(states::kAccepted), body.constant(most));
  return body
      .yield(body.vector(llvm::map_to_vector(
          nodes,
          [&](int64_t node) {
            const auto *parent = llvm::find(ran, parents[node]);
            return depth == 1
                       ? anchor
                       : body.constant(most + 1 + (parent - ran.begin()));
          })))
      .front();
}

/// Runs a module behind the first for the first time: over the true rows, the
/// nodes that lead to the level, and its own.
ModuleOutputs TreeWriter::runModule(const Level &level, int64_t depth) {
  SmallVector<NodeRows> nodes;
  SmallVector<int64_t> runs;
  for (int64_t d = 1; d <= depth; ++d) {
    SmallVector<int64_t> own = ancestorsOf(level.nodes, d);
    NodeRows numbers = numbersOf(own, d);
    numbers.tokens = picks.tokensOf(own);
    numbers.parents = rowsOfParents(own, d);
    nodes.push_back(numbers);
    llvm::append_range(runs, own);
  }
  int64_t module = depth + 1;
  ModuleRun run = ModuleRows(e, module, most)
                      .join(handedOn, most + 1 + int64_t(ran.size()), nodes);
  ModuleOutputs made = refresh.step(module, run.tokens, run.hidden, run.rows);
  handedOn = made.hidden;
  ran = runs;
  return {e.takeRows(made.logits, run.last), e.takeRows(made.hidden, run.last)};
}

/// The drafts, and where they are read, the logits of each.
FailureOr<SmallVector<Value>> TreeWriter::write() {
  refresh.writePlaces([](SlotBody &, Value) { return SmallVector<Value>(); });
  ModuleOutputs last = refresh.run(/*module=*/1, Value(), {});
  handedOn = last.hidden;
  Value logits = e.takeRows(last.logits, refresh.anchor(1));
  Value hidden =
      last.hidden ? e.takeRows(last.hidden, refresh.anchor(1)) : Value();
  ArrayRef<Level> levels = picks.levels();
  for (auto [depth, level] : llvm::enumerate(levels)) {
    if (depth > 0) {
      last = int64_t(depth) < modules
                 ? runModule(level, depth)
                 : runLevel(level, levels[depth - 1], depth, hidden);
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
    return expandDraftPrefill(op, stepsOf(op));
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
