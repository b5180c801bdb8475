//===- SinkRowSelection.cpp - Select rows before row-wise ops -------------===//
//
// gather_rows(f(x)) = f(gather_rows(x)) for every op f that treats rows one by
// one. The rewrite applies only if f's other rows have no readers.
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "passes/Passes.h"
#include "passes/support/RowWise.h"
#include "llvm/Support/DebugLog.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SINKROWSELECTIONPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

#define DEBUG_TYPE "mtp-sink-row-selection"

namespace {
struct SinkRowSelectionPass
    : public mlir::mtp::impl::SinkRowSelectionPassBase<SinkRowSelectionPass> {
  using Base::Base;

  void runOnOperation() override;
};
} // namespace

/// Returns whether `operand` has one row per row of the op, unlike a weight.
static bool isActivation(Value operand) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  return type && type.getRank() == 2 && !operand.getDefiningOp<WeightOp>();
}

/// Returns whether `op` can compute only the rows that `select` selects.
static bool canSink(GatherRowsOp select, Operation *op) {
  return op && op->hasOneUse() && isRowWise(op) &&
         op->getBlock() == select->getBlock();
}

/// Moves `select` above the op that defines its operand; returns the selections
/// that replace it.
static SmallVector<GatherRowsOp> sink(GatherRowsOp select) {
  Operation *op = select.getX().getDefiningOp();
  OpBuilder builder(select);
  exec::Count rows = exec::rowsOf(select.getIndex());
  SmallVector<GatherRowsOp> selections;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isActivation(operand)) {
      operands.push_back(operand);
      continue;
    }
    auto type = cast<RankedTensorType>(operand.getType());
    selections.push_back(GatherRowsOp::create(builder, select.getLoc(),
                                              exec::withRows(type, rows),
                                              operand, select.getIndex()));
    operands.push_back(selections.back());
  }
  Operation *moved = builder.clone(*op);
  moved->setOperands(operands);
  moved->getResult(0).setType(select.getType());
  select.getResult().replaceAllUsesWith(moved->getResult(0));
  select.erase();
  op->erase();
  return selections;
}

void SinkRowSelectionPass::runOnOperation() {
  SmallVector<GatherRowsOp> worklist;
  getOperation().walk([&](GatherRowsOp select) { worklist.push_back(select); });
  while (!worklist.empty()) {
    GatherRowsOp select = worklist.pop_back_val();
    if (!canSink(select, select.getX().getDefiningOp())) {
      LDBG() << "stops here: " << select;
      continue;
    }
    worklist.append(sink(select));
    ++numSunk;
  }
}
