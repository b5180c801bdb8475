//===- ExecAttentionOps.cpp - Kernels of attention ------------------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

/// Checks shared by attention and attention splits; `values` is the width of
/// the values of a head.
template <typename KernelT, typename OpT>
static typename KernelT::Params entriesParams(OpT op, int64_t values) {
  ColumnView q = viewOf(op.getQ());
  auto pages = cast<MemRefType>(op.getPages().getType());
  typename KernelT::Params params;
  params.q_heads = op.getHeads();
  params.kv_heads = op.getKvHeads();
  params.dk = q.width / params.q_heads;
  params.dv = values;
  params.page = pages.getDimSize(1);
  params.entry_width = pages.getDimSize(2);
  params.cache_heads = op.getCacheHeads();
  params.k_offset = op.getKeysAt();
  params.v_offset = op.getValuesAt();
  params.dtype = pages.getElementType();
  params.scale = op.getScaleAttr();
  params.q_stride = q.stride;
  params.slots = rowLimitOf(op.getPageTable());
  params.split = op.getSplit().value_or(0);
  return params;
}

template <typename OpT>
static LogicalResult verifyHeads(OpT op, Value result, int64_t splits) {
  int64_t heads = op.getHeads(), keyHeads = op.getKvHeads();
  if (heads < 1 || keyHeads < 1 || heads % keyHeads != 0 || splits < 1 ||
      columnsOf(op.getQ()) % heads != 0 || columnsOf(result) % splits != 0)
    return op.emitOpError("expected heads that divide the columns of ")
           << op.getQ().getType() << " and " << result.getType() << ", got "
           << heads << " of queries, " << keyHeads << " of keys";
  return success();
}

//===----------------------------------------------------------------------===//
// AttentionOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::verify() {
  if (getTree() && rowsOf(getTree()) != rowsOf(getQ())) // C3
    return emitOpError("expected a mask for each row of ")
           << getQ().getType() << ", got " << getTree().getType();
  return verifyHeads(*this, getY(), getHeads()); // C2
}

KernelAttrInterface AttentionOp::makeKernel() {
  int64_t width = columnsOf(getY()), values = width / int64_t(getHeads());
  if (getTree()) {
    auto params = entriesParams<AttentionTreeKernelAttr>(*this, values);
    params.window = getWindow();
    params.y_stride = width;
    return AttentionTreeKernelAttr::get(getContext(), params);
  }
  auto params = entriesParams<AttentionKernelAttr>(*this, values);
  params.window = getWindow();
  params.y_stride = width;
  return AttentionKernelAttr::get(getContext(), params);
}

llvm::SmallVector<Count> AttentionOp::getKernelParams() {
  return {rowsOf(getQ()), columnsOf(getPageTable())};
}

//===----------------------------------------------------------------------===//
// AttentionSplitKvOp and AttentionCombineOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionSplitKvOp::verify() {
  return verifyHeads(*this, getLeft(), getSplits()); // C2
}

KernelAttrInterface AttentionSplitKvOp::makeKernel() {
  auto params =
      entriesParams<AttentionSplitKvKernelAttr>(*this, int64_t(getValues()));
  params.window = getWindow();
  params.splits = getSplits();
  params.split_stride = columnsOf(getLeft()) / params.splits;
  params.tasks_per_tile = getTasksPerTile();
  return AttentionSplitKvKernelAttr::get(getContext(), params);
}

llvm::SmallVector<Count> AttentionSplitKvOp::getKernelParams() {
  return {rowsOf(getQ()), columnsOf(getPageTable())};
}

KernelAttrInterface AttentionCombineOp::makeKernel() {
  int64_t splits = getSplits(), heads = getHeads(), width = columnsOf(getY());
  return AttentionCombineKernelAttr::get(
      getContext(), {.q_heads = heads,
                     .kv_heads = int64_t(getKvHeads()),
                     .dv = width / heads,
                     .dtype = getDtype(),
                     .split = int64_t(getSplit()),
                     .window = int64_t(getWindow()),
                     .splits = splits,
                     .split_stride = columnsOf(getLeft()) / splits,
                     .y_stride = width});
}
