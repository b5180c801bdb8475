//===- ExecStateOps.cpp - Kernels of states and moved entries -------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"

using namespace mlir;
using namespace mlir::exec;

/// Rows that one slot has of a state.
static int64_t rowsPerSlot(Value state) {
  llvm::ArrayRef<int64_t> shape = shapeOf(state);
  return shape.size() == 3 ? shape[1] : 1;
}

/// Whether `rows` are as many for each slot, of which the state has room for.
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

static DictionaryAttr stateConfig(MLIRContext *context, Value state) {
  return KernelConfig(context)
      .number("width", columnsOf(state))
      .number("rows", rowsPerSlot(state))
      .get();
}

//===----------------------------------------------------------------------===//
// ReadStateOp and WriteStateOp
//===----------------------------------------------------------------------===//

LogicalResult ReadStateOp::verify() {
  return verifyRows(*this, getSlots(), getState(), getY(),
                    rowsOf(getY())); // C1
}

DictionaryAttr ReadStateOp::getKernelConfig() {
  return stateConfig(getContext(), getState());
}

llvm::SmallVector<Count> ReadStateOp::getKernelParams() {
  Count slots = rowsOf(getSlots());
  return {slots, *ratio(rowsOf(getY()), slots)};
}

/// Rows that are written, of all slots.
static Count writtenRows(WriteStateOp op) {
  Value index = op.getIndex();
  return index ? rowsOf(index) * columnsOf(index) : rowsOf(op.getX());
}

LogicalResult WriteStateOp::verify() {
  return verifyRows(*this, getSlots(), getState(), getX(),
                    writtenRows(*this)); // C1
}

llvm::StringRef WriteStateOp::getKernelKind() {
  return getIndex() ? "write_state_at" : "write_state";
}

DictionaryAttr WriteStateOp::getKernelConfig() {
  return stateConfig(getContext(), getState());
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
           << " rows for each of as many slots, and all in the result, got "
           << getHeads().getType() << " and " << getTails().getType() << " for "
           << getY().getType();
  return success();
}

DictionaryAttr ConcatRowsOp::getKernelConfig() {
  return KernelConfig(getContext()).number("width", columnsOf(getY())).get();
}

llvm::SmallVector<Count> ConcatRowsOp::getKernelParams() {
  int64_t headRows = getHeadRows(), tailRows = getTailRows();
  return {*divide(rowsOf(getHeads()), headRows), headRows, tailRows};
}

//===----------------------------------------------------------------------===//
// MoveEntriesOp
//===----------------------------------------------------------------------===//

DictionaryAttr MoveEntriesOp::getKernelConfig() {
  auto pages = cast<MemRefType>(getPages().getType());
  KernelConfig config(getContext());
  config.elements(pages.getElementType())
      .number("page", pages.getDimSize(1))
      .number("entry_width", pages.getDimSize(2));
  if (int64_t heads = getCacheHeads(); heads > 1)
    config.number("cache_heads", heads);
  return config.get();
}

llvm::SmallVector<Count> MoveEntriesOp::getKernelParams() {
  return {rowsOf(getSlots()), columnsOf(getPageTable()), columnsOf(getFrom())};
}
