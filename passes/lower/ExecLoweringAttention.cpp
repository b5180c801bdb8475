//===- ExecLoweringAttention.cpp - Lower rows and attention ---------------===//

#include "passes/lower/ExecLowering.h"
#include "passes/support/Envelope.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static LogicalResult lowerMakeRows(MakeRowsOp op, LoweringContext &context) {
  RowContext rows;
  rows.slots = context.lookup(op.getSlots());
  rows.positions = context.lookup(op.getPositions());
  context.mapRows(op.getRows(), rows);
  return success();
}

static LogicalResult lowerMakeTreeRows(MakeTreeRowsOp op,
                                       LoweringContext &context) {
  context.mapRows(op.getRows(), {context.lookup(op.getSlots()),
                                 context.lookup(op.getPositions()),
                                 context.lookup(op.getRoots()),
                                 context.lookup(op.getPlaces()),
                                 context.lookup(op.getMasks())});
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
      op.getLoc(), x, rows.slots, rows.masks ? rows.places : rows.positions,
      pages, context.cacheLayer(cache, op.getLayer(), op.getLoc()),
      cache.getHeads(), op.getAt());
  return success();
}

static LogicalResult lowerAttention(CachedAttentionOp op,
                                    LoweringContext &context) {
  Location loc = op.getLoc();
  OpBuilder &builder = context.builder;
  const RowContext &rows = context.rowsOf(op.getRows());
  exec::CacheOp cache = context.findCache(op.getCache());
  Value pageTable = context.pageTable(loc);
  if (!pageTable)
    return failure();
  Value layer = context.cacheLayer(cache, op.getLayer(), loc);
  int64_t part = attentionSplit(context.envelope);
  context.map(op.getResult(),
              context.call<exec::AttentionOp>(
                  loc, op.getType(), context.lookup(op.getQ()), rows.slots,
                  rows.masks ? rows.roots : rows.positions, pageTable, layer,
                  rows.masks, op.getHeads(), op.getKvHeads(), op.getKeysAt(),
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
