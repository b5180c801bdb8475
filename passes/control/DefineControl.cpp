//===- DefineControl.cpp - Define the results of all ops of a body --------===//
//
// Upstream operations have undefined results for some operands: a division by
// zero traps, a shift by too many bits is poison, an index out of range reads
// arbitrary memory. A body gets its operands from memory, which may hold
// anything. So every such operand is replaced by one in range, unless it is
// known to be in range.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ControlKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/control/ControlBody.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns a constant of an integer type, or of a tensor type with integer
/// elements.
static Value integer(OpBuilder &builder, Location loc, Type type,
                     const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr = IntegerAttr::get(element, value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attr = DenseElementsAttr::get(shaped, attr);
  return arith::ConstantOp::create(builder, loc, attr);
}

static unsigned widthOfElement(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// Returns the constant value of `value`; for a splat, its element.
static std::optional<APInt> constantOf(Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Drops the overflow and fast-math flags of `op`, which nothing guarantees.
static void dropFlags(Operation *op) {
  MLIRContext *context = op->getContext();
  if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    op->setAttr(flags.getIntegerOverflowAttrName(),
                arith::IntegerOverflowFlagsAttr::get(
                    context, arith::IntegerOverflowFlags::none));
  if (auto flags = dyn_cast<arith::ArithFastMathInterface>(op))
    op->setAttr(
        flags.getFastMathAttrName(),
        arith::FastMathFlagsAttr::get(context, arith::FastMathFlags::none));
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::DivSIOp, arith::DivUIOp, arith::ShRSIOp, arith::ShRUIOp>(
          [](auto exact) { exact.setIsExact(false); });
}

/// Replaces a divisor of 0 by 1, and also -1 if the quotient may overflow.
static void defineDivision(Operation *op, bool isSigned) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  std::optional<APInt> known = constantOf(rhs);
  if (known && !known->isZero() && !(isSigned && known->isAllOnes()))
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  Type type = rhs.getType();
  unsigned width = widthOfElement(type);
  auto equals = [&](Value value, const APInt &number) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 integer(builder, loc, type, number));
  };
  Value wrong = equals(rhs, APInt::getZero(width));
  if (isSigned) {
    Value overflows = arith::AndIOp::create(
        builder, loc, equals(rhs, APInt::getAllOnes(width)),
        equals(lhs, APInt::getSignedMinValue(width)));
    wrong = arith::OrIOp::create(builder, loc, wrong, overflows);
  }
  op->setOperand(1, arith::SelectOp::create(
                        builder, loc, wrong,
                        integer(builder, loc, type, APInt(width, 1)), rhs));
}

/// Takes shift amounts modulo the width.
static void defineShift(Operation *op) {
  Value amount = op->getOperand(1);
  unsigned width = widthOfElement(amount.getType());
  std::optional<APInt> known = constantOf(amount);
  if (known && known->ult(width))
    return;
  OpBuilder builder(op);
  Value mask =
      integer(builder, op->getLoc(), amount.getType(), APInt(width, width - 1));
  op->setOperand(1, arith::AndIOp::create(builder, op->getLoc(), amount, mask));
}

/// Returns the largest f32 below the integer type's limit.
static APFloat largestBelow(unsigned bits, bool isSigned) {
  APInt limit =
      isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits);
  APFloat value(APFloat::IEEEsingle());
  value.convertFromAPInt(limit, isSigned, APFloat::rmTowardZero);
  return value;
}

/// Clamps numbers beyond an integer's range to its nearest value; NaN becomes
/// 0.
static void defineConversion(Operation *op, bool isSigned) {
  Value from = op->getOperand(0);
  if (!from.getType().isF32())
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  unsigned bits = widthOfElement(op->getResult(0).getType());
  auto constant = [&](const APFloat &value) -> Value {
    return arith::ConstantOp::create(
        builder, loc, builder.getFloatAttr(from.getType(), value));
  };
  APFloat least(APFloat::IEEEsingle(), 0);
  if (isSigned)
    least.convertFromAPInt(APInt::getSignedMinValue(bits), true,
                           APFloat::rmTowardZero);
  Value isNumber = arith::CmpFOp::create(builder, loc,
                                         arith::CmpFPredicate::ORD, from, from);
  Value number = arith::SelectOp::create(builder, loc, isNumber, from,
                                         constant(APFloat(0.0f)));
  number = arith::MinNumFOp::create(builder, loc, number,
                                    constant(largestBelow(bits, isSigned)));
  op->setOperand(
      0, arith::MaxNumFOp::create(builder, loc, number, constant(least)));
}

static void defineArithmetic(Operation *op) {
  dropFlags(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case<arith::DivSIOp, arith::RemSIOp, arith::CeilDivSIOp,
            arith::FloorDivSIOp>(
          [](auto division) { defineDivision(division, /*isSigned=*/true); })
      .Case<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(
          [](auto division) { defineDivision(division, /*isSigned=*/false); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(
          [](auto shift) { defineShift(shift); })
      .Case<arith::FPToSIOp>(
          [](auto cast) { defineConversion(cast, /*isSigned=*/true); })
      .Case<arith::FPToUIOp>(
          [](auto cast) { defineConversion(cast, /*isSigned=*/false); });
}

//===----------------------------------------------------------------------===//
// Loops and indices
//===----------------------------------------------------------------------===//

namespace {
/// An operand and the range in which it must lie.
struct Limit {
  OpOperand *operand;
  APInt least, most;
};
} // namespace

/// Returns whether `value` is an index of a tensor.generate with at most
/// `extent` elements.
static bool isGenerated(Value value, int64_t extent) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto generate =
      dyn_cast<tensor::GenerateOp>(argument.getOwner()->getParentOp());
  return generate && generate.getType().hasStaticShape() &&
         generate.getType().getDimSize(argument.getArgNumber()) <= extent;
}

/// Collects the limits of the last operands of `op`, which are indices into
/// `shape`.
static void collectIndices(Operation *op, ArrayRef<int64_t> shape,
                           const exec::IndexRanges &ranges,
                           SmallVectorImpl<Limit> &limits) {
  auto operands = op->getOpOperands().take_back(shape.size());
  for (auto [operand, extent] : llvm::zip_equal(operands, shape)) {
    // Rows of the tasks, and rows of an empty tensor, have no limit.
    if (ShapedType::isDynamic(extent) || extent == 0 ||
        isGenerated(operand.get(), extent) ||
        ranges.isWithin(operand.get(), 0, extent - 1))
      continue;
    limits.push_back({&operand, APInt(64, 0), APInt(64, extent - 1)});
  }
}

/// Limits a loop's bound to leave room for one step, so that its variable
/// cannot wrap.
static void collectBound(scf::ForOp loop, const exec::IndexRanges &ranges,
                         SmallVectorImpl<Limit> &limits) {
  unsigned width = widthOfElement(loop.getInductionVar().getType());
  APInt least = APInt::getSignedMinValue(width);
  APInt most = APInt::getSignedMaxValue(width) - *constantOf(loop.getStep());
  if (!ranges.isWithin(loop.getUpperBound(), least.getSExtValue(),
                       most.getSExtValue()))
    limits.push_back({&loop.getUpperBoundMutable(), least, most});
}

static void clamp(const Limit &limit) {
  OpBuilder builder(limit.operand->getOwner());
  Location loc = limit.operand->getOwner()->getLoc();
  Value value = limit.operand->get();
  value = arith::MinSIOp::create(
      builder, loc, value, integer(builder, loc, value.getType(), limit.most));
  if (!limit.least.isMinSignedValue())
    value = arith::MaxSIOp::create(
        builder, loc, value,
        integer(builder, loc, value.getType(), limit.least));
  limit.operand->set(value);
}

/// Drops accesses to tensors without elements. Their results do not matter, but
/// they must not read memory.
static void dropEmptyAccesses(func::FuncOp function) {
  auto isEmpty = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements() == 0;
  };
  function.walk([&](tensor::ExtractOp extract) {
    if (!isEmpty(extract.getTensor()))
      return;
    OpBuilder builder(extract);
    Value zero = arith::ConstantOp::create(
        builder, extract.getLoc(), builder.getZeroAttr(extract.getType()));
    extract.replaceAllUsesWith(zero);
    extract.erase();
  });
  function.walk([&](tensor::InsertOp insert) {
    if (!isEmpty(insert.getDest()))
      return;
    insert.replaceAllUsesWith(insert.getDest());
    insert.erase();
  });
}

/// Fills tensors that nothing initializes with zeros.
static void fillEmptyTensors(func::FuncOp function) {
  function.walk([&](tensor::EmptyOp empty) {
    OpBuilder builder(empty);
    Value zero = arith::ConstantOp::create(
        builder, empty.getLoc(),
        builder.getZeroAttr(empty.getType().getElementType()));
    empty.replaceAllUsesWith(
        tensor::SplatOp::create(builder, empty.getLoc(), zero, empty.getType())
            .getResult());
    empty.erase();
  });
}

/// Expands divisions that round up or down to plain divisions by an unchanged
/// divisor.
static void expandDivisions(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(patterns);
  (void)applyPatternsGreedily(function, std::move(patterns));
}

void mlir::mtp::defineControlResults(func::FuncOp function) {
  function.walk([](Operation *op) { defineArithmetic(op); });
  expandDivisions(function);
  dropEmptyAccesses(function);
  fillEmptyTensors(function);
  exec::IndexRanges ranges(function);
  SmallVector<Limit> limits;
  function.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](scf::ForOp loop) { collectBound(loop, ranges, limits); })
        .Case<memref::LoadOp, memref::StoreOp>([&](auto access) {
          collectIndices(op, access.getMemRefType().getShape(), ranges, limits);
        })
        .Case([&](tensor::ExtractOp extract) {
          collectIndices(op, extract.getTensor().getType().getShape(), ranges,
                         limits);
        })
        .Case([&](tensor::InsertOp insert) {
          collectIndices(op, insert.getDest().getType().getShape(), ranges,
                         limits);
        });
  });
  for (const Limit &limit : limits)
    clamp(limit);
}
