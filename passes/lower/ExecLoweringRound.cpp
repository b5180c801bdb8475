//===- ExecLoweringRound.cpp - Lower states and rows of programs ----------===//

#include "passes/lower/ExecLowering.h"
#include "passes/support/RoundStates.h"

using namespace mlir;
using namespace mlir::mtp;

static LogicalResult lowerConstant(arith::ConstantOp op,
                                   LoweringContext &context) {
  auto value = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!value)
    return op.emitOpError("expected a tensor, got ") << op.getType();
  context.map(op.getResult(), context.constant(value, op.getLoc()));
  return success();
}

/// Lowers slots to the active slots of a round, or to the slots of the prompts'
/// sequences.
static LogicalResult lowerSlots(SlotsOp op, LoweringContext &context) {
  exec::Count count = exec::rowsOf(op.getResult());
  Value slots =
      context.isDecode() && !op.getPrompts()
          ? context.numbers(states::kActive, std::nullopt, count, op.getLoc())
          : context.numbers(states::kSequences, int64_t(SequenceWord::Slot),
                            count, op.getLoc());
  if (!slots)
    return failure();
  context.map(op.getResult(), slots);
  return success();
}

static LogicalResult lowerPromptRows(PromptRowsOp op,
                                     LoweringContext &context) {
  Location loc = op.getLoc();
  int64_t ahead = op.getAhead();
  exec::Count count = exec::rowsOf(op.getTokens());
  Value tokens = context.numbers(states::kPromptTokens, ahead, count, loc);
  Value positions =
      tokens ? context.numbers(states::kPromptPositions, ahead, count, loc)
             : Value();
  Value slots = positions ? context.numbers(states::kPromptSlots, std::nullopt,
                                            count, loc)
                          : Value();
  if (!slots)
    return failure();
  context.map(op.getTokens(), tokens);
  RowContext rows;
  rows.slots = slots;
  rows.positions = positions;
  context.mapRows(op.getRows(), rows);
  return success();
}

static LogicalResult lowerRowPositions(RowPositionsOp op,
                                       LoweringContext &context) {
  context.map(op.getResult(), context.rowsOf(op.getRows()).positions);
  return success();
}

static LogicalResult lowerRowSlots(RowSlotsOp op, LoweringContext &context) {
  context.map(op.getResult(), context.rowsOf(op.getRows()).slots);
  return success();
}

static LogicalResult lowerReshape(ReshapeOp op, LoweringContext &context) {
  context.map(op.getResult(),
              exec::ReshapeOp::create(context.builder, op.getLoc(),
                                      op.getType(), context.whole(op.getX())));
  return success();
}

/// Returns the numbers that describe rows, positions and tokens first.
static SmallVector<Value *> numbersOf(RowContext &rows, Value &tokens) {
  SmallVector<Value *> numbers{&rows.positions, &tokens, &rows.slots};
  if (rows.pending)
    numbers.append({&rows.pending, &rows.keeps});
  if (rows.masks)
    numbers.append({&rows.roots, &rows.places, &rows.masks});
  return numbers;
}

/// Packs prompt rows after the slots' rows.
static LogicalResult lowerPackPrompts(PackOp op, LoweringContext &context) {
  RowContext rows = context.rowsOf(op.getRows());
  RowContext prompts = context.rowsOf(op.getPromptRows());
  if (bool(rows.masks) != bool(prompts.masks))
    return op.emitOpError("expected rows of prompts that are of a tree where "
                          "the others are, and only there");
  if (bool(rows.pending) != bool(prompts.pending))
    return op.emitOpError("expected rows of prompts that say what a recurrence "
                          "does with them where the others do, and only there");
  Value tokens = context.lookup(op.getTokens());
  Value promptTokens = context.lookup(op.getPromptTokens());
  auto lookup = [](Value *number) { return *number; };
  SmallVector<Value *> numbers = numbersOf(rows, tokens);
  auto own = llvm::map_to_vector(numbers, lookup);
  auto theirs = llvm::map_to_vector(numbersOf(prompts, promptTokens), lookup);
  auto type = cast<RankedTensorType>(op.getPackedTokens().getType());
  auto types = llvm::map_to_vector(own, [&](Value number) -> Type {
    Type element = cast<ShapedType>(number.getType()).getElementType();
    return RankedTensorType::get(type.getShape(), element, type.getEncoding());
  });
  auto live = RankedTensorType::get({1}, context.builder.getI32Type());
  auto packed = context.call<exec::PackPromptsOp>(
      op.getLoc(), types, op.getPlaces().getType(),
      op.getPromptPlaces().getType(), live, own, theirs);
  for (auto [number, result] : llvm::zip(numbers, packed.getPacked()))
    *number = result;
  context.mapRows(op.getPacked(), rows);
  context.map(op.getPackedTokens(), tokens);
  context.map(op.getPlaces(), packed.getPlaces());
  context.map(op.getPromptPlaces(), packed.getPromptPlaces());
  return success();
}

/// Packs all numbers of a row context along with the rows.
static LogicalResult lowerPack(PackOp op, LoweringContext &context) {
  if (op.getPromptRows())
    return lowerPackPrompts(op, context);
  RowContext rows = context.rowsOf(op.getRows());
  Value tokens = context.lookup(op.getTokens());
  // Positions are a separate operand.
  SmallVector<Value *> numbers = numbersOf(rows, tokens);
  numbers.erase(numbers.begin());
  auto operands =
      llvm::map_to_vector(numbers, [](Value *number) { return *number; });
  auto type = cast<RankedTensorType>(op.getPackedTokens().getType());
  auto types = llvm::map_to_vector(operands, [&](Value number) -> Type {
    Type element = cast<ShapedType>(number.getType()).getElementType();
    return RankedTensorType::get(type.getShape(), element, type.getEncoding());
  });
  auto live = RankedTensorType::get({1}, context.builder.getI32Type());
  auto packed = context.call<exec::PackOp>(op.getLoc(), type, types,
                                           op.getPlaces().getType(), live,
                                           rows.positions, operands);
  rows.positions = packed.getPacked();
  for (auto [number, result] : llvm::zip(numbers, packed.getPackedNumbers()))
    *number = result;
  context.mapRows(op.getPacked(), rows);
  context.map(op.getPackedTokens(), tokens);
  context.map(op.getPlaces(), packed.getPlaces());
  return success();
}

static LogicalResult lowerUnpack(UnpackOp op, LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::UnpackRowsOp>(op.getLoc(), op.getType(),
                                               context.whole(op.getX()),
                                               context.lookup(op.getPlaces())));
  return success();
}

static Value stateRows(LoweringContext &context, Operation *op,
                       llvm::StringRef name) {
  Value state = context.state(name, op->getLoc());
  if (!state)
    op->emitOpError("expected a state @") << name << ", found none";
  return state;
}

static LogicalResult lowerReadState(ReadStateOp op, LoweringContext &context) {
  Value state = stateRows(context, op, op.getState());
  if (!state)
    return failure();
  context.map(op.getResult(), context.call<exec::ReadStateOp>(
                                  op.getLoc(), op.getType(),
                                  context.lookup(op.getSlots()), state));
  return success();
}

static LogicalResult lowerWriteState(WriteStateOp op,
                                     LoweringContext &context) {
  Value state = stateRows(context, op, op.getState());
  if (!state)
    return failure();
  Value index = op.getIndex() ? context.lookup(op.getIndex()) : Value();
  context.call<exec::WriteStateOp>(op.getLoc(), context.whole(op.getX()), index,
                                   context.lookup(op.getSlots()), state);
  return success();
}

static LogicalResult lowerConcatRows(ConcatRowsOp op,
                                     LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::ConcatRowsOp>(
                  op.getLoc(), op.getType(), context.whole(op.getHead()),
                  op.getHeadRows(), context.whole(op.getTail()),
                  op.getTailRows()));
  return success();
}

/// Moves entries in every layer separately, since a call addresses the pages of
/// one layer.
static LogicalResult lowerCacheMove(CacheMoveOp op, LoweringContext &context) {
  exec::CacheOp cache = context.findCache(op.getCache());
  Value pages = context.pageTable(op.getLoc());
  if (!pages)
    return failure();
  for (int64_t layer = 0; layer < int64_t(cache.getLayers()); ++layer)
    context.call<exec::MoveEntriesOp>(
        op.getLoc(), context.lookup(op.getSlots()),
        context.lookup(op.getFrom()), context.lookup(op.getTo()), pages,
        context.cacheLayer(cache, layer, op.getLoc()), cache.getHeads());
  return success();
}

void mlir::mtp::addRoundLowerings(Lowerings &lowerings) {
  lowerings.add(lowerConstant);
  lowerings.add(lowerSlots);
  lowerings.add(lowerPromptRows);
  lowerings.add(lowerRowPositions);
  lowerings.add(lowerRowSlots);
  lowerings.add(lowerReshape);
  lowerings.add(lowerPack);
  lowerings.add(lowerUnpack);
  lowerings.add(lowerReadState);
  lowerings.add(lowerWriteState);
  lowerings.add(lowerConcatRows);
  lowerings.add(lowerCacheMove);
}
