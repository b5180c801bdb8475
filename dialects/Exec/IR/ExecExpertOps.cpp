//===- ExecExpertOps.cpp - Kernels of experts -----------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"

using namespace mlir;
using namespace mlir::exec;

DictionaryAttr MoeRouteOp::getKernelConfig() {
  ColumnView logits = viewOf(getLogits());
  return KernelConfig(getContext())
      .number("experts", logits.width)
      .number("top_k", columnsOf(getExperts()))
      .text("scoring", mtp::stringifyScoring(getScoring()))
      .flag("bias", bool(getBias()))
      .number("n_group", int64_t(getGroups()))
      .number("topk_group", int64_t(getKeep()))
      .flag("norm_topk", getNormalized())
      .real("scale", getScale())
      .number("x_stride", logits.stride)
      .get();
}

bool MoeRouteOp::readsAnyRow(size_t index) {
  return getOperand(index) == getBias();
}

DictionaryAttr MoePlanOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("experts", shapeOf(getStarts()).front() - 1)
      .number("top_k", columnsOf(getExperts()))
      .get();
}

llvm::SmallVector<Count> MoePlanOp::getKernelParams() {
  return {rowsOf(getPositions())};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult MoeGateUpOp::verify() {
  if (!ratio(rowsOf(getOrder()), rowsOf(getX()))) // C3
    return emitOpError("expected an order of as many rows for each of ")
           << getX().getType() << ", got " << getOrder().getType();
  return success();
}

DictionaryAttr MoeGateUpOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  return KernelConfig(getContext())
      .number("experts", shapeOf(getStarts()).front() - 1)
      .number("k", x.width)
      .number("inter", columnsOf(getY()))
      .elements(getDtype(), getGroup())
      .number("top_k", *ratio(rowsOf(getOrder()), rowsOf(getX())))
      .number("x_stride", x.stride)
      .panels(getWeight())
      .get();
}

llvm::SmallVector<Count> MoeGateUpOp::getKernelParams() {
  return {rowsOf(getX())};
}

Value MoeGateUpOp::getPackedWeight() { return getWeight(); }

DictionaryAttr MoeDownOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("experts", shapeOf(getStarts()).front() - 1)
      .number("k", columnsOf(getX()))
      .number("n", columnsOf(getY()))
      .elements(getDtype(), getGroup())
      .number("top_k", int64_t(getTopK()))
      .panels(getWeight())
      .get();
}

LogicalResult MoeDownOp::verify() {
  if (!divide(rowsOf(getX()), int64_t(getTopK()))) // C4
    return emitOpError("expected top_k to divide the rows of ")
           << getX().getType() << ", got " << getTopK();
  return success();
}

llvm::SmallVector<Count> MoeDownOp::getKernelParams() {
  return {*divide(rowsOf(getX()), int64_t(getTopK()))};
}

Value MoeDownOp::getPackedWeight() { return getWeight(); }

DictionaryAttr MoeCombineOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("width", columnsOf(getY()))
      .number("top_k", columnsOf(getWeights()))
      .flag("residual", bool(getResidual()))
      .flag("shared", bool(getShared()))
      .get();
}
