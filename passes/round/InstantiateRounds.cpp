//===- InstantiateRounds.cpp - Instantiate the round for every k ----------===//
//
// One text describes the round for every k. For each k it is cloned, and
// `mtp.k` becomes a constant. Code that depends on it is folded by the
// canonicalizations of the upstream dialects. Types that depend on it are
// refined op by op, in order.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/TreeAttr.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/Passes.h"
#include "passes/round/CatchUp.h"
#include "passes/round/Exactness.h"
#include "passes/round/PromptPrograms.h"
#include "passes/round/RefineTypes.h"
#include "passes/round/RoundExpansion.h"
#include "passes/round/RoundInstance.h"
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
// Instances
//===----------------------------------------------------------------------===//

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
    if (!drafts.getDefiningOp<ReshapeOp>())
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

/// Records the static tree that a round verifies in the module.
static void recordTree(ModuleOp module, RoundOp round) {
  for (auto verify : round.getBody()->getOps<VerifyOp>())
    if (DenseI64ArrayAttr tree = verify.getTreeAttr())
      module->setAttr(kTreeAttr, tree);
}

void InstantiateRoundsPass::runOnOperation() {
  ModuleOp module = getOperation();
  auto rounds = module.getOps<RoundOp>();
  if (rounds.empty())
    return;
  RoundOp round = *rounds.begin();
  recordTree(module, round);
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
