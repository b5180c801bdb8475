//===- CatchUp.cpp - Refresh drafters that missed rounds ------------------===//
//
// Rounds without drafts, or with fewer drafts than a drafter has modules, leave
// gaps in its caches. A catch-up fills them like a prefill: it takes tokens,
// which the host knows, and the target's hidden states, which the commits keep.
// Everything else in the copied prefill is erased.
//
//===----------------------------------------------------------------------===//

#include "passes/round/CatchUp.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/support/RoundStates.h"

using namespace mlir;
using namespace mlir::mtp;

/// Warns that there is no catch-up, because of `op`.
static LogicalResult warn(PrefillOp prefill, Operation *op, const Twine &what) {
  InFlightDiagnostic diag =
      prefill.emitWarning("a drafter that lags cannot be refreshed, "
                          "since in a prefill ")
      << what << "; catch_up_rows is of no use";
  diag.attachNote(op->getLoc()) << "this one";
  return failure();
}

/// Erases outputs to the host and to the next round.
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

/// Erases ops without users. Hidden states are kept: a draft operation reads
/// them without naming them.
static void eraseDead(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (!isa<RecentHiddenOp>(op) && isOpTriviallyDead(&op))
      op.erase();
}

/// Erases the target and gives its hidden states, `recent`, to the drafter.
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

/// Returns whether running `op` again has the same effect. That does not hold
/// for stores of a body, nor for reads of a state that has changed since.
static bool mayRepeat(Operation *op) {
  return isMemoryEffectFree(op) ||
         isa<DraftChainOp, DraftTreeOp, DraftHeadsOp, RecentHiddenOp,
             RefreshModuleOp, AttentionOp, MlaAttentionOp, CachedAttentionOp,
             CacheAppendOp>(op);
}

/// Returns the number of places ahead at which the drafter reads tokens.
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
    // Heads have cache entries only if they are layers.
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

/// Keeps only the ops of the copy that the drafter needs. Fails if there are
/// none, or if they cannot be determined.
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
  // The number of positions is set below.
  prefill.setCatchUp(1);
  auto recent = RecentHiddenOp::create(builder, commit.getLoc(), type);
  if (failed(keepDrafter(prefill, recent, commit))) {
    prefill.erase();
    return success();
  }
  int64_t ahead = placesAheadOf(body);
  auto envelope = module->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (ahead == 0) {
    // The drafter needs only tokens, and the host knows all of them.
    recent.erase();
    prefill.setCatchUp(envelope.getMaxContext());
    return success();
  }
  if (auto *other = module.lookupSymbol(states::kRecentHidden))
    return other->emitError("expected a name other than '")
           << states::kRecentHidden
           << "', as commits keep hidden states under it for catch_up_rows";
  // The rows of the missed tokens, the rows before them that later modules
  // read, and the rows after them that the last round accepted.
  int64_t kept = rows + ahead + envelope.getMaxK();
  declareRecent(module, widthOf(recent), kept, ahead);
  prefill.setCatchUp(kept);
  return success();
}
