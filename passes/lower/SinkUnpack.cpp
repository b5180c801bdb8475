//===- SinkUnpack.cpp - Unpack rows behind row-wise ops -------------------===//
//
// f(unpack(x)) = unpack(f(x)) for every op f that treats rows one by one, but
// for dead rows, of which nothing is said. Rows in groups are rows: `f` of
// groups becomes `f` of rows, and what it gives is grouped again.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "passes/Passes.h"
#include "passes/support/PackedRows.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SINKUNPACKPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// Writes ops in place of one that takes unpacked rows.
class Sinking {
public:
  Sinking(Operation *op, UnpackedRows rows)
      : builder(op), loc(op->getLoc()), rows(rows) {}

  bool sink(Operation *op);

private:
  bool sinkTopK(TopKOp op);
  bool sinkProbabilities(ProbabilitiesOp op);
  bool sinkGather(GatherOp op);
  bool sinkPickResidual(PickResidualOp op);

  /// A copy of `op` on these operands, with results for packed rows.
  Operation *copy(Operation *op, ArrayRef<Value> operands);
  /// What the copy gives, where `op` had it; `op` is erased.
  void replace(Operation *op, Operation *copy);

  OpBuilder builder;
  Location loc;
  UnpackedRows rows;
};

struct SinkUnpackPass
    : public mlir::mtp::impl::SinkUnpackPassBase<SinkUnpackPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// A type with the packed rows: of a row `columns` elements.
static RankedTensorType rowsLike(Value packed, Type element, int64_t columns) {
  return exec::rowsType(exec::rowsOf(packed), columns, element);
}

Operation *Sinking::copy(Operation *op, ArrayRef<Value> operands) {
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  for (auto [result, old] : llvm::zip(made->getResults(), op->getResults())) {
    auto type = cast<RankedTensorType>(old.getType());
    // A number for each row is a column.
    bool isColumn = isa<LogSumExpOp, EntropyOp>(op);
    result.setType(rowsLike(rows.packed(), type.getElementType(),
                            isColumn ? 1 : type.getShape().back()));
  }
  return made;
}

void Sinking::replace(Operation *op, Operation *copy) {
  for (auto [result, old] : llvm::zip(copy->getResults(), op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    Type all = exec::rowsType(exec::rowsOf(rows.places()), type.getDimSize(1),
                              type.getElementType());
    Value unpacked = UnpackOp::create(builder, loc, all, result, rows.places());
    old.replaceAllUsesWith(
        builder.createOrFold<RegroupOp>(loc, old.getType(), unpacked));
  }
  op->erase();
}

/// Noise is of the window's rows, which are packed like the logits.
bool Sinking::sinkTopK(TopKOp op) {
  SmallVector<Value> operands{rows.packed()};
  if (op.getNoise()) {
    if (op.getNumber() || windowOf(rows.pack.getRows()) != op.getNoise())
      return false;
    operands.push_back(rows.pack.getPacked());
  }
  replace(op, copy(op, operands));
  return true;
}

/// Each row has its slot's parameters, and packed ones bring their slots.
bool Sinking::sinkProbabilities(ProbabilitiesOp op) {
  auto slots = op.getSlots().getDefiningOp<SlotsOp>();
  if (!slots || slots.getPrompts())
    return false;
  Type type = rows.pack.getPackedTokens().getType();
  Value own = RowSlotsOp::create(builder, loc, type, rows.pack.getPacked());
  replace(op, copy(op, {rows.packed(), own}));
  return true;
}

/// It reads few elements, where they are packed.
bool Sinking::sinkGather(GatherOp op) {
  if (op.getPlaces())
    return false;
  op.getXMutable().assign(rows.packed());
  op.getPlacesMutable().assign(rows.places());
  return true;
}

/// It reads the row of its choice.
bool Sinking::sinkPickResidual(PickResidualOp op) {
  auto groups = cast<RankedTensorType>(op.getP().getType());
  if (op.getPlaces() || groups.getRank() != 3)
    return false;
  Value places = rows.placesIn(builder, loc, groups);
  op.getPlacesMutable().assign(places);
  op.getPMutable().assign(rows.packed());
  return true;
}

bool Sinking::sink(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<LogSumExpOp, EntropyOp, LogSoftmaxOp>([&](auto) {
        replace(op, copy(op, {rows.packed()}));
        return true;
      })
      .Case([&](TopKOp own) { return sinkTopK(own); })
      .Case([&](ProbabilitiesOp own) { return sinkProbabilities(own); })
      .Case([&](GatherOp own) { return sinkGather(own); })
      .Case([&](PickResidualOp own) { return sinkPickResidual(own); })
      .Default(false);
}

void SinkUnpackPass::runOnOperation() {
  // In the order of the program: what one op gives unpacked is the next one's.
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    if (op->getNumOperands() > 0)
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (auto rows = unpackedRows(op->getOperand(0)))
      numSunk += Sinking(op, *rows).sink(op);
}
