//===- ExecLoweringAttention.cpp - Kernels of rows and attention ----------===//

#include "passes/lower/ExecLowering.h"
#include "passes/support/Envelope.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static LogicalResult lowerMakeRows(MakeRowsOp op, LoweringContext &context) {
  context.mapRows(op.getRows(), {context.lookup(op.getSlots()),
                                 context.lookup(op.getPositions()),
                                 /*base=*/Value(), /*parents=*/{}, /*nodes=*/{},
                                 /*cachePositions=*/Value()});
  return success();
}

/// For every row of a block the bits of its node and the node's ancestors.
static SmallVector<int64_t> ancestorMasks(const RowContext &rows) {
  llvm::ArrayRef<int64_t> parents = rows.parents;
  SmallVector<int64_t> masks(parents.size(), 0);
  for (size_t node = 0; node < parents.size(); ++node) {
    int64_t inherited = node == 0 ? 0 : masks[parents[node]];
    masks[node] = inherited | int64_t(uint64_t(1) << node);
  }
  if (!rows.nodes.empty())
    return llvm::map_to_vector(rows.nodes,
                               [&](int64_t node) { return masks[node]; });
  return masks;
}

static LogicalResult lowerMakeTreeRows(MakeTreeRowsOp op,
                                       LoweringContext &context) {
  RowContext rows{context.lookup(op.getSlots()),
                  context.lookup(op.getPositions()),
                  context.lookup(op.getRoots()),
                  op.getParents(),
                  op.getNodes().value_or(llvm::ArrayRef<int64_t>()),
                  context.lookup(op.getPlaces())};
  exec::Count count = exec::rowsOf(rows.positions);
  int64_t block = rows.nodes.empty() ? rows.parents.size() : rows.nodes.size();
  if (!divide(count, block))
    return op.emitOpError("expected whole trees of ")
           << block << " rows, got " << count << " rows";
  context.mapRows(op.getRows(), rows);
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
  auto rotation =
      exec::RotationAttr::get(op.getContext(), rope.getDim(),
                              int64_t(op.getOffset()), rope.getLayout());
  context.map(op.getResult(),
              context.call<exec::RopeOp>(op.getLoc(), op.getType(),
                                         context.lookup(op.getX()),
                                         context.ropeTable(rope, op.getLoc()),
                                         context.rowsOf(op.getRows()).positions,
                                         op.getHeads(), rotation));
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
    SmallVector<int64_t> bits = ancestorMasks(rows);
    auto type =
        RankedTensorType::get({int64_t(bits.size())}, builder.getI64Type());
    masks = context.constant(
        DenseElementsAttr::get(type, llvm::ArrayRef<int64_t>(bits)), loc);
  }
  IntegerAttr nodes;
  if (!rows.nodes.empty())
    nodes = builder.getI64IntegerAttr(rows.parents.size());
  int64_t part = attentionPart(context.envelope);
  context.map(op.getResult(),
              context.call<exec::AttentionOp>(
                  loc, op.getType(), context.lookup(op.getQ()), rows.slots,
                  isTree ? rows.base : rows.positions, pageTable, layer, masks,
                  nodes, op.getHeads(), op.getKvHeads(), op.getKeysAt(),
                  op.getValuesAt(), toSingle(op.getScale()), cache.getHeads(),
                  part ? builder.getI64IntegerAttr(part) : IntegerAttr(),
                  op.getWindow().value_or(0)));
  return success();
}

void mlir::mtp::addAttentionLowerings(Lowerings &lowerings) {
  lowerings.add(lowerMakeRows);
  lowerings.add(lowerMakeTreeRows);
  lowerings.add(lowerRope);
  lowerings.add(lowerAppend);
  lowerings.add(lowerAttention);
}
