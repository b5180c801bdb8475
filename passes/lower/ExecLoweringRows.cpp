//===- ExecLoweringRows.cpp - Lower row-wise ops --------------------------===//

#include "passes/lower/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

/// Lowers to nothing: a weight is packed at its use.
static LogicalResult lowerWeight(WeightOp, LoweringContext &) {
  return success();
}

static LogicalResult lowerSlice(SliceOp op, LoweringContext &context) {
  int64_t begin = op.getBegin();
  context.map(op.getResult(),
              context.columns(op.getX(), begin,
                              begin + exec::columnsOf(op.getResult()),
                              op.getLoc()));
  return success();
}

static LogicalResult lowerEmbed(EmbedOp op, LoweringContext &context) {
  Location loc = op.getLoc();
  exec::FormatAttr format = context.formatOf(op.getTable());
  Value table = context.packedRaw(op.getTable(), format, loc);
  FloatAttr scale;
  if (std::optional<APFloat> value = op.getScale())
    scale = FloatAttr::get(Float32Type::get(op.getContext()), toSingle(*value));
  context.map(op.getResult(),
              context.call<exec::EmbedOp>(loc, op.getType(), table,
                                          context.lookup(op.getTokens()),
                                          format, IntegerAttr(), scale));
  return success();
}

static LogicalResult lowerMaskFirst(MaskFirstOp op, LoweringContext &context) {
  Value positions = context.rowsOf(op.getRows()).positions;
  context.map(op.getResult(), context.call<exec::MaskFirstOp>(
                                  op.getLoc(), op.getType(),
                                  context.whole(op.getX()), positions));
  return success();
}

static LogicalResult lowerNorm(RmsNormOp op, LoweringContext &context) {
  Value weight =
      context.packedRaw(op.getWeight(), context.singles(), op.getLoc());
  context.map(op.getResult(),
              context.call<exec::RmsNormOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()), weight,
                  op.getGroups(), toSingle(op.getEps()), op.getOffset()));
  return success();
}

/// Returns whether the inputs are adjacent columns of one value.
static bool areNeighbours(ConcatOp op, LoweringContext &context) {
  exec::ColumnView last = exec::viewOf(context.lookup(op.getInputs().front()));
  for (Value input : op.getInputs().drop_front()) {
    exec::ColumnView next = exec::viewOf(context.lookup(input));
    if (next.root != last.root || next.offset != last.offset + last.width)
      return false;
    last = next;
  }
  return true;
}

static LogicalResult lowerConcat(ConcatOp op, LoweringContext &context) {
  if (areNeighbours(op, context)) {
    context.map(op.getResult(),
                context.columns(op.getInputs().front(), 0,
                                exec::columnsOf(op.getResult()), op.getLoc()));
    return success();
  }
  auto type = cast<RankedTensorType>(op.getType());
  Value joined = context.whole(op.getInputs().front());
  for (Value input : op.getInputs().drop_front()) {
    Value next = context.whole(input);
    int64_t width = exec::columnsOf(joined) + exec::columnsOf(next);
    joined = context.call<exec::ConcatOp>(
        op.getLoc(), type.clone({type.getDimSize(0), width}), joined, next);
  }
  context.map(op.getResult(), joined);
  return success();
}

/// Lowers an op of two activations to a call with the same operands.
template <typename FromT, typename ToT>
static LogicalResult lowerPair(FromT op, LoweringContext &context) {
  Value a = context.lookup(op->getOperand(0));
  Value b = context.lookup(op->getOperand(1));
  context.map(op.getResult(),
              context.call<ToT>(op.getLoc(), op.getType(), a, b));
  return success();
}

static LogicalResult lowerSilu(SiluOp op, LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::SiluOp>(op.getLoc(), op.getType(),
                                         context.lookup(op.getX())));
  return success();
}

static LogicalResult lowerSigmoid(SigmoidOp op, LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::SigmoidOp>(op.getLoc(), op.getType(),
                                            context.lookup(op.getX())));
  return success();
}

static LogicalResult lowerL2Norm(L2NormOp op, LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::L2NormOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()),
                  op.getGroups(), toSingle(op.getEps())));
  return success();
}

static LogicalResult lowerDecay(DecayOp op, LoweringContext &context) {
  auto vector = [&](Value weight) {
    return context.packedRaw(weight, context.singles(), op.getLoc());
  };
  context.map(op.getResult(),
              context.call<exec::DecayOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()),
                  vector(op.getRate()), vector(op.getBias()), op.getLinear()));
  return success();
}

static LogicalResult lowerGatherRows(GatherRowsOp op,
                                     LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::GatherRowsOp>(op.getLoc(), op.getType(),
                                               context.whole(op.getX()),
                                               context.lookup(op.getIndex())));
  return success();
}

void mlir::mtp::addRowLowerings(Lowerings &lowerings) {
  lowerings.add(lowerWeight);
  lowerings.add(lowerSlice);
  lowerings.add(lowerEmbed);
  lowerings.add(lowerMaskFirst);
  lowerings.add(lowerNorm);
  lowerings.add(lowerConcat);
  lowerings.add(lowerPair<AddOp, exec::AddOp>);
  lowerings.add(lowerPair<SwigluOp, exec::SwigluOp>);
  lowerings.add(lowerPair<GegluTanhOp, exec::GegluTanhOp>);
  lowerings.add(lowerSilu);
  lowerings.add(lowerSigmoid);
  lowerings.add(lowerPair<SigmoidGateOp, exec::SigmoidGateOp>);
  lowerings.add(lowerL2Norm);
  lowerings.add(lowerDecay);
  lowerings.add(lowerGatherRows);
}
