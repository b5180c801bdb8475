//===- ExecProductOps.cpp - Kernels of products ---------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/PreparedRows.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Prepared rows
//===----------------------------------------------------------------------===//

/// Returns columns and element type of rows of `k` inputs for weights of
/// `format`.
static std::pair<int64_t, Type> preparedColumns(int64_t k, FormatAttr format) {
  MLIRContext *context = format.getContext();
  int64_t bytes = PreparedRows{format.getFormat(), k}.rowBytes();
  if (format.isQuantized())
    return {bytes, IntegerType::get(context, 8)};
  return {bytes / 2, BFloat16Type::get(context)};
}

RankedTensorType PrepareRowsOp::typeFor(Value x, FormatAttr format) {
  auto [columns, element] = preparedColumns(columnsOf(x), format);
  return rowsType(rowsOf(x), columns, element);
}

LogicalResult PrepareRowsOp::verify() {
  if (getY().getType() != typeFor(getX(), getFormat())) // C3
    return emitOpError("expected y of ")
           << typeFor(getX(), getFormat()) << ", got " << getY().getType();
  return success();
}

bool PrepareRowsOp::readsAnyRow(size_t index) {
  return getOperand(index) == getNorm();
}

KernelAttrInterface PrepareRowsOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return PrepareRowsKernelAttr::get(getContext(),
                                    {.k = x.width,
                                     .format = getFormat(),
                                     .norm = bool(getNorm()),
                                     .eps = getEpsAttr(),
                                     .offset = int64_t(getOffset()),
                                     .x_stride = x.stride});
}

/// Reports an error unless rows of a product are f32, or prepared if the op
/// says so.
template <typename OpT>
static LogicalResult verifyRows(OpT op) {
  Type element = getElementTypeOrSelf(op.getX());
  if (!op.getPrepared()) {
    if (element.isF32())
      return success();
    return op.emitOpError("expected rows of f32, or 'prepared', got ")
           << op.getX().getType();
  }
  auto [columns, wanted] = preparedColumns(*op.getPrepared(), op.getFormat());
  if (element != wanted || columnsOf(op.getX()) != columns ||
      !isWhole(op.getX()) || op.getNorm())
    return op.emitOpError("expected ")
           << columns << " prepared columns of " << wanted
           << " and no norm, got " << op.getX().getType();
  return success();
}

/// Returns the inputs of a product's rows and the distance of rows in elements.
template <typename OpT>
static std::pair<int64_t, int64_t> inputsOf(OpT op) {
  if (op.getPrepared())
    return {*op.getPrepared(), 0};
  ColumnView x = viewOf(op.getX());
  return {x.width, x.stride};
}

//===----------------------------------------------------------------------===//
// LinearOp and LinearArgmaxOp
//===----------------------------------------------------------------------===//

LogicalResult LinearOp::verify() { return verifyRows(*this); } // C4

LogicalResult LinearArgmaxOp::verify() { return verifyRows(*this); } // C5

KernelAttrInterface LinearOp::makeKernel() {
  auto [k, stride] = inputsOf(*this);
  int64_t width = columnsOf(getY());
  Value residual = getResidual();
  return LinearKernelAttr::get(
      getContext(),
      {.k = k,
       .n = isGated() ? 2 * width : width,
       .format = getFormat(),
       .fragments = isInFragments(getWeight()),
       .panel = panelWidthOf(getWeight()),
       .prepared = getPrepared().has_value(),
       .norm = bool(getNorm()),
       .eps = getEpsAttr(),
       .offset = int64_t(getOffset()),
       .bias = bool(getBias()),
       .residual = bool(residual),
       .activation = getActivation(),
       .x_stride = stride,
       .y_stride = width,
       .residual_stride = residual ? viewOf(residual).stride : 0});
}

Value LinearOp::getPackedWeight() { return getWeight(); }

KernelAttrInterface LinearArgmaxOp::makeKernel() {
  auto [k, stride] = inputsOf(*this);
  return LinearArgmaxKernelAttr::get(getContext(),
                                     {.k = k,
                                      .n = int64_t(getN()),
                                      .format = getFormat(),
                                      .fragments = isInFragments(getWeight()),
                                      .panel = panelWidthOf(getWeight()),
                                      .prepared = getPrepared().has_value(),
                                      .norm = bool(getNorm()),
                                      .eps = getEpsAttr(),
                                      .offset = int64_t(getOffset()),
                                      .bias = bool(getBias()),
                                      .logits = bool(getLogits()),
                                      .x_stride = stride,
                                      .slots = rowLimitOf(getSampling())});
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

KernelAttrInterface HeadLinearOp::makeKernel() {
  ColumnView x = viewOf(getX());
  int64_t heads = getHeads(), kept = getKeptColumns();
  int64_t width = columnsOf(getY());
  RotationAttr rotation = getRotationAttr();
  if (rotation) // in the kept columns
    rotation = RotationAttr::get(getContext(), rotation.getDim(),
                                 rotation.getOffset() - int64_t(getKeepBegin()),
                                 rotation.getLayout());
  return HeadLinearKernelAttr::get(
      getContext(), {.heads = heads,
                     .k = int64_t(getColEnd()) - int64_t(getColBegin()),
                     .n = width / heads - kept,
                     .format = getFormat(),
                     .fragments = isInFragments(getWeight()),
                     .panel = panelWidthOf(getWeight()),
                     .x_stride = x.stride,
                     .x_head_stride = getHeadWidth(),
                     .x_offset = int64_t(getColBegin()),
                     .y_stride = width,
                     .y_head_stride = width / heads,
                     .keep_width = kept,
                     .keep_offset = int64_t(getKeepBegin()),
                     .rotation = rotation,
                     .positions = rowLimitOf(getTable())});
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

KernelAttrInterface GemmOp::makeKernel() {
  return GemmKernelAttr::get(getContext(),
                             {.k = columnsOf(getX()),
                              .n = columnsOf(getY()),
                              .workspace = shapeOf(getWorkspace()).front()});
}

LogicalResult UnpackOp::verify() {
  int64_t halves = getGated() ? 2 : 1;
  Count n = rowsOf(getMatrix());
  bool holds = getElementTypeOrSelf(getWeight()).isBF16() &&
               isInFragments(getWeight()) && n.isFixed() &&
               n.base % halves == 0;
  if (holds) {
    ArrayRef<int64_t> packed = shapeOf(getWeight());
    holds = columnsOf(getMatrix()) == packed[1] * packed[3] &&
            halves * panelCount(n.base / halves, panelWidthOf(getWeight())) ==
                packed[0];
  }
  if (!holds) // C1
    return emitOpError("expected fragments of ")
           << getMatrix().getType() << ", got " << getWeight().getType();
  return success();
}

KernelAttrInterface UnpackOp::makeKernel() {
  return UnpackKernelAttr::get(
      getContext(), {.k = columnsOf(getMatrix()),
                     .n = rowsOf(getMatrix()).base,
                     .format = FormatAttr::get(BFloat16Type::get(getContext())),
                     .fragments = isInFragments(getWeight()),
                     .panel = panelWidthOf(getWeight()),
                     .gated = getGated()});
}
