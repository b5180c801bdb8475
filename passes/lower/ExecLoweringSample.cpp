//===- ExecLoweringSample.cpp - Lower picks of tokens ---------------------===//

#include "dialects/MTP/IR/RuleAttrs.h"
#include "passes/lower/ExecLowering.h"
#include "passes/support/DraftTokens.h"
#include "passes/support/RoundStates.h"

using namespace mlir;
using namespace mlir::mtp;

Value mlir::mtp::tokenTable(std::optional<llvm::StringRef> name, Location loc,
                            LoweringContext &context) {
  if (!name)
    return Value();
  VocabularyOp vocabulary = context.findVocabulary(*name);
  SmallVector<int32_t> tokens(vocabulary.getTokens().getValues<int32_t>());
  return context.constant(columnTable(loc.getContext(), tokens), loc);
}

/// Returns the table of the columns of tokens, -1 for a token without a column.
/// Its last row is -1 as well, and any larger token is looked up there.
static Value columnsOf(llvm::StringRef name, Location loc,
                       LoweringContext &context) {
  VocabularyOp vocabulary = context.findVocabulary(name);
  SmallVector<int32_t> columns(vocabulary.getLast() + 2, -1);
  for (auto [column, token] :
       llvm::enumerate(vocabulary.getTokens().getValues<int32_t>()))
    columns[token] = int32_t(column);
  return context.constant(columnTable(loc.getContext(), columns), loc);
}

/// Returns whether rules have changed logits already. Siblings are picked from
/// the logits of the first draft without its token.
static bool areRuled(Value logits) {
  while (auto mask = logits.getDefiningOp<exec::MaskTokensOp>())
    logits = mask.getX();
  return bool(logits.getDefiningOp<exec::ProcessLogitsOp>());
}

void mlir::mtp::lowerLogitRules(Operation *op, Value logits,
                                const RowContext &rows,
                                std::optional<llvm::StringRef> tokens,
                                LoweringContext &context) {
  Location loc = op->getLoc();
  Value rules = context.state(states::kLogitRules, loc);
  Value counts = context.state(states::kTokenCounts, loc);
  Value bias = context.state(states::kLogitBias, loc);
  if (!rules || !counts || !bias || context.isFunction())
    return;
  Value x = context.whole(logits);
  if (areRuled(x))
    return;
  bool ofWindow =
      op->hasAttr(kPicksWindowAttr) && context.isDecode() && !tokens;
  Value path = ofWindow ? context.state(states::kLogitPath, loc) : Value();
  Value length = path ? context.state(states::kLength, loc) : Value();
  // Only drafters have a vocabulary of their own.
  bool picksDrafts = op->hasAttr(kPicksDraftsAttr) || tokens;
  // The host computes masks when it has seen the drafts.
  Value masks = picksDrafts ? Value() : context.state(states::kLogitMasks, loc);
  auto process = context.call<exec::ProcessLogitsOp>(
      loc, x.getType(), /*ranked=*/TypeRange(), /*best=*/Value(),
      /*columns=*/Value(), x, rows.slots, rows.positions,
      path ? rows.places : Value(), path, length, rules, counts, bias, masks,
      tokenTable(tokens, loc, context),
      path ? uint64_t(context.envelope.getMaxK()) : 0, picksDrafts);
  context.map(logits, process.getY());
}

/// Picks the column of each row's largest element of `x`, or the token for
/// which the column stands.
template <typename Op>
static LogicalResult lowerLargest(Op op, Value x, LoweringContext &context) {
  Location loc = op.getLoc();
  Value picks = context.call<exec::ArgmaxOp>(loc, op.getResult().getType(), x);
  if (Value tokens = tokenTable(op.getTokens(), loc, context)) {
    picks = lookUpColumns(context.builder, loc, tokens, picks);
    ++context.numCalls;
  }
  context.map(op.getResult(), picks);
  return success();
}

static LogicalResult lowerArgmax(ArgmaxOp op, LoweringContext &context) {
  return lowerLargest(op, context.lookup(op.getX()), context);
}

/// Lowers a sample whose noise depends on more than the position: picks the
/// largest key.
static LogicalResult lowerNumbered(SampleOp op, LoweringContext &context) {
  FailureOr<SampleKeys> keys =
      lowerSampleKeys(op, op.getLogits(), op.getRows(), op.getNumber(),
                      op.getTokens(), context);
  if (failed(keys))
    return failure();
  return lowerLargest(op, keys->keys, context);
}

static LogicalResult lowerSample(SampleOp op, LoweringContext &context) {
  if (op.getAnchored())
    return op.emitOpError("expected noise by a number, is mtp-expand-anchored "
                          "missing before this pass?");
  if (op.getNumber())
    return lowerNumbered(op, context);
  Value sampling = context.state("sampling", op.getLoc());
  if (!sampling)
    return op.emitOpError("expected a round in the module: sampling parameters "
                          "belong to its slots; use mtp.argmax in a function");
  const RowContext &rows = context.rowsOf(op.getRows());
  lowerLogitRules(op, op.getLogits(), rows, op.getTokens(), context);
  Value none;
  context.map(op.getResult(),
              context.call<exec::SampleOp>(
                  op.getLoc(), op.getType(), /*best=*/none, /*columns=*/none,
                  context.whole(op.getLogits()),
                  tokenTable(op.getTokens(), op.getLoc(), context), rows.slots,
                  rows.positions, sampling, /*found=*/none));
  return success();
}

static LogicalResult lowerMaskTokens(MaskTokensOp op,
                                     LoweringContext &context) {
  Location loc = op.getLoc();
  Value excluded = context.lookup(op.getExcluded());
  if (op.getTokens()) {
    Value columns = columnsOf(*op.getTokens(), loc, context);
    excluded = lookUpColumns(context.builder, loc, columns, excluded);
    ++context.numCalls;
  }
  context.map(op.getResult(),
              context.call<exec::MaskTokensOp>(
                  loc, op.getType(), context.whole(op.getLogits()), excluded));
  return success();
}

void mlir::mtp::addSampleLowerings(Lowerings &lowerings) {
  lowerings.add(lowerArgmax);
  lowerings.add(lowerMaskTokens);
  lowerings.add(lowerSample);
}
