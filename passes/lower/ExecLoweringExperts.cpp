//===- ExecLoweringExperts.cpp - Lower experts ----------------------------===//

#include "passes/lower/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

static LogicalResult lowerRoute(MoeRouteOp op, LoweringContext &context) {
  Value logits = context.lookup(op.getLogits()), bias;
  if (op.getBias())
    bias = context.packedRaw(op.getBias(), context.singles(), op.getLoc());
  auto route = context.call<exec::MoeRouteOp>(
      op.getLoc(), op.getExperts().getType(), op.getWeights().getType(), logits,
      bias, op.getScoring(), op.getGroups(), op.getKeep(), op.getNormalized(),
      toSingle(op.getScale()));
  context.map(op.getExperts(), route.getExperts());
  context.map(op.getWeights(), route.getWeights());
  return success();
}

namespace {
/// The rows of one op, repeated once per chosen expert.
struct Dispatch {
  Location loc;
  exec::Count rows;
  int64_t topK, experts;
  Value starts, order;

  Type floats(Builder &builder, int64_t columns) const {
    return exec::rowsType(rows * topK, columns, builder.getF32Type());
  }
};
} // namespace

/// Computes the chosen experts' results for `op`'s rows.
static Value callExperts(MoeExpertsOp op, const Dispatch &dispatch,
                         LoweringContext &context) {
  auto gateType = cast<RankedTensorType>(op.getGate().getType());
  int64_t inter = gateType.getDimSize(1), width = gateType.getDimSize(2);
  exec::FormatAttr format = context.formatOf(op.getGate());
  Packing gateUp{context.gatedPanels(),
                 format,
                 width,
                 2 * inter,
                 dispatch.experts,
                 {context.source(op.getGate()), context.source(op.getUp())}};
  Value activated = context.call<exec::MoeGateUpOp>(
      dispatch.loc, dispatch.floats(context.builder, inter),
      context.lookup(op.getX()), context.packed(gateUp, dispatch.loc),
      dispatch.starts, dispatch.order, format);
  Packing down{context.panels(),
               format,
               inter,
               width,
               dispatch.experts,
               {context.source(op.getDown())}};
  return context.call<exec::MoeDownOp>(
      dispatch.loc, dispatch.floats(context.builder, width), activated,
      context.packed(down, dispatch.loc), dispatch.starts, dispatch.order,
      format, dispatch.topK);
}

static LogicalResult lowerExperts(MoeExpertsOp op, LoweringContext &context) {
  Location loc = op.getLoc();
  int64_t experts = exec::shapeOf(op.getGate()).front();
  exec::Count rows = exec::rowsOf(op.getX());
  Value indices = context.lookup(op.getIndices());
  int64_t topK = exec::columnsOf(indices);
  Value positions = context.rowsOf(op.getRows()).positions;
  auto ints = [&](exec::Count count) {
    return exec::withRows(
        RankedTensorType::get({0}, context.builder.getI32Type()), count);
  };
  auto plan = context.call<exec::MoePlanOp>(
      loc, ints(experts + 1), ints(rows * topK), positions, indices);
  Value parts = callExperts(
      op, {loc, rows, topK, experts, plan.getStarts(), plan.getOrder()},
      context);
  Value weights = context.whole(op.getWeights()), residual, shared;
  if (op.getResidual())
    residual = context.whole(op.getResidual());
  if (op.getShared())
    shared = context.whole(op.getShared());
  context.map(op.getResult(), context.call<exec::MoeCombineOp>(
                                  loc, op.getType(), positions, weights, parts,
                                  residual, shared));
  return success();
}

void mlir::mtp::addExpertLowerings(Lowerings &lowerings) {
  lowerings.add(lowerRoute);
  lowerings.add(lowerExperts);
}
