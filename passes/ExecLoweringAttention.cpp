//===- ExecLoweringAttention.cpp - Kernels of rows and attention ----------===//

#include "passes/Envelope.h"
#include "passes/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

LogicalResult ExecLowering::lowerMakeRows(MakeRowsOp op) {
  rowContexts[op.getRows()] = {view(op.getSlots()).root,
                               view(op.getPositions()).root,
                               /*base=*/Value(), /*parents=*/{},
                               /*cachePositions=*/Value()};
  return success();
}

/// The depth of every node of a tree.
static SmallVector<int32_t> nodeDepths(llvm::ArrayRef<int64_t> parents) {
  SmallVector<int32_t> depths(parents.size(), 0);
  for (size_t node = 1; node < parents.size(); ++node) {
    depths[node] = depths[parents[node]] + 1;
  }
  return depths;
}

/// For every node the bits of itself and its ancestors.
static SmallVector<int64_t> ancestorMasks(llvm::ArrayRef<int64_t> parents) {
  SmallVector<int64_t> masks(parents.size(), 0);
  for (size_t node = 0; node < parents.size(); ++node) {
    int64_t inherited = node == 0 ? 0 : masks[parents[node]];
    masks[node] = inherited | int64_t(uint64_t(1) << node);
  }
  return masks;
}

LogicalResult ExecLowering::lowerTreeRows(TreeRowsOp op) {
  RowContext rows = rowsOf(op.getRows());
  if (rows.base) {
    return op.emitOpError("expected rows that are not a tree's already");
  }
  int64_t count = rowCount(rows.positions);
  llvm::ArrayRef<int64_t> parents = op.getParents();
  int64_t nodes = parents.size();
  if (count % nodes != 0) {
    return op.emitOpError("expected whole trees of ")
           << nodes << " rows, got " << count << " rows";
  }
  SmallVector<int32_t> depths = nodeDepths(parents);
  auto depthType = RankedTensorType::get({nodes}, builder.getI32Type());
  Type column = rows.positions.getType();
  auto results =
      KernelCall(*this, "tree_rows", op.getLoc())
          .arg(rows.positions)
          .arg(constant(DenseElementsAttr::get(
                            depthType, llvm::ArrayRef<int32_t>(depths)),
                        op.getLoc()))
          .param(count)
          .param(nodes)
          .emit({column, column, column});
  rowContexts[op.getResult()] = {rows.slots, results[0], results[1], parents,
                                 results[2]};
  return success();
}

LogicalResult ExecLowering::lowerRope(RopeOp op) {
  ActivationView x = view(op.getX());
  RopeAttr rope = op.getRope();
  if (!envelope) {
    return op.emitOpError("expected an mtp.envelope on the module: it says for "
                          "how many positions there are angles");
  }
  mapResult(
      op.getResult(),
      KernelCall(*this, "rope", op.getLoc())
          .arg(x)
          .arg(ropeTable(rope, op.getLoc()))
          .arg(rowsOf(op.getRows()).positions)
          .param(rowCount(op.getResult()))
          .config("heads", int64_t(op.getHeads()))
          .config("head_stride", int64_t(op.getHeadDim()))
          .config("offset", int64_t(op.getOffset()))
          .config("dim", int64_t(rope.getDim()))
          .config("layout", stringifyRopeLayout(rope.getLayout()))
          .config("x_stride", x.stride)
          .config("y_stride", x.width)
          .config("copy_width", int64_t(op.getHeadDim()))
          .emit(op.getType())
          .front());
  return success();
}

LogicalResult ExecLowering::lowerHeadLinear(HeadLinearOp op) {
  ActivationView x = view(op.getX());
  auto type = cast<RankedTensorType>(op.getWeight().getType());
  auto weight = op.getWeight().getDefiningOp<mtp::WeightOp>();
  int64_t heads = op.getHeads();
  int64_t kept = op.getKeptColumns();
  int64_t outputs = op.getHeadOutputs();
  Packing packing{"linear", type.getElementType(),
                  int64_t(op.getColEnd()) - int64_t(op.getColBegin()), outputs,
                  heads, {}};
  // The blocks lie within what the weight takes of its tensor.
  int64_t base = weight.getRowBegin().value_or(0);
  NamedAttrList block(source(weight));
  block.set("row_begin",
            builder.getI64IntegerAttr(base + int64_t(op.getBlockBegin())));
  block.set("row_end",
            builder.getI64IntegerAttr(base + int64_t(op.getBlockEnd())));
  block.set("row_stride", op.getBlockStrideAttr());
  block.set("transpose", builder.getBoolAttr(op.getTransposed()));
  packing.sources.push_back(block.getDictionary(builder.getContext()));
  int64_t rows = rowCount(op.getResult());
  int64_t width = columnCount(op.getResult());
  Value y = KernelCall(*this, "head_linear", op.getLoc())
                .arg(x)
                .arg(packed(packing, op.getLoc()))
                .param(rows)
                .config("heads", heads)
                .config("k", packing.k)
                .config("n", outputs)
                .dtype(packing.dtype)
                .config("x_stride", x.stride)
                .config("x_head_stride", x.width / heads)
                .config("x_offset", int64_t(op.getColBegin()))
                .config("y_stride", width)
                .config("y_head_stride", outputs + kept)
                .config("y_offset", int64_t(0))
                .config("keep_width", kept)
                .config("keep_offset", kept ? int64_t(*op.getKeepBegin()) : 0)
                .emit(op.getType())
                .front();
  mapResult(op.getResult(), y);
  return success();
}

/// Says how entries lie in pages, where not whole.
static void addCacheHeads(KernelCall &call, exec::CacheOp cache) {
  if (int64_t heads = cache.getHeads(); heads > 1) {
    call.config("cache_heads", heads);
  }
}

LogicalResult ExecLowering::lowerAppend(CacheAppendOp op) {
  ActivationView x = view(op.getX());
  const RowContext &rows = rowsOf(op.getRows());
  auto cache = symbols.lookup<exec::CacheOp>(op.getCache());
  Value pages = pageTable(op.getLoc());
  if (!pages) {
    return failure();
  }
  KernelCall call(*this, "kv_append", op.getLoc());
  call.arg(x)
      .arg(rows.slots)
      .arg(rows.base ? rows.cachePositions : rows.positions)
      .arg(pages)
      .arg(cacheLayer(op.getCache(), op.getLayer(), op.getLoc()))
      .param(rowCount(op.getX()))
      .param(pagesPerSlot(envelope))
      .config("width", x.width)
      .dtype(cache.getDtype())
      .config("page", int64_t(cache.getPage()))
      .config("entry_width", int64_t(cache.getEntry()))
      .config("entry_offset", int64_t(op.getAt()))
      .config("x_stride", x.stride);
  addCacheHeads(call, cache);
  call.emit({});
  return success();
}

LogicalResult ExecLowering::lowerAttention(CachedAttentionOp op) {
  ActivationView q = view(op.getQ());
  const RowContext &rows = rowsOf(op.getRows());
  auto cache = symbols.lookup<exec::CacheOp>(op.getCache());
  bool tree = bool(rows.base);
  if (tree && op.getWindow()) {
    return op.emitOpError("expected no window over the rows of a tree, got ")
           << *op.getWindow();
  }
  Value pages = pageTable(op.getLoc());
  if (!pages) {
    return failure();
  }
  KernelCall call(*this, tree ? "attention_tree" : "attention", op.getLoc());
  call.arg(q)
      .arg(rows.slots)
      .arg(tree ? rows.base : rows.positions)
      .arg(pages)
      .arg(cacheLayer(op.getCache(), op.getLayer(), op.getLoc()));
  call.param(rowCount(op.getQ())).param(pagesPerSlot(envelope));
  if (tree) {
    SmallVector<int64_t> masks = ancestorMasks(rows.parents);
    auto type = RankedTensorType::get({int64_t(masks.size())},
                                      builder.getI64Type());
    call.arg(constant(
        DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>(masks)),
        op.getLoc()));
    call.param(masks.size());
  }
  call.config("q_heads", int64_t(op.getHeads()))
      .config("kv_heads", int64_t(op.getKvHeads()))
      .config("dk", int64_t(op.getKeys()))
      .config("dv", int64_t(op.getValues()))
      .config("page", int64_t(cache.getPage()))
      .config("entry_width", int64_t(cache.getEntry()))
      .config("k_offset", int64_t(op.getKeysAt()))
      .config("v_offset", int64_t(op.getValuesAt()))
      .dtype(cache.getDtype())
      .config("scale", op.getScale().convertToDouble())
      .config("q_stride", q.stride)
      .config("y_stride", columnCount(op.getResult()));
  addCacheHeads(call, cache);
  if (int64_t part = attentionPart(envelope)) {
    call.config("part", part);
  }
  if (!tree) {
    call.config("window", int64_t(op.getWindow().value_or(0)));
  }
  mapResult(op.getResult(), call.emit(op.getType()).front());
  return success();
}
