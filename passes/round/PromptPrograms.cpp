//===- PromptPrograms.cpp - Prefill and scoring from a round --------------===//

#include "passes/round/PromptPrograms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/round/CloneCaptures.h"
#include "passes/round/DraftPrefill.h"
#include "passes/round/RoundInstance.h"
#include "passes/support/Calls.h"
#include "passes/support/CountRows.h"

using namespace mlir;
using namespace mlir::mtp;

/// The largest number of rows whose products take no longer than reading the
/// weights. With more rows, logits would be most of the arena.
static constexpr int64_t kMostScoredRows = 32;

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

FailureOr<PrefillOp> mlir::mtp::makePrefill(RoundOp round) {
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
static func::FuncOp declareTarget(VerifyOp verify, llvm::StringRef name,
                                  int64_t rows) {
  auto module = verify->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto ints = RankedTensorType::get({rows}, builder.getI32Type());
  auto logits = cast<RankedTensorType>(verify.getLogits().getType());
  auto type = builder.getFunctionType(
      {ints, ints, ints}, logits.clone({rows, logits.getDimSize(1)}));
  auto function = func::FuncOp::create(builder, verify.getLoc(), name, type);
  function.addEntryBlock();
  constexpr llvm::StringLiteral kNames[] = {"tokens", "slots", "positions"};
  for (auto [i, input] : llvm::enumerate(kNames))
    function.setArgAttr(i, kNameAttr, builder.getStringAttr(input));
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

FailureOr<func::FuncOp> mlir::mtp::makeTargetFunction(VerifyOp verify,
                                                      llvm::StringRef name,
                                                      int64_t rows) {
  // A callee's types do not follow the number of rows.
  for (Operation &op : verify.getBodyRegion().front())
    if (getCallee(&op))
      return op.emitOpError("expected no call in the target, is "
                            "mtp-inline-layers missing before this pass?");
  func::FuncOp function = declareTarget(verify, name, rows);
  Block &body = function.getBody().front();
  if (failed(cloneTarget(verify, body))) {
    function.erase();
    return func::FuncOp();
  }
  setDrafts(function, /*k=*/0, /*nodes=*/1);
  Operation *end = body.getTerminator();
  for (Operation &op : body.without_terminator())
    if (failed(countRows(&op, {})))
      return failure();
  OpBuilder builder(end);
  func::ReturnOp::create(builder, verify.getLoc(), end->getOperand(0));
  end->erase();
  return function;
}

LogicalResult mlir::mtp::makePromptLogits(VerifyOp verify,
                                          EnvelopeAttr envelope) {
  return makeTargetFunction(
      verify, "prompt_logits",
      std::min<int64_t>(envelope.getPrefillChunk(), kMostScoredRows));
}
