//===- ExecCacheOps.cpp - Kernels of rotations and appends ----------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

/// Checks that `heads` divide the columns of `x`, and that a head has the
/// rotation's columns.
static LogicalResult verifyRotation(Operation *op, Value x, int64_t heads,
                                    RotationAttr rotation) {
  int64_t width = columnsOf(x);
  if (heads < 1 || width % heads != 0 ||
      rotation.getOffset() + rotation.getDim() > width / heads)
    return op->emitOpError("expected heads that divide ")
           << x.getType() << " and have the columns of " << rotation << ", got "
           << heads;
  return success();
}

/// Checks that `width` columns from `at` on lie in an entry of `op`'s layer.
template <typename OpT>
static LogicalResult verifyColumns(OpT op, int64_t at, int64_t width) {
  int64_t entry = columnsOf(op.getPages());
  if (at < 0 || at + width > entry)
    return op.emitOpError("expected columns of an entry of ")
           << entry << ", got " << at << " to " << at + width;
  return success();
}

//===----------------------------------------------------------------------===//
// RopeOp
//===----------------------------------------------------------------------===//

LogicalResult RopeOp::verify() {
  return verifyRotation(*this, getX(), getHeads(), getRotation()); // C3
}

KernelAttrInterface RopeOp::makeKernel() {
  ColumnView x = viewOf(getX());
  int64_t heads = getHeads(), head = x.width / heads;
  return RopeKernelAttr::get(getContext(),
                             {.heads = heads,
                              .rotation = getRotation(),
                              .head_stride = head,
                              .copy_width = head,
                              .x_stride = x.stride,
                              .y_stride = x.width,
                              .positions = rowLimitOf(getTable())});
}

bool RopeOp::readsAnyRow(size_t index) {
  return getOperand(index) == getTable();
}

//===----------------------------------------------------------------------===//
// KvAppendOp
//===----------------------------------------------------------------------===//

LogicalResult KvAppendOp::verify() {
  return verifyColumns(*this, getAt(), columnsOf(getX())); // C2
}

KernelAttrInterface KvAppendOp::makeKernel() {
  ColumnView x = viewOf(getX());
  auto pages = cast<MemRefType>(getPages().getType());
  return KvAppendKernelAttr::get(getContext(),
                                 {.width = x.width,
                                  .dtype = pages.getElementType(),
                                  .page = pages.getDimSize(1),
                                  .entry_width = pages.getDimSize(2),
                                  .entry_offset = int64_t(getAt()),
                                  .cache_heads = int64_t(getCacheHeads()),
                                  .x_stride = x.stride,
                                  .slots = rowLimitOf(getPageTable())});
}

llvm::SmallVector<Count> KvAppendOp::getKernelParams() {
  return {rowsOf(getX()), columnsOf(getPageTable())};
}

bool KvAppendOp::readsAnyRow(size_t index) {
  return getOperand(index) == getPageTable();
}

//===----------------------------------------------------------------------===//
// RopeAppendOp
//===----------------------------------------------------------------------===//

LogicalResult RopeAppendOp::verify() {
  if (failed(verifyRotation(*this, getKeys(), getHeads(), getRotation())) ||
      failed(verifyColumns(*this, getKeysAt(), columnsOf(getKeys()))))
    return failure(); // C4
  return verifyColumns(*this, getValuesAt(), columnsOf(getValues()));
}

/// Returns the parameters of keys and values, with or without queries.
template <typename KernelT>
static typename KernelT::Params entryParams(RopeAppendOp op) {
  ColumnView keys = viewOf(op.getKeys()), values = viewOf(op.getValues());
  auto pages = cast<MemRefType>(op.getPages().getType());
  typename KernelT::Params params;
  params.k_heads = op.getHeads();
  params.rotation = op.getRotation();
  params.head_stride = keys.width / params.k_heads;
  params.v_width = values.width;
  params.k_offset = op.getKeysAt();
  params.v_offset = op.getValuesAt();
  params.dtype = pages.getElementType();
  params.page = pages.getDimSize(1);
  params.entry_width = pages.getDimSize(2);
  params.cache_heads = op.getCacheHeads();
  params.k_stride = keys.stride;
  params.v_stride = values.stride;
  params.slots = rowLimitOf(op.getPageTable());
  params.positions = rowLimitOf(op.getTable());
  return params;
}

KernelAttrInterface RopeAppendOp::makeKernel() {
  if (!getQueries())
    return RopeKvAppendKernelAttr::get(
        getContext(), entryParams<RopeKvAppendKernelAttr>(*this));
  auto params = entryParams<RopeQkvAppendKernelAttr>(*this);
  ColumnView queries = viewOf(getQueries());
  params.q_heads = queries.width / params.head_stride;
  params.q_stride = queries.stride;
  params.y_stride = queries.width;
  return RopeQkvAppendKernelAttr::get(getContext(), params);
}

llvm::SmallVector<Count> RopeAppendOp::getKernelParams() {
  return {rowsOf(getKeys()), columnsOf(getPageTable())};
}

bool RopeAppendOp::readsAnyRow(size_t index) {
  Value operand = getOperand(index);
  return operand == getTable() || operand == getPageTable();
}
