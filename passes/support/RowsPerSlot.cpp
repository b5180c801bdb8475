//===- RowsPerSlot.cpp - Rows per slot of a value -------------------------===//
//
// Types contain row counts (CountRows.h) only after a round has become a
// program. Passes that rewrite a round earlier use the functions here.
//
//===----------------------------------------------------------------------===//

#include "passes/support/RowsPerSlot.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns how many numbers a row of `type` has: the group size, or one.
static std::optional<int64_t> groupOf(RankedTensorType type) {
  bool isGrid = type.getRank() == (type.getElementType().isF32() ? 3 : 2);
  if (!isGrid)
    return 1;
  if (type.isDynamicDim(1))
    return std::nullopt;
  return type.getDimSize(1);
}

static std::optional<int64_t> reshaped(ReshapeOp op, int64_t window) {
  std::optional<int64_t> rows = rowsPerSlot(op.getX(), window);
  auto from = groupOf(cast<RankedTensorType>(op.getX().getType()));
  auto to = groupOf(op.getType());
  if (!rows || !from)
    return std::nullopt;
  // Each slot has one group.
  if (!to)
    return 1;
  int64_t numbers = *rows * *from;
  if (*to <= 0 || numbers % *to != 0)
    return std::nullopt;
  return numbers / *to;
}

std::optional<int64_t> mlir::mtp::rowsPerSlot(Value value, int64_t window) {
  using Rows = std::optional<int64_t>;
  while (Operation *op = value.getDefiningOp()) {
    bool isKnown = true;
    Value like;
    Rows rows =
        llvm::TypeSwitch<Operation *, Rows>(op)
            .Case<SlotsOp, AcceptOp, DraftChainOp, DraftTreeOp, DraftHeadsOp>(
                [](auto) { return 1; })
            .Case([&](VerifyOp) { return window; })
            .Case([&](ReshapeOp op) { return reshaped(op, window); })
            .Case([&](ReadStateOp op) -> Rows {
              Rows slots = rowsPerSlot(op.getSlots(), window);
              return slots && !op.getCount()
                         ? Rows(*slots * int64_t(op.getRows()))
                         : std::nullopt;
            })
            .Case([](ConcatRowsOp op) {
              return int64_t(op.getHeadRows() + op.getTailRows());
            })
            .Default([&](Operation *) -> Rows {
              isKnown = false;
              return std::nullopt;
            });
    if (isKnown)
      return rows;
    if (auto take = dyn_cast<GatherRowsOp>(op))
      like = take.getIndex();
    else if (auto pack = dyn_cast<PackOp>(op))
      like = pack.getTokens();
    else if (auto unpack = dyn_cast<UnpackOp>(op))
      like = unpack.getPlaces();
    else if (auto gather = dyn_cast<GatherOp>(op))
      like = gather.getColumns();
    else if (auto pick = dyn_cast<SampleResidualOp>(op))
      like = pick.getUniform();
    else if (op->getNumOperands() > 0)
      like = op->getOperand(0);
    if (!like || !isa<RankedTensorType>(like.getType()))
      return std::nullopt;
    value = like;
  }
  auto argument = cast<BlockArgument>(value);
  // A prompt's window is the anchor alone: one row per slot picks a token.
  if (isa<VerifyOp, AcceptOp>(argument.getOwner()->getParentOp()))
    return window;
  return std::nullopt;
}
