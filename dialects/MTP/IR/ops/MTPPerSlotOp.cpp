//===- MTPPerSlotOp.cpp - Control of one slot -----------------------------===//
//
// Allowed ops of a body, and the canonical form of the op: no unused or
// duplicate operands or results, and static types if they are known.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/SlotTypes.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns whether `op` becomes instructions or a polynomial. A kernel cannot
/// call a library.
static bool isInlineMath(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CosOp, math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::ExpOp, math::FloorOp, math::FmaOp,
             math::LogOp, math::Log2Op, math::RoundEvenOp, math::RoundOp,
             math::SinOp, math::SqrtOp, math::TanhOp, math::TruncOp>(op);
}

bool mlir::mtp::isControlOp(Operation *op) {
  if (op->hasTrait<InControlBody>())
    return true;
  Dialect *dialect = op->getDialect();
  if (isa_and_nonnull<arith::ArithDialect>(dialect))
    return !isa<arith::RemFOp>(op);
  if (isa_and_nonnull<math::MathDialect>(dialect))
    return isInlineMath(op) &&
           llvm::none_of(op->getResultTypes(), llvm::IsaPred<ShapedType>);
  return isa<func::CallOp, scf::ForOp, scf::IfOp, scf::ParallelOp,
             scf::ReduceOp, scf::ReduceReturnOp, scf::YieldOp, tensor::CastOp,
             tensor::DimOp, tensor::EmptyOp, tensor::ExtractOp,
             tensor::FromElementsOp, tensor::GenerateOp, tensor::InsertOp,
             tensor::SplatOp, tensor::YieldOp>(op);
}

void mlir::mtp::registerControlDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, math::MathDialect, memref::MemRefDialect,
                  scf::SCFDialect, tensor::TensorDialect>();
}

YieldOp PerSlotOp::getYield() {
  return cast<YieldOp>(getBody()->getTerminator());
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

Type mlir::mtp::typeOfRow(Type rows) {
  auto tensor = cast<RankedTensorType>(rows);
  if (tensor.getRank() == 1)
    return tensor.getElementType();
  return RankedTensorType::get(tensor.getShape().drop_front(),
                               tensor.getElementType());
}

RankedTensorType mlir::mtp::typeOfRows(int64_t slots, Type row) {
  auto tensor = dyn_cast<RankedTensorType>(row);
  if (!tensor)
    return RankedTensorType::get({slots}, row);
  SmallVector<int64_t> shape{slots};
  llvm::append_range(shape, tensor.getShape());
  return RankedTensorType::get(shape, tensor.getElementType());
}

LogicalResult PerSlotOp::verify() {
  for (ValueRange values : {ValueRange(getInputs()), ValueRange(getOutputs())})
    for (Value value : values) // per_slot_c1
      if (failed(expectRows(*this, "operands and results", value, getSlots())))
        return failure();
  return success();
}

/// Checks per_slot_c2 and per_slot_c3.
static LogicalResult verifySignature(PerSlotOp op) {
  MLIRContext *context = op.getContext();
  SmallVector<Type> arguments{IndexType::get(context),
                              IntegerType::get(context, 32)};
  for (Value input : op.getInputs())
    arguments.push_back(typeOfRow(input.getType()));
  if (failed(expectArguments(op, op.getBodyRegion(), arguments, "the body")))
    return failure();
  SmallVector<Type> results =
      llvm::map_to_vector(op.getOutputs().getTypes(), typeOfRow);
  auto yield = dyn_cast<YieldOp>(op.getBody()->getTerminator());
  if (yield && llvm::equal(yield.getValues().getTypes(), results))
    return success();
  return op.emitOpError("expected the body to yield (")
         << TypeRange(results) << ")";
}

/// Returns whether a value of `type` may occur in a body.
static bool isControlType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  Type element = tensor ? tensor.getElementType() : type;
  return element.isSignlessInteger(1) || element.isSignlessInteger(32) ||
         element.isSignlessInteger(64) || element.isF32() ||
         (!tensor && element.isIndex());
}

/// Checks per_slot_c5 for the values that `op` makes, including the arguments
/// of its regions.
static LogicalResult verifyTypes(Operation *op) {
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    llvm::append_range(types, region.getArgumentTypes());
  for (Type type : types)
    if (!isControlType(type))
      return op->emitOpError("expected values of index, i1, i32, i64 or f32, "
                             "or tensors of the last four, in the body of "
                             "mtp.per_slot, got ")
             << type;
  return success();
}

/// Checks per_slot_c7: upstream patterns move the body of a tensor.generate to
/// where an element is extracted.
static LogicalResult verifyGenerates(PerSlotOp op) {
  llvm::SetVector<StringAttr> written = collectStateUses(op).written;
  WalkResult result = op->walk([&](LoadOp load) -> WalkResult {
    if (load->getParentOfType<tensor::GenerateOp>() &&
        written.contains(load.getStateAttr().getAttr()))
      return load.emitOpError("expected a state that the body does not store "
                              "to, in a tensor.generate, got ")
             << load.getStateAttr();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Returns whether `region` joins two numbers by one operation that has the
/// same bits in any order.
static bool joinsInAnyOrder(Region &region) {
  Block &block = region.front();
  if (!block.getArgument(0).getType().isSignlessInteger(32) &&
      !block.getArgument(0).getType().isSignlessInteger(64) &&
      !block.getArgument(0).getType().isIndex())
    return false;
  Operation &join = block.front();
  return isa<arith::AddIOp, arith::MaxSIOp, arith::MinSIOp>(join) &&
         join.getOperand(0) != join.getOperand(1) &&
         llvm::is_contained(block.getArguments(), join.getOperand(0)) &&
         llvm::is_contained(block.getArguments(), join.getOperand(1)) &&
         block.getTerminator()->getOperand(0) == join.getResult(0);
}

/// Checks per_slot_c8.
static LogicalResult verifyParallel(scf::ParallelOp loop) {
  if (loop.getNumLoops() != 1 ||
      !matchPattern(loop.getStep().front(), m_Constant()))
    return loop.emitOpError("expected one dimension and a constant step in the "
                            "body of mtp.per_slot");
  auto reduce = cast<scf::ReduceOp>(loop.getBody()->getTerminator());
  for (Region &region : reduce.getReductions())
    if (!joinsInAnyOrder(region))
      return reduce.emitOpError(
          "expected numbers of i32, i64 or index that one arith.addi, "
          "arith.maxsi or arith.minsi joins, in the body of mtp.per_slot");
  WalkResult result = loop.getBody()->walk([](Operation *op) -> WalkResult {
    auto isTensor = llvm::IsaPred<TensorType>;
    if (isa<StoreOp>(op) || llvm::any_of(op->getOperandTypes(), isTensor) ||
        llvm::any_of(op->getResultTypes(), isTensor))
      return op->emitOpError("expected no stores and no tensors in an "
                             "scf.parallel");
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult PerSlotOp::verifyRegions() {
  if (failed(verifySignature(*this)))
    return failure();
  WalkResult result =
      getBody()->walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
        if (!isControlOp(op)) // per_slot_c4
          return op->emitOpError(
              "expected arith and scalar math that need no library, scf.for, "
              "scf.if, scf.parallel, operations on small tensors, loads and "
              "stores in the body of mtp.per_slot");
        if (auto loop = dyn_cast<scf::ForOp>(op); // per_slot_c6
            loop && (loop.getUnsignedCmp() ||
                     !matchPattern(loop.getStep(), m_Constant())))
          return op->emitOpError(
              "expected a constant step and signed bounds in the "
              "body of mtp.per_slot");
        auto parallel = dyn_cast<scf::ParallelOp>(op);
        if (parallel && failed(verifyParallel(parallel)))
          return failure();
        return verifyTypes(op);
      });
  if (result.wasInterrupted())
    return failure();
  return verifyGenerates(*this);
}

//===----------------------------------------------------------------------===//
// Canonical form
//===----------------------------------------------------------------------===//

/// Returns the source of a cast that only removes static extents, or null.
static Value staticSource(Value value) {
  auto cast = value.getDefiningOp<tensor::CastOp>();
  return cast && tensor::preservesStaticInformation(cast.getType(),
                                                    cast.getSource().getType())
             ? cast.getSource()
             : Value();
}

static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

/// Makes an op with the same body and other operands and results. The caller
/// adapts the block arguments and the yield, and replaces the results.
static PerSlotOp remake(PatternRewriter &rewriter, PerSlotOp op,
                        ValueRange inputs, TypeRange outputs) {
  rewriter.setInsertionPoint(op);
  auto made =
      PerSlotOp::create(rewriter, op.getLoc(), outputs, op.getSlots(), inputs);
  made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(op.getBodyRegion(), made.getBodyRegion(),
                              made.getBodyRegion().begin());
  return made;
}

namespace {
/// Drops operands that are unused, duplicate or empty. Looks through casts of
/// the other operands.
struct SimplifyInputs : OpRewritePattern<PerSlotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PerSlotOp op,
                                PatternRewriter &rewriter) const override;

private:
  /// Replaces the uses of the argument of operand `i` if possible. Returns
  /// whether the operand can go.
  static bool replaceInput(PatternRewriter &rewriter, PerSlotOp op, size_t i);
};

/// Drops results that are unused, or that equal another result or an operand.
/// Looks through casts of the other results.
struct SimplifyOutputs : OpRewritePattern<PerSlotOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PerSlotOp op,
                                PatternRewriter &rewriter) const override;

private:
  /// Returns the value outside of the body that equals result `i`, or null.
  static Value knownValue(PerSlotOp op, size_t i);
};
} // namespace

bool SimplifyInputs::replaceInput(PatternRewriter &rewriter, PerSlotOp op,
                                  size_t i) {
  BlockArgument argument = op.getInputArguments()[i];
  if (argument.use_empty())
    return true;
  if (isEmpty(argument.getType()) &&
      cast<ShapedType>(argument.getType()).hasStaticShape()) {
    rewriter.setInsertionPointToStart(op.getBody());
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(),
                                          argument.getType(), ValueRange());
    rewriter.replaceAllUsesWith(argument, empty);
    return true;
  }
  Value same;
  if (op.getInputs()[i] == op.getSlots())
    same = op.getSlotArgument();
  // Skip arguments without uses: they are dropped, too.
  for (size_t j = 0; j < i && !same; ++j)
    if (op.getInputs()[j] == op.getInputs()[i] &&
        !op.getInputArguments()[j].use_empty())
      same = op.getInputArguments()[j];
  if (!same)
    return false;
  rewriter.replaceAllUsesWith(argument, same);
  return true;
}

LogicalResult SimplifyInputs::matchAndRewrite(PerSlotOp op,
                                              PatternRewriter &rewriter) const {
  SmallVector<Value> inputs;
  BitVector dropped(op.getBody()->getNumArguments());
  bool changed = false;
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    if (replaceInput(rewriter, op, i)) {
      dropped.set(i + 2);
      changed = true;
      continue;
    }
    inputs.push_back(input);
    Value source = staticSource(input);
    if (!source || cast<ShapedType>(source.getType()).getDimSize(0) !=
                       cast<ShapedType>(input.getType()).getDimSize(0))
      continue;
    inputs.back() = source;
    changed = true;
    BlockArgument argument = op.getInputArguments()[i];
    Type type = argument.getType();
    rewriter.setInsertionPointToStart(op.getBody());
    rewriter.modifyOpInPlace(
        op, [&] { argument.setType(typeOfRow(source.getType())); });
    auto cast = tensor::CastOp::create(rewriter, op.getLoc(), type, argument);
    rewriter.replaceAllUsesExcept(argument, cast, cast);
  }
  if (!changed)
    return failure();
  PerSlotOp made = remake(rewriter, op, inputs, op.getResultTypes());
  rewriter.modifyOpInPlace(made,
                           [&] { made.getBody()->eraseArguments(dropped); });
  rewriter.replaceOp(op, made);
  return success();
}

Value SimplifyOutputs::knownValue(PerSlotOp op, size_t i) {
  OperandRange values = op.getYield().getValues();
  Type type = op.getResult(i).getType();
  // Skip results without uses: they are dropped, too.
  for (size_t j = 0; j < i; ++j)
    if (values[j] == values[i] && !op.getResult(j).use_empty())
      return op.getResult(j);
  if (values[i] == op.getSlotArgument())
    return op.getSlots();
  for (auto [argument, input] :
       llvm::zip_equal(op.getInputArguments(), op.getInputs()))
    if (values[i] == argument && input.getType() == type)
      return input;
  return Value();
}

LogicalResult
SimplifyOutputs::matchAndRewrite(PerSlotOp op,
                                 PatternRewriter &rewriter) const {
  SmallVector<Value> yielded;
  SmallVector<Type> types;
  SmallVector<size_t> kept;
  bool changed = false;
  int64_t slots = cast<ShapedType>(op.getSlots().getType()).getDimSize(0);
  for (auto [i, value] : llvm::enumerate(op.getYield().getValues())) {
    Value known = knownValue(op, i);
    if (known && !op.getResult(i).use_empty())
      rewriter.replaceAllUsesWith(op.getResult(i), known);
    if (op.getResult(i).use_empty()) {
      changed = true;
      continue;
    }
    Value source = staticSource(value);
    changed |= bool(source);
    kept.push_back(i);
    yielded.push_back(source ? source : value);
    types.push_back(typeOfRows(slots, yielded.back().getType()));
  }
  if (!changed)
    return failure();
  rewriter.modifyOpInPlace(
      op.getYield(), [&] { op.getYield().getValuesMutable().assign(yielded); });
  PerSlotOp made = remake(rewriter, op, op.getInputs(), types);
  SmallVector<Value> results(op.getNumResults());
  for (auto [i, value] : llvm::zip_equal(kept, made.getOutputs())) {
    results[i] = value;
    Type type = op.getResult(i).getType();
    if (type != value.getType())
      results[i] = tensor::CastOp::create(rewriter, op.getLoc(), type, value);
  }
  rewriter.replaceOp(op, results);
  return success();
}

void PerSlotOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<SimplifyInputs, SimplifyOutputs>(context);
}
