//===- FuseArgmax.cpp - Pick a token where its logits are made ------------===//
//
// A greedy pick needs the best logit, which the head has in registers; written
// and read again, the logits of a large vocabulary are a good part of what a
// row costs. The head writes the best logit of each panel instead:
//
//   linear -> argmax    becomes  linear_argmax -> argmax_parts
//   linear -> sample    becomes  linear_argmax -> sample best
//
// Where a row is so long that threads had better share it, there are two
// samples: one scans, one picks from what that found.
//
// Rows that sample need all logits, and the target's may leave the program: the
// head writes the logits as well, of the slots whose sampling parameters ask
// for them. That is asked at run time, row by row, so that one program serves
// them side by side.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/Passes.h"
#include "passes/exec/PlainHead.h"
#include "runtime/schema/SamplingWords.h"
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

  /// Heads that were reported; a round has one for each k.
  llvm::DenseSet<Location> reported;
};

} // namespace

/// Calls the head that `linear` is; with a sample's slots and sampling words it
/// writes logits, too.
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

/// A pick stays that reads logits of no head that may be computed for it alone.
/// Of a head whose logits are changed before that says where.
void FuseArgmaxPass::leave(Operation *pick, Value logits) {
  ++numWhole;
  LDBG() << "stays: " << *pick;
  // What is to be said of the head its round without prompts says.
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
  LinearOp linear = mlir::mtp::findPlainHead(argmax.getX());
  if (!linear || !linear.getY().hasOneUse())
    return leave(argmax, argmax.getX());
  // The product stays in its place: states that it reads may change after it.
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

/// Whether `linear` may be computed at `place`, later than it is: the others
/// who read it come later still, and what it reads does not change.
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

/// Picks from what the head gives as `sample` does: in one call, or in two
/// where several threads are to share a row.
static Value callSample(SampleOp sample, LinearArgmaxOp head) {
  OpBuilder builder(sample);
  auto call = [&](Type result, Value found, bool scan) -> Value {
    return SampleOp::create(builder, sample.getLoc(), result, head.getBest(),
                            head.getColumns(), head.getLogits(),
                            sample.getTokens(), sample.getSlots(),
                            sample.getPositions(), sample.getSampling(), found,
                            scan, sample.getCompiled());
  };
  Type picks = sample.getResult().getType();
  int64_t stretches = ::mtp::sampleStretches(int64_t(head.getN()));
  if (stretches == 1)
    return call(picks, /*found=*/Value(), /*scan=*/false);
  int64_t words = stretches * ::mtp::kSampleStretchWords;
  Type buckets = rowsType(rowsOf(head.getBest()), words, builder.getI32Type());
  Value found = call(buckets, /*found=*/Value(), /*scan=*/true);
  return call(picks, found, /*scan=*/false);
}

void FuseArgmaxPass::fuseSample(SampleOp sample, SymbolTable &symbols) {
  LinearOp linear = mlir::mtp::findPlainHead(sample.getLogits());
  // Slots may be known only after the projection, so it moves to the pick.
  if (!linear || !canSink(linear, sample, symbols))
    return leave(sample, sample.getLogits());
  OpBuilder builder(sample);
  LinearArgmaxOp head = callHead(builder, linear, sample);
  sample.getResult().replaceAllUsesWith(callSample(sample, head));
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
