//===- ExecLoweringAttention.cpp - Kernels of rows and attention ----------===//

#include "passes/Envelope.h"
#include "passes/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static LogicalResult lowerMakeRows(MakeRowsOp op, LoweringContext &context) {
  context.mapRows(op.getRows(), {context.lookup(op.getSlots()),
                                 context.lookup(op.getPositions()),
                                 /*base=*/Value(), /*parents=*/{},
                                 /*cachePositions=*/Value()});
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

static LogicalResult lowerTreeRows(TreeRowsOp op, LoweringContext &context) {
  RowContext rows = context.rowsOf(op.getRows());
  if (rows.base)
    return op.emitOpError("expected rows that are not a tree's already");
  int64_t count = exec::rowsOf(rows.positions);
  llvm::ArrayRef<int64_t> parents = op.getParents();
  int64_t nodes = parents.size();
  if (count % nodes != 0)
    return op.emitOpError("expected whole trees of ")
           << nodes << " rows, got " << count << " rows";
  SmallVector<int32_t> depths = nodeDepths(parents);
  auto type = RankedTensorType::get({nodes}, context.builder.getI32Type());
  Value depthTable = context.constant(
      DenseElementsAttr::get(type, llvm::ArrayRef<int32_t>(depths)),
      op.getLoc());
  Type column = rows.positions.getType();
  auto results = invoke(context, op.getLoc(), "tree_rows",
                        {rows.positions, depthTable}, {count, nodes},
                        {column, column, column});
  context.mapRows(op.getResult(),
                  {rows.slots, results[0], results[1], parents, results[2]});
  return success();
}

//===----------------------------------------------------------------------===//
// Rotations, caches and attention
//===----------------------------------------------------------------------===//

static LogicalResult lowerRope(RopeOp op, LoweringContext &context) {
  RopeAttr rope = op.getRope();
  if (!context.envelope)
    return op.emitOpError("expected an mtp.envelope on the module: it says for "
                          "how many positions there are angles");
  auto rotation = exec::RotationAttr::get(op.getContext(), rope.getDim(),
                                          int64_t(op.getOffset()),
                                          rope.getLayout());
  context.map(op.getResult(),
              context.call<exec::RopeOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()),
                  context.ropeTable(rope, op.getLoc()),
                  context.rowsOf(op.getRows()).positions, op.getHeads(),
                  rotation));
  return success();
}

static LogicalResult lowerAppend(CacheAppendOp op, LoweringContext &context) {
  Value x = context.lookup(op.getX());
  const RowContext &rows = context.rowsOf(op.getRows());
  exec::CacheOp cache = context.findCache(op.getCache());
  Value pages = context.pageTable(op.getLoc());
  if (!pages)
    return failure();
  context.call<exec::KvAppendOp>(
      op.getLoc(), x, rows.slots,
      rows.base ? rows.cachePositions : rows.positions, pages,
      context.cacheLayer(cache, op.getLayer(), op.getLoc()), cache.getHeads(),
      op.getAt());
  return success();
}

static LogicalResult lowerAttention(CachedAttentionOp op,
                                    LoweringContext &context) {
  Location loc = op.getLoc();
  OpBuilder &builder = context.builder;
  const RowContext &rows = context.rowsOf(op.getRows());
  exec::CacheOp cache = context.findCache(op.getCache());
  bool isTree = bool(rows.base);
  if (isTree && op.getWindow())
    return op.emitOpError("expected no window over the rows of a tree, got ")
           << *op.getWindow();
  Value pageTable = context.pageTable(loc);
  if (!pageTable)
    return failure();
  Value layer = context.cacheLayer(cache, op.getLayer(), loc), masks;
  if (isTree) {
    SmallVector<int64_t> bits = ancestorMasks(rows.parents);
    auto type =
        RankedTensorType::get({int64_t(bits.size())}, builder.getI64Type());
    masks = context.constant(
        DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>(bits)), loc);
  }
  int64_t part = attentionPart(context.envelope);
  context.map(op.getResult(),
              context.call<exec::AttentionOp>(
                  loc, op.getType(), context.lookup(op.getQ()), rows.slots,
                  isTree ? rows.base : rows.positions, pageTable, layer, masks,
                  op.getHeads(), op.getKvHeads(), op.getKeysAt(),
                  op.getValuesAt(), toSingle(op.getScale()), cache.getHeads(),
                  part ? builder.getI64IntegerAttr(part) : IntegerAttr(),
                  op.getWindow().value_or(0)));
  return success();
}

void mlir::mtp::addAttentionLowerings(Lowerings &lowerings) {
  lowerings.add(lowerMakeRows);
  lowerings.add(lowerTreeRows);
  lowerings.add(lowerRope);
  lowerings.add(lowerAppend);
  lowerings.add(lowerAttention);
}
