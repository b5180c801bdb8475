//===- SinkUnpack.cpp - Unpack rows after row-wise ops --------------------===//
//
// f(unpack(x)) = unpack(f(x)) for every op f that treats rows one by one,
// except for padding rows, whose values are unspecified. Rows in groups are
// handled as rows: `f` of groups becomes `f` of rows, and its result is grouped
// again.
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
/// Replaces an op on unpacked rows by ops on packed rows.
class Sinking {
public:
  Sinking(Operation *op, UnpackedRows rows)
      : builder(op), loc(op->getLoc()), rows(rows) {}

  bool sink(Operation *op);

private:
  bool sinkTopK(TopKOp op);
  bool sinkProbabilities(ProbabilitiesOp op);
  bool sinkGather(GatherOp op);
  bool sinkSampleResidual(SampleResidualOp op);

  /// Returns a copy of `op` on these operands, with results for packed rows.
  Operation *copy(Operation *op, ArrayRef<Value> operands);
  /// Replaces the results of `op` by the unpacked results of `copy`, and erases
  /// `op`.
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

/// Returns a type with the rows of `packed` and `columns` elements per row.
static RankedTensorType rowsLike(Value packed, Type element, int64_t columns) {
  return exec::rowsType(exec::rowsOf(packed), columns, element);
}

Operation *Sinking::copy(Operation *op, ArrayRef<Value> operands) {
  Operation *made = builder.clone(*op);
  made->setOperands(operands);
  for (auto [result, old] : llvm::zip(made->getResults(), op->getResults())) {
    auto type = cast<RankedTensorType>(old.getType());
    // One number per row becomes a column.
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
        builder.createOrFold<ReshapeOp>(loc, old.getType(), unpacked));
  }
  op->erase();
}

/// Runs a top-k on packed rows. Its noise must belong to the window's rows,
/// which are packed like the logits.
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

/// Computes probabilities of packed rows. Each row uses its slot's parameters,
/// so the op gets the slots of the packed rows.
bool Sinking::sinkProbabilities(ProbabilitiesOp op) {
  auto slots = op.getSlots().getDefiningOp<SlotsOp>();
  if (!slots || slots.getPrompts())
    return false;
  Type type = rows.pack.getPackedTokens().getType();
  Value own = RowSlotsOp::create(builder, loc, type, rows.pack.getPacked());
  replace(op, copy(op, {rows.packed(), own}));
  return true;
}

/// Gathers from the packed rows through their places. A gather reads few
/// elements, so it needs no copy of all rows.
bool Sinking::sinkGather(GatherOp op) {
  if (op.getPlaces())
    return false;
  op.getXMutable().assign(rows.packed());
  op.getPlacesMutable().assign(rows.places());
  return true;
}

/// Passes the packed rows and their places to the op. It reads only the row
/// that it picks from, so it needs no copy of all rows.
bool Sinking::sinkSampleResidual(SampleResidualOp op) {
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
      .Case([&](SampleResidualOp own) { return sinkSampleResidual(own); })
      .Default(false);
}

void SinkUnpackPass::runOnOperation() {
  // In program order: an op's unpacked result is the next op's operand.
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    if (op->getNumOperands() > 0)
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (auto rows = unpackedRows(op->getOperand(0)))
      numSunk += Sinking(op, *rows).sink(op);
}
