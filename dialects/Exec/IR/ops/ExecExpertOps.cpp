//===- ExecExpertOps.cpp - Kernels of experts -----------------------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

KernelAttrInterface MoeRouteOp::makeKernel() {
  ColumnView logits = viewOf(getLogits());
  return MoeRouteKernelAttr::get(getContext(),
                                 {.experts = logits.width,
                                  .top_k = columnsOf(getExperts()),
                                  .scoring = getScoring(),
                                  .bias = bool(getBias()),
                                  .n_group = int64_t(getGroups()),
                                  .topk_group = int64_t(getKeep()),
                                  .norm_topk = getNormalized(),
                                  .scale = getScaleAttr(),
                                  .x_stride = logits.stride});
}

bool MoeRouteOp::readsAnyRow(size_t index) {
  return getOperand(index) == getBias();
}

KernelAttrInterface MoePlanOp::makeKernel() {
  return MoePlanKernelAttr::get(getContext(),
                                {.experts = shapeOf(getStarts()).front() - 1,
                                 .top_k = columnsOf(getExperts())});
}

llvm::SmallVector<Count> MoePlanOp::getKernelParams() {
  return {rowsOf(getPositions())};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult MoeGateUpOp::verify() {
  if (!ratio(rowsOf(getOrder()), rowsOf(getX()))) // C2
    return emitOpError(
               "expected an order with a fixed number of rows for each of ")
           << getX().getType() << ", got " << getOrder().getType();
  return success();
}

KernelAttrInterface MoeGateUpOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return MoeGateUpKernelAttr::get(
      getContext(), {.experts = shapeOf(getStarts()).front() - 1,
                     .k = x.width,
                     .inter = columnsOf(getY()),
                     .format = getFormat(),
                     .fragments = isInFragments(getWeight()),
                     .panel = panelWidthOf(getWeight()),
                     .top_k = *ratio(rowsOf(getOrder()), rowsOf(getX())),
                     .x_stride = x.stride});
}

llvm::SmallVector<Count> MoeGateUpOp::getKernelParams() {
  return {rowsOf(getX())};
}

Value MoeGateUpOp::getPackedWeight() { return getWeight(); }

KernelAttrInterface MoeDownOp::makeKernel() {
  return MoeDownKernelAttr::get(getContext(),
                                {.experts = shapeOf(getStarts()).front() - 1,
                                 .k = columnsOf(getX()),
                                 .n = columnsOf(getY()),
                                 .format = getFormat(),
                                 .fragments = isInFragments(getWeight()),
                                 .panel = panelWidthOf(getWeight()),
                                 .top_k = int64_t(getTopK())});
}

LogicalResult MoeDownOp::verify() {
  if (!divide(rowsOf(getX()), int64_t(getTopK()))) // C3
    return emitOpError("expected top_k to divide the rows of ")
           << getX().getType() << ", got " << getTopK();
  return success();
}

llvm::SmallVector<Count> MoeDownOp::getKernelParams() {
  return {*divide(rowsOf(getX()), int64_t(getTopK()))};
}

Value MoeDownOp::getPackedWeight() { return getWeight(); }

KernelAttrInterface MoeCombineOp::makeKernel() {
  return MoeCombineKernelAttr::get(getContext(),
                                   {.width = columnsOf(getY()),
                                    .top_k = columnsOf(getWeights()),
                                    .residual = bool(getResidual()),
                                    .shared = bool(getShared())});
}
