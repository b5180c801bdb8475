//===- PickDrafts.cpp - Pick drafts by accept's region --------------------===//
//
// Drafts are picked as the rows that verify them will pick: by the region of
// accept, with their parameters. Values that the region captures have the rows
// of all windows, and a draft's pick takes its own row.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/RuleAttrs.h"
#include "passes/round/RoundExpansion.h"
#include "passes/support/RowsPerSlot.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mtp;

/// Makes `op`, written for logits over the target's vocabulary, read logits
/// over `tokens`.
static LogicalResult useVocabulary(Operation *op, FlatSymbolRefAttr tokens) {
  if (auto argmax = dyn_cast<ArgmaxOp>(op))
    argmax.setTokensAttr(tokens);
  else if (auto sample = dyn_cast<SampleOp>(op))
    sample.setTokensAttr(tokens);
  else if (auto exclude = dyn_cast<MaskTokensOp>(op)) {
    exclude.setTokensAttr(tokens);
    exclude.getResult().setType(exclude.getLogits().getType());
  } else
    return op->emitOpError(
               "expected mtp.argmax, mtp.sample or mtp.mask_tokens, as "
               "drafts of the vocabulary ")
           << tokens << " are picked by this region, too";
  return success();
}

//===----------------------------------------------------------------------===//
// Captures of the region
//===----------------------------------------------------------------------===//

/// Returns whether `value` has one row per row of a batch.
static bool hasRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.isDynamicDim(0) &&
         type.getRank() == (type.getElementType().isF32() ? 2 : 1);
}

/// Returns the values of the surrounding round that the region of `accept`
/// reads.
static llvm::SetVector<Value> findCaptured(AcceptOp accept) {
  llvm::SetVector<Value> captured;
  Block *around = accept->getBlock();
  accept.getBodyRegion().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == around)
        captured.insert(operand);
  });
  return captured;
}

/// Returns whether `op` may run earlier if no op writes the states that it
/// reads.
static bool isMovable(Operation *op) {
  return isMemoryEffectFree(op) ||
         (isa<PerSlotOp, ReadStateOp, MaskColumnsOp>(op) &&
          collectStateUses(op).written.empty());
}

/// Returns whether an op from `from` up to `to` writes a state, or lets the
/// host write one.
static bool writesBetween(Operation *from, Operation *to) {
  for (Operation *op = from; op && op != to; op = op->getNextNode())
    if (isa<WriteStateOp, AwaitHostOp>(op) ||
        !collectStateUses(op).written.empty())
      return true;
  return false;
}

/// Moves the ops that compute `value` before `op`, if they come after it.
static LogicalResult moveBefore(AcceptOp accept, Value value, Operation *op) {
  llvm::SetVector<Operation *> moved;
  SmallVector<Operation *> pending{value.getDefiningOp()};
  while (!pending.empty()) {
    Operation *made = pending.pop_back_val();
    if (!made || made->getBlock() != op->getBlock() ||
        made->isBeforeInBlock(op) || !moved.insert(made))
      continue;
    bool readsState = !isMemoryEffectFree(made);
    if (made == op || !isMovable(made) ||
        (readsState && writesBetween(op->getNextNode(), made))) {
      InFlightDiagnostic diag = accept.emitOpError(
          "expected what its region captures to be there before drafts are "
          "picked, as they are picked by this region, too");
      diag.attachNote(made->getLoc())
          << "this comes after the drafts, or of them; the region sees the "
             "tokens before its rows with (logits, rows, slots, path)";
      return diag;
    }
    for (Value operand : made->getOperands())
      pending.push_back(operand.getDefiningOp());
  }
  SmallVector<Operation *> ordered = moved.takeVector();
  llvm::sort(ordered,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *made : ordered)
    made->moveBefore(op);
  return success();
}

/// Returns the rows of these nodes from `x`, which has the rows of each window.
Value Expansion::takeNodes(Value x, ArrayRef<int64_t> of) {
  bool isNumbers = cast<RankedTensorType>(x.getType()).getRank() == 1;
  SlotBody body(builder, loc, "captured", slots(),
                isNumbers ? ValueRange(bySlot(x, nodes)) : ValueRange());
  SmallVector<Value> taken;
  for (int64_t node : of)
    taken.push_back(isNumbers ? body.element(body.input(0), node)
                              : body.add(body.mul(body.index(), nodes), node));
  Value own = byRow(body.yield(body.vector(taken)).front());
  return isNumbers ? own : gatherRows(x, own);
}

LogicalResult Expansion::selectCaptured(AcceptOp accept,
                                        const PickedRows &picked,
                                        IRMapping &mapping) {
  for (Value value : findCaptured(accept)) {
    if (value.getDefiningOp() && failed(moveBefore(accept, value, op)))
      return failure();
    if (hasRows(value) && rowsPerSlot(value, nodes) == nodes)
      mapping.map(value, takeNodes(value, picked.nodes));
  }
  return success();
}

LogicalResult mlir::mtp::checkRegion(AcceptOp accept, int64_t nodes) {
  if (accept.seesPaths() && accept.getParents())
    return accept.emitOpError(
        "expected a region of (logits, rows) for trees of "
        "the slot, got one that sees paths, which are "
        "known for static trees alone");
  WalkResult stores = accept.getBodyRegion().walk([&](PerSlotOp body) {
    if (!accept.seesPaths() || collectStateUses(body).written.empty())
      return WalkResult::advance();
    body.emitOpError("expected no store in the region that picks: it runs for "
                     "several rows of a slot");
    return WalkResult::interrupt();
  });
  if (stores.wasInterrupted())
    return failure();
  for (Value value : findCaptured(accept)) {
    std::optional<int64_t> rows = rowsPerSlot(value, nodes);
    bool isOperand = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return accept.getBodyRegion().isAncestor(user->getParentRegion()) &&
             !isa<PerSlotOp, MakeRowsOp>(user);
    });
    if (!hasRows(value) || !isOperand || !rows || *rows == nodes)
      continue;
    InFlightDiagnostic diag =
        accept.emitOpError("expected what its region captures to have the ")
        << nodes << " rows of each slot's window, got " << *rows;
    diag.attachNote(value.getLoc()) << "captured from here";
    return diag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Picks
//===----------------------------------------------------------------------===//

/// Returns for each row the tokens from the anchor on that lead to it: k + 1
/// tokens, -1 for missing ones.
Value Expansion::pathsTo(const PickedRows &picked) {
  int64_t window = *k + 1;
  bool hasDrafts = llvm::any_of(
      picked.paths, [](ArrayRef<int64_t> path) { return !path.empty(); });
  for (llvm::StringRef state : {states::kAccepted, states::kWindow})
    useState(module, state);
  SlotBody body(builder, loc, "paths", slots(),
                hasDrafts ? ValueRange(picked.drafts()) : ValueRange());
  Value anchor = body.load(states::kWindow, body.load(states::kAccepted));
  Value none = body.constant(-1);
  SmallVector<Value> tokens;
  for (ArrayRef<int64_t> path : picked.paths) {
    tokens.push_back(anchor);
    for (int64_t place : path)
      tokens.push_back(body.element(body.input(0), place));
    tokens.append(window - 1 - path.size(), none);
  }
  Value all = byRow(body.yield(body.vector(tokens)).front());
  return bySlot(all, window);
}

SmallVector<Value> Expansion::pickArguments(AcceptOp accept, Value logits,
                                            const PickedRows &picked) {
  SmallVector<Value> arguments{logits, picked.rows};
  if (!accept.seesPaths())
    return arguments;
  Value own = slots();
  if (picked.nodes.size() > 1) {
    SlotBody body(builder, loc, "slots", slots());
    own = byRow(body.yield(body.vector(int64_t(picked.nodes.size()),
                                       [&](Value) { return body.slot(); }))
                    .front());
  }
  arguments.push_back(own);
  arguments.push_back(pathsTo(picked));
  return arguments;
}

FailureOr<AcceptOp> Expansion::findAccept() {
  auto accepts = parent->getRegion(0).getOps<AcceptOp>();
  if (!accepts.empty())
    return *accepts.begin();
  op->emitOpError("expected an mtp.accept after it: drafts are picked by its "
                  "region");
  return failure();
}

bool Expansion::picksByRow() {
  auto accepts = parent->getRegion(0).getOps<AcceptOp>();
  return llvm::any_of(accepts, [&](AcceptOp accept) {
    return accept.seesPaths() ||
           llvm::any_of(findCaptured(accept), [&](Value value) {
             return hasRows(value) && rowsPerSlot(value, nodes) == nodes;
           });
  });
}

/// Clones the region's ops before `last` for these rows.
LogicalResult Expansion::cloneRegion(AcceptOp accept, Value logits,
                                     const PickedRows &picked,
                                     FlatSymbolRefAttr tokens, Operation *last,
                                     IRMapping &mapping) {
  Block &body = accept.getBodyRegion().front();
  if (failed(selectCaptured(accept, picked, mapping)))
    return failure();
  mapping.map(body.getArguments(), pickArguments(accept, logits, picked));
  // Values over the vocabulary: the logits, and values computed from them.
  llvm::SmallDenseSet<Value> narrow{logits};
  for (Operation &inner : body) {
    if (&inner == last)
      break;
    Operation *copy = builder.clone(inner, mapping);
    if (isa<SampleOp>(copy))
      copy->setAttr(kPicksDraftsAttr, builder.getUnitAttr());
    bool readsLogits = llvm::any_of(copy->getOperands(), [&](Value operand) {
      return narrow.contains(operand);
    });
    if (!tokens || !readsLogits)
      continue;
    if (failed(useVocabulary(copy, tokens)))
      return failure();
    if (isa<MaskTokensOp>(copy))
      narrow.insert(copy->getResult(0));
  }
  return success();
}

FailureOr<Value> Expansion::pick(Value logits, const PickedRows &picked,
                                 FlatSymbolRefAttr tokens) {
  FailureOr<AcceptOp> accept = findAccept();
  if (failed(accept))
    return failure();
  if ((*accept)->hasAttr(kBestDraftsAttr)) {
    auto type = RankedTensorType::get(
        cast<RankedTensorType>(logits.getType()).getDimSize(0),
        builder.getI32Type());
    return ArgmaxOp::create(builder, loc, type, logits, tokens).getResult();
  }
  IRMapping mapping;
  Operation *yield = accept->getBodyRegion().front().getTerminator();
  if (failed(cloneRegion(*accept, logits, picked, tokens, yield, mapping)))
    return failure();
  return mapping.lookupOrDefault(yield->getOperand(0));
}

/// Returns the op that picks at the end of an accept's region, for the region's
/// rows and without further inputs; null if the region does more.
static Operation *findLastPick(AcceptOp accept) {
  Block &body = accept.getBodyRegion().front();
  Operation *yield = body.getTerminator();
  Operation *last = yield->getOperand(0).getDefiningOp();
  if (!last || last->getNextNode() != yield)
    return nullptr;
  auto sample = dyn_cast<SampleOp>(last);
  bool isPlain = sample && sample.getRows() == body.getArgument(1) &&
                 !sample.getAnchored() && !sample.getNumber() &&
                 !sample.getTokens();
  auto argmax = dyn_cast<ArgmaxOp>(last);
  return isPlain || (argmax && !argmax.getTokens()) ? last : nullptr;
}

/// Returns the best `count` columns by which `last` picks, or of the logits
/// themselves if it is null.
FailureOr<TopKOp> Expansion::rankPicks(AcceptOp accept, Value logits,
                                       const PickedRows &picked,
                                       FlatSymbolRefAttr tokens, int64_t count,
                                       Operation *last) {
  Value x = logits, noise;
  if (last) {
    IRMapping mapping;
    if (failed(cloneRegion(accept, logits, picked, tokens, last, mapping)))
      return failure();
    x = mapping.lookupOrDefault(last->getOperand(0));
    if (isa<SampleOp>(last))
      noise = picked.rows;
  }
  auto best = RankedTensorType::get(
      {cast<RankedTensorType>(x.getType()).getDimSize(0), count},
      builder.getI32Type());
  auto top =
      TopKOp::create(builder, loc, best, best.clone(builder.getF32Type()), x,
                     count, tokens, noise, /*number=*/Value());
  top->setAttr(kPicksDraftsAttr, builder.getUnitAttr());
  return top;
}

FailureOr<Value> Expansion::pickBest(Value logits, const PickedRows &picked,
                                     FlatSymbolRefAttr tokens, int64_t count) {
  FailureOr<AcceptOp> accept = findAccept();
  if (failed(accept))
    return failure();
  bool isBest = (*accept)->hasAttr(kBestDraftsAttr);
  Operation *last = isBest ? nullptr : findLastPick(*accept);
  if (!isBest && !isa_and_nonnull<SampleOp>(last))
    return Value();
  FailureOr<TopKOp> top =
      rankPicks(*accept, logits, picked, tokens, count, last);
  if (failed(top))
    return failure();
  return Value(top->getBest());
}

FailureOr<TopKOp> Expansion::pickLikely(Value logits, const PickedRows &picked,
                                        FlatSymbolRefAttr tokens) {
  FailureOr<AcceptOp> accept = findAccept();
  if (failed(accept))
    return failure();
  Operation *last = findLastPick(*accept);
  if (!last)
    return accept->emitOpError(
        "expected a region that ends with an mtp.sample at its rows, or an "
        "mtp.argmax, as p_min goes by the probability of what it picks");
  FailureOr<TopKOp> top =
      rankPicks(*accept, logits, picked, tokens, /*count=*/1, last);
  if (succeeded(top) && top->getNoise())
    (*top)->setAttr(kSharesAttr, builder.getUnitAttr());
  return top;
}
