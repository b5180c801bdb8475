//===- ActiveRows.cpp - Active rows of calls ------------------------------===//
//
// `exec.pack` puts active rows first and counts them, and so does
// `exec.pack_prompts` with prompt rows. Values computed from packed rows, row
// by row, are valid for the same number of rows. So the number propagates from
// operands to results of calls that follow an operand's rows, and no pass has
// to hand it on. If two different numbers meet, all rows are computed.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/ActiveRows.h"

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

mlir::mtp::ActiveRows::ActiveRows(ProgramOp program) {
  for (Operation &op : program.getBody().front()) {
    if (auto pack = dyn_cast<exec::PackPromptsOp>(op)) {
      for (Value packed : pack.getPacked())
        values[packed] = {pack.getLive(), rowsOf(packed)};
    } else if (auto pack = dyn_cast<exec::PackOp>(op)) {
      values[pack.getPacked()] = {pack.getLive(), rowsOf(pack.getPacked())};
      for (Value packed : pack.getPackedNumbers())
        values[packed] = {pack.getLive(), rowsOf(packed)};
    } else if (auto call = dyn_cast<KernelOpInterface>(op)) {
      add(call);
    } else if (isa<ColumnsOp, exec::ReshapeOp>(op)) {
      // Reshaping that changes the number of rows ends the propagation.
      Value from = op.getOperand(0), to = op.getResult(0);
      if (ActiveCount live = values.lookup(from);
          live.number && rowsOf(from) == rowsOf(to))
        values[to] = live;
    }
  }
}

Value mlir::mtp::ActiveRows::numberFor(KernelOpInterface call) {
  Value number;
  for (auto [i, operand] : llvm::enumerate(call->getOperands())) {
    ActiveCount other = values.lookup(operand);
    if (!other.number || !call.followsRowsOf(i))
      continue;
    if ((number && number != other.number) ||
        call.getKernelParams().front() != other.rows)
      return Value();
    number = other.number;
  }
  return number;
}

void mlir::mtp::ActiveRows::add(KernelOpInterface call) {
  Value number = numberFor(call);
  if (!number)
    return;
  calls[call.getOperation()] = number;
  Count rows = call.getKernelParams().front();
  for (Value result : call->getResults())
    if (ratio(rowsOf(result), rows))
      values[result] = {number, rows};
}
