//===- MTPCoreOps.cpp - Verifiers of the core operations ------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "runtime/schema/HostOutputs.h"

using namespace mlir;
using namespace mlir::mtp;

static int64_t rowsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getDimSize(0);
}

LogicalResult PromptRowsOp::verify() {
  // prompt_rows_c1: no round drafts further than that.
  return expectRange(*this, "ahead", getAhead(), getAhead() + 1, 17);
}

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  auto from = cast<RankedTensorType>(getX().getType());
  auto to = cast<RankedTensorType>(getType());
  // Returns whether `groups` has the columns of `rows` in each group.
  auto isInGroups = [](RankedTensorType rows, RankedTensorType groups) {
    ArrayRef<int64_t> columns = rows.getShape().drop_front();
    return groups.getRank() >= 2 &&
           (groups.getShape().drop_front(2) == columns ||
            (groups.getRank() == 2 && columns == ArrayRef<int64_t>{1}));
  };
  bool fits = from.getElementType() == to.getElementType() &&
              (from.getShape().drop_front() == to.getShape().drop_front() ||
               isInGroups(from, to) || isInGroups(to, from));
  if (!fits) // reshape_c1
    return emitOpError("expected rows on one side and the same in groups on "
                       "the other, got ")
           << from << " and " << to;
  if (from.hasStaticShape() && to.hasStaticShape() &&
      from.getNumElements() != to.getNumElements()) // reshape_c2
    return emitOpError("expected equal numbers of elements, got ")
           << from << " and " << to;
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getType())
    return getX();
  auto inner = getX().getDefiningOp<ReshapeOp>();
  if (inner && inner.getX().getType() == getType())
    return inner.getX();
  return {};
}

//===----------------------------------------------------------------------===//
// pack and unpack
//===----------------------------------------------------------------------===//

void PackOp::build(OpBuilder &builder, OperationState &state, Value rows,
                   Value tokens) {
  build(builder, state, rows, tokens, Value(), Value());
}

void PackOp::build(OpBuilder &builder, OperationState &state, Value rows,
                   Value tokens, Value promptRows, Value promptTokens) {
  Type type = tokens.getType(), packed = type;
  if (promptTokens)
    packed = cast<RankedTensorType>(type).clone({ShapedType::kDynamic});
  build(builder, state, RowsType::get(builder.getContext()), packed, type,
        promptTokens ? promptTokens.getType() : Type(), rows, tokens,
        promptRows, promptTokens, /*at_most=*/IntegerAttr());
}

LogicalResult PackOp::verify() {
  bool hasRows = getPromptRows() != nullptr;
  if (hasRows == (getPromptTokens() != nullptr) &&
      hasRows == (getPromptPlaces() != nullptr)) // pack_c1
    return success();
  return emitOpError("expected rows, tokens and places of prompts, or none of "
                     "them");
}

LogicalResult UnpackOp::verify() {
  auto from = cast<RankedTensorType>(getX().getType());
  auto to = cast<RankedTensorType>(getType());
  if (from.getElementType() != to.getElementType() ||
      from.getShape().drop_front() != to.getShape().drop_front() ||
      rowsOf(getResult()) != rowsOf(getPlaces())) // unpack_c1
    return emitOpError("expected a row of ")
           << from << " for each of " << getPlaces().getType() << ", got "
           << to;
  return success();
}

//===----------------------------------------------------------------------===//
// Rows of states
//===----------------------------------------------------------------------===//

/// Checks that the state is per slot and has f32 rows of `width` columns
/// (read_state_c1), and at least `rows` rows if both numbers are known
/// (read_state_c2, write_state_c3).
static LogicalResult verifyState(Operation *op, SymbolTableCollection &symbols,
                                 FlatSymbolRefAttr name, int64_t width,
                                 int64_t rows) {
  auto state = symbols.lookupNearestSymbolFrom<SlotStateOpInterface>(op, name);
  if (!state)
    return op->emitOpError("expected ") << name << " to be a state";
  SmallVector<int64_t> extents = state.getExtentSizes();
  if (state.getShared() || !state.getElementType().isF32() || extents.empty() ||
      extents.size() > 2 || extents.back() != width)
    return op->emitOpError("expected ")
           << name << " to have f32 rows of " << width << " columns per slot";
  int64_t most = extents.size() == 2 ? extents.front() : 1;
  if (!ShapedType::isDynamic(most) && !ShapedType::isDynamic(rows) &&
      rows > most)
    return op->emitOpError("expected at most ")
           << most << " rows of " << name << ", got " << rows;
  return success();
}

LogicalResult ReadStateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  int64_t rows = getCount() ? ShapedType::kDynamic : int64_t(getRows());
  return verifyState(*this, symbols, getStateAttr(), widthOf(getResult()),
                     rows);
}

LogicalResult ReadStateOp::verify() {
  return expectPositive(*this, "rows", getRows()); // read_state_c2
}

void ReadStateOp::build(OpBuilder &builder, OperationState &state, Type result,
                        StringRef name, Value slots, int64_t rows) {
  build(builder, state, result, name, slots, rows, /*count=*/Value());
}

LogicalResult ReadStateOp::canonicalize(ReadStateOp op,
                                        PatternRewriter &rewriter) {
  APInt count;
  if (!op.getCount() || !matchPattern(op.getCount(), m_ConstantInt(&count)) ||
      !count.isStrictlyPositive())
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.setRows(count.getSExtValue());
    op.getCountMutable().clear();
  });
  return success();
}

LogicalResult WriteStateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyState(*this, symbols, getStateAttr(), widthOf(getX()),
                         getRowsPerSlot())))
    return failure();
  return verifyWritten(*this, // write_state_c4, write_state_c5
                       symbols.lookupNearestSymbolFrom<SlotStateOpInterface>(
                           *this, getStateAttr()));
}

int64_t WriteStateOp::getRowsPerSlot() {
  if (getIndex()) {
    auto type = cast<RankedTensorType>(getIndex().getType());
    return type.getRank() == 2 ? type.getDimSize(1) : 1;
  }
  int64_t rows = rowsOf(getX()), slots = rowsOf(getSlots());
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(slots))
    return ShapedType::kDynamic;
  return rows / slots;
}

LogicalResult WriteStateOp::verify() {
  if (getIndex()) // write_state_c2
    return expectRows(*this, "an index", getIndex(), getSlots());
  int64_t rows = rowsOf(getX()), slots = rowsOf(getSlots());
  if (!ShapedType::isDynamic(rows) && !ShapedType::isDynamic(slots) &&
      rows % slots != 0)
    return emitOpError("expected a fixed number of rows for each of ")
           << slots << " slots, got " << rows;
  return success();
}

//===----------------------------------------------------------------------===//
// concat_rows
//===----------------------------------------------------------------------===//

LogicalResult ConcatRowsOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  FailureOr<int64_t> width = staticWidth(*this, "the rows", getHead());
  if (failed(width) || // concat_rows_c1
      failed(expectWidth(*this, "the second rows", getTail(), *width)) ||
      failed(expectWidth(*this, "the result", getResult(), *width)) ||
      failed(expectPositive(*this, "rows", getHeadRows())) || // concat_rows_c2
      failed(expectPositive(*this, "rows", getTailRows())))
    return failure();
  int64_t head = rowsOf(getHead()), tail = rowsOf(getTail());
  if (ShapedType::isDynamic(head) || ShapedType::isDynamic(tail))
    return success();
  int64_t slots = head / getHeadRows();
  if (head != slots * int64_t(getHeadRows()) ||
      tail != slots * int64_t(getTailRows()) ||
      rowsOf(getResult()) != head + tail)
    return emitOpError("expected ")
           << getHeadRows() << " and " << getTailRows()
           << " rows for each slot, got " << head << " and " << tail
           << " for a result of " << rowsOf(getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// await_host and output
//===----------------------------------------------------------------------===//

LogicalResult AwaitHostOp::verify() {
  return getParents()
             ? expectRows(*this, "parents", getParents(), // await_host_c2
                          getDrafts())
             : success();
}

llvm::ArrayRef<StringLiteral> OutputOp::getHostNames() {
  static constexpr StringLiteral kNames[] = {"logits",  "picks",  "tokens",
                                             "path",    "places", "again",
                                             "drafted", "drafts", "parents"};
  // An array of literals can only be built from literals, so it repeats the
  // names.
  static_assert(std::ranges::equal(
      kNames, ::mtp::kHostOutputs, {},
      [](StringLiteral name) { return std::string_view(name); }));
  return kNames;
}

LogicalResult OutputOp::verify() {
  if (!getOf())
    return success();
  auto type = cast<RankedTensorType>(getValue().getType());
  Type element = type.getElementType();
  bool isRows =
      type.getRank() == 1 || (type.getRank() == 2 && !type.isDynamicDim(1));
  if (!isRows || !(element.isF32() || element.isSignlessInteger(32)))
    return emitOpError(
               "expected rows of i32 or f32 for a declared output, got ")
           << type; // output_c1
  if (llvm::is_contained(getHostNames(), getName()))
    return emitOpError("expected no 'for' with a name that the host knows, "
                       "got '")
           << getName() << "'"; // output_c2
  return success();
}
