//===- ExecAttentionOps.cpp - Kernels of attention ------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"

using namespace mlir;
using namespace mlir::exec;

/// What attention and its parts share.
template <typename OpT>
static KernelConfig attentionConfig(OpT op, int64_t values) {
  ColumnView q = viewOf(op.getQ());
  auto pages = cast<MemRefType>(op.getPages().getType());
  int64_t heads = op.getHeads();
  KernelConfig config(op.getContext());
  config.number("q_heads", heads)
      .number("kv_heads", int64_t(op.getKvHeads()))
      .number("dk", q.width / heads)
      .number("dv", values)
      .number("page", pages.getDimSize(1))
      .number("entry_width", pages.getDimSize(2))
      .number("k_offset", int64_t(op.getKeysAt()))
      .number("v_offset", int64_t(op.getValuesAt()))
      .elements(pages.getElementType())
      .real("scale", op.getScale())
      .number("q_stride", q.stride);
  if (int64_t heads = op.getCacheHeads(); heads > 1)
    config.number("cache_heads", heads);
  if (std::optional<int64_t> part = op.getPart())
    config.number("part", *part);
  return config;
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
  if (getTree() && getWindow() != 0) // C3
    return emitOpError("expected no window over the rows of a tree, got ")
           << getWindow();
  if (getNodes() && (!getTree() || *getNodes() < 1 || *getNodes() > 64)) // C3
    return emitOpError("expected 1 to 64 nodes of a tree, got ") << *getNodes();
  return verifyHeads(*this, getY(), getHeads()); // C2
}

llvm::StringRef AttentionOp::getKernelKind() {
  return getTree() ? "attention_tree" : "attention";
}

DictionaryAttr AttentionOp::getKernelConfig() {
  int64_t width = columnsOf(getY());
  KernelConfig config = attentionConfig(*this, width / int64_t(getHeads()));
  config.number("y_stride", width);
  if (!getTree())
    config.number("window", int64_t(getWindow()));
  if (getNodes())
    config.number("block", shapeOf(getTree()).front());
  return config.get();
}

llvm::SmallVector<Count> AttentionOp::getKernelParams() {
  llvm::SmallVector<Count> params{rowsOf(getQ()), columnsOf(getPageTable())};
  if (Value masks = getTree())
    params.push_back(getNodes() ? int64_t(*getNodes())
                                : shapeOf(masks).front());
  return params;
}

//===----------------------------------------------------------------------===//
// AttentionPartsOp and AttentionJoinOp
//===----------------------------------------------------------------------===//

LogicalResult AttentionPartsOp::verify() {
  return verifyHeads(*this, getLeft(), getParts()); // C2
}

DictionaryAttr AttentionPartsOp::getKernelConfig() {
  int64_t parts = getParts();
  return attentionConfig(*this, int64_t(getValues()))
      .number("window", int64_t(getWindow()))
      .number("splits", int64_t(getSplits()))
      .number("parts", parts)
      .number("part_stride", columnsOf(getLeft()) / parts)
      .get();
}

llvm::SmallVector<Count> AttentionPartsOp::getKernelParams() {
  return {rowsOf(getQ()), columnsOf(getPageTable())};
}

DictionaryAttr AttentionJoinOp::getKernelConfig() {
  int64_t parts = getParts(), heads = getHeads(), width = columnsOf(getY());
  return KernelConfig(getContext())
      .number("q_heads", heads)
      .number("kv_heads", int64_t(getKvHeads()))
      .number("dv", width / heads)
      .elements(getDtype())
      .number("part", int64_t(getPart()))
      .number("window", int64_t(getWindow()))
      .number("y_stride", width)
      .number("parts", parts)
      .number("part_stride", columnsOf(getLeft()) / parts)
      .get();
}
