//===- TreePicks.cpp - Drafts of a static tree by level -------------------===//

#include "passes/round/TreePicks.h"
#include "passes/round/NodeWalk.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::mtp;

TreePicks::TreePicks(Expansion &e, ArrayRef<int64_t> parents,
                     FlatSymbolRefAttr vocabulary, bool keepsLogits)
    : e(e), parents(parents), vocabulary(vocabulary), keepsLogits(keepsLogits),
      children(parents.size()), picked(parents.size()) {
  for (size_t node = 1; node < parents.size(); ++node)
    children[parents[node]].push_back(node);
  SmallVector<int64_t> depthOf = nodeDepths(parents);
  for (size_t node = 0; node < parents.size(); ++node) {
    if (children[node].empty())
      continue;
    if (depthOf[node] >= int64_t(depths.size()))
      depths.resize(depthOf[node] + 1);
    Level &level = depths[depthOf[node]];
    level.nodes.push_back(node);
    level.width = std::max<int64_t>(level.width, children[node].size());
  }
}

//===----------------------------------------------------------------------===//
// Drafts and logits by node
//===----------------------------------------------------------------------===//

Value TreePicks::tokensOf(ArrayRef<int64_t> nodes) {
  SmallVector<Value> inputs;
  for (int64_t node : nodes)
    inputs.push_back(e.bySlot(picked[node].picks, picked[node].elements));
  SlotBody body(e.builder, e.loc, "drafts", e.slots(), inputs);
  SmallVector<Value> tokens;
  for (auto [i, node] : llvm::enumerate(nodes))
    tokens.push_back(body.element(body.input(i), picked[node].element));
  return body.yield(body.vector(tokens)).front();
}

/// Returns the logits from which `nodes` were picked, per slot.
Value TreePicks::logitsOf(ArrayRef<int64_t> nodes) {
  // The first row of each choice among the rows of all choices.
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
  return e.bySlot(e.gatherRows(all, index), nodes.size());
}

SmallVector<Value> TreePicks::results() {
  auto nodes = llvm::to_vector(llvm::seq<int64_t>(1, parents.size()));
  SmallVector<Value> results{tokensOf(nodes)};
  if (keepsLogits)
    results.push_back(logitsOf(nodes));
  return results;
}

//===----------------------------------------------------------------------===//
// A level
//===----------------------------------------------------------------------===//

/// Returns the rows for which the children of `nodes`, all at one depth, are
/// picked. `through` gets the nodes on their paths.
PickedRows TreePicks::describe(ArrayRef<int64_t> nodes, int64_t depth,
                               SmallVector<int64_t> &through) {
  int64_t rows = nodes.size();
  SlotBody body(e.builder, e.loc, "level", e.slots());
  Value position = body.add(body.load(states::kLength), depth);
  ValueRange places =
      body.yield({body.vector(rows, [&](Value) { return body.slot(); }),
                  body.vector(rows, [&](Value) { return position; })});
  PickedRows place{
      e.makeRows(e.byRow(places[0]), e.byRow(places[1])), {}, nullptr, {}};
  llvm::append_range(place.nodes, nodes);
  for (int64_t node : nodes) {
    SmallVector<int64_t> path;
    for (int64_t above = node; above > 0; above = parents[above])
      path.insert(path.begin(), above);
    int64_t first = through.size();
    llvm::append_range(through, path);
    place.paths.push_back(
        llvm::to_vector(llvm::seq<int64_t>(first, through.size())));
  }
  return place;
}

/// Repeats the one row of each slot `count` times.
Value TreePicks::repeated(Value logits, int64_t count) {
  SlotBody body(e.builder, e.loc, "shared", e.slots());
  Value rows = body.vector(count, [&](Value) { return body.index(); });
  return e.gatherRows(logits, e.byRow(body.yield(rows).front()));
}

/// Assigns picks to the children of this rank. The first node's child gets
/// `first`, and the element index grows by `step` from node to node.
void TreePicks::take(const Level &level, int64_t rank, const Pick &first,
                     int64_t step) {
  Pick pick = first;
  for (int64_t node : level.nodes) {
    if (rank < int64_t(children[node].size()))
      picked[children[node][rank]] = pick;
    pick.element += step;
    pick.row += step != 0;
  }
}

/// Picks all ranks at once, if the region ends with its sample. Siblings that
/// the slot's filters exclude are dropped.
LogicalResult TreePicks::pickTogether(Value logits, const PickedRows &place,
                                      const Level &level, bool &isDone) {
  FailureOr<Value> best = e.pickBest(logits, place, vocabulary, level.width);
  if (failed(best))
    return failure();
  isDone = bool(*best);
  if (!isDone)
    return success();
  int64_t rows = place.nodes.size();
  Value flat = e.byRow(*best);
  for (int64_t rank = 0; rank < level.width; ++rank)
    take(level, rank, {flat, rank, rows * level.width, logits, 0, rows},
         rows > 1 ? level.width : 0);
  return success();
}

/// Picks one rank after the other.
LogicalResult TreePicks::pickOneByOne(Value logits, const PickedRows &place,
                                      const Level &level) {
  int64_t rows = place.nodes.size();
  for (int64_t rank = 0; rank < level.width; ++rank) {
    FailureOr<Value> picks = e.pick(logits, place, vocabulary);
    if (failed(picks))
      return failure();
    take(level, rank, {*picks, 0, rows, logits, 0, rows}, rows > 1 ? 1 : 0);
    if (rank + 1 < level.width)
      logits =
          MaskTokensOp::create(e.builder, e.loc, logits, *picks, vocabulary);
  }
  return success();
}

LogicalResult TreePicks::rank(Value logits, int64_t depth, bool isShared) {
  const Level &level = depths[depth];
  ArrayRef<int64_t> nodes = level.nodes;
  // Picks of one row serve all nodes, unless the region tells rows apart.
  if (isShared && nodes.size() > 1) {
    if (e.picksByRow())
      logits = repeated(logits, nodes.size());
    else
      nodes = nodes.take_front();
  }
  SmallVector<int64_t> through;
  PickedRows place = describe(nodes, depth, through);
  auto drafts = [&] { return tokensOf(through); };
  place.drafts = drafts;
  bool isDone = false;
  if (level.width > 1 && level.width <= widthOf(logits) && !keepsLogits &&
      failed(pickTogether(logits, place, level, isDone)))
    return failure();
  return isDone ? success() : pickOneByOne(logits, place, level);
}
