//===- FuseArgmax.cpp - Fuse picks into heads -----------------------------===//
//
// A greedy pick needs only the best logit, which the head has in registers.
// Writing and reading all logits of a large vocabulary is a large part of a
// row's cost. The head writes the best logit of each panel instead:
//
//   linear -> argmax    becomes  linear_argmax -> argmax_parts
//   linear -> sample    becomes  linear_argmax -> sample best
//
// An exec.process_logits between a head and a sample stays there, and updates
// the best logits, too.
//
// If a row is so long that threads should share it, there are two samples: one
// scans, one picks from the results of the scan.
//
// Sampled rows need all logits, and the target's logits may leave the program.
// So the head also writes the logits of slots whose sampling parameters ask for
// them. The kernel checks this at run time, row by row, so that one program
// serves both kinds of slots.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/exec/UnmodifiedLmHead.h"
#include "runtime/schema/SamplingLayout.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/DebugLog.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSEARGMAXPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

#define DEBUG_TYPE "exec-fuse-argmax"

namespace {

struct FuseArgmaxPass
    : public mlir::mtp::impl::FuseArgmaxPassBase<FuseArgmaxPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  void fuseArgmax(ArgmaxOp argmax);
  void fuseSample(SampleOp sample, SymbolTable &symbols);
  void leave(Operation *pick, Value logits);

  /// Locations of reported heads. The round of each k has a copy of a head, but
  /// one report suffices.
  llvm::DenseSet<Location> reported;
};

} // namespace

/// Creates the call of the head `linear`. With a sample's slots and sampling
/// words it also writes logits.
static LinearArgmaxOp callHead(OpBuilder &builder, LinearOp linear,
                               SampleOp sample) {
  int64_t n = columnsOf(linear.getY());
  int64_t panels = panelCount(n, panelWidthOf(linear.getWeight()));
  auto bestOf = [&](Type element) {
    return rowsType(rowsOf(linear.getY()), panels, element);
  };
  Type logits = sample ? linear.getY().getType() : Type();
  return LinearArgmaxOp::create(
      builder, linear.getLoc(), bestOf(builder.getF32Type()),
      bestOf(builder.getI32Type()), logits, linear.getX(), linear.getNorm(),
      linear.getWeight(), linear.getBias(),
      sample ? sample.getSlots() : Value(),
      sample ? sample.getSampling() : Value(), n, linear.getFormat(),
      linear.getEpsAttr(), linear.getOffset(), linear.getPreparedAttr());
}

/// Leaves a pick whose logits do not come from a head that can be fused. If the
/// logits of a head are changed before the pick, a remark says where.
void FuseArgmaxPass::leave(Operation *pick, Value logits) {
  ++numWhole;
  LDBG() << "stays: " << *pick;
  // The round without prompts reports the head already.
  if (pick->getParentOfType<ProgramOp>().getPrompts())
    return;
  auto [head, change] = mlir::mtp::findChangedHead(logits);
  if (!head || !reported.insert(head.getLoc()).second)
    return;
  InFlightDiagnostic diag =
      head.emitRemark("the logits of this head are written in full and read "
                      "again by a pick, since ");
  if (change == head) {
    diag << "its product is not all that they are";
    return;
  }
  diag << "the pick does not read them as they are";
  diag.attachNote(change->getLoc()) << "they are changed here";
}

void FuseArgmaxPass::fuseArgmax(ArgmaxOp argmax) {
  LinearOp linear = mlir::mtp::findUnmodifiedLmHead(argmax.getX());
  if (!linear || !linear.getY().hasOneUse())
    return leave(argmax, argmax.getX());
  // The product keeps its position: states that it reads may change after it.
  OpBuilder builder(linear);
  LinearArgmaxOp head = callHead(builder, linear, SampleOp());
  builder.setInsertionPoint(argmax);
  auto pick = ArgmaxPartsOp::create(builder, argmax.getLoc(),
                                    argmax.getPicks().getType(), head.getBest(),
                                    head.getColumns());
  argmax->replaceAllUsesWith(pick);
  argmax.erase();
  linear.erase();
  ++numGreedy;
}

/// Returns whether `linear` may move down to `place`: its other users come
/// later still, and the memory that it reads does not change before.
static bool canSink(LinearOp linear, Operation *place, SymbolTable &symbols) {
  for (Operation *user : linear->getUsers())
    if (user != place && (!isa<OutputOp>(user) || user->isBeforeInBlock(place)))
      return false;
  return llvm::all_of(linear->getOperands(), [&](Value operand) {
    auto ref = operand.getDefiningOp<RefOp>();
    Operation *resource = ref ? symbols.lookup(ref.getResource()) : nullptr;
    return !ref || isa<exec::WeightOp, ConstantOp>(resource);
  });
}

namespace {
/// Logits with the best of each panel.
struct RankedLogits {
  Value best, columns, logits;
};
} // namespace

/// Picks from a head's results like `sample`: in one call, or in two if several
/// threads should share a row.
static Value callSample(SampleOp sample, const RankedLogits &from) {
  OpBuilder builder(sample);
  auto call = [&](Type result, Value found, bool scan) -> Value {
    return SampleOp::create(
        builder, sample.getLoc(), result, from.best, from.columns, from.logits,
        sample.getTokens(), sample.getSlots(), sample.getPositions(),
        sample.getSampling(), found, scan, sample.getCompiled());
  };
  Type picks = sample.getResult().getType();
  int64_t stretches = ::mtp::sampleStretches(columnsOf(from.logits));
  if (stretches == 1)
    return call(picks, /*found=*/Value(), /*scan=*/false);
  int64_t words = stretches * ::mtp::kSampleStretchWords;
  Type buckets = rowsType(rowsOf(from.best), words, builder.getI32Type());
  Value found = call(buckets, /*found=*/Value(), /*scan=*/true);
  return call(picks, found, /*scan=*/false);
}

/// Returns the call that processes the logits of `sample`, if only it and
/// outputs read the result.
static ProcessLogitsOp findProcess(SampleOp sample) {
  auto process = sample.getLogits().getDefiningOp<ProcessLogitsOp>();
  bool isOwn =
      process && llvm::all_of(process->getUsers(), [&](Operation *user) {
        return user == sample || isa<OutputOp>(user);
      });
  return isOwn ? process : ProcessLogitsOp();
}

/// Replaces `process` by a call that updates the head's best logits, too.
static RankedLogits processRanked(ProcessLogitsOp process,
                                  LinearArgmaxOp head) {
  OpBuilder builder(process);
  auto ranked = ProcessLogitsOp::create(
      builder, process.getLoc(), process.getY().getType(),
      TypeRange{head.getBest().getType(), head.getColumns().getType()},
      head.getBest(), head.getColumns(), head.getLogits(), process.getSlots(),
      process.getPositions(), process.getPlaces(), process.getPath(),
      process.getLength(), process.getRules(), process.getCounts(),
      process.getBias(), process.getMasks(), process.getTokens(),
      process.getDepth(), process.getDraft());
  process.getY().replaceAllUsesWith(ranked.getY());
  process.erase();
  return {ranked.getRanked()[0], ranked.getRanked()[1], ranked.getY()};
}

void FuseArgmaxPass::fuseSample(SampleOp sample, SymbolTable &symbols) {
  ProcessLogitsOp process = findProcess(sample);
  Value logits = process ? process.getLogits() : sample.getLogits();
  Operation *reader = process ? process.getOperation() : sample;
  LinearOp linear = mlir::mtp::findUnmodifiedLmHead(logits);
  // Slots may be known only after the projection, so it moves to the pick.
  if (!linear || !canSink(linear, reader, symbols))
    return leave(sample, logits);
  OpBuilder builder(reader);
  LinearArgmaxOp head = callHead(builder, linear, sample);
  RankedLogits ranked{head.getBest(), head.getColumns(), head.getLogits()};
  if (process)
    ranked = processRanked(process, head);
  sample.getResult().replaceAllUsesWith(callSample(sample, ranked));
  sample.erase();
  linear.getY().replaceAllUsesWith(head.getLogits());
  linear.erase();
  ++numSampled;
}

void FuseArgmaxPass::runOnOperation() {
  SymbolTable symbols(getOperation());
  SmallVector<Operation *> picks;
  getOperation().walk([&](Operation *op) {
    if (isa<ArgmaxOp, SampleOp>(op))
      picks.push_back(op);
  });
  for (Operation *pick : picks)
    if (auto argmax = dyn_cast<ArgmaxOp>(pick))
      fuseArgmax(argmax);
    else
      fuseSample(cast<SampleOp>(pick), symbols);
}
