//===- EndingChain.cpp - Chains that end slot by slot ---------------------===//
//
// The modules run over all committed rows, whether or not a slot drafts, so
// that their caches have no gaps. Only rows after a draft may be padding, and
// the next round runs these rows again. Skipped are the head on the anchor's
// row, the pick, and the rows of deeper steps. They are packed step by step.
// Slots that want a draft wanted the one before, so a step finds its inputs
// among the packed rows of the last step.
//
//===----------------------------------------------------------------------===//

#include "passes/round/EndingChain.h"
#include "runtime/schema/ConfidenceStates.h"
#include "runtime/schema/LoopLayout.h"

using namespace mlir;
using namespace mlir::mtp;
using Predicate = SlotBody::Predicate;

static constexpr llvm::StringRef kPMin(::mtp::kDraftPMin),
    kConfidence(::mtp::kShownConfidence);

/// Returns whether steps, and the picks after them, may run on packed rows.
static bool mayPack(Expansion &e, DraftChainOp op, Region &step) {
  auto accepts = op->getBlock()->getOps<AcceptOp>();
  return !e.picksByRow() && goesByRows(step) &&
         llvm::all_of(accepts, [](AcceptOp accept) {
           return goesByRows(accept.getBodyRegion());
         });
}

/// Returns whether the drafts of a chain are what its round verifies.
static bool areVerified(DraftChainOp op) {
  return llvm::all_of(op.getDrafts().getUsers(), [](Operation *user) {
    return isa<VerifyOp, AcceptOp, AwaitHostOp>(user);
  });
}

/// Declares the input by which the drafts of a chain end, unless the module has
/// it.
static LogicalResult declarePMin(DraftChainOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto init = builder.getF32FloatAttr(float(op.getPMin()->convertToDouble()));
  if (auto state = module.lookupSymbol<StateOp>(kPMin)) {
    if (state.getInput() && state.getExtents().empty() &&
        state.getInitAttr() == init)
      return success();
    InFlightDiagnostic diag = op.emitOpError("expected 'mtp.state @")
                              << kPMin << " : f32 init "
                              << init.getValueAsDouble()
                              << " input', as the chain ends by this state";
    diag.attachNote(state.getLoc()) << "declared here";
    return diag;
  }
  auto state = StateOp::create(builder, module.getLoc(), /*shared=*/false,
                               kPMin, builder.getArrayAttr({}),
                               builder.getF32Type(), init, Rebuild::Rows,
                               /*rebuild_rows=*/1);
  state.setInput(true);
  return success();
}

namespace {
/// The rows from which a draft is picked: one per slot, or packed rows of which
/// the first ones are active.
struct DraftRows {
  Value logits, hidden;
  /// The rows that will verify the drafts.
  Value verifying;
  /// Null if rows are not packed.
  PackOp pack;
};

/// The picks of these rows.
struct Picked {
  Value tokens;
  /// The logarithms of their probabilities, or null.
  Value logs;
};

class ChainWriter {
public:
  ChainWriter(DraftChainOp op, Region *input)
      : op(op), e(op),
        steps(llvm::to_vector(llvm::make_pointer_range(op.getSteps()))),
        k(*e.roundK()), modules(steps.size()),
        refresh(e, steps, std::min(k, modules), /*most=*/k, input),
        packs(mayPack(e, op, *steps.back())) {
    auto verifies = op->getBlock()->getOps<VerifyOp>();
    isHosts = !verifies.empty() && followsLimit(*verifies.begin());
    showsConfidence = op.getPMin() && areVerified(op);
  }

  FailureOr<SmallVector<Value>> write();

private:
  Value loadLimit(SlotBody &body) {
    return mlir::mtp::loadLimit(body, e.module, isHosts);
  }
  Value sideBySide();
  Value inWindow(Value x);
  void writeFirst();
  DraftRows refreshModule(int64_t d);
  DraftRows runStep(int64_t d);
  Value verifyingRows(PackOp pack);
  FailureOr<Picked> pick(int64_t d);
  Value keepLikely(SlotBody &body, int64_t d, Value lives, Value log);
  void writeDraft(int64_t d, const Picked &picked);

  DraftChainOp op;
  Expansion e;
  SmallVector<Region *> steps;
  int64_t k, modules;
  Refresh refresh;
  /// Whether computations row by row may run on packed rows.
  bool packs;
  /// Whether the host may make slots draft less.
  bool isHosts = false;
  /// Whether the host sees the confidence in each draft.
  bool showsConfidence = false;

  /// The drafts so far, per slot; -1 from the first unwanted draft on.
  SmallVector<Value> drafts;
  SmallVector<std::pair<Value, int64_t>> draftLogits;
  /// `verified` is the position that verifies the next draft; -1 if the slot
  /// does not want the draft. After the modules, `stepped` and `token` are
  /// position and token of the step's row.
  Value verified, stepped, token;
  /// The rows of the last draft.
  DraftRows last;
  Value lastPicks;
  /// The hidden states that the last module handed on.
  Value handedOn;
};
} // namespace

bool mlir::mtp::mayEnd(DraftChainOp op) {
  return op.getPMin() ||
         hasState(op->getParentOfType<ModuleOp>(), states::kWantK);
}

/// Returns all drafts so far, per slot.
Value ChainWriter::sideBySide() {
  SlotBody body(e.builder, e.loc, "drafts", e.slots(), drafts);
  SmallVector<Value> own;
  for (size_t i = 0; i < drafts.size(); ++i)
    own.push_back(body.input(i));
  return body.yield(body.vector(own)).front();
}

/// Returns `x`, computed for the last rows, with one row per slot.
Value ChainWriter::inWindow(Value x) {
  return last.pack ? UnpackOp::create(e.builder, e.loc, x.getType(), x,
                                      last.pack.getPlaces())
                   : x;
}

/// Writes the positions that are known before the first draft. A slot that does
/// not run wants no drafts.
void ChainWriter::writeFirst() {
  useState(e.module, states::kLoop);
  auto first = [&](SlotBody &body, Value n) -> SmallVector<Value> {
    Value ended = body.load(states::kLoop, body.constant(::mtp::kLoopEnded));
    Value wants = body.compare(Predicate::eq, ended, 0);
    if (Value limit = loadLimit(body))
      wants = body.both(wants, body.compare(Predicate::sgt, limit, 0));
    return {body.select(wants, n, body.constant(-1))};
  };
  verified = refresh.writePlaces(first).front();
}

/// Runs module d over its rows and takes the anchor's row.
DraftRows ChainWriter::refreshModule(int64_t d) {
  ModuleOutputs out = refresh.run(d, handedOn, drafts, /*mayEnd=*/true);
  handedOn = out.hidden;
  DraftRows rows;
  rows.verifying = e.makeRows(e.slots(), verified);
  Value anchor = refresh.anchor(d);
  if (packs) {
    rows.pack = PackOp::create(e.builder, e.loc, rows.verifying, anchor);
    rows.verifying = rows.pack.getPacked();
    anchor = rows.pack.getPackedTokens();
  }
  rows.logits = e.gatherRows(out.logits, anchor);
  if (out.hidden && d == std::min(k, modules) && k > modules)
    rows.hidden = e.gatherRows(out.hidden, anchor);
  return rows;
}

/// Returns the rows that verify the drafts of a step's packed rows; their
/// positions differ from the step's.
Value ChainWriter::verifyingRows(PackOp pack) {
  int64_t ahead = modules + refresh.takesHidden() - 1;
  if (ahead == 0)
    return pack.getPacked();
  Type type = pack.getPackedTokens().getType();
  Value slots = RowSlotsOp::create(e.builder, e.loc, type, pack.getPacked());
  Value positions =
      RowPositionsOp::create(e.builder, e.loc, type, pack.getPacked());
  SlotBody body(e.builder, e.loc, "verifying", slots, positions);
  Value own = body.input(0);
  Value lives = body.compare(Predicate::sge, own, 0);
  return e.makeRows(
      slots, body.yield(body.select(lives, body.add(own, ahead), own)).front());
}

/// Runs the last module again.
DraftRows ChainWriter::runStep(int64_t d) {
  Value rows = e.makeRows(e.slots(), stepped);
  DraftRows next;
  Value tokens = token, hidden = last.hidden;
  if (packs) {
    // The indices of the inputs among the rows of the draft before.
    next.pack = PackOp::create(e.builder, e.loc, rows, last.pack.getPlaces());
    Value index = next.pack.getPackedTokens();
    rows = next.pack.getPacked();
    tokens =
        UnpackOp::create(e.builder, e.loc, index.getType(), lastPicks, index);
    if (hidden)
      hidden = e.gatherRows(hidden, index);
    next.verifying = verifyingRows(next.pack);
  } else {
    next.verifying = e.makeRows(e.slots(), verified);
  }
  ModuleOutputs out = refresh.step(modules, tokens, hidden, rows);
  next.logits = out.logits;
  next.hidden = out.hidden;
  return next;
}

FailureOr<Picked> ChainWriter::pick(int64_t d) {
  auto drafted = [&] { return sideBySide(); };
  PickedRows rows{last.verifying,
                  {d - 1},
                  drafted,
                  {llvm::to_vector(llvm::seq<int64_t>(0, d - 1))}};
  if (!op.getPMin()) {
    FailureOr<Value> tokens = e.pick(last.logits, rows, op.getVocabularyAttr());
    if (failed(tokens))
      return failure();
    return Picked{*tokens, Value()};
  }
  FailureOr<TopKOp> top =
      e.pickLikely(last.logits, rows, op.getVocabularyAttr());
  if (failed(top))
    return failure();
  return Picked{e.byRow(top->getBest()), top->getLogs()};
}

/// Returns whether draft d, of which `lives` is known so far, is also likely
/// enough by the logarithm of its probability. Shows the host the probability.
Value ChainWriter::keepLikely(SlotBody &body, int64_t d, Value lives,
                              Value log) {
  Value share = body.exp(log);
  lives = body.both(lives, body.isAtLeast(share, body.loadFloat(kPMin)));
  if (showsConfidence) {
    Value round = body.load(states::kLoop, body.constant(::mtp::kLoopRound));
    Value none = body.floatConstant(::mtp::kNoDraft);
    body.store(body.select(lives, share, none), kConfidence,
               {round, body.constant(d - 1)});
  }
  return lives;
}

/// Keeps draft d of each slot that wants it if it is likely enough, and
/// determines which slots want the next draft.
void ChainWriter::writeDraft(int64_t d, const Picked &picked) {
  SmallVector<Value> inputs{verified, inWindow(picked.tokens)};
  if (picked.logs)
    inputs.push_back(inWindow(picked.logs));
  SlotBody body(e.builder, e.loc, "draft", e.slots(), inputs);
  Value none = body.constant(-1), at = body.input(0), own = body.input(1);
  Value lives = body.both(body.compare(Predicate::sge, at, 0),
                          body.compare(Predicate::sge, own, 0));
  if (picked.logs)
    lives = keepLikely(body, d, lives, body.element(body.input(2), 0));
  SmallVector<Value> values{body.select(lives, own, none)};
  bool isLast = d == k, isStep = d >= modules;
  if (!isLast) {
    Value wants = lives;
    if (Value limit = loadLimit(body))
      wants = body.both(lives, body.compare(Predicate::sgt, limit, d));
    values.push_back(body.select(wants, body.add(at, 1), none));
    // A step's row has the position of its hidden state, one before its
    // token's.
    int64_t ahead = 2 - modules - refresh.takesHidden();
    if (isStep)
      values.append({body.select(wants, body.add(at, ahead), none),
                     body.select(wants, own, body.constant(0))});
  }
  ValueRange made = body.yield(values);
  drafts.push_back(made[0]);
  if (isLast)
    return;
  verified = made[1];
  if (!isStep)
    return;
  stepped = made[2];
  token = made[3];
}

FailureOr<SmallVector<Value>> ChainWriter::write() {
  if (op.getPMin() && failed(declarePMin(op)))
    return failure();
  if (showsConfidence)
    useState(e.module, kConfidence);
  writeFirst();
  bool keepsLogits = op.getDraftLogits() && !op.getDraftLogits().use_empty();
  for (int64_t d = 1; d <= k; ++d) {
    last = d <= modules ? refreshModule(d) : runStep(d);
    FailureOr<Picked> picked = pick(d);
    if (failed(picked))
      return failure();
    lastPicks = picked->tokens;
    if (keepsLogits)
      draftLogits.push_back({inWindow(last.logits), 1});
    writeDraft(d, *picked);
  }
  SmallVector<Value> results{sideBySide()};
  if (op.getDraftLogits())
    results.push_back(keepsLogits ? e.bySlot(e.concatRows(draftLogits), k)
                                  : Value());
  return results;
}

FailureOr<SmallVector<Value>> mlir::mtp::writeEndingChain(DraftChainOp op,
                                                          Region *input) {
  return ChainWriter(op, input).write();
}
