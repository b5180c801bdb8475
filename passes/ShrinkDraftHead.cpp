//===- ShrinkDraftHead.cpp - Draft from a part of the vocabulary ----------===//
//
// A draft is the arg-max of the head's logits, and the head of a large
// vocabulary is most of what a small drafter streams. Over the rows of frequent
// tokens alone it is nearly as often right; verification decides as before, so
// the output does not change. (FR-Spec, Zhao et al., 2025, arXiv:2502.14856.)
//
//   linear(x, head) -> argmax -> put_drafts   becomes
//   linear(x, head picks @draft_vocabulary) -> argmax -> take_rows of the
//   vocabulary -> put_drafts
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "passes/Passes.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SHRINKDRAFTHEADPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::exec;

namespace {

/// The calls that make a draft, and the head's weight.
struct DraftHead {
  InvokeOp linear, argmax, put;
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
  LogicalResult shrink(DraftHead head);

  int64_t size() const { return int64_t(tokens.size()); }

  ConstantOp vocabulary;
  /// The small head of each head.
  llvm::DenseMap<Operation *, exec::WeightOp> smallHeads;
};

} // namespace

static InvokeOp producerOf(Value value, llvm::StringRef kind) {
  auto call = value.getDefiningOp<InvokeOp>();
  return call && call.getKind() == kind && value.hasOneUse() ? call
                                                             : InvokeOp();
}

/// What makes the draft that `put` stores, if it is a plain head.
static std::optional<DraftHead> findHead(InvokeOp put, SymbolTable &symbols) {
  InvokeOp argmax = producerOf(put.getArgs().front(), "argmax");
  if (!argmax) {
    return std::nullopt;
  }
  InvokeOp linear = producerOf(argmax.getArgs().front(), "linear");
  if (!linear) {
    return std::nullopt;
  }
  // After the input and, where there is one, the norm's weight.
  size_t index = 1 + (configInt(linear.getConfig(), "norm") != 0);
  auto ref = linear.getArgs()[index].getDefiningOp<RefOp>();
  auto weight =
      ref ? symbols.lookup<exec::WeightOp>(ref.getResource()) : exec::WeightOp();
  if (!weight || weight.getLayout() != "linear" || weight.getStack() != 1 ||
      weight.getSources().size() != 1 ||
      configInt(linear.getConfig(), "bias") != 0) {
    return std::nullopt;
  }
  return DraftHead{linear, argmax, put, index, weight};
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

LogicalResult ShrinkDraftHeadPass::shrink(DraftHead head) {
  if (failed(checkTokens(head.weight))) {
    return failure();
  }
  exec::WeightOp weight = smallHead(head.weight);
  auto ref = head.linear.getArgs()[head.weightIndex].getDefiningOp<RefOp>();
  OpBuilder builder(head.linear);
  Location loc = head.linear.getLoc();
  auto weightRef =
      RefOp::create(builder, loc,
                    withOutputs(cast<MemRefType>(ref.getType()), size()),
                    weight.getSymName(), /*layer=*/0);
  head.linear.getArgsMutable()[head.weightIndex].set(weightRef);
  auto setKeys = [&](InvokeOp call, ArrayRef<llvm::StringRef> keys) {
    NamedAttrList config(call.getConfig());
    for (llvm::StringRef key : keys) {
      if (config.get(key)) {
        config.set(key, builder.getI64IntegerAttr(size()));
      }
    }
    call.setConfigAttr(config.getDictionary(&getContext()));
  };
  setKeys(head.linear, {"n", "y_stride"});
  setKeys(head.argmax, {"width", "x_stride"});
  Value logits = head.linear.getResults().front();
  auto logitsType = cast<RankedTensorType>(logits.getType());
  int64_t rows = logitsType.getDimSize(0);
  logits.setType(logitsType.clone({rows, size()}));

  // The picked row of the small head is a row of the vocabulary.
  builder.setInsertionPointAfter(head.argmax);
  Value picks = head.argmax.getResults().front();
  auto tokensRef = RefOp::create(
      builder, loc, MemRefType::get({size(), 1}, builder.getI32Type()),
      vocabulary.getSymName(), /*layer=*/0);
  auto lookup = InvokeOp::create(
      builder, loc, picks.getType(), "take_rows", ValueRange{tokensRef, picks},
      ArrayRef<int64_t>{rows}, ArrayRef<int64_t>{0, 0},
      builder.getDictionaryAttr(
          builder.getNamedAttr("width", builder.getI64IntegerAttr(1))));
  head.put.getArgsMutable()[0].set(lookup.getResults().front());
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
