//===- ExecRowOps.cpp - Kernels that go row by row ------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"

using namespace mlir;
using namespace mlir::exec;

LogicalResult ColumnsOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          llvm::SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getX().getType());
  int64_t begin = adaptor.getBegin(), end = adaptor.getEnd();
  if (begin < 0 || begin >= end || end > type.getDimSize(1)) // C1
    return emitOptionalError(location, "expected columns of ", type, ", got ",
                             begin, " to ", end);
  types.push_back(type.clone({type.getDimSize(0), end - begin}));
  return success();
}

LogicalResult ColumnsOp::verify() {
  if (getX().getDefiningOp<ColumnsOp>()) // C2
    return emitOpError("expected columns of what is no view itself");
  return success();
}

LogicalResult RegroupOp::verify() {
  if (elementsOf(getX()) != elementsOf(getResult())) // C1
    return emitOpError("expected as many numbers, got ")
           << getX().getType() << " and " << getType();
  if (getElementTypeOrSelf(getX()) != getElementTypeOrSelf(getType())) // C2
    return emitOpError("expected numbers of one type, got ")
           << getX().getType() << " and " << getType();
  if (getX().getDefiningOp<ColumnsOp>()) // C3
    return emitOpError("expected what is no view of columns");
  return success();
}

DictionaryAttr EmbedOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("width", columnsOf(getY()))
      .number("vocab", shapeOf(getTable()).front())
      .elements(getDtype(), getGroup())
      .get();
}

bool EmbedOp::readsAnyRow(size_t index) {
  return getOperand(index) == getTable();
}

Value EmbedOp::getPackedWeight() { return getTable(); }

DictionaryAttr MaskFirstOp::getKernelConfig() {
  return KernelConfig(getContext()).number("width", columnsOf(getY())).get();
}

//===----------------------------------------------------------------------===//
// RmsNormOp
//===----------------------------------------------------------------------===//

LogicalResult RmsNormOp::verify() {
  int64_t groups = getGroups(), width = columnsOf(getX());
  if (groups < 1 || width % groups != 0) // C2
    return emitOpError("expected groups that divide ")
           << width << " columns, got " << groups;
  return success();
}

DictionaryAttr RmsNormOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  int64_t groups = getGroups();
  return KernelConfig(getContext())
      .number("width", x.width / groups)
      .number("groups", groups)
      .real("eps", getEps())
      .number("offset", int64_t(getOffset()))
      .number("x_stride", x.stride)
      .number("y_stride", x.width)
      .get();
}

bool RmsNormOp::readsAnyRow(size_t index) {
  return getOperand(index) == getWeight();
}

DictionaryAttr RoundRowsOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  return KernelConfig(getContext())
      .number("width", x.width)
      .number("x_stride", x.stride)
      .flag("norm", bool(getNorm()))
      .real("eps", getEps().value_or(llvm::APFloat(0.0f)))
      .number("offset", int64_t(getOffset()))
      .get();
}

bool RoundRowsOp::readsAnyRow(size_t index) {
  return getOperand(index) == getNorm();
}

DictionaryAttr AddBiasOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  return KernelConfig(getContext())
      .number("width", x.width)
      .number("x_stride", x.stride)
      .number("y_stride", x.width)
      .get();
}

bool AddBiasOp::readsAnyRow(size_t index) {
  return getOperand(index) == getBias();
}

//===----------------------------------------------------------------------===//
// Pairs and copies
//===----------------------------------------------------------------------===//

template <typename OpT>
static DictionaryAttr pairConfig(OpT op) {
  int64_t width = columnsOf(op.getY());
  return KernelConfig(op.getContext())
      .number("width", width)
      .number("a_stride", viewOf(op.getA()).stride)
      .number("b_stride", viewOf(op.getB()).stride)
      .number("y_stride", width)
      .get();
}

DictionaryAttr AddOp::getKernelConfig() { return pairConfig(*this); }

DictionaryAttr SwigluOp::getKernelConfig() { return pairConfig(*this); }

LogicalResult ConcatOp::verify() {
  int64_t width = columnsOf(getA()) + columnsOf(getB());
  if (columnsOf(getY()) != width) // C2
    return emitOpError("expected ")
           << width << " columns of the result, got " << getY().getType();
  return success();
}

DictionaryAttr ConcatOp::getKernelConfig() {
  ColumnView a = viewOf(getA()), b = viewOf(getB());
  KernelConfig config(getContext());
  config.number("a_width", a.width).number("b_width", b.width);
  if (!a.isWhole())
    config.number("a_stride", a.stride);
  if (!b.isWhole())
    config.number("b_stride", b.stride);
  return config.get();
}

DictionaryAttr CopyOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  return KernelConfig(getContext())
      .number("width", x.width)
      .number("x_stride", x.stride)
      .number("y_stride", x.width)
      .number("x_offset", 0)
      .number("y_offset", 0)
      .get();
}

DictionaryAttr GatherRowsOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("width", columnsOf(getResult()))
      .get();
}

llvm::SmallVector<Count> GatherRowsOp::getKernelParams() {
  return {rowsOf(getResult()), rowsOf(getX())};
}
