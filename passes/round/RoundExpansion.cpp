//===- RoundExpansion.cpp - Shared code of the expansions -----------------===//

#include "passes/round/RoundExpansion.h"
#include "passes/round/RuleFlags.h"
#include "runtime/schema/LogitRules.h"

using namespace mlir;
using namespace mlir::mtp;

Expansion::Expansion(Operation *op)
    : module(op->getParentOfType<ModuleOp>()), loc(op->getLoc()), builder(op),
      op(op), parent(op->getParentOp()) {
  auto round = dyn_cast<RoundOp>(parent);
  if (!round || !round.getK())
    return;
  k = round.getK();
  nodes = round.getWindow();
}

Value Expansion::slots() {
  Block &body = parent->getRegion(0).front();
  for (auto known : body.getOps<SlotsOp>()) {
    if (known.getPrompts())
      continue;
    // It may come after the expanded op, and reads nothing.
    known->moveBefore(&body, body.begin());
    return known;
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  auto type =
      RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  return SlotsOp::create(builder, parent->getLoc(), type);
}

Value Expansion::byRow(Value grid) {
  auto type =
      RankedTensorType::get({ShapedType::kDynamic}, getElementTypeOrSelf(grid));
  return builder.createOrFold<ReshapeOp>(loc, type, grid);
}

Value Expansion::bySlot(Value rows, int64_t count) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape{ShapedType::kDynamic, count};
  llvm::append_range(shape, type.getShape().drop_front());
  return builder.createOrFold<ReshapeOp>(loc, type.clone(shape), rows);
}

Value Expansion::makeRows(Value slots, Value positions) {
  return MakeRowsOp::create(builder, loc, slots, positions);
}

Value Expansion::gatherRows(Value x, Value index) {
  return GatherRowsOp::create(builder, loc, x.getType(), x, index);
}

Value Expansion::concatRows(ArrayRef<std::pair<Value, int64_t>> parts) {
  auto [all, rows] = parts.front();
  for (auto [part, more] : parts.drop_front()) {
    all = ConcatRowsOp::create(builder, loc, part.getType(), all, rows, part,
                               more);
    rows += more;
  }
  return all;
}

SmallVector<Value> Expansion::inlineRegion(Region &region, ValueRange args) {
  Block &body = region.front();
  IRMapping mapping;
  mapping.map(body.getArguments(), args);
  for (Operation &inner : body.without_terminator()) {
    // Bodies can be joined only if they run for the same slots.
    if (auto own = dyn_cast<SlotsOp>(inner))
      mapping.map(own.getResult(), slots());
    else
      builder.clone(inner, mapping);
  }
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
}

void Expansion::output(llvm::StringRef name, Value value) {
  OutputOp::create(builder, loc, name, value, /*of=*/OutputRowsAttr());
}

bool mlir::mtp::followsLimit(VerifyOp op) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  return op.getDrafts() && !accepts.empty() &&
         !op->getParentOfType<ModuleOp>()->hasAttr(kCustomRuleAttr) &&
         llvm::all_of(accepts, [&](AcceptOp accept) {
           return accept.getRule() == AcceptRule::Exact &&
                  accept.getDrafts() == op.getDrafts();
         });
}

Value mlir::mtp::loadLimit(SlotBody &body, ModuleOp module, bool isHosts) {
  Value limit;
  if (isHosts) {
    useState(module, states::kDraftLimit);
    limit = body.load(states::kDraftLimit);
  }
  if (!hasState(module, states::kWantK))
    return limit;
  Value wish = body.load(states::kWantK);
  return limit ? body.min(limit, wish) : wish;
}

Value mlir::mtp::hasHostDrafts(SlotBody &body, VerifyOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  if (!hasState(module, states::kLogitRules) ||
      !hasState(module, states::kLogitMasks) || accepts.empty() ||
      op->getBlock()->getOps<AwaitHostOp>().empty())
    return {};
  for (AcceptOp accept : accepts)
    if (accept.getDrafts() != op.getDrafts())
      return {};
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  useState(module, states::kHostDrafts, envelope.getNodes(envelope.getMaxK()));
  return hasRule(body, ::mtp::kRuleTokenMasks);
}

LogicalResult mlir::mtp::checkInstantiated(Operation *op) {
  Operation *parent = op->getParentOp();
  auto round = dyn_cast<RoundOp>(parent);
  auto prefill = dyn_cast<PrefillOp>(parent);
  if ((round && round.getK()) || (prefill && prefill.getK()))
    return success();
  return op->emitOpError("expected a round or a prefill with a k, is "
                         "mtp-instantiate-rounds missing before this pass?");
}

LogicalResult mlir::mtp::checkTree(Operation *op, const Expansion &e,
                                   ArrayRef<int64_t> tree) {
  int64_t k = *e.roundK(), nodes = e.roundNodes();
  if (int64_t(tree.size()) >= nodes)
    return success();
  // Name the largest round's nodes: with fewer the next compilation would fail.
  for (RoundOp round : ModuleOp(e.module).getOps<RoundOp>())
    if (round.getK() && round.getLoc() == op->getParentOp()->getLoc() &&
        round.getWindow() > nodes) {
      k = *round.getK();
      nodes = round.getWindow();
    }
  return op->emitOpError("expected a tree of at least ")
         << nodes << " nodes for k = " << k << ", got " << tree.size()
         << "; lower " << (nodes == k + 1 ? "max_k" : "max_nodes");
}

LogicalResult mlir::mtp::checkDrafts(Operation *op, const Expansion &e,
                                     Value drafts,
                                     std::optional<ArrayRef<int64_t>> tree,
                                     Value parents) {
  int64_t k = *e.roundK(), nodes = e.roundNodes();
  if (drafts ? widthOf(drafts) != nodes - 1 : k != 0) {
    InFlightDiagnostic diag = op->emitOpError("expected ")
                              << nodes - 1 << " drafts per slot, got ";
    return drafts ? diag << drafts.getType() : diag << "none";
  }
  if (!tree && !parents && drafts && nodes != k + 1)
    return op->emitOpError("expected a tree, or parents, in a round of ")
           << nodes << " nodes and k = " << k;
  if (tree && failed(checkTree(op, e, *tree)))
    return failure();
  if (parents && widthOf(parents) != nodes)
    return op->emitOpError("expected ")
           << nodes << " parents per slot, got " << parents.getType();
  return success();
}

Value mlir::mtp::sequenceWord(SlotBody &body, SequenceWord word) {
  return body.load(states::kSequences,
                   {body.constant(int64_t(word)), body.index()});
}

bool mlir::mtp::goesByRows(Region &region) {
  Block *around = region.getParentOp()->getBlock();
  auto hasRows = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return isa<RowsType>(type) ||
           (tensor && tensor.getRank() > 0 && tensor.isDynamicDim(0));
  };
  WalkResult walked = region.walk([&](Operation *inner) {
    // A packed padding row has no slot of its own, so a store for it would
    // change another slot.
    bool isBySlot =
        isa<SlotsOp, ReshapeOp, ProbabilitiesOp, StoreOp, WriteStateOp>(inner);
    bool captures = llvm::any_of(inner->getOperands(), [&](Value operand) {
      return operand.getParentBlock() == around && hasRows(operand.getType());
    });
    return isBySlot || captures ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return !walked.wasInterrupted();
}
