//===- RefineTypes.cpp - Types that follow from k -------------------------===//
//
// The ops of a round are visited in order, so an op's operands have their types
// already.
//
//===----------------------------------------------------------------------===//

#include "passes/round/RefineTypes.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/support/RowsPerSlot.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
class Refiner {
public:
  /// A prefill has k = 0 and a window of one row, the anchor.
  Refiner(bool isRound, int64_t k, int64_t window)
      : isRound(isRound), k(k), window(window) {}

  void refine(Block &body);

private:
  void refineOp(AcceptOp op);
  void refineOp(ReshapeOp op);
  void refineDrafts(Operation *op);
  void refineGroups(Operation *op);
  void refineRule(AcceptOp op);

  bool isRound;
  int64_t k;
  int64_t window;
};
} // namespace

/// Sets the number of elements of `value` per slot if it was open.
static void setPerSlot(Value value, int64_t count) {
  auto type =
      dyn_cast_or_null<RankedTensorType>(value ? value.getType() : Type());
  if (!type || type.getRank() < 2 || !type.isDynamicDim(1))
    return;
  SmallVector<int64_t> shape(type.getShape());
  shape[1] = count;
  value.setType(type.clone(shape));
}

/// Sets the types of a rule's arguments, which hold a slot's window.
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

/// Sets the types of an accept. A prompt has one pick, and one path of tokens
/// to it. An accepted path has at most k drafts.
void Refiner::refineOp(AcceptOp op) {
  setPerSlot(op.getPicks(), k + 1);
  setPerSlot(op.getPath(), k + 1);
  if (!op.getRuleRegion().empty())
    refineRule(op);
  if (op.seesPaths())
    setPerSlot(op.getBodyRegion().getArgument(3), k + 1);
  refine(op.getBodyRegion().front());
}

/// Sets an open group size to the number of elements per slot.
void Refiner::refineOp(ReshapeOp op) {
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

/// Sets the number of drafts: one per row of the window except the anchor's.
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

/// Sets the number of results per slot to the operand's rows per slot.
void Refiner::refineGroups(Operation *op) {
  // For packed rows the column numbers determine it.
  auto gather = dyn_cast<GatherOp>(op);
  bool isPacked = gather && gather.getPlaces();
  Value rows = isPacked ? Value(gather.getColumns()) : op->getOperand(0);
  auto from = cast<RankedTensorType>(rows.getType());
  if (from.getRank() != (isPacked ? 2 : 3))
    return;
  for (Value result : op->getResults())
    setPerSlot(result, from.getDimSize(1));
}

void Refiner::refine(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    for (OpOperand &operand : op.getOpOperands())
      operand.set(peelCast(operand.get()));
    llvm::TypeSwitch<Operation *>(&op)
        .Case([](PerSlotOp op) { refineBody(op); })
        .Case<AcceptOp, ReshapeOp>([&](auto op) { refineOp(op); })
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
