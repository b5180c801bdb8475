//===- ExecLoweringVocabulary.cpp - Lower ops on rows of logits -----------===//

#include "dialects/MTP/IR/RuleAttrs.h"
#include "passes/lower/ExecLowering.h"
#include "passes/support/DraftTokens.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns `value` as rows of `columns` elements, the form that kernels take.
/// Rows in groups become the rows that were grouped, so that a reader of logits
/// in groups is a direct reader of the head's logits.
static Value inRows(Value value, int64_t columns, LoweringContext &context) {
  Value whole = context.whole(value);
  auto isInRows = [&](Value rows) {
    auto type = cast<RankedTensorType>(rows.getType());
    return type.getRank() == 2 && type.getDimSize(1) == columns;
  };
  if (isInRows(whole))
    return whole;
  if (auto groups = whole.getDefiningOp<exec::ReshapeOp>())
    if (isInRows(groups.getX()))
      return groups.getX();
  exec::Count rows = *divide(*exec::elementsOf(whole), columns);
  Type element = cast<RankedTensorType>(whole.getType()).getElementType();
  return exec::ReshapeOp::create(context.builder, value.getLoc(),
                                 exec::rowsType(rows, columns, element), whole);
}

/// Returns `x` as rows of logits, which may be a view.
static Value rowsOfLogits(Value x, LoweringContext &context) {
  auto type = cast<RankedTensorType>(x.getType());
  return type.getRank() == 2 ? context.lookup(x)
                             : inRows(x, widthOf(x), context);
}

/// Maps `result`, which may be in groups, to `made`.
static void mapInGroups(Value result, Value made, LoweringContext &context) {
  if (made.getType() != result.getType())
    made = exec::ReshapeOp::create(context.builder, result.getLoc(),
                                   result.getType(), made);
  context.map(result, made);
}

template <typename FromT, typename ToT>
static LogicalResult lowerRowNumber(FromT op, LoweringContext &context) {
  Value x = rowsOfLogits(op.getX(), context);
  Type type = exec::rowsType(exec::rowsOf(x), /*columns=*/1,
                             context.builder.getF32Type());
  mapInGroups(op.getResult(), context.call<ToT>(op.getLoc(), type, x), context);
  return success();
}

static LogicalResult lowerLogSoftmax(LogSoftmaxOp op,
                                     LoweringContext &context) {
  Value x = rowsOfLogits(op.getX(), context);
  Type type = exec::rowsType(exec::rowsOf(x), widthOf(op.getX()),
                             context.builder.getF32Type());
  mapInGroups(op.getResult(),
              context.call<exec::LogSoftmaxOp>(op.getLoc(), type, x), context);
  return success();
}

/// Flattens a window's rows to a vector of numbers.
static Value inNumbers(Value value, LoweringContext &context) {
  if (!value)
    return value;
  Value whole = context.whole(value);
  auto type = cast<RankedTensorType>(whole.getType());
  if (type.getRank() == 1)
    return whole;
  auto numbers = RankedTensorType::get({0}, type.getElementType());
  return exec::ReshapeOp::create(
      context.builder, value.getLoc(),
      exec::withRows(numbers, *exec::elementsOf(whole)), whole);
}

static LogicalResult lowerGather(GatherOp op, LoweringContext &context) {
  Value x = rowsOfLogits(op.getX(), context);
  Value places = inNumbers(op.getPlaces(), context);
  exec::Count rows = exec::rowsOf(places ? places : x);
  std::optional<int64_t> count =
      ratio(*exec::elementsOf(context.whole(op.getColumns())), rows);
  if (!count)
    return op.emitOpError(
               "expected a fixed number of columns for each place, got ")
           << op.getColumns().getType() << " and " << op.getPlaces().getType();
  Type type = exec::rowsType(
      rows, *count, cast<RankedTensorType>(op.getType()).getElementType());
  Value columns = inRows(op.getColumns(), *count, context);
  mapInGroups(op.getResult(),
              context.call<exec::GatherColumnsOp>(op.getLoc(), type, x, places,
                                                  columns),
              context);
  return success();
}

FailureOr<SampleKeys>
mlir::mtp::lowerSampleKeys(Operation *op, Value logits, Value rows,
                           Value number, std::optional<llvm::StringRef> tokens,
                           LoweringContext &context) {
  Location loc = op->getLoc();
  Value sampling = context.state("sampling", loc);
  if (!sampling)
    return op->emitOpError("expected a round in the module: sampling "
                           "parameters belong to its slots");
  const RowContext &places = context.rowsOf(rows);
  if (cast<RankedTensorType>(logits.getType()).getRank() == 2)
    lowerLogitRules(op, logits, places, tokens, context);
  Value x = inRows(logits, widthOf(logits), context);
  Value p = context.call<exec::ProbabilitiesOp>(loc, x.getType(), x,
                                                places.slots, sampling);
  Type sums = exec::rowsType(exec::rowsOf(x), /*columns=*/1,
                             context.builder.getF32Type());
  auto call = context.call<exec::SampleKeysOp>(
      loc, x.getType(), sums, x, p, tokenTable(tokens, loc, context),
      places.slots, places.positions, number ? context.whole(number) : Value(),
      sampling);
  return SampleKeys{call.getKeys(), call.getSums()};
}

static LogicalResult lowerTopK(TopKOp op, LoweringContext &context) {
  Location loc = op.getLoc();
  OpBuilder &builder = context.builder;
  SampleKeys keys;
  if (op.getNoise()) {
    FailureOr<SampleKeys> own = lowerSampleKeys(
        op, op.getX(), op.getNoise(), op.getNumber(), op.getTokens(), context);
    if (failed(own))
      return failure();
    keys = *own;
    // mtp.shares divides by the sum of the keys themselves.
    if (op->hasAttr(kSharesAttr))
      keys.sums = {};
  } else {
    keys.keys = rowsOfLogits(op.getX(), context);
  }
  exec::Count rows = exec::rowsOf(keys.keys);
  int64_t k = op.getK();
  auto call = context.call<exec::TopKOp>(
      loc, exec::rowsType(rows, k, builder.getI32Type()),
      exec::rowsType(rows, k, builder.getF32Type()), keys.keys, keys.sums);
  mapInGroups(op.getLogs(), call.getLogs(), context);
  Value best = call.getColumns();
  if (op.getTokens()) {
    auto numbers = RankedTensorType::get({0}, builder.getI32Type());
    Value columns = exec::ReshapeOp::create(
        builder, loc, exec::withRows(numbers, rows * k), best);
    best = lookUpColumns(builder, loc, tokenTable(op.getTokens(), loc, context),
                         columns);
    ++context.numCalls;
  }
  mapInGroups(op.getBest(), best, context);
  return success();
}

static LogicalResult lowerMaskColumns(MaskColumnsOp op,
                                      LoweringContext &context) {
  Value state = context.state(op.getState(), op.getLoc());
  if (!state)
    return op.emitOpError("expected a round in the module, whose slots have "
                          "the state @")
           << op.getState();
  Value at = op.getAt() ? context.lookup(op.getAt()) : Value();
  context.map(op.getResult(),
              context.call<exec::MaskColumnsOp>(
                  op.getLoc(), op.getType(), context.lookup(op.getX()),
                  context.lookup(op.getSlots()), at, state));
  return success();
}

static LogicalResult lowerProbabilities(ProbabilitiesOp op,
                                        LoweringContext &context) {
  Value sampling = context.state("sampling", op.getLoc());
  if (!sampling)
    return op.emitOpError("expected a round in the module: sampling parameters "
                          "belong to its slots");
  Value x = inRows(op.getX(), widthOf(op.getX()), context);
  Value slots = context.lookup(op.getSlots());
  if (!ratio(exec::rowsOf(x), exec::rowsOf(slots)))
    return op.emitOpError("expected a fixed number of rows for each slot, got ")
           << op.getX().getType() << " of " << op.getSlots().getType();
  mapInGroups(op.getResult(),
              context.call<exec::ProbabilitiesOp>(op.getLoc(), x.getType(), x,
                                                  slots, sampling),
              context);
  return success();
}

static LogicalResult lowerSampleResidual(SampleResidualOp op,
                                         LoweringContext &context) {
  int64_t width = widthOf(op.getP());
  auto operand = [&](Value value) {
    return value ? context.whole(value) : Value();
  };
  Value q = op.getQ() ? inRows(op.getQ(), width, context) : Value();
  Value places = inNumbers(op.getPlaces(), context);
  context.map(op.getResult(),
              context.call<exec::SampleResidualOp>(
                  op.getLoc(), op.getType(), inRows(op.getP(), width, context),
                  places, q, operand(op.getAt()), operand(op.getUniform())));
  return success();
}

void mlir::mtp::addVocabularyLowerings(Lowerings &lowerings) {
  lowerings.add(lowerRowNumber<LogSumExpOp, exec::LogSumExpOp>);
  lowerings.add(lowerRowNumber<EntropyOp, exec::EntropyOp>);
  lowerings.add(lowerLogSoftmax);
  lowerings.add(lowerGather);
  lowerings.add(lowerTopK);
  lowerings.add(lowerMaskColumns);
  lowerings.add(lowerProbabilities);
  lowerings.add(lowerSampleResidual);
}
