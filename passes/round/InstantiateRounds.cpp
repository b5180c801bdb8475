//===- InstantiateRounds.cpp - Instantiate the round for every k ----------===//
//
// One text describes the round for every k. For each k it is cloned, and
// `mtp.k` becomes a constant. Code that depends on it is folded by the
// canonicalizations of the upstream dialects. Types that depend on it are
// refined op by op, in order.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Passes.h"
#include "passes/round/CatchUp.h"
#include "passes/round/CloneCaptures.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/Exactness.h"
#include "passes/round/RefineTypes.h"
#include "passes/round/RoundExpansion.h"
#include "passes/support/Calls.h"
#include "passes/support/CountRows.h"
#include "passes/support/RoundStates.h"
#include "passes/support/RowWise.h"
#include "passes/support/SlotBody.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_INSTANTIATEROUNDSPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// The largest number of rows whose products take no longer than reading the
/// weights. With more rows, logits would be most of the arena.
constexpr int64_t kMostScoredRows = 32;

struct InstantiateRoundsPass
    : public mlir::mtp::impl::InstantiateRoundsPassBase<InstantiateRoundsPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  FailureOr<Operation *> instantiate(Operation *op, int64_t k, int64_t nodes,
                                     const Twine &suffix = "");
  LogicalResult instantiateAll(RoundOp round, PrefillOp prefill);
  LogicalResult instantiateMixed(RoundOp round, PrefillOp prefill);
  LogicalResult instantiateCatchUp(RoundOp round, PrefillOp prefill);
};
} // namespace

//===----------------------------------------------------------------------===//
// Values that only one op has
//===----------------------------------------------------------------------===//

/// Gives the verify another result, its rows, and passes them to the accept,
/// whatever ops are between the two. Gives the accept of a tree its path, and
/// passes it to the commit.
static void linkParts(Block &body) {
  OpBuilder builder(body.getParentOp()->getContext());
  for (auto verify : llvm::to_vector(body.getOps<VerifyOp>())) {
    if (verify.getRows())
      continue;
    builder.setInsertionPoint(verify);
    SmallVector<Type> types(verify.getResultTypes());
    types.push_back(RowsType::get(builder.getContext()));
    auto linked = VerifyOp::create(builder, verify.getLoc(), types,
                                   verify->getOperands(), verify->getAttrs());
    linked.getBodyRegion().takeBody(verify.getBodyRegion());
    verify.replaceAllUsesWith(linked.getResults().drop_back());
    verify.erase();
  }
  for (auto accept : llvm::to_vector(body.getOps<AcceptOp>())) {
    auto verifies = body.getOps<VerifyOp>();
    if (!verifies.empty() && !accept.getRows())
      accept.getRowsMutable().assign((*verifies.begin()).getRows());
    if (!accept.isTree() || accept.getPath())
      continue;
    builder.setInsertionPoint(accept);
    auto linked = AcceptOp::create(
        builder, accept.getLoc(), accept.getCount().getType(),
        accept.getPicks().getType(), accept.getPicks().getType(),
        accept.getDrafts(), accept.getLogits(), accept.getDraftLogits(),
        accept.getRows(), accept.getParents(), accept.getRule(),
        accept.getTreeAttr(), accept.getRuleArgsAttr());
    linked.getBodyRegion().takeBody(accept.getBodyRegion());
    linked.getRuleRegion().takeBody(accept.getRuleRegion());
    accept.replaceAllUsesWith(linked.getResults().take_front(2));
    accept.erase();
    for (auto commit : body.getOps<CommitOp>())
      if (commit.getCount() == linked.getCount() && !commit.getPath())
        commit.getPathMutable().assign(linked.getPath());
  }
}

/// Removes drafts and tree. Without drafts there is no tree, and a rule has
/// nothing to decide.
static void dropDrafts(VerifyOp verify) {
  verify.getDraftsMutable().clear();
  verify.getParentsMutable().clear();
  verify.removeTreeAttr();
}

static void dropDrafts(AcceptOp accept) {
  accept.getDraftsMutable().clear();
  accept.getParentsMutable().clear();
  accept.getDraftLogitsMutable().clear();
  accept.removeTreeAttr();
  accept.setRule(AcceptRule::Exact);
  accept.removeRuleArgsAttr();
  accept.getRuleRegion().getBlocks().clear();
}

static void dropDrafts(Block &body) {
  for (Operation &op : body)
    if (auto verify = dyn_cast<VerifyOp>(op))
      dropDrafts(verify);
    else if (auto accept = dyn_cast<AcceptOp>(op))
      dropDrafts(accept);
}

/// Returns an empty set of drafts per slot, where `type` has one number per
/// draft.
static Value makeNoDrafts(OpBuilder &builder, Operation *draft, Type type) {
  auto grid = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(grid.getShape());
  shape[1] = 0;
  auto ints =
      RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value slots = SlotsOp::create(builder, draft->getLoc(), ints);
  SlotBody body(builder, draft->getLoc(), "no_drafts", slots);
  auto none = RankedTensorType::get(ArrayRef(shape).drop_front(),
                                    grid.getElementType());
  return body.yield(body.empty(none)).front();
}

/// Erases the draft operation at k = 0. Other readers of drafts get none.
static void eraseDraft(Operation *op) {
  OpBuilder builder(op);
  for (Value result : op->getResults())
    if (!result.use_empty())
      result.replaceAllUsesWith(makeNoDrafts(builder, op, result.getType()));
  op->erase();
}

/// Replaces an mtp.draft by its contents.
static void inlineDraft(DraftRegionOp op) {
  Block &inner = *op.getBody();
  Operation *yield = inner.getTerminator();
  op.replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         inner.getOperations());
  op.erase();
}

static void placeDrafts(Block &body, int64_t k) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    auto region = dyn_cast<DraftRegionOp>(op);
    if (k > 0 && region)
      inlineDraft(region);
    else if (k == 0 &&
             isa<DraftChainOp, DraftTreeOp, DraftHeadsOp, DraftRegionOp>(op))
      eraseDraft(&op);
  }
}

/// Replaces all ops of a kind in `op` by the constant `value`. Returns whether
/// there were any.
template <typename OpT>
static bool setConstant(Operation *op, int64_t value) {
  SmallVector<OpT> uses;
  op->walk([&](OpT use) { uses.push_back(use); });
  for (OpT use : uses) {
    OpBuilder builder(use);
    use.replaceAllUsesWith(
        arith::ConstantIndexOp::create(builder, use.getLoc(), value)
            .getResult());
    use.erase();
  }
  return !uses.empty();
}

/// Makes `mtp.k` and `mtp.nodes` constants. Returns whether there are any.
static bool setDrafts(Operation *op, int64_t k, int64_t nodes) {
  bool hasK = setConstant<KOp>(op, k);
  return setConstant<NodesOp>(op, nodes) || hasK;
}

/// Returns the number of rows per slot in a round of k, which are the tree's
/// nodes in such a round. A static tree is an attribute of all ops that know it
/// (round_c5), or only of the drafter, if each slot verifies a tree of its own.
static int64_t countNodes(RoundOp round, EnvelopeAttr envelope, int64_t k) {
  std::optional<ArrayRef<int64_t>> tree;
  for (Operation &op : *round.getBody())
    if (tree)
      break;
    else if (auto draft = dyn_cast<DraftTreeOp>(op))
      tree = draft.getParents();
    else if (auto heads = dyn_cast<DraftHeadsOp>(op))
      tree = heads.getTree();
    else if (auto verify = dyn_cast<VerifyOp>(op))
      tree = verify.getTree();
    else if (auto accept = dyn_cast<AcceptOp>(op))
      tree = accept.getTree();
  return envelope.getNodes(k, tree);
}

//===----------------------------------------------------------------------===//
// Prefill and scoring
//===----------------------------------------------------------------------===//

/// Returns whether `made`, which `user` reads, has the same value in a prefill
/// as in a round. Weights, constants and values computed from them do. A prompt
/// has no values of a round's states, drafts and caches.
static LogicalResult isSameInPrefill(Operation *user, Operation *made) {
  if (isMemoryEffectFree(made))
    return success();
  InFlightDiagnostic diag = user->emitOpError(
      "expected an mtp.prefill in the module, since a prompt does not have "
      "what this op of the round reads");
  diag.attachNote(made->getLoc()) << "made here";
  return diag;
}

/// Returns whether a drafter has a cache that a prompt fills.
static bool makesEntries(Operation &draft) {
  return draft
      .walk([](Operation *op) {
        return isa<AttentionOp, MlaAttentionOp, CacheAppendOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

static LogicalResult flatten(Operation *instance);

/// Copies the run of a drafter in core ops. If the modules that run depend on
/// k, a prompt runs all modules of the largest round.
static LogicalResult cloneDraft(DraftRegionOp draft, RoundOp round,
                                Value hidden, OpBuilder &builder,
                                const IRMapping &mapping) {
  bool isOfSeveral =
      draft.walk([](RefreshModuleOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!isOfSeveral)
    return cloneRefreshes(draft, hidden, builder, mapping);
  auto envelope =
      round->getParentOfType<ModuleOp>()->getAttrOfType<EnvelopeAttr>(
          kEnvelopeAttr);
  int64_t most = envelope.getMaxK();
  auto whole = cast<DraftRegionOp>(OpBuilder(draft).clone(*draft));
  setDrafts(whole, most, countNodes(round, envelope, most));
  LogicalResult done = flatten(whole);
  if (succeeded(done))
    done = cloneRefreshes(whole, hidden, builder, mapping);
  whole.erase();
  return done;
}

/// Copies the ops of `round` that handle a prompt to a prefill. The draft
/// operation comes after the target, whose hidden states its modules read.
static LogicalResult cloneForPrompt(RoundOp round, OpBuilder &builder,
                                    IRMapping &mapping) {
  CommitOp commit;
  for (Operation &op : *round.getBody())
    if (auto verify = dyn_cast<VerifyOp>(op))
      dropDrafts(cast<VerifyOp>(builder.clone(op, mapping)));
    else if (auto accept = dyn_cast<AcceptOp>(op))
      dropDrafts(cast<AcceptOp>(builder.clone(op, mapping)));
    else if (auto last = dyn_cast<CommitOp>(op))
      commit = last;
  if (!commit || round.getBody()->getOps<VerifyOp>().empty())
    return round.emitOpError(
        "expected an mtp.prefill in the module, since the round "
        "has no mtp.verify and mtp.commit that say what it does");
  for (Operation &op : *round.getBody())
    if (auto draft = dyn_cast<DraftRegionOp>(op)) {
      if (failed(
              cloneDraft(draft, round, commit.getHidden(), builder, mapping)))
        return failure();
    } else if (isa<DraftChainOp, DraftTreeOp>(op) ||
               (isa<DraftHeadsOp>(op) && makesEntries(op))) {
      builder.clone(op, mapping);
    }
  builder.clone(*commit, mapping);
  return success();
}

/// Makes the prefill that follows from a round of readable ops.
static FailureOr<PrefillOp> makePrefill(RoundOp round) {
  OpBuilder builder(round->getContext());
  builder.setInsertionPointAfter(round);
  std::string name = (round.getSymName() + "_prompt").str();
  auto prefill =
      PrefillOp::create(builder, round.getLoc(), name, IntegerAttr());
  Block &body = prefill.getBodyRegion().emplaceBlock();
  builder.setInsertionPointToStart(&body);
  IRMapping mapping;
  if (failed(cloneForPrompt(round, builder, mapping)) ||
      failed(cloneCaptures(body, *round.getBody(), mapping, isSameInPrefill)))
    return failure();
  return prefill;
}

/// Reports that texts cannot be scored: `user` needs values that depend on a
/// round's slots or a chunk's rows.
static LogicalResult warnOfNoScores(Operation *user, Operation *made) {
  InFlightDiagnostic diag = user->emitWarning(
      "the target needs more than tokens and rows, so that no text can be "
      "scored: the artifact has no function prompt_logits");
  diag.attachNote(made->getLoc()) << "this is made of the slots of a round";
  return failure();
}

/// Returns whether `made` exists if rows are given and there are no slots.
static LogicalResult isSameForRows(Operation *user, Operation *made) {
  return isMemoryEffectFree(made) && !isa<SlotsOp, PromptRowsOp>(made)
             ? success()
             : warnOfNoScores(user, made);
}

/// Declares an empty function from tokens, slots and positions of rows to their
/// logits.
static func::FuncOp declarePromptLogits(VerifyOp verify, int64_t rows) {
  auto module = verify->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto ints = RankedTensorType::get({rows}, builder.getI32Type());
  auto logits = cast<RankedTensorType>(verify.getLogits().getType());
  auto type = builder.getFunctionType(
      {ints, ints, ints}, logits.clone({rows, logits.getDimSize(1)}));
  auto function =
      func::FuncOp::create(builder, verify.getLoc(), "prompt_logits", type);
  function.addEntryBlock();
  constexpr llvm::StringLiteral kNames[] = {"tokens", "slots", "positions"};
  for (auto [i, name] : llvm::enumerate(kNames))
    function.setArgAttr(i, kNameAttr, builder.getStringAttr(name));
  function.setResultAttr(0, kNameAttr, builder.getStringAttr("logits"));
  return function;
}

/// Clones the target of `verify` into `body`.
static LogicalResult cloneTarget(VerifyOp verify, Block &body) {
  Block &target = verify.getBodyRegion().front();
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  Value made = MakeRowsOp::create(builder, verify.getLoc(), body.getArgument(1),
                                  body.getArgument(2));
  IRMapping mapping;
  mapping.map(target.getArguments(), ValueRange{body.getArgument(0), made});
  for (Operation &op : target) {
    if (isa<SlotsOp, PromptRowsOp>(op))
      return warnOfNoScores(verify, &op);
    builder.clone(op, mapping);
  }
  return cloneCaptures(body, *verify->getBlock(), mapping, isSameForRows);
}

/// Makes a function of the target on given rows; a row of position -1 is
/// padding. Makes none if the target needs more than rows.
static LogicalResult makePromptLogits(VerifyOp verify, EnvelopeAttr envelope) {
  // A callee's types do not follow the number of rows.
  for (Operation &op : verify.getBodyRegion().front())
    if (getCallee(&op))
      return op.emitOpError("expected no call in the target, is "
                            "mtp-inline-layers missing before this pass?");
  func::FuncOp function = declarePromptLogits(
      verify, std::min<int64_t>(envelope.getPrefillChunk(), kMostScoredRows));
  Block &body = function.getBody().front();
  if (failed(cloneTarget(verify, body))) {
    function.erase();
    return success();
  }
  setDrafts(function, /*k=*/0, /*nodes=*/1);
  Operation *end = body.getTerminator();
  for (Operation &op : body.without_terminator())
    if (failed(countRows(&op, {})))
      return failure();
  OpBuilder builder(end);
  func::ReturnOp::create(builder, verify.getLoc(), end->getOperand(0));
  end->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Instances
//===----------------------------------------------------------------------===//

/// Unrolls loops and replaces conditionals by the branch taken. Bounds of an
/// inner loop may depend on an outer loop.
static LogicalResult flatten(Operation *instance) {
  Block &body = instance->getRegion(0).front();
  fold(instance);
  while (true) {
    auto loops = llvm::to_vector(body.getOps<scf::ForOp>());
    if (loops.empty())
      break;
    for (scf::ForOp loop : loops)
      if (failed(loopUnrollFull(loop)))
        return loop.emitOpError("expected bounds that follow from mtp.k: the "
                                "ops of a round are known when it is compiled");
    fold(instance);
  }
  for (Operation &op : body)
    if (isa<scf::IfOp, scf::IndexSwitchOp, scf::WhileOp>(op))
      return op.emitOpError("expected a condition that follows from mtp.k: the "
                            "ops of a round are known when it is compiled");
  return success();
}

/// Checks that every read of a state has a static number of rows per slot, at
/// least one.
static LogicalResult checkCounts(Block &body) {
  for (auto read : body.getOps<ReadStateOp>())
    if (read.getCount())
      return read.emitOpError("expected a number of rows that follows from "
                              "mtp.k, at least one; what a round of k = 0 does "
                              "without stands in an mtp.draft");
  return success();
}

/// Checks that states have the rows that rounds and prefills read. The error
/// names the need of the largest instance of an op: with the rows of a smaller
/// one the next compilation would fail.
static LogicalResult checkStateRows(ModuleOp module) {
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  ReadStateOp largest;
  int64_t most = 0;
  module.walk([&](ReadStateOp read) {
    auto state = module.lookupSymbol<StateOp>(read.getState());
    SmallVector<int64_t> shape =
        state ? state.getShape(envelope) : SmallVector<int64_t>();
    int64_t rows = shape.size() == 2 ? shape.front() : 1;
    bool isSame = largest && largest.getLoc() == read.getLoc();
    if (!state || read.getCount() || int64_t(read.getRows()) <= rows ||
        (largest && (!isSame || read.getRows() <= largest.getRows())))
      return;
    largest = read;
    most = rows;
  });
  if (!largest)
    return success();
  return largest.emitOpError("expected a state of at least ")
         << largest.getRows()
         << " rows, the number that the largest round reads, "
         << "got " << most << " rows of " << largest.getStateAttr();
}

/// Copies the drafts that a host sees into a buffer with one row per slot, even
/// if they were picked row by row. A missing draft is -1.
static void showBySlot(Block &body) {
  for (auto wait : llvm::to_vector(body.getOps<AwaitHostOp>())) {
    Value drafts = wait.getDrafts();
    if (!drafts.getDefiningOp<RegroupOp>())
      continue;
    OpBuilder builder(wait);
    auto ints =
        RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
    Value slots = SlotsOp::create(builder, wait.getLoc(), ints);
    SlotBody copy(builder, wait.getLoc(), "shown", slots, drafts);
    // A body that only forwards its operands would be folded away.
    auto shown = [&](Value draft) {
      return copy.max(copy.element(copy.input(0), draft), copy.constant(-1));
    };
    Value all = copy.vector(widthOf(drafts), shown);
    wait.getDraftsMutable().assign(copy.yield(all).front());
  }
}

FailureOr<Operation *> InstantiateRoundsPass::instantiate(Operation *op,
                                                          int64_t k,
                                                          int64_t nodes,
                                                          const Twine &suffix) {
  OpBuilder builder(op);
  Operation *instance = builder.clone(*op);
  StringRef name = SymbolTable::getSymbolName(op).getValue();
  SymbolTable::setSymbolName(instance, (name + "_k" + Twine(k) + suffix).str());
  if (auto round = dyn_cast<RoundOp>(instance)) {
    round.setK(k);
    if (nodes != k + 1)
      round.setNodes(nodes);
  } else {
    cast<PrefillOp>(instance).setK(k);
  }
  ++numRounds;
  Block &body = instance->getRegion(0).front();
  if (k == 0) {
    dropDrafts(body);
    for (auto wait : llvm::to_vector(body.getOps<AwaitHostOp>()))
      wait.erase();
  }
  placeDrafts(body, k);
  linkParts(body);
  bool goesByK = setDrafts(instance, k, nodes);
  if (goesByK && failed(flatten(instance)))
    return failure();
  refineTypes(instance);
  showBySlot(body);
  if (failed(checkCounts(body)))
    return failure();
  return instance;
}

/// Returns whether a prefill does more if drafting is on: only a drafter reads
/// the prompt ahead of its rows.
static bool servesDrafting(PrefillOp prefill) {
  return prefill
      .walk([](Operation *op) {
        auto rows = dyn_cast<PromptRowsOp>(op);
        return isa<DraftChainOp, DraftTreeOp, DraftHeadsOp, DraftRegionOp, KOp,
                   NodesOp>(op) ||
                       (rows && rows.getAhead() > 0)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns whether the prefill's verify computes rows like the round's, and the
/// prefill needs the logits of last rows only: its accept, and all other
/// readers, treat each row by itself.
static bool canMix(RoundOp round, PrefillOp prefill, bool isRoundsOwn) {
  auto verifies = round.getBody()->getOps<VerifyOp>();
  auto others = prefill.getBody()->getOps<VerifyOp>();
  if (verifies.empty() || others.empty())
    return false;
  VerifyOp own = *verifies.begin(), other = *others.begin();
  bool computesSame =
      isRoundsOwn || OperationEquivalence::isRegionEquivalentTo(
                         &own.getBodyRegion(), &other.getBodyRegion(),
                         OperationEquivalence::IgnoreLocations);
  bool isForAccept = isMadeByRows(
      other.getLogits(), [](Operation *user) { return isa<AcceptOp>(user); });
  bool isAsked =
      llvm::any_of(prefill.getBody()->getOps<OutputOp>(),
                   [](OutputOp output) { return output.getOf().has_value(); });
  return computesSame && isForAccept && !isAsked &&
         goesByRows(own.getBodyRegion());
}

/// Returns the number of prompt rows of a mixed batch. If rows have masks,
/// prompt rows have masks, too.
static int64_t promptRowsOf(RoundOp round, EnvelopeAttr envelope) {
  constexpr int64_t kBits = 64;
  bool hasMasks =
      llvm::any_of(round.getBody()->getOps<VerifyOp>(),
                   [](VerifyOp op) { return op.getTree() || op.getParents(); });
  int64_t rows = envelope.getRoundPromptRows();
  return hasMasks ? std::min(rows, kBits) : rows;
}

/// Makes for every k a round with prompt rows and the prefill that belongs to
/// it. With drafting off the prefill does more than necessary.
LogicalResult InstantiateRoundsPass::instantiateMixed(RoundOp round,
                                                      PrefillOp prefill) {
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  int64_t maxK = envelope.getMaxK();
  int64_t drafts = maxK > 0 && servesDrafting(prefill) ? maxK : 0;
  for (int64_t k = 0; k <= maxK; ++k) {
    auto mixed =
        instantiate(round, k, countNodes(round, envelope, k), "_prompts");
    auto beside =
        instantiate(prefill, drafts, countNodes(round, envelope, drafts),
                    "_beside_k" + std::to_string(k));
    if (failed(mixed) || failed(beside))
      return failure();
    cast<RoundOp>(*mixed).setPrompts(promptRowsOf(round, envelope));
    cast<PrefillOp>(*beside).setBesideAttr(
        FlatSymbolRefAttr::get(cast<RoundOp>(*mixed).getSymNameAttr()));
  }
  return success();
}

/// Makes the catch-up of drafters if the envelope wants it and some rounds
/// draft less than others.
LogicalResult InstantiateRoundsPass::instantiateCatchUp(RoundOp round,
                                                        PrefillOp prefill) {
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  int64_t most = envelope.getMaxK(), rows = envelope.getCatchUpRows();
  if (rows == 0 || most == 0 || !servesDrafting(prefill))
    return success();
  auto copy = instantiate(prefill, most, countNodes(round, envelope, most),
                          "_catch_up");
  return failed(copy) ? failure() : makeCatchUp(cast<PrefillOp>(*copy), rows);
}

LogicalResult InstantiateRoundsPass::instantiateAll(RoundOp round,
                                                    PrefillOp prefill) {
  auto envelope = getOperation()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  for (int64_t k = 0; k <= int64_t(envelope.getMaxK()); ++k)
    if (failed(instantiate(round, k, countNodes(round, envelope, k))))
      return failure();
  if (failed(instantiate(prefill, /*k=*/0, /*nodes=*/1)))
    return failure();
  int64_t most = envelope.getMaxK();
  bool drafts = most > 0 && servesDrafting(prefill);
  return success(
      !drafts ||
      succeeded(instantiate(prefill, most, countNodes(round, envelope, most))));
}

/// Records in the module whether its output is known to equal the output of k =
/// 0. Reports a doubt if an exact mtp.accept claims equality.
static void judgeOutput(RoundOp round) {
  auto module = round->getParentOfType<ModuleOp>();
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (envelope.getMaxK() == 0)
    return;
  auto prefills = module.getOps<PrefillOp>();
  PrefillOp prefill = prefills.empty() ? PrefillOp() : *prefills.begin();
  std::optional<Doubt> doubt = findDoubt(round, prefill);
  if (!doubt)
    return;
  module->setAttr(kCustomRuleAttr, UnitAttr::get(module.getContext()));
  for (auto accept : round.getBody()->getOps<AcceptOp>()) {
    if (accept.getRule() != AcceptRule::Exact)
      continue;
    InFlightDiagnostic diag = accept.emitWarning(
        "output may depend on k, though the rule is exact, so that the "
        "artifact does not say that it is: ");
    diag << doubt->why;
    diag.attachNote(doubt->loc) << "seen here";
  }
}

void InstantiateRoundsPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto rounds = module.getOps<RoundOp>();
  if (rounds.empty())
    return;
  RoundOp round = *rounds.begin();
  judgeOutput(round);
  if (round.getK())
    return;
  if (failed(verifyRoundStates(module)))
    return signalPassFailure();
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  // A prefill after a preemption lacks the inputs with which the host had the
  // anchor picked, and the values from which a round had picked it.
  auto isExact = [](AcceptOp op) { return op.getRule() == AcceptRule::Exact; };
  bool mayPickOthers =
      !round.getBody()->getOps<AwaitHostOp>().empty() ||
      (module->hasAttr(kCustomRuleAttr) &&
       llvm::any_of(round.getBody()->getOps<AcceptOp>(), isExact));
  if (mayPickOthers && !round.getBody()->getOps<CommitOp>().empty())
    useState(module, states::kKnown);
  auto prefills = module.getOps<PrefillOp>();
  bool isRoundsOwn = prefills.empty();
  FailureOr<PrefillOp> prefill = failure();
  prefill = isRoundsOwn ? makePrefill(round) : *prefills.begin();
  if (failed(prefill))
    return signalPassFailure();
  for (auto verify : round.getBody()->getOps<VerifyOp>())
    if (failed(makePromptLogits(verify, envelope)))
      return signalPassFailure();
  if (failed(instantiateAll(round, *prefill)) ||
      failed(instantiateCatchUp(round, *prefill)))
    return signalPassFailure();
  if (envelope.getRoundPromptRows() > 0 &&
      canMix(round, *prefill, isRoundsOwn) &&
      failed(instantiateMixed(round, *prefill)))
    return signalPassFailure();
  round.erase();
  prefill->erase();
  if (failed(checkStateRows(module)))
    return signalPassFailure();
}
