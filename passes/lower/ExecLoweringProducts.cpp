//===- ExecLoweringProducts.cpp - Lower projections -----------------------===//

#include "passes/lower/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// A projection of `x` by concatenated `weights`.
struct Projection {
  Value x;
  ValueRange weights;
  ValueRange biases;
  Value norm, residual;
  FloatAttr eps;
  int64_t offset = 0;
  ActivationKind activation = ActivationKind::None;
  ProjectionRoleAttr role;
};
} // namespace

static Value callLinear(Operation *op, const Projection &projection,
                        LoweringContext &context) {
  Location loc = op->getLoc();
  Value x = context.lookup(projection.x);
  bool isGated = projection.activation != ActivationKind::None;
  Packing packing{context.panels(),
                  context.formatOf(projection.weights.front()),
                  exec::columnsOf(x),
                  0,
                  1,
                  {}};
  if (isGated)
    packing.layout = context.gatedPanels();
  for (Value weight : projection.weights) {
    packing.n += exec::shapeOf(weight).front();
    context.addSources(weight, packing.sources);
  }
  Value norm, bias, residual;
  if (projection.norm)
    norm = context.packedRaw(projection.norm, context.singles(), loc);
  Value weight = context.packed(packing, loc);
  if (!projection.biases.empty())
    bias = context.packedRaw(projection.biases, context.singles(), loc);
  if (projection.residual)
    residual = context.lookup(projection.residual);
  return context.call<exec::LinearOp>(
      loc, op->getResult(0).getType(), x, norm, weight, bias, residual,
      packing.format, projection.eps, projection.offset, projection.activation,
      projection.role, IntegerAttr());
}

static LogicalResult lowerLinear(LinearOp op, LoweringContext &context) {
  Projection projection{op.getX(), op->getOperands().slice(1, 1)};
  if (op.getBias())
    projection.biases = op->getOperands().drop_front(2);
  projection.role = op.getRoleAttr();
  context.map(op.getResult(), callLinear(op, projection, context));
  return success();
}

static LogicalResult lowerFusedLinear(FusedLinearOp op,
                                      LoweringContext &context) {
  Projection projection{op.getX(), op.getWeights(), op.getBiases(),
                        op.getNorm(), op.getResidual()};
  if (op.getNorm())
    projection.eps =
        FloatAttr::get(context.builder.getF32Type(), toSingle(*op.getEps()));
  projection.offset = op.getOffset();
  projection.activation = op.getActivation();
  projection.role = op.getRoleAttr();
  context.map(op.getResult(), callLinear(op, projection, context));
  return success();
}

/// Returns the packing of a head's blocks of rows, one after the other.
static Packing packHeads(HeadLinearOp op, LoweringContext &context) {
  auto weight = op.getWeight().getDefiningOp<WeightOp>();
  // The blocks lie within the weight's range of its tensor.
  int64_t base = weight.getRowBegin().value_or(0);
  exec::SourceAttr all = context.source(op.getWeight());
  auto block = exec::SourceAttr::get(
      op.getContext(), all.getKey(), base + int64_t(op.getBlockBegin()),
      base + int64_t(op.getBlockEnd()), op.getBlockStride(), all.getColBegin(),
      all.getColEnd(), op.getTransposed(), all.getShape());
  return {context.panels(),
          context.formatOf(op.getWeight()),
          int64_t(op.getColEnd()) - int64_t(op.getColBegin()),
          op.getHeadOutputs(),
          int64_t(op.getHeads()),
          {block}};
}

static LogicalResult lowerHeadLinear(HeadLinearOp op,
                                     LoweringContext &context) {
  Packing packing = packHeads(op, context);
  int64_t kept = op.getKeptColumns();
  int64_t keepBegin = kept ? int64_t(*op.getKeepBegin()) : 0;
  context.map(op.getResult(),
              context.call<exec::HeadLinearOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()),
                  context.packed(packing, op.getLoc()), /*table=*/Value(),
                  /*angles=*/Value(), op.getHeads(), op.getColBegin(),
                  op.getColEnd(), keepBegin, keepBegin + kept, packing.format,
                  exec::RotationAttr()));
  return success();
}

void mlir::mtp::addProductLowerings(Lowerings &lowerings) {
  lowerings.add(lowerLinear);
  lowerings.add(lowerFusedLinear);
  lowerings.add(lowerHeadLinear);
}
