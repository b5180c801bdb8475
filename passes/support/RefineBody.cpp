//===- RefineBody.cpp - Infer types of a body -----------------------------===//
//
// Bodies are folded by the canonicalizations of the upstream dialects and by
// the patterns below, which upstream lacks.
//
//===----------------------------------------------------------------------===//

#include "passes/support/RefineBody.h"
#include "dialects/MTP/IR/SlotTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

namespace {
/// Gives a tensor.splat with constant extents a static type.
struct StaticSplat : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::SplatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<int64_t> shape(op.getType().getShape());
    SmallVector<Value> open;
    auto sizes = op.getDynamicSizes();
    for (int64_t &extent : shape) {
      if (!ShapedType::isDynamic(extent))
        continue;
      std::optional<int64_t> size = getConstantIntValue(sizes.front());
      if (size && *size >= 0)
        extent = *size;
      else
        open.push_back(sizes.front());
      sizes = sizes.drop_front();
    }
    if (open.size() == op.getDynamicSizes().size())
      return failure();
    Value made = tensor::SplatOp::create(
        rewriter, op.getLoc(), op.getType().clone(shape), op.getInput(), open);
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, op.getType(), made);
    return success();
  }
};

/// Makes the tensors that a loop carries static if their initial extents are
/// static and each iteration keeps them. Upstream has this pattern for a loop
/// with one initial value.
struct StaticCarried : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override;
};
} // namespace

/// Returns the source of `value` if it is a cast that forgets extents; null if
/// not.
static Value moreStatic(Value value) {
  auto cast = value.getDefiningOp<tensor::CastOp>();
  return cast && tensor::preservesStaticInformation(cast.getType(),
                                                    cast.getSource().getType())
             ? cast.getSource()
             : Value();
}

LogicalResult StaticCarried::matchAndRewrite(scf::ForOp loop,
                                             PatternRewriter &rewriter) const {
  SmallVector<Value> inits(loop.getInitArgs());
  SmallVector<bool> changes;
  for (Value &init : inits) {
    Value source = moreStatic(init);
    changes.push_back(bool(source));
    init = source ? source : init;
  }
  if (!llvm::is_contained(changes, true))
    return failure();
  Location loc = loop.getLoc();
  auto made = scf::ForOp::create(rewriter, loc, loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  auto castTo = [&](Value value, Type type) -> Value {
    return value.getType() == type
               ? value
               : tensor::CastOp::create(rewriter, loc, type, value);
  };
  if (!made.getBody()->empty())
    rewriter.eraseOp(made.getBody()->getTerminator());
  rewriter.setInsertionPointToStart(made.getBody());
  SmallVector<Value> arguments{made.getInductionVar()};
  for (auto [own, old] :
       llvm::zip_equal(made.getRegionIterArgs(), loop.getRegionIterArgs()))
    arguments.push_back(castTo(own, old.getType()));
  rewriter.mergeBlocks(loop.getBody(), made.getBody(), arguments);
  auto yield = cast<scf::YieldOp>(made.getBody()->getTerminator());
  rewriter.setInsertionPoint(yield);
  SmallVector<Value> yielded;
  for (auto [value, init] : llvm::zip_equal(yield.getOperands(), inits))
    yielded.push_back(castTo(value, init.getType()));
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  rewriter.setInsertionPointAfter(made);
  SmallVector<Value> results;
  for (auto [own, old] : llvm::zip_equal(made.getResults(), loop.getResults()))
    results.push_back(castTo(own, old.getType()));
  rewriter.replaceOp(loop, results);
  return success();
}

void mlir::mtp::fold(Operation *op) {
  RewritePatternSet patterns(op->getContext());
  for (Dialect *dialect : op->getContext()->getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name :
       op->getContext()->getRegisteredOperations())
    name.getCanonicalizationPatterns(patterns, op->getContext());
  patterns.add<StaticSplat, StaticCarried>(op->getContext());
  FrozenRewritePatternSet frozen(std::move(patterns));
  for (Region &region : op->getRegions())
    (void)applyPatternsGreedily(region, frozen);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Value mlir::mtp::peelCast(Value value) {
  auto cast = value.getDefiningOp<tensor::CastOp>();
  return cast ? cast.getSource() : value;
}

/// Derives the types of a body's arguments from the operands, and the types of
/// the results from the yielded values.
void mlir::mtp::refineBody(PerSlotOp op) {
  for (auto [argument, input] :
       llvm::zip(op.getInputArguments(), op.getInputs()))
    argument.setType(typeOfRow(input.getType()));
  fold(op);
  YieldOp yield = op.getYield();
  for (auto [operand, result] :
       llvm::zip(yield->getOpOperands(), op.getResults())) {
    Value before = operand.get();
    operand.set(peelCast(before));
    if (before != operand.get() && before.use_empty())
      before.getDefiningOp()->erase();
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape{type.getDimSize(0)};
    if (auto own = dyn_cast<RankedTensorType>(operand.get().getType()))
      llvm::append_range(shape, own.getShape());
    result.setType(type.clone(shape));
  }
}
