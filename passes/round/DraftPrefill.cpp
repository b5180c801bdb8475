//===- DraftPrefill.cpp - Fill drafters' caches in a prefill --------------===//

#include "passes/round/DraftPrefill.h"
#include "passes/round/RoundExpansion.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

/// Returns the index, among the chunk's rows, of the prompt row that module - 1
/// leaves for the first round; -1 if another chunk has it.
static Value carriedRow(Expansion &e, int64_t module) {
  useState(e.module, states::kSequences);
  SlotBody body(e.builder, e.loc, "carried_rows", e.slots());
  Value first = sequenceWord(body, SequenceWord::FirstRow);
  Value row =
      body.sub(body.sub(sequenceWord(body, SequenceWord::Total), module),
               sequenceWord(body, SequenceWord::Start));
  Value inChunk =
      body.both(body.compare(Predicate::sge, row, 0),
                body.compare(Predicate::slt, row,
                             sequenceWord(body, SequenceWord::Rows)));
  return body
      .yield(body.select(inChunk, body.add(first, row), body.constant(-1)))
      .front();
}

void mlir::mtp::keepCarry(Expansion &e, int64_t module, Value handedOn) {
  std::string carry = states::carry(module);
  useState(e.module, carry, widthOf(handedOn));
  WriteStateOp::create(e.builder, e.loc, handedOn, carriedRow(e, module), carry,
                       e.slots());
}

/// Returns the target's hidden states of the rows of `op` in a prefill; null in
/// a catch-up of a drafter that needs none.
static FailureOr<Value> findHidden(Operation *op) {
  Block *block = op->getBlock();
  auto recents = block->getOps<RecentHiddenOp>();
  auto verifies = block->getOps<VerifyOp>();
  if (cast<PrefillOp>(op->getParentOp()).getCatchUp())
    return recents.empty() ? Value() : (*recents.begin()).getResult();
  if (verifies.empty() || !(*verifies.begin())->isBeforeInBlock(op))
    return op->emitOpError("expected an mtp.verify before it, whose hidden "
                           "states fill the modules' caches, got ")
           << (verifies.empty() ? "none" : "one after it");
  return (*verifies.begin()).getHidden();
}

LogicalResult mlir::mtp::expandDraftPrefill(Operation *op,
                                            ArrayRef<Region *> steps,
                                            Region *input) {
  FailureOr<Value> given = findHidden(op);
  if (failed(given))
    return failure();
  Expansion e(op);
  Value hidden = *given;
  bool takesHidden = steps.front()->getNumArguments() == 3;
  auto tokens =
      RankedTensorType::get({ShapedType::kDynamic}, e.builder.getI32Type());
  for (auto [i, step] : llvm::enumerate(steps)) {
    int64_t module = i + 1;
    if (module > 1)
      keepCarry(e, module, hidden);
    auto prompt = PromptRowsOp::create(e.builder, e.loc, tokens,
                                       RowsType::get(op->getContext()),
                                       takesHidden ? module : 0);
    if (module == 1 && input)
      hidden = e.inlineRegion(*input, hidden)[0];
    SmallVector<Value> args{prompt.getTokens(), prompt.getRows()};
    if (takesHidden)
      args.insert(args.begin() + 1, hidden);
    SmallVector<Value> results = e.inlineRegion(*step, args);
    hidden = takesHidden ? results[1] : Value();
  }
  op->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Drafters in core ops
//===----------------------------------------------------------------------===//

/// Returns the rows for which an op writes cache entries; null if it writes
/// none.
static Value rowsOfEntries(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AttentionOp, MlaAttentionOp, CacheAppendOp>(
          [](auto op) { return op.getRows(); })
      .Default([](Operation *) { return Value(); });
}

namespace {
/// Finds the ops in a refresh's region that write cache entries for its rows
/// and for rows of later modules, and the ops that these need.
class Run {
public:
  explicit Run(RefreshOp refresh) : refresh(refresh) {}

  FailureOr<llvm::SetVector<Operation *>> find();

private:
  bool isRows(Value rows) {
    return rows == refresh.getRows() ||
           (rows && rows.getDefiningOp<RefreshModuleOp>());
  }
  void follow(Operation *op);
  LogicalResult refuse(Operation *op);

  RefreshOp refresh;
  llvm::SetVector<Operation *> run;
  SmallVector<Operation *> pending;
};
} // namespace

/// Continues with the operands of `op`. Rows of nodes of a module do not occur
/// in a prompt.
void Run::follow(Operation *op) {
  auto later = dyn_cast<RefreshModuleOp>(op);
  ValueRange operands = op->getOperands();
  for (Value operand : later ? operands.take_front(1) : operands) {
    Operation *made = operand.getDefiningOp();
    bool isGiven = made == refresh && operand != refresh.getAnchor() &&
                   operand != refresh.getNext();
    if (made && made->getBlock() == refresh->getBlock() && !isGiven)
      pending.push_back(made);
  }
}

LogicalResult Run::refuse(Operation *op) {
  InFlightDiagnostic diag = refresh.emitOpError(
      "expected an mtp.prefill in the module, since a prompt does not have "
      "what is read beside tokens, rows and hidden states");
  diag.attachNote(op->getLoc()) << "read here";
  return failure();
}

FailureOr<llvm::SetVector<Operation *>> Run::find() {
  for (Operation &op : *refresh->getBlock())
    if (isRows(rowsOfEntries(&op)))
      pending.push_back(&op);
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (!run.insert(op))
      continue;
    follow(op);
    bool mayRun =
        rowsOfEntries(op) ? isRows(rowsOfEntries(op)) : isMemoryEffectFree(op);
    if (!mayRun && !isa<RefreshModuleOp>(op))
      return refuse(op);
  }
  return std::move(run);
}

/// Clones the rows of a later module for a prompt.
static void cloneLater(RefreshModuleOp op, OpBuilder &builder,
                       IRMapping &mapping) {
  Operation *copy = RefreshModuleOp::create(
      builder, op.getLoc(), op->getResultTypes(), op.getModule(),
      mapping.lookupOrDefault(op.getBefore()), ValueRange(), ValueRange());
  mapping.map(op->getResults(), copy->getResults());
}

LogicalResult mlir::mtp::cloneRefreshes(DraftRegionOp draft, Value hidden,
                                        OpBuilder &builder,
                                        const IRMapping &mapping) {
  // With several refreshes it would be unclear from which one a module
  // continues.
  auto refreshes = draft.getBody()->getOps<RefreshOp>();
  auto modules = draft.getBody()->getOps<RefreshModuleOp>();
  if (int64_t count = std::distance(refreshes.begin(), refreshes.end());
      count > 1 && !modules.empty())
    return (*modules.begin())
               .emitOpError("expected one mtp.refresh in its "
                            "mtp.draft, got ")
           << count;
  for (auto refresh : draft.getBody()->getOps<RefreshOp>()) {
    FailureOr<llvm::SetVector<Operation *>> run = Run(refresh).find();
    if (failed(run))
      return failure();
    if (run->empty())
      continue;
    auto copy = DraftRegionOp::create(builder, refresh.getLoc(), TypeRange());
    OpBuilder inner =
        OpBuilder::atBlockBegin(&copy.getBodyRegion().emplaceBlock());
    auto prompt = PromptRowsOp::create(
        inner, refresh.getLoc(), refresh.getTokens().getType(),
        RowsType::get(refresh.getContext()), refresh.getHidden() ? 1 : 0);
    IRMapping own(mapping);
    own.map(refresh.getTokens(), prompt.getTokens());
    own.map(refresh.getRows(), prompt.getRows());
    if (refresh.getHidden())
      own.map(refresh.getHidden(), mapping.lookupOrDefault(hidden));
    for (Operation &op : *draft.getBody())
      if (auto later = dyn_cast<RefreshModuleOp>(op);
          later && run->contains(&op))
        cloneLater(later, inner, own);
      else if (run->contains(&op))
        inner.clone(op, own);
    YieldOp::create(inner, refresh.getLoc());
  }
  return success();
}
