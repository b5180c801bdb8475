//===- ExecStateOps.cpp - Kernels of states and moved entries -------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

/// Returns the number of rows that a slot has in a state.
static int64_t rowsPerSlot(Value state) {
  llvm::ArrayRef<int64_t> shape = shapeOf(state);
  return shape.size() == 3 ? shape[1] : 1;
}

/// Checks that `rows` are an equal number for each slot, and fit the state.
static LogicalResult verifyRows(Operation *op, Value slots, Value state,
                                Value x, Count rows) {
  std::optional<int64_t> each = ratio(rows, rowsOf(slots));
  if (!each || *each > rowsPerSlot(state) || columnsOf(x) != columnsOf(state))
    return op->emitOpError("expected at most ")
           << rowsPerSlot(state) << " rows of " << columnsOf(state)
           << " columns for each of " << rowsOf(slots) << " slots, got " << rows
           << " rows of " << x.getType();
  return success();
}

template <typename KernelT>
static KernelAttrInterface makeSlotRows(MLIRContext *context, Value state) {
  return KernelT::get(context, {.width = columnsOf(state),
                                .rows = rowsPerSlot(state),
                                .slots = rowLimitOf(state)});
}

//===----------------------------------------------------------------------===//
// ReadStateOp and WriteStateOp
//===----------------------------------------------------------------------===//

LogicalResult ReadStateOp::verify() {
  return verifyRows(*this, getSlots(), getState(), getY(),
                    rowsOf(getY())); // C1
}

KernelAttrInterface ReadStateOp::makeKernel() {
  return makeSlotRows<ReadStateKernelAttr>(getContext(), getState());
}

llvm::SmallVector<Count> ReadStateOp::getKernelParams() {
  Count slots = rowsOf(getSlots());
  return {slots, *ratio(rowsOf(getY()), slots)};
}

/// Returns the number of rows that are written, over all slots.
static Count writtenRows(WriteStateOp op) {
  Value index = op.getIndex();
  return index ? rowsOf(index) * columnsOf(index) : rowsOf(op.getX());
}

LogicalResult WriteStateOp::verify() {
  return verifyRows(*this, getSlots(), getState(), getX(),
                    writtenRows(*this)); // C1
}

KernelAttrInterface WriteStateOp::makeKernel() {
  return getIndex()
             ? makeSlotRows<WriteStateAtKernelAttr>(getContext(), getState())
             : makeSlotRows<WriteStateKernelAttr>(getContext(), getState());
}

llvm::SmallVector<Count> WriteStateOp::getKernelParams() {
  Count slots = rowsOf(getSlots());
  llvm::SmallVector<Count> params{slots, *ratio(writtenRows(*this), slots)};
  if (getIndex())
    params.push_back(rowsOf(getX()));
  return params;
}

bool WriteStateOp::updatesOperand(size_t index) {
  return getOperand(index) == getState();
}

//===----------------------------------------------------------------------===//
// ConcatRowsOp
//===----------------------------------------------------------------------===//

LogicalResult ConcatRowsOp::verify() {
  int64_t headRows = getHeadRows(), tailRows = getTailRows();
  int64_t width = columnsOf(getY());
  Count heads = rowsOf(getHeads()), tails = rowsOf(getTails());
  std::optional<Count> slots = divide(heads, headRows);
  if (!slots || headRows < 1 || tailRows < 1 || *slots * tailRows != tails ||
      rowsOf(getY()) != heads + tails || columnsOf(getHeads()) != width ||
      columnsOf(getTails()) != width) // C1
    return emitOpError("expected ")
           << headRows << " and " << tailRows
           << " rows for each slot, and all in the result, got "
           << getHeads().getType() << " and " << getTails().getType() << " for "
           << getY().getType();
  return success();
}

KernelAttrInterface ConcatRowsOp::makeKernel() {
  return ConcatRowsKernelAttr::get(getContext(), {.width = columnsOf(getY())});
}

llvm::SmallVector<Count> ConcatRowsOp::getKernelParams() {
  int64_t headRows = getHeadRows(), tailRows = getTailRows();
  return {*divide(rowsOf(getHeads()), headRows), headRows, tailRows};
}

//===----------------------------------------------------------------------===//
// MoveEntriesOp
//===----------------------------------------------------------------------===//

KernelAttrInterface MoveEntriesOp::makeKernel() {
  auto pages = cast<MemRefType>(getPages().getType());
  return KvMoveKernelAttr::get(getContext(),
                               {.entry_width = pages.getDimSize(2),
                                .dtype = pages.getElementType(),
                                .page = pages.getDimSize(1),
                                .cache_heads = int64_t(getCacheHeads()),
                                .slots = rowLimitOf(getPageTable())});
}

llvm::SmallVector<Count> MoveEntriesOp::getKernelParams() {
  return {rowsOf(getSlots()), columnsOf(getPageTable()), columnsOf(getFrom())};
}
