//===- CatchUp.cpp - What refreshes a drafter that fell behind ------------===//
//
// Rounds without drafts, or with fewer than a drafter has modules, leave its
// caches behind. What a prefill does for the drafter makes up for them: it
// takes tokens, which the host knows, and the target's hidden states, which the
// commits keep. All else that a prefill does is taken out.
//
//===----------------------------------------------------------------------===//

#include "passes/round/CatchUp.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/support/RoundStates.h"

using namespace mlir;
using namespace mlir::mtp;

/// Warns that there will be none, because of `op`.
static LogicalResult warn(PrefillOp prefill, Operation *op, const Twine &what) {
  InFlightDiagnostic diag =
      prefill.emitWarning("a drafter that falls behind cannot be refreshed, "
                          "since in a prefill ")
      << what << "; catch_up_rows is of no use";
  diag.attachNote(op->getLoc()) << "this one";
  return failure();
}

/// Takes out what goes to the host and to the next round.
static LogicalResult eraseCommit(PrefillOp prefill, Block &body) {
  for (auto output : llvm::to_vector(body.getOps<OutputOp>()))
    output.erase();
  for (auto commit : llvm::to_vector(body.getOps<CommitOp>()))
    commit.erase();
  for (auto accept : llvm::to_vector(body.getOps<AcceptOp>())) {
    if (!accept->use_empty())
      return warn(prefill, accept, "more than the commit reads what is picked");
    accept.erase();
  }
  return success();
}

/// What nobody reads any more. A draft operation reads hidden states without
/// naming them.
static void eraseDead(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!isa<RecentHiddenOp>(op) && isOpTriviallyDead(&op))
      op.erase();
}

/// Takes the target out, of which the drafter gets `recent`.
static LogicalResult eraseTarget(PrefillOp prefill, Block &body,
                                 RecentHiddenOp recent) {
  for (auto verify : llvm::to_vector(body.getOps<VerifyOp>())) {
    if (verify.getHidden() && verify.getHidden().getType() == recent.getType())
      verify.getHidden().replaceAllUsesWith(recent);
    if (!verify->use_empty())
      return warn(prefill, verify,
                  "a drafter takes more than the target's hidden states");
    verify.erase();
  }
  eraseDead(body);
  return success();
}

/// Whether `op` does the same once more. What a body stores, and what a state
/// had when the prompt was read, would not be.
static bool mayRepeat(Operation *op) {
  return isMemoryEffectFree(op) ||
         isa<DraftChainOp, DraftTreeOp, DraftHeadsOp, RecentHiddenOp,
             RefreshModuleOp, AttentionOp, MlaAttentionOp, CachedAttentionOp,
             CacheAppendOp>(op);
}

/// The places ahead at which the drafter reads tokens.
static int64_t placesAheadOf(Block &body) {
  int64_t ahead = 0;
  for (Operation &op : body)
    if (auto chain = dyn_cast<DraftChainOp>(op))
      ahead = std::max<int64_t>(
          ahead, chain.takesHidden() ? chain.getSteps().size() : 0);
    else if (auto tree = dyn_cast<DraftTreeOp>(op))
      ahead = std::max<int64_t>(
          ahead, tree.takesHidden() ? tree.getSteps().size() : 0);
    else if (isa<DraftHeadsOp>(op))
      ahead = std::max<int64_t>(ahead, 1);
    else if (auto rows = dyn_cast<PromptRowsOp>(op))
      ahead = std::max<int64_t>(ahead, rows.getAhead());
    else if (auto later = dyn_cast<RefreshModuleOp>(op))
      ahead = std::max<int64_t>(ahead, later.getModule());
  return ahead;
}

static bool makesEntries(Block &body) {
  return llvm::any_of(body, [](Operation &op) {
    // Heads have entries if they are layers.
    if (isa<DraftHeadsOp>(op))
      return op
          .walk([](Operation *inner) {
            return isa<AttentionOp, MlaAttentionOp, CacheAppendOp>(inner)
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
    return isa<DraftChainOp, DraftTreeOp, AttentionOp, MlaAttentionOp,
               CacheAppendOp>(op);
  });
}

/// What of the copy is for the drafter; fails where there is nothing, or where
/// it cannot be told.
static LogicalResult keepDrafter(PrefillOp prefill, RecentHiddenOp recent,
                                 CommitOp commit) {
  Block &body = prefill.getBodyRegion().front();
  commit.getHidden().replaceUsesWithIf(
      recent, [&](OpOperand &use) { return use.getOwner() != commit; });
  if (failed(eraseCommit(prefill, body)))
    return failure();
  eraseDead(body);
  if (failed(eraseTarget(prefill, body, recent)))
    return failure();
  for (Operation &op : body)
    if (!mayRepeat(&op))
      return warn(prefill, &op,
                  "more than the drafter's caches is written, or "
                  "a state is read");
  return success(makesEntries(body));
}

LogicalResult mlir::mtp::makeCatchUp(PrefillOp prefill, int64_t rows) {
  auto module = prefill->getParentOfType<ModuleOp>();
  Block &body = prefill.getBodyRegion().front();
  auto commits = body.getOps<CommitOp>();
  if (commits.empty()) {
    prefill.erase();
    return success();
  }
  CommitOp commit = *commits.begin();
  Type type = commit.getHidden().getType();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  // Of how many positions is said below.
  prefill.setCatchUp(1);
  auto recent = RecentHiddenOp::create(builder, commit.getLoc(), type);
  if (failed(keepDrafter(prefill, recent, commit))) {
    prefill.erase();
    return success();
  }
  int64_t ahead = placesAheadOf(body);
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (ahead == 0) {
    // Tokens are all that it takes, and the host knows them all.
    recent.erase();
    prefill.setCatchUp(envelope.getMaxContext());
    return success();
  }
  if (auto *other = module.lookupSymbol(states::kRecentHidden))
    return other->emitError("expected a name other than '")
           << states::kRecentHidden
           << "', as commits keep hidden states under it for catch_up_rows";
  // The rows of the tokens that it fell behind, those in front of them whose
  // modules read as far, and those behind them that the last round accepted.
  int64_t kept = rows + ahead + envelope.getMaxK();
  declareRecent(module, widthOf(recent), kept, ahead);
  prefill.setCatchUp(kept);
  return success();
}
