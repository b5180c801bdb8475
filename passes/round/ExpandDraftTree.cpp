//===- ExpandDraftTree.cpp - mtp.draft_tree as core ops -------------------===//
//
// The module is refreshed as a chain's first one, over as many rows as a path
// of the tree may have; the anchor's row gives the children of node 0. Then
// level by level: the module runs over the nodes that have children, each on
// its parent's hidden state, and sees the committed rows and the node's own
// path. Siblings are the best by logit plus noise, one by one, each without
// those before it.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/NodeWalk.h"
#include "passes/round/Refresh.h"
#include "llvm/ADT/MapVector.h"

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

/// The nodes of a depth that have children.
struct Level {
  SmallVector<int64_t> nodes;
  /// The most children that one of them has.
  int64_t width = 0;
};

/// Where a node's draft is: the picks of a rank, by the rows of a level.
struct Pick {
  Value picks;
  int64_t row;
  int64_t rows;
  /// What they were picked from.
  Value logits;
};

class TreeWriter {
public:
  explicit TreeWriter(DraftTreeOp op);

  FailureOr<SmallVector<Value>> write();

private:
  void findLevels();
  LogicalResult rank(Value logits, Value verifiedAt, const Level &level);
  ModuleOutputs runLevel(const Level &level, const Level &above, int64_t depth,
                         Value hidden);
  Value positionsAt(int64_t depth, int64_t rows);
  Value tokensOf(ArrayRef<int64_t> nodes);
  Value logitsOf(ArrayRef<int64_t> nodes);

  DraftTreeOp op;
  Expansion e;
  ArrayRef<int64_t> parents;
  Refresh refresh;
  SmallVector<SmallVector<int64_t>> children;
  SmallVector<Level> levels;
  SmallVector<Pick> picked;
};
} // namespace

/// How deep a tree is.
static int64_t deepest(ArrayRef<int64_t> parents) {
  return *llvm::max_element(nodeDepths(parents));
}

TreeWriter::TreeWriter(DraftTreeOp op)
    : op(op), e(op), parents(op.getParents().take_front(e.roundNodes())),
      refresh(e, &op.getBodyRegion(), /*count=*/1, deepest(parents)),
      children(parents.size()), picked(parents.size()) {
  for (size_t node = 1; node < parents.size(); ++node)
    children[parents[node]].push_back(node);
  findLevels();
}

void TreeWriter::findLevels() {
  SmallVector<int64_t> depths = nodeDepths(parents);
  for (size_t node = 0; node < parents.size(); ++node) {
    if (children[node].empty())
      continue;
    if (depths[node] >= int64_t(levels.size()))
      levels.resize(depths[node] + 1);
    Level &level = levels[depths[node]];
    level.nodes.push_back(node);
    level.width = std::max<int64_t>(level.width, children[node].size());
  }
}

/// The same position for `rows` rows of a slot: n and `offset`.
Value TreeWriter::positionsAt(int64_t offset, int64_t rows) {
  SlotBody body(e.builder, e.loc, "positions", e.slots());
  Value position = body.add(body.load(states::kLength), offset);
  return e.byRow(
      body.yield(body.vector(rows, [&](Value) { return position; })).front());
}

/// The drafts of `nodes`, slot by slot.
Value TreeWriter::tokensOf(ArrayRef<int64_t> nodes) {
  SmallVector<Value> inputs;
  for (int64_t node : nodes)
    inputs.push_back(e.bySlot(picked[node].picks, picked[node].rows));
  SlotBody body(e.builder, e.loc, "drafts", e.slots(), inputs);
  SmallVector<Value> tokens;
  for (auto [i, node] : llvm::enumerate(nodes))
    tokens.push_back(body.element(body.input(i), picked[node].row));
  return body.yield(body.vector(tokens)).front();
}

/// The logits that `nodes` were picked from, slot by slot.
Value TreeWriter::logitsOf(ArrayRef<int64_t> nodes) {
  // Where the rows of each choice begin among those of all.
  llvm::MapVector<Value, int64_t> begins;
  SmallVector<std::pair<Value, int64_t>> parts;
  int64_t count = 0;
  for (int64_t node : nodes) {
    const Pick &pick = picked[node];
    if (!begins.insert({pick.logits, count}).second)
      continue;
    parts.push_back({pick.logits, pick.rows});
    count += pick.rows;
  }
  Value all = e.concatRows(parts);
  SlotBody body(e.builder, e.loc, "draft_logits", e.slots());
  Value first = body.mul(body.index(), count);
  SmallVector<Value> rows;
  for (int64_t node : nodes)
    rows.push_back(
        body.add(first, begins[picked[node].logits] + picked[node].row));
  Value index = e.byRow(body.yield(body.vector(rows)).front());
  return e.bySlot(e.takeRows(all, index), nodes.size());
}

/// Picks the children of a level's nodes, a rank after the other.
LogicalResult TreeWriter::rank(Value logits, Value verifiedAt,
                               const Level &level) {
  int64_t rows = level.nodes.size();
  PickedRows place{verifiedAt, level.nodes, nullptr, {}};
  SmallVector<int64_t> through;
  for (int64_t node : level.nodes) {
    SmallVector<int64_t> path;
    for (int64_t above = node; above > 0; above = parents[above])
      path.insert(path.begin(), above);
    int64_t first = through.size();
    llvm::append_range(through, path);
    place.paths.push_back(
        llvm::to_vector(llvm::seq<int64_t>(first, through.size())));
  }
  auto drafts = [&] { return tokensOf(through); };
  place.drafts = drafts;
  for (int64_t rank = 0; rank < level.width; ++rank) {
    FailureOr<Value> picks = e.pick(logits, place, op.getVocabularyAttr());
    if (failed(picks))
      return failure();
    for (auto [row, node] : llvm::enumerate(level.nodes))
      if (rank < int64_t(children[node].size()))
        picked[children[node][rank]] = {*picks, int64_t(row), rows, logits};
    if (rank + 1 < level.width)
      logits = ExcludeOp::create(e.builder, e.loc, logits, *picks,
                                 op.getVocabularyAttr());
  }
  return success();
}

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
  return refresh.step(/*module=*/1, e.byRow(tokensOf(level.nodes)), hidden,
                      tree);
}

/// The drafts, and where they are read, the logits of each.
FailureOr<SmallVector<Value>> TreeWriter::write() {
  refresh.writePlaces([](SlotBody &, Value) { return SmallVector<Value>(); });
  ModuleOutputs last = refresh.run(/*module=*/1, Value(), {});
  Value logits = e.takeRows(last.logits, refresh.anchor(1));
  Value hidden =
      last.hidden ? e.takeRows(last.hidden, refresh.anchor(1)) : Value();
  for (auto [depth, level] : llvm::enumerate(levels)) {
    if (depth > 0) {
      last = runLevel(level, levels[depth - 1], depth, hidden);
      logits = last.logits;
      hidden = last.hidden;
    }
    int64_t rows = level.nodes.size();
    SlotBody body(e.builder, e.loc, "level", e.slots());
    Value slots = e.byRow(
        body.yield(body.vector(rows, [&](Value) { return body.slot(); }))
            .front());
    Value verifiedAt = e.makeRows(slots, positionsAt(depth, rows));
    if (failed(rank(logits, verifiedAt, level)))
      return failure();
  }
  SmallVector<int64_t> nodes;
  for (size_t node = 1; node < parents.size(); ++node)
    nodes.push_back(node);
  SmallVector<Value> results{tokensOf(nodes)};
  if (op.getDraftLogits())
    results.push_back(op.getDraftLogits().use_empty() ? Value()
                                                      : logitsOf(nodes));
  return results;
}

static LogicalResult expand(DraftTreeOp op) {
  if (isa<PrefillOp>(op->getParentOp()))
    return expandDraftPrefill(op, &op.getBodyRegion());
  if (failed(checkTree(op, Expansion(op), op.getParents())))
    return failure();
  FailureOr<SmallVector<Value>> results = TreeWriter(op).write();
  if (failed(results))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    result.replaceAllUsesWith(value);
  op.erase();
  return success();
}

void ExpandDraftTreePass::runOnOperation() {
  if (failed(
          expandInstantiated<DraftTreeOp>(getOperation(), numExpanded, expand)))
    signalPassFailure();
}
