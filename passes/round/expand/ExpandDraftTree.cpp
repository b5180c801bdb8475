//===- ExpandDraftTree.cpp - mtp.draft_tree as core ops -------------------===//
//
// The first module is refreshed like the first module of a chain, over enough
// rows for a path of the tree. The anchor's row gives the children of node 0.
// Then, level by level, a module runs over the nodes that have children, each
// on its parent's hidden state. A row sees the committed rows and the node's
// own path. Module d drafts from level d - 1, and runs over the committed rows
// and the path to that level in the same pass. The last module drafts from all
// deeper levels.
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
  /// The number of modules; deeper levels use the last one.
  const int64_t modules;
  /// The depth of the longest path of drafts.
  const int64_t most;
  Refresh refresh;
  TreePicks picks;
  /// The hidden states that the last first-time module handed on, and the nodes
  /// whose rows follow its committed rows.
  Value handedOn;
  SmallVector<int64_t> ran;
};
} // namespace

/// Returns the depth of a tree.
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

/// Returns the rows of nodes at one depth in the first module. A row's position
/// is the position of its hidden state, which is one before the position of its
/// token. The rows also hold, for each node, the index of its parent in the
/// level above.
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

/// Runs the last module over the nodes of a level, each after its parent's row
/// of the level above. The next round's refresh runs the accepted ones again.
ModuleOutputs TreeWriter::runLevel(const Level &level, const Level &above,
                                   int64_t depth, Value hidden) {
  NodeRows nodes = numbersOf(level.nodes, depth, above.nodes);
  Value rows = makeRows(nodes);
  if (hidden)
    hidden = e.gatherRows(hidden, e.byRow(nodes.parents));
  return refresh.step(modules, e.byRow(picks.tokensOf(level.nodes)), hidden,
                      rows);
}

//===----------------------------------------------------------------------===//
// A module's first level
//===----------------------------------------------------------------------===//

/// Returns the ancestors of `nodes` at `depth`; nodes at that depth count as
/// their own ancestors.
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

/// Returns for each node the row of its parent among the slot's rows of the
/// module before.
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

/// Runs a later module for the first time: over the committed rows, the nodes
/// that lead to the level, and the level's own nodes.
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
  return {e.gatherRows(made.logits, run.last),
          e.gatherRows(made.hidden, run.last)};
}

/// Returns the drafts and, if they are read, the logits of each.
FailureOr<SmallVector<Value>> TreeWriter::write() {
  refresh.writePlaces([](SlotBody &, Value) { return SmallVector<Value>(); });
  ModuleOutputs last = refresh.run(/*module=*/1, Value(), {});
  handedOn = last.hidden;
  Value logits = e.gatherRows(last.logits, refresh.anchor(1));
  Value hidden =
      last.hidden ? e.gatherRows(last.hidden, refresh.anchor(1)) : Value();
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
