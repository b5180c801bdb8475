//===- ExecVocabularyOps.cpp - Kernels over rows of logits ----------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// One number per row
//===----------------------------------------------------------------------===//

static LogicalResult verifyColumn(Operation *op, Value y) {
  if (columnsOf(y) == 1) // C2
    return success();
  return op->emitOpError("expected one column, got ") << y.getType();
}

template <typename KernelT>
static KernelAttrInterface rowNumberOf(Operation *op, Value operand) {
  ColumnView x = viewOf(operand);
  return KernelT::get(op->getContext(),
                      {.width = x.width, .x_stride = x.stride});
}

LogicalResult LogSumExpOp::verify() { return verifyColumn(*this, getY()); }

KernelAttrInterface LogSumExpOp::makeKernel() {
  return rowNumberOf<LogSumExpKernelAttr>(*this, getX());
}

LogicalResult EntropyOp::verify() { return verifyColumn(*this, getY()); }

KernelAttrInterface EntropyOp::makeKernel() {
  return rowNumberOf<EntropyKernelAttr>(*this, getX());
}

KernelAttrInterface LogSoftmaxOp::makeKernel() {
  return rowNumberOf<LogSoftmaxKernelAttr>(*this, getX());
}

//===----------------------------------------------------------------------===//
// Keys of sampling
//===----------------------------------------------------------------------===//

LogicalResult SampleKeysOp::verify() {
  if (getNumbers() && rowsOf(getNumbers()) != rowsOf(getX())) // C4
    return emitOpError("expected a number for each row, got ")
           << getNumbers().getType();
  return verifyColumn(*this, getSums()); // C4
}

KernelAttrInterface SampleKeysOp::makeKernel() {
  return SampleKeysKernelAttr::get(getContext(),
                                   {.width = columnsOf(getX()),
                                    .mapped = bool(getTokens()),
                                    .numbered = bool(getNumbers()),
                                    .slots = rowLimitOf(getSampling())});
}

bool SampleKeysOp::readsAnyRow(size_t index) {
  Value operand = getOperand(index);
  return operand == getTokens() || operand == getSampling();
}

//===----------------------------------------------------------------------===//
// Some columns
//===----------------------------------------------------------------------===//

LogicalResult GatherColumnsOp::verify() {
  Value rows = getPlaces() ? getPlaces() : getX();
  if (rowsOf(rows) == rowsOf(getColumns())) // C1
    return success();
  return emitOpError("expected columns for each row of ")
         << rows.getType() << ", got " << getColumns().getType();
}

KernelAttrInterface GatherColumnsOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return GatherColumnsKernelAttr::get(getContext(),
                                      {.width = x.width,
                                       .count = columnsOf(getY()),
                                       .packed = bool(getPlaces()),
                                       .x_stride = x.stride});
}

llvm::SmallVector<Count> GatherColumnsOp::getKernelParams() {
  return {rowsOf(getY()), rowsOf(getX())};
}

bool GatherColumnsOp::readsAnyRow(size_t index) {
  return getPlaces() && getOperand(index) == getX();
}

// Packed rows do not have the order of the call's rows, even if their number is
// the same.
bool GatherColumnsOp::followsRowsOf(size_t index) {
  return !readsAnyRow(index) && hasCallsRows(*this, index);
}

LogicalResult TopKOp::verify() {
  Value sums = getSums();
  if (!sums || (rowsOf(sums) == rowsOf(getX()) && columnsOf(sums) == 1 &&
                viewOf(sums).stride <= 1)) // C3
    return success();
  return emitOpError("expected a sum for each row, side by side, got ")
         << sums.getType();
}

KernelAttrInterface TopKOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return TopKKernelAttr::get(getContext(), {.width = x.width,
                                            .k = columnsOf(getLogs()),
                                            .x_stride = x.stride,
                                            .summed = bool(getSums())});
}

//===----------------------------------------------------------------------===//
// Columns that are allowed
//===----------------------------------------------------------------------===//

LogicalResult MaskColumnsOp::verify() {
  bool hasRows = shapeOf(getState()).size() == 3;
  bool fits = columnsOf(getState()) ==
                  int64_t(llvm::divideCeil(uint64_t(columnsOf(getX())), 32)) &&
              hasRows == bool(getAt()) &&
              (!getAt() || rowsOf(getAt()) == rowsOf(getX()));
  if (fits) // C3
    return success();
  return emitOpError("expected a bit for each column of ")
         << getX().getType() << ", in a row that each of its rows names, got "
         << getState().getType();
}

KernelAttrInterface MaskColumnsOp::makeKernel() {
  ColumnView x = viewOf(getX());
  llvm::ArrayRef<int64_t> state = shapeOf(getState());
  return MaskColumnsKernelAttr::get(getContext(),
                                    {.width = x.width,
                                     .rows = state.size() == 3 ? state[1] : 1,
                                     .chosen = bool(getAt()),
                                     .x_stride = x.stride,
                                     .slots = rowLimitOf(getState())});
}

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

LogicalResult ProbabilitiesOp::verify() {
  if (ratio(rowsOf(getX()), rowsOf(getSlots()))) // C3
    return success();
  return emitOpError("expected a fixed number of rows for each of ")
         << rowsOf(getSlots()) << " slots, got " << getX().getType();
}

KernelAttrInterface ProbabilitiesOp::makeKernel() {
  return ProbabilitiesKernelAttr::get(
      getContext(),
      {.width = columnsOf(getX()), .slots = rowLimitOf(getSampling())});
}

llvm::SmallVector<Count> ProbabilitiesOp::getKernelParams() {
  return {rowsOf(getX()), rowsOf(getSlots())};
}

bool ProbabilitiesOp::readsAnyRow(size_t index) {
  return getOperand(index) != getX();
}

LogicalResult SampleResidualOp::verify() {
  Count picks = rowsOf(getPicks());
  if (getPlaces() && !getAt()) // C4
    return emitOpError("expected places with a row for each pick, got none");
  auto isForEach = [&](Value rows) {
    std::optional<int64_t> each = ratio(rowsOf(rows), picks);
    return each && *each >= 1 && (getAt() || *each == 1);
  };
  auto isWide = [&](Value rows) {
    return columnsOf(rows) == columnsOf(getP());
  };
  if (isForEach(getPlaces() ? getPlaces() : getP()) &&
      (!getQ() || (isForEach(getQ()) && isWide(getQ()))) &&
      (!getAt() || rowsOf(getAt()) == picks)) // C3
    return success();
  return emitOpError("expected a fixed number of rows of ")
         << columnsOf(getP()) << " columns for each of " << picks
         << " picks, got " << getOperandTypes();
}

KernelAttrInterface SampleResidualOp::makeKernel() {
  int64_t packed =
      getPlaces() ? *ratio(rowsOf(getPlaces()), rowsOf(getPicks())) : 0;
  return SampleResidualKernelAttr::get(getContext(),
                                       {.width = columnsOf(getP()),
                                        .less = bool(getQ()),
                                        .chosen = bool(getAt()),
                                        .packed = packed});
}

// Packed rows do not have the order of the picks, even if their number is the
// same.
bool SampleResidualOp::followsRowsOf(size_t index) {
  bool isPacked = getPlaces() && getOperand(index) == getP();
  return !isPacked && hasCallsRows(*this, index);
}

llvm::SmallVector<Count> SampleResidualOp::getKernelParams() {
  return {rowsOf(getPicks()), rowsOf(getP()),
          getQ() ? rowsOf(getQ()) : Count(1)};
}
