//===- ExpandRefresh.cpp - mtp.refresh as core ops ------------------------===//
//
// Writes the rows of the modules of a draft chain, the first and the later
// ones, without the ops that run on them.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/ModuleRows.h"
#include "passes/round/Refresh.h"
#include "passes/support/RowsPerSlot.h"

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
    return op.emitOpError("expected to stand in a round, since of a prompt no "
                          "rows were verified before, and mtp.prompt_rows has "
                          "its own, got ")
           << op->getParentOp()->getName();
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

//===----------------------------------------------------------------------===//
// Later modules
//===----------------------------------------------------------------------===//

/// Describes the op that made a value.
static std::string makerOf(Value value) {
  Operation *made = value.getDefiningOp();
  return made ? "those of " + made->getName().getStringRef().str()
              : "an argument";
}

/// Returns the numbers from which rows of nodes are made, per slot.
static FailureOr<NodeRows> nodesOf(Expansion &e, Operation *op, Value rows) {
  auto tree = rows.getDefiningOp<MakeTreeRowsOp>();
  std::optional<int64_t> count;
  if (tree)
    count = rowsPerSlot(tree.getSlots(), e.roundNodes());
  if (!count)
    return op->emitOpError(
               "expected rows of mtp.make_tree_rows, a fixed number "
               "for each slot, got ")
           << (tree ? "an unknown number" : makerOf(rows));
  NodeRows nodes{*count, {}, {}, {}, {}, {}, {}, {}};
  nodes.positions = e.bySlot(tree.getPositions(), *count);
  nodes.roots = e.bySlot(tree.getRoots(), *count);
  nodes.places = e.bySlot(tree.getPlaces(), *count);
  nodes.masks = e.bySlot(tree.getMasks(), *count);
  return nodes;
}

/// Returns for each node the row of its parent among the slot's rows of the
/// module before. That is the anchor's row, or the row of a node in `above`,
/// whose rows begin at `begin`. The parent's mask is the node's mask without
/// the node's own bit.
static Value findParents(Expansion &e, const NodeRows &nodes,
                         const NodeRows *above, int64_t begin) {
  SmallVector<Value> inputs;
  if (above)
    inputs = {nodes.masks, nodes.places, nodes.roots, above->masks};
  SlotBody body(e.builder, e.loc, "module", e.slots(), inputs);
  Value anchor =
      body.min(body.load(states::kAccepted), body.constant(*e.roundK()));
  auto parentOf = [&](Value j) {
    if (!above)
      return anchor;
    auto input = [&](int64_t i) { return body.element(body.input(i), j); };
    Value bit =
        body.bit(body.max(body.sub(input(1), input(2)), body.constant(0)));
    Value path = body.sub(input(0), bit), found = body.constant(begin);
    for (int64_t row = 1; row < above->count; ++row)
      found = body.select(body.compare(SlotBody::Predicate::eq, path,
                                       body.element(body.input(3), row)),
                          body.constant(begin + row), found);
    return found;
  };
  return body.yield(body.vector(nodes.count, parentOf)).front();
}

/// Expands the op over a chunk's rows in a prefill; keeps the hidden state that
/// the first round needs.
static LogicalResult expandInPrompt(RefreshModuleOp op) {
  for (Value index : {op.getAnchor(), op.getLast()})
    if (!index.use_empty())
      return op.emitOpError("expected no use of the rows from which drafts "
                            "come, as a prompt has none, got one in ")
             << (*index.user_begin())->getName();
  Expansion e(op);
  keepCarry(e, op.getModule(), op.getBefore());
  auto prompt =
      PromptRowsOp::create(e.builder, e.loc, op.getTokens().getType(),
                           RowsType::get(op->getContext()), op.getModule());
  op.getTokens().replaceAllUsesWith(prompt.getTokens());
  op.getRows().replaceAllUsesWith(prompt.getRows());
  op.getHidden().replaceAllUsesWith(op.getBefore());
  op.erase();
  return success();
}

static LogicalResult expand(RefreshModuleOp op) {
  if (isa<PrefillOp>(op->getParentOp()))
    return expandInPrompt(op);
  Expansion e(op);
  useState(e.module, states::kLength);
  useState(e.module, states::kAccepted);
  useState(e.module, states::kWindow);
  int64_t most = *e.roundK(), before = most + 1;
  SmallVector<NodeRows> groups;
  for (auto [tokens, rows] : llvm::zip_equal(op.getNodes(), op.getNodeRows())) {
    FailureOr<NodeRows> nodes = nodesOf(e, op, rows);
    if (failed(nodes))
      return failure();
    std::optional<int64_t> given = rowsPerSlot(tokens, e.roundNodes());
    if (given && *given != nodes->count)
      return op.emitOpError("expected a token for each of the ")
             << nodes->count << " rows of nodes that a slot has, got "
             << *given;
    nodes->tokens = e.bySlot(tokens, nodes->count);
    const NodeRows *above = groups.empty() ? nullptr : &groups.back();
    int64_t begin = above ? before - above->count : 0;
    nodes->parents = findParents(e, *nodes, above, begin);
    before += nodes->count;
    groups.push_back(*nodes);
  }
  // The module before has not run the last nodes.
  before -= groups.back().count;
  ModuleRun run =
      ModuleRows(e, op.getModule(), most).join(op.getBefore(), before, groups);
  SmallVector<Value> results{run.tokens, run.rows, run.hidden, run.anchor,
                             run.last};
  op.replaceAllUsesWith(results);
  op.erase();
  return success();
}

static LogicalResult expand(ModuleRowsOp op) {
  Expansion e(op);
  if (!e.roundK())
    return op.emitOpError("expected a round of modules, got a prefill");
  FailureOr<NodeRows> nodes = nodesOf(e, op, op.getRows());
  if (failed(nodes))
    return failure();
  op.replaceAllUsesWith(
      ModuleRows(e, op.getModule(), *e.roundK()).move(*nodes));
  op.erase();
  return success();
}

void ExpandRefreshPass::runOnOperation() {
  auto all = [&]<typename OpT>(OpT) {
    return expandInstantiated<OpT>(getOperation(), numExpanded,
                                   [](OpT op) { return expand(op); });
  };
  if (failed(all(RefreshOp())) || failed(all(RefreshModuleOp())) ||
      failed(all(ModuleRowsOp())))
    signalPassFailure();
}
