//===- ShrinkDraftHead.cpp - Draft from a part of the vocabulary ----------===//
//
// A draft is picked from the head's logits, and the head of a large vocabulary
// is most of what a small drafter streams. Over the rows of frequent tokens
// alone it is nearly as often right; verification decides as before, so the
// output does not change. (FR-Spec, Zhao et al., 2025, arXiv:2502.14856.)
//
//   linear(x, head) -> sample           becomes
//   linear(x, head picks @draft_vocabulary)
//     -> sample of the vocabulary's tokens
//
// Drafts are the picks of a round that the host is not given. A sampled pick
// needs the map itself: the noise of a column is that of the token which it
// stands for. An `argmax` is followed by a look-up.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "passes/DraftTokens.h"
#include "passes/Passes.h"
#include "passes/PlainHead.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SHRINKDRAFTHEADPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// The calls that make a draft, and the head's weight.
struct DraftHead {
  LinearOp linear;
  Operation *pick;
  RefOp ref;
  exec::WeightOp weight;
};

struct ShrinkDraftHeadPass
    : public mlir::mtp::impl::ShrinkDraftHeadPassBase<ShrinkDraftHeadPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult checkTokens(exec::WeightOp head);
  exec::WeightOp smallHead(exec::WeightOp head);
  void mapPick(const DraftHead &head);
  LogicalResult shrink(const DraftHead &head);

  int64_t size() const { return int64_t(tokens.size()); }

  ConstantOp vocabulary;
  /// The small head of each head.
  llvm::DenseMap<Operation *, exec::WeightOp> smallHeads;
};

} // namespace

/// The logits that `pick` sees as columns of the vocabulary, if it picks
/// tokens.
static Value logitsOf(Operation *pick) {
  if (auto argmax = dyn_cast_or_null<ArgmaxOp>(pick))
    return argmax.getX();
  auto sample = dyn_cast_or_null<SampleOp>(pick);
  return sample && !sample.getTokens() ? Value(sample.getLogits()) : Value();
}

/// What makes the draft that `pick` picks, if it is a plain head that nobody
/// else reads.
static std::optional<DraftHead> findHead(Operation *pick,
                                         SymbolTable &symbols) {
  Value logits = logitsOf(pick);
  if (!logits || !logits.hasOneUse() ||
      llvm::any_of(pick->getUsers(), llvm::IsaPred<OutputOp>)) {
    return std::nullopt;
  }
  LinearOp linear = mlir::mtp::findPlainHead(logits);
  if (!linear || linear.getBias())
    return std::nullopt;
  auto ref = linear.getWeight().getDefiningOp<RefOp>();
  auto weight = ref ? symbols.lookup<exec::WeightOp>(ref.getResource())
                    : exec::WeightOp();
  if (!weight || !isa<PanelsAttr>(weight.getLayout()) ||
      weight.getStack() != 1 || weight.getSources().size() != 1) {
    return std::nullopt;
  }
  return DraftHead{linear, pick, ref, weight};
}

LogicalResult ShrinkDraftHeadPass::checkTokens(exec::WeightOp head) {
  int64_t vocabularySize = head.getN();
  for (int32_t token : tokens) {
    if (token < 0 || token >= vocabularySize) {
      return head.emitOpError("expected tokens of the draft vocabulary below ")
             << vocabularySize << ", got " << token;
    }
  }
  if (size() >= vocabularySize) {
    return head.emitOpError("expected a draft vocabulary smaller than the "
                            "vocabulary of ")
           << vocabularySize << ", got " << size() << " tokens";
  }
  return success();
}

exec::WeightOp ShrinkDraftHeadPass::smallHead(exec::WeightOp head) {
  exec::WeightOp &small = smallHeads[head];
  if (small)
    return small;
  OpBuilder builder(head);
  SymbolTable symbols(getOperation());
  if (!vocabulary) {
    vocabulary = ConstantOp::create(
        builder, head.getLoc(), "draft_vocabulary",
        mlir::mtp::columnTable(
            &getContext(), SmallVector<int32_t>(tokens.begin(), tokens.end())));
    symbols.insert(vocabulary);
  }
  small = cast<exec::WeightOp>(builder.clone(*head));
  small.setSymName((head.getSymName() + "_draft").str());
  small.setN(size());
  small.setPicks(vocabulary.getSymName());
  symbols.insert(small);
  return small;
}

// The pick sees columns of the small head, which are rows of the vocabulary.
void ShrinkDraftHeadPass::mapPick(const DraftHead &head) {
  OpBuilder builder(head.pick);
  Location loc = head.pick->getLoc();
  auto tokensRef = RefOp::create(
      builder, loc, MemRefType::get({size(), 1}, builder.getI32Type()),
      vocabulary.getSymName(), /*layer=*/0);
  if (auto sample = dyn_cast<SampleOp>(head.pick)) {
    sample.getTokensMutable().assign(tokensRef);
    return;
  }
  builder.setInsertionPointAfter(head.pick);
  Value columns = head.pick->getResult(0);
  Value picks = mlir::mtp::lookUpColumns(builder, loc, tokensRef, columns);
  columns.replaceAllUsesExcept(picks, picks.getDefiningOp());
}

LogicalResult ShrinkDraftHeadPass::shrink(const DraftHead &head) {
  if (failed(checkTokens(head.weight)))
    return failure();
  exec::WeightOp weight = smallHead(head.weight);
  LinearOp linear = head.linear;
  OpBuilder builder(linear);
  RefOp ref = head.ref;
  auto weightRef =
      RefOp::create(builder, linear.getLoc(), weight.getPackedType(),
                    weight.getSymName(), /*layer=*/0);
  linear.getWeightMutable().set(weightRef);
  Value logits = linear.getY();
  auto logitsType = cast<RankedTensorType>(logits.getType());
  logits.setType(logitsType.clone({logitsType.getDimSize(0), size()}));
  mapPick(head);
  if (ref->use_empty())
    ref.erase();
  ++numHeads;
  return success();
}

void ShrinkDraftHeadPass::runOnOperation() {
  if (tokens.empty()) {
    getOperation().emitError(
        "expected tokens of the draft vocabulary, got none");
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  SmallVector<DraftHead> heads;
  for (ProgramOp program : getOperation().getOps<ProgramOp>()) {
    if (program.getKind() != "decode")
      continue;
    for (Operation &op : program.getBody().front())
      if (std::optional<DraftHead> head = findHead(&op, symbols))
        heads.push_back(*head);
  }
  if (heads.empty()) {
    getOperation().emitError("expected drafts that are picked from a head's "
                             "logits, found none to give a smaller vocabulary");
    return signalPassFailure();
  }
  for (const DraftHead &head : heads)
    if (failed(shrink(head)))
      return signalPassFailure();
  // A head that only drafted is not stored in full.
  for (auto &[head, small] : smallHeads)
    if (SymbolTable::symbolKnownUseEmpty(head, getOperation()))
      head->erase();
}
