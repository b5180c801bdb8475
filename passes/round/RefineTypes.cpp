//===- RefineTypes.cpp - Types that follow from k -------------------------===//
//
// The ops of a round are gone through in order: what an op reads has its type
// by then. Code in bodies is folded by the canonicalisations of the upstream
// dialects, and by those here that upstream lacks.
//
//===----------------------------------------------------------------------===//

#include "passes/round/RefineTypes.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/SlotTypes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/support/RowsPerSlot.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

namespace {
/// A tensor.splat of constant extents says so in its type.
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

/// A loop carries tensors of the extents that they begin with, where it hands
/// them on with the same. Upstream does this for a loop that carries one of a
/// start.
struct StaticCarried : OpRewritePattern<scf::ForOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(scf::ForOp loop,
                                PatternRewriter &rewriter) const override;
};
} // namespace

/// The value of which `value` is a cast that forgets extents; null if it is
/// none.
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

namespace {
class Refiner {
public:
  /// Of a prefill k is 0 and the window the anchor.
  Refiner(bool isRound, int64_t k, int64_t window)
      : isRound(isRound), k(k), window(window) {}

  void refine(Block &body);

private:
  void refineOp(PerSlotOp op);
  void refineOp(AcceptOp op);
  void refineOp(RegroupOp op);
  void refineDrafts(Operation *op);
  void refineGroups(Operation *op);
  void refineRule(AcceptOp op);

  bool isRound;
  int64_t k;
  int64_t window;
};
} // namespace

/// The value that `value` is a cast of, with a type that says more.
static Value peelCast(Value value) {
  auto cast = value.getDefiningOp<tensor::CastOp>();
  return cast ? cast.getSource() : value;
}

/// Says that a slot has so many of `value`, where that was open.
static void setPerSlot(Value value, int64_t count) {
  auto type =
      dyn_cast_or_null<RankedTensorType>(value ? value.getType() : Type());
  if (!type || type.getRank() < 2 || !type.isDynamicDim(1))
    return;
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = count;
  value.setType(type.clone(shape));
}

/// The types of a body's arguments follow from the operands, those of the
/// results from what it yields.
void Refiner::refineOp(PerSlotOp op) {
  for (auto [argument, input] :
       llvm::zip(op.getInputArguments(), op.getInputs()))
    argument.setType(typeOfRow(input.getType()));
  fold(op);
  YieldOp yield = op.getYield();
  for (auto [operand, result] :
       llvm::zip(yield->getOpOperands(), op.getResults())) {
    operand.set(peelCast(operand.get()));
    SmallVector<int64_t> shape{ShapedType::kDynamic};
    if (auto own = dyn_cast<RankedTensorType>(operand.get().getType()))
      llvm::append_range(shape, own.getShape());
    result.setType(cast<RankedTensorType>(result.getType()).clone(shape));
  }
}

/// The rule sees what a slot has of its window.
void Refiner::refineRule(AcceptOp op) {
  Block &rule = op.getRuleRegion().front();
  for (auto [name, argument] :
       llvm::zip_equal(op.getRuleArguments(), rule.getArguments())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getRank() < 2)
      continue;
    bool isDrafts =
        name == RuleArgument::Drafts || name == RuleArgument::DraftLogits;
    SmallVector<int64_t> shape(type.getShape());
    shape[1] = isDrafts ? window - 1 : window;
    argument.setType(type.clone(shape));
  }
  refine(rule);
}

/// A prompt's pick is one, and so are the tokens that lead to it. What is
/// accepted is a path, which k bounds.
void Refiner::refineOp(AcceptOp op) {
  setPerSlot(op.getPicks(), k + 1);
  setPerSlot(op.getPath(), k + 1);
  if (!op.getRuleRegion().empty())
    refineRule(op);
  if (op.seesPaths())
    setPerSlot(op.getBodyRegion().getArgument(3), k + 1);
  refine(op.getBodyRegion().front());
}

/// A group that was left open is a slot's.
void Refiner::refineOp(RegroupOp op) {
  auto from = cast<RankedTensorType>(op.getX().getType());
  auto to = op.getType();
  if (to.getRank() != from.getRank() + 1) {
    if (to.getRank() == from.getRank())
      setPerSlot(op, from.getRank() > 1 ? from.getDimSize(1) : 0);
    return;
  }
  std::optional<int64_t> rows;
  if (isRound || isa<AcceptOp>(op->getParentOp()))
    rows = rowsPerSlot(op.getX(), window);
  if (rows)
    setPerSlot(op, *rows);
}

/// A draft for each row of the window but the anchor's.
void Refiner::refineDrafts(Operation *op) {
  if (!isRound)
    return;
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[1] = window - 1;
    result.setType(type.clone(shape));
  }
}

/// A result for each row of a slot: as many groups as the operand has.
void Refiner::refineGroups(Operation *op) {
  auto from = cast<RankedTensorType>(op->getOperand(0).getType());
  if (from.getRank() != 3)
    return;
  for (Value result : op->getResults())
    setPerSlot(result, from.getDimSize(1));
}

void Refiner::refine(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    for (OpOperand &operand : op.getOpOperands())
      operand.set(peelCast(operand.get()));
    llvm::TypeSwitch<Operation *>(&op)
        .Case<PerSlotOp, AcceptOp, RegroupOp>([&](auto op) { refineOp(op); })
        .Case<DraftChainOp, DraftTreeOp, DraftHeadsOp>(
            [&](auto op) { refineDrafts(op); })
        .Case<EntropyOp, GatherOp, LogSoftmaxOp, LogSumExpOp, ProbabilitiesOp,
              TopKOp>([&](auto op) { refineGroups(op); });
  }
  for (auto cast : llvm::to_vector(body.getOps<tensor::CastOp>()))
    if (cast->use_empty())
      cast->erase();
}

void mlir::mtp::refineTypes(Operation *instance) {
  auto round = dyn_cast<RoundOp>(instance);
  Refiner refiner = round ? Refiner(true, *round.getK(), round.getWindow())
                          : Refiner(false, /*k=*/0, /*window=*/1);
  refiner.refine(instance->getRegion(0).front());
}
