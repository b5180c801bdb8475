//===- ExecAttentionOps.cpp - Kernels of attention ------------------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

/// Checks shared by attention and attention parts; `values` is the width of the
/// values of a head.
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
  params.part = op.getPart().value_or(0);
  return params;
}

template <typename OpT>
static LogicalResult verifyHeads(OpT op, Value result, int64_t parts) {
  int64_t heads = op.getHeads(), keyHeads = op.getKvHeads();
  if (heads < 1 || keyHeads < 1 || heads % keyHeads != 0 || parts < 1 ||
      columnsOf(op.getQ()) % heads != 0 || columnsOf(result) % parts != 0)
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
// AttentionPartsOp and AttentionJoinOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionPartsOp::verify() {
  return verifyHeads(*this, getLeft(), getParts()); // C2
}

KernelAttrInterface AttentionPartsOp::makeKernel() {
  auto params =
      entriesParams<AttentionPartsKernelAttr>(*this, int64_t(getValues()));
  params.window = getWindow();
  params.parts = getParts();
  params.part_stride = columnsOf(getLeft()) / params.parts;
  params.splits = getSplits();
  return AttentionPartsKernelAttr::get(getContext(), params);
}

llvm::SmallVector<Count> AttentionPartsOp::getKernelParams() {
  return {rowsOf(getQ()), columnsOf(getPageTable())};
}

KernelAttrInterface AttentionJoinOp::makeKernel() {
  int64_t parts = getParts(), heads = getHeads(), width = columnsOf(getY());
  return AttentionJoinKernelAttr::get(
      getContext(), {.q_heads = heads,
                     .kv_heads = int64_t(getKvHeads()),
                     .dv = width / heads,
                     .dtype = getDtype(),
                     .part = int64_t(getPart()),
                     .window = int64_t(getWindow()),
                     .parts = parts,
                     .part_stride = columnsOf(getLeft()) / parts,
                     .y_stride = width});
}
