//===- ShrinkDraftHead.cpp - Draft from a part of the vocabulary ----------===//
//
// A draft is picked from the head's logits, and the head of a large vocabulary
// is most of what a small drafter streams. Over the rows of frequent tokens
// alone it is nearly as often right; verification decides as before, so the
// output does not change. (FR-Spec, Zhao et al., 2025, arXiv:2502.14856.)
//
//   linear(x, head) -> mtp.sample -> put_drafts           becomes
//   linear(x, head picks @draft_vocabulary)
//     -> mtp.sample_mapped of the vocabulary -> put_drafts
//
// A sampled pick needs the map itself: the noise of a column is that of the
// token which it stands for. An `argmax` is followed by a look-up.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
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
  InvokeOp linear, pick, put;
  size_t weightIndex;
  exec::WeightOp weight;
};

struct ShrinkDraftHeadPass
    : public mlir::mtp::impl::ShrinkDraftHeadPassBase<ShrinkDraftHeadPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult checkTokens(exec::WeightOp head);
  exec::WeightOp smallHead(exec::WeightOp head);
  void setColumns(InvokeOp call, ArrayRef<llvm::StringRef> keys);
  void mapPick(const DraftHead &head);
  LogicalResult shrink(const DraftHead &head);

  int64_t size() const { return int64_t(tokens.size()); }

  ConstantOp vocabulary;
  /// The small head of each head.
  llvm::DenseMap<Operation *, exec::WeightOp> smallHeads;
};

} // namespace

/// What makes the draft that `put` stores, if it is a plain head that nobody
/// else reads.
static std::optional<DraftHead> findHead(InvokeOp put, SymbolTable &symbols) {
  auto pick = put.getArgs().front().getDefiningOp<InvokeOp>();
  if (!pick || !mlir::mtp::isPick(pick) ||
      pick.getKind() == "mtp.sample_mapped" ||
      !pick.getResults().front().hasOneUse()) {
    return std::nullopt;
  }
  InvokeOp linear = mlir::mtp::findPlainHead(pick);
  if (!linear || !linear.getResults().front().hasOneUse() ||
      configInt(linear.getConfig(), "bias") != 0) {
    return std::nullopt;
  }
  // After the input and, where there is one, the norm's weight.
  size_t index = 1 + (configInt(linear.getConfig(), "norm") != 0);
  auto ref = linear.getArgs()[index].getDefiningOp<RefOp>();
  auto weight =
      ref ? symbols.lookup<exec::WeightOp>(ref.getResource()) : exec::WeightOp();
  if (!weight || weight.getLayout() != "linear" || weight.getStack() != 1 ||
      weight.getSources().size() != 1) {
    return std::nullopt;
  }
  return DraftHead{linear, pick, put, index, weight};
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
  if (small) {
    return small;
  }
  OpBuilder builder(head);
  SymbolTable symbols(getOperation());
  if (!vocabulary) {
    auto type = RankedTensorType::get({size(), 1}, builder.getI32Type());
    SmallVector<int32_t> values(tokens.begin(), tokens.end());
    vocabulary = ConstantOp::create(
        builder, head.getLoc(), "draft_vocabulary",
        DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(values)));
    symbols.insert(vocabulary);
  }
  small = cast<exec::WeightOp>(builder.clone(*head));
  small.setSymName((head.getSymName() + "_draft").str());
  small.setN(size());
  small.setPicks(vocabulary.getSymName());
  symbols.insert(small);
  return small;
}

/// The type of a reference to the first `outputs` outputs of a weight: its
/// panels come first.
static MemRefType withOutputs(MemRefType type, int64_t outputs) {
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = panelCount(outputs);
  return MemRefType::get(shape, type.getElementType());
}

void ShrinkDraftHeadPass::setColumns(InvokeOp call,
                                     ArrayRef<llvm::StringRef> keys) {
  Builder builder(&getContext());
  NamedAttrList config(call.getConfig());
  for (llvm::StringRef key : keys) {
    if (config.get(key)) {
      config.set(key, builder.getI64IntegerAttr(size()));
    }
  }
  call.setConfigAttr(config.getDictionary(&getContext()));
}

// The pick sees columns of the small head, which are rows of the vocabulary.
void ShrinkDraftHeadPass::mapPick(const DraftHead &head) {
  InvokeOp pick = head.pick, put = head.put;
  OpBuilder builder(pick);
  Location loc = pick.getLoc();
  auto tokensRef = RefOp::create(
      builder, loc, MemRefType::get({size(), 1}, builder.getI32Type()),
      vocabulary.getSymName(), /*layer=*/0);
  if (pick.getKind() == "argmax") {
    setColumns(pick, {"width", "x_stride"});
    builder.setInsertionPointAfter(pick);
    Value columns = pick.getResults().front();
    auto lookup = InvokeOp::create(
        builder, loc, columns.getType(), "take_rows",
        ValueRange{tokensRef, columns},
        ArrayRef<int64_t>{pick.getParams().front(), size()},
        ArrayRef<int64_t>{0, 0},
        builder.getDictionaryAttr(
            builder.getNamedAttr("width", builder.getI64IntegerAttr(1))));
    put.getArgsMutable()[0].set(lookup.getResults().front());
    return;
  }
  SmallVector<Value> args(pick.getArgs());
  args.insert(args.begin() + 1, tokensRef);
  SmallVector<int64_t> params(pick.getParams());
  params[1] = size();
  SmallVector<int64_t> offsets(args.size(), 0);
  auto mapped = InvokeOp::create(builder, loc, pick.getResultTypes(),
                                 "mtp.sample_mapped", args, params, offsets,
                                 pick.getConfig());
  pick->replaceAllUsesWith(mapped);
  pick.erase();
}

LogicalResult ShrinkDraftHeadPass::shrink(const DraftHead &head) {
  if (failed(checkTokens(head.weight))) {
    return failure();
  }
  exec::WeightOp weight = smallHead(head.weight);
  InvokeOp linear = head.linear;
  auto ref = linear.getArgs()[head.weightIndex].getDefiningOp<RefOp>();
  OpBuilder builder(linear);
  auto weightRef =
      RefOp::create(builder, linear.getLoc(),
                    withOutputs(cast<MemRefType>(ref.getType()), size()),
                    weight.getSymName(), /*layer=*/0);
  linear.getArgsMutable()[head.weightIndex].set(weightRef);
  setColumns(linear, {"n", "y_stride"});
  Value logits = linear.getResults().front();
  auto logitsType = cast<RankedTensorType>(logits.getType());
  logits.setType(logitsType.clone({logitsType.getDimSize(0), size()}));
  mapPick(head);
  if (ref->use_empty()) {
    ref.erase();
  }
  ++numHeads;
  return success();
}

void ShrinkDraftHeadPass::runOnOperation() {
  if (tokens.empty()) {
    getOperation().emitError("expected tokens of the draft vocabulary, got none");
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  SmallVector<DraftHead> heads;
  getOperation().walk([&](InvokeOp put) {
    if (put.getKind() == "put_drafts") {
      if (std::optional<DraftHead> head = findHead(put, symbols)) {
        heads.push_back(*head);
      }
    }
  });
  if (heads.empty()) {
    getOperation().emitError("expected drafts that are picked from a head's "
                             "logits, found none to give a smaller vocabulary");
    return signalPassFailure();
  }
  for (const DraftHead &head : heads) {
    if (failed(shrink(head))) {
      return signalPassFailure();
    }
  }
  // A head that only drafted is not stored in full.
  for (auto &[head, small] : smallHeads) {
    if (SymbolTable::symbolKnownUseEmpty(head, getOperation())) {
      head->erase();
    }
  }
}
