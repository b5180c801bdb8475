//===- InferWidths.cpp - Infer widths of inlined functions ----------------===//
//
// A private function may leave widths open (tensor<?x?xf32>). After inlining,
// its operands have widths, and the widths of its results follow. Ops are
// visited in order, so an op's operands have their types already. Widths that
// stay open are rejected by the verifiers of the ops, which accept open widths
// only in private functions.
//
//===----------------------------------------------------------------------===//

#include "passes/model/InferWidths.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/SlotTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/support/RefineBody.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns whether `value` is rows, possibly in groups, of unknown width.
static bool isOpen(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() >= 2 && type.getElementType().isF32() &&
         ShapedType::isDynamic(type.getShape().back());
}

static int64_t sumOfWidths(ValueRange parts) {
  int64_t sum = 0;
  for (Value part : parts) {
    int64_t width = widthOf(part);
    if (width < 0)
      return -1;
    sum += width;
  }
  return sum;
}

/// Returns the result's width, -1 if an operand leaves it open.
static int64_t widthOfAttention(AttentionOp op) {
  int64_t heads = op.getHeads(), kvHeads = op.getKvHeads();
  if (std::optional<int64_t> prefix = op.getValuePrefix())
    return heads * *prefix;
  int64_t width = op.getV() ? widthOf(op.getV()) : -1;
  return width < 0 || kvHeads < 1 ? -1 : heads * (width / kvHeads);
}

/// Returns the width of the rows that `op` makes, -1 if its operands do not
/// determine it.
static int64_t inferWidth(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<AddOp, ConcatRowsOp, MaskTokensOp, LogSoftmaxOp, MaskFirstOp,
            ProbabilitiesOp, ReshapeOp, RmsNormOp, RopeOp, SiluOp, SwigluOp,
            GegluTanhOp, GatherRowsOp, UnpackOp>(
          [](Operation *op) { return widthOf(op->getOperand(0)); })
      .Case([](ConcatOp op) { return sumOfWidths(op.getInputs()); })
      .Case([](SliceOp op) -> int64_t { return op.getEnd() - op.getBegin(); })
      .Case([](EmbedOp op) { return widthOf(op.getTable()); })
      .Case([](LinearOp op) -> int64_t {
        auto weight = cast<RankedTensorType>(op.getWeight().getType());
        return weight.isDynamicDim(0) ? -1 : weight.getDimSize(0);
      })
      .Case([](AttentionOp op) { return widthOfAttention(op); })
      .Default([](Operation *) -> int64_t { return -1; });
}

/// Returns the operand with one row per row of the result; null if there is
/// none.
static Value operandOfRows(Operation *op) {
  if (auto take = dyn_cast<GatherRowsOp>(op))
    return take.getIndex();
  if (auto unpack = dyn_cast<UnpackOp>(op))
    return unpack.getPlaces();
  return isa<ConcatRowsOp, ReshapeOp>(op) ? Value() : op->getOperand(0);
}

static void refineResult(Operation *op) {
  if (op->getNumResults() != 1 || !isOpen(op->getResult(0)))
    return;
  int64_t width = inferWidth(op);
  if (width <= 0)
    return;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  if (Value like = operandOfRows(op); like && ShapedType::isDynamic(shape[0]))
    shape[0] = cast<RankedTensorType>(like.getType()).getDimSize(0);
  shape.back() = width;
  op->getResult(0).setType(type.clone(shape));
}

/// Sets the number of rows of `value` if it was open.
static void setRows(Value value, int64_t rows) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (ShapedType::isDynamic(shape[0]))
    shape[0] = rows;
  value.setType(type.clone(shape));
}

static int64_t rowsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(0);
}

/// Gives a body's arguments the row types of its operands, and its results one
/// row per slot. If all sizes are known, as in an exported function, the
/// results get their types; in a round they follow from k.
static void refineSlots(PerSlotOp op) {
  for (auto [argument, input] :
       llvm::zip_equal(op.getInputArguments(), op.getInputs()))
    argument.setType(typeOfRow(input.getType()));
  for (Value result : op.getResults())
    setRows(result, rowsOf(op.getSlots()));
  auto isStatic = [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  };
  if (llvm::all_of(op->getOperandTypes(), isStatic))
    refineBody(op);
}

/// Sets the number of rows of reshaped groups to the product of groups and
/// group size.
static void refineRows(ReshapeOp op) {
  auto from = cast<RankedTensorType>(op.getX().getType());
  if (from.getRank() == op.getType().getRank() + 1 && !from.isDynamicDim(0) &&
      !from.isDynamicDim(1))
    setRows(op.getResult(), from.getDimSize(0) * from.getDimSize(1));
}

/// Gives `value`, if it was open, the type of `source`.
static void follow(Value value, Value source) {
  if (isOpen(value))
    value.setType(source.getType());
}

/// Checks that the result type that a call stated equals the callee's type, or
/// takes it over if it was open.
static LogicalResult settle(Operation &cast) {
  Value source = cast.getOperand(0), said = cast.getResult(0);
  follow(said, source);
  if (said.getType() != source.getType()) {
    return emitError(cast.getLoc(), "expected a result of ")
           << said.getType() << " from the callee, got " << source.getType();
  }
  said.replaceAllUsesWith(source);
  cast.erase();
  return success();
}

namespace {
class Refiner {
public:
  explicit Refiner(const DenseSet<Operation *> &casts) : casts(casts) {}

  LogicalResult refineRegions(Operation &op);

private:
  LogicalResult refineOp(Operation &op);

  const DenseSet<Operation *> &casts;
};
} // namespace

LogicalResult Refiner::refineRegions(Operation &op) {
  for (Region &region : op.getRegions())
    for (Block &block : region)
      for (Operation &inner : llvm::make_early_inc_range(block))
        if (failed(refineOp(inner)))
          return failure();
  return success();
}

LogicalResult Refiner::refineOp(Operation &op) {
  if (casts.contains(&op))
    return settle(op);
  auto loop = dyn_cast<scf::ForOp>(op);
  if (loop)
    for (auto [carried, init] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
      follow(carried, init);
  if (auto body = dyn_cast<PerSlotOp>(op))
    refineSlots(body);
  if (failed(refineRegions(op)))
    return failure();
  if (loop) {
    for (auto [result, init] :
         llvm::zip_equal(loop.getResults(), loop.getInitArgs()))
      follow(result, init);
  } else if (auto branch = dyn_cast<scf::IfOp>(op);
             branch && branch.getNumResults()) {
    for (auto [result, yielded] :
         llvm::zip_equal(branch.getResults(), branch.thenYield().getOperands()))
      follow(result, yielded);
  }
  refineResult(&op);
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    refineRows(reshape);
  else if (auto pick = dyn_cast<SampleResidualOp>(op))
    setRows(pick.getResult(), rowsOf(pick.getUniform()));
  return success();
}

LogicalResult mlir::mtp::refineWidths(Operation *root,
                                      const DenseSet<Operation *> &casts) {
  return Refiner(casts).refineRegions(*root);
}
