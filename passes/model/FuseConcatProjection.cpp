//===- FuseConcatProjection.cpp - Split projections by column -------------===//
//
// [a b] W^T = a Wa^T + b Wb^T, with Wa and Wb columns of W. The drafter's
// projection of embedding and hidden state has this form.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "passes/Passes.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_FUSECONCATPROJECTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
struct FuseConcatProjectionPass
    : public mlir::mtp::impl::FuseConcatProjectionPassBase<
          FuseConcatProjectionPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// Returns a weight that reads only the columns [begin, begin + width) of
/// `weight`.
static Value sliceColumns(OpBuilder &builder, WeightOp weight, int64_t begin,
                          int64_t width) {
  auto type = cast<RankedTensorType>(weight.getResult().getType());
  // The weight may already be a range of columns of the stored tensor.
  int64_t base = weight.getColBegin() ? *weight.getColBegin() : 0;
  auto sliced = cast<WeightOp>(builder.clone(*weight));
  if (!weight.getColBegin())
    sliced.setColCount(type.getDimSize(1));
  sliced.setColBegin(base + begin);
  sliced.setColEnd(base + begin + width);
  sliced.getResult().setType(RankedTensorType::get({type.getDimSize(0), width},
                                                   type.getElementType()));
  return sliced.getResult();
}

/// Replaces `linear`, a projection of `concat` by `weight`, by one projection
/// per part of `concat`.
static void split(LinearOp linear, ConcatOp concat, WeightOp weight) {
  OpBuilder builder(linear);
  Value sum;
  int64_t begin = 0;
  for (Value part : concat.getInputs()) {
    int64_t width = widthOf(part);
    Value columns = sliceColumns(builder, weight, begin, width);
    // Only the first part adds the bias.
    SmallVector<Value> biases;
    if (!sum && linear.getBias())
      biases.push_back(linear.getBias());
    auto fused =
        FusedLinearOp::create(builder, linear.getLoc(), linear.getType(), part,
                              columns, biases, linear.getRoleAttr());
    if (sum)
      fused.getResidualMutable().assign(sum);
    sum = fused.getResult();
    begin += width;
  }
  linear.replaceAllUsesWith(sum);
  linear.erase();
}

void FuseConcatProjectionPass::runOnOperation() {
  SmallVector<LinearOp> linears;
  getOperation().walk([&](LinearOp linear) { linears.push_back(linear); });
  for (LinearOp linear : linears) {
    auto concat = linear.getX().getDefiningOp<ConcatOp>();
    auto weight = linear.getWeight().getDefiningOp<WeightOp>();
    if (!concat || !weight)
      continue;
    split(linear, concat, weight);
    ++numSplit;
    if (weight->use_empty())
      weight.erase();
    if (concat->use_empty())
      concat.erase();
  }
}
