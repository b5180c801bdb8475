//===- ExecProductOps.cpp - Kernels of products ---------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"
#include "dialects/Exec/IR/KernelKinds.h"

using namespace mlir;
using namespace mlir::exec;

/// What `exec.linear` and `exec.linear_argmax` share.
template <typename OpT>
static KernelConfig projectionConfig(OpT op, int64_t outputs) {
  ColumnView x = viewOf(op.getX());
  llvm::APFloat noEpsilon(0.0f);
  KernelConfig config(op.getContext());
  config.number("k", x.width)
      .number("n", outputs)
      .number("x_stride", x.stride)
      .elements(op.getDtype(), op.getGroup())
      .flag("norm", bool(op.getNorm()))
      .real("eps", op.getEps().value_or(noEpsilon))
      .number("offset", int64_t(op.getOffset()))
      .flag("bias", bool(op.getBias()))
      .panels(op.getWeight());
  return config;
}

DictionaryAttr LinearOp::getKernelConfig() {
  int64_t width = columnsOf(getY());
  Value residual = getResidual();
  return projectionConfig(*this, isGated() ? 2 * width : width)
      .number("y_stride", width)
      .flag("residual", bool(residual))
      .number("residual_stride", residual ? viewOf(residual).stride : 0)
      .text("activation", mtp::stringifyActivationKind(getActivation()))
      .get();
}

Value LinearOp::getPackedWeight() { return getWeight(); }

DictionaryAttr LinearArgmaxOp::getKernelConfig() {
  KernelConfig config = projectionConfig(*this, int64_t(getN()));
  if (getLogits())
    config.flag("logits", true);
  return config.get();
}

//===----------------------------------------------------------------------===//
// HeadLinearOp
//===----------------------------------------------------------------------===//

LogicalResult HeadLinearOp::verify() {
  int64_t heads = getHeads(), begin = getColBegin(), end = getColEnd();
  int64_t keepBegin = getKeepBegin(), keepEnd = getKeepEnd();
  bool divides = heads >= 1 && columnsOf(getX()) % heads == 0 &&
                 columnsOf(getY()) % heads == 0;
  if (!divides || begin < 0 || begin >= end || end > getHeadWidth() ||
      keepBegin < 0 || keepBegin > keepEnd || keepEnd > getHeadWidth() ||
      columnsOf(getY()) / heads <= getKeptColumns()) // C3
    return emitOpError("expected columns of heads of ")
           << getX().getType() << " and " << getY().getType() << ", got heads "
           << heads << ", cols " << begin << " to " << end << " and keep "
           << keepBegin << " to " << keepEnd;
  return success();
}

DictionaryAttr HeadLinearOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  int64_t heads = getHeads(), kept = getKeptColumns();
  int64_t width = columnsOf(getY());
  KernelConfig config(getContext());
  config.number("heads", heads)
      .number("k", int64_t(getColEnd()) - int64_t(getColBegin()))
      .number("n", width / heads - kept)
      .elements(getDtype())
      .number("x_stride", x.stride)
      .number("x_head_stride", getHeadWidth())
      .number("x_offset", int64_t(getColBegin()))
      .number("y_stride", width)
      .number("y_head_stride", width / heads)
      .number("y_offset", 0)
      .number("keep_width", kept)
      .number("keep_offset", int64_t(getKeepBegin()))
      .panels(getWeight());
  if (std::optional<RotationAttr> rotation = getRotation())
    config.flag("rotate", true)
        .number("dim", rotation->getDim())
        // Of what is kept.
        .number("offset", rotation->getOffset() - int64_t(getKeepBegin()))
        .text("layout", mtp::stringifyRopeLayout(rotation->getLayout()));
  return config.get();
}

//===----------------------------------------------------------------------===//
// Products of a library
//===----------------------------------------------------------------------===//

LogicalResult GemmOp::verify() {
  if (columnsOf(getX()) != columnsOf(getWeight()) ||
      Count(columnsOf(getY())) != rowsOf(getWeight())) // C2
    return emitOpError("expected a weight of ")
           << columnsOf(getY()) << " outputs and " << columnsOf(getX())
           << " inputs, got " << getWeight().getType();
  return success();
}

DictionaryAttr GemmOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("k", columnsOf(getX()))
      .number("n", columnsOf(getY()))
      .number("workspace", shapeOf(getWorkspace()).front())
      .get();
}

LogicalResult UnpackOp::verify() {
  int64_t halves = getGated() ? 2 : 1;
  Count n = rowsOf(getMatrix());
  bool holds = getElementTypeOrSelf(getWeight()).isBF16() &&
               isInFragments(getWeight()) && n.isFixed() &&
               n.base % halves == 0;
  if (holds) {
    ArrayRef<int64_t> packed = shapeOf(getWeight());
    holds =
        columnsOf(getMatrix()) == packed[1] * packed[3] &&
        halves * configPanels(DictionaryAttr(), n.base / halves) == packed[0];
  }
  if (!holds) // C1
    return emitOpError("expected fragments of ")
           << getMatrix().getType() << ", got " << getWeight().getType();
  return success();
}

DictionaryAttr UnpackOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("k", columnsOf(getMatrix()))
      .number("n", rowsOf(getMatrix()).base)
      .elements(getElementTypeOrSelf(getMatrix().getType()))
      .flag("gated", getGated())
      .panels(getWeight())
      .get();
}
