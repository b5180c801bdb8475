//===- LiveRows.cpp - How many rows of calls live -------------------------===//
//
// `exec.pack` puts rows that live in front and counts them, and so does
// `exec.pack_prompts` with those of prompts. What is made of packed rows, row
// by row, means something for as many. So the number goes from operands to
// results, as far as calls say that they go by an operand's rows; no pass has
// to hand it on. Where two numbers meet all rows are computed.
//
//===----------------------------------------------------------------------===//

#include "passes/exec/LiveRows.h"

using namespace mlir;
using namespace mlir::mtp;
using namespace mlir::exec;

mlir::mtp::LiveRows::LiveRows(ProgramOp program) {
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
    } else if (isa<ColumnsOp, exec::RegroupOp>(op)) {
      // In groups rows are no rows any more.
      Value from = op.getOperand(0), to = op.getResult(0);
      if (Live live = values.lookup(from);
          live.number && rowsOf(from) == rowsOf(to))
        values[to] = live;
    }
  }
}

Value mlir::mtp::LiveRows::numberFor(KernelOpInterface call) {
  Value number;
  for (auto [i, operand] : llvm::enumerate(call->getOperands())) {
    Live other = values.lookup(operand);
    if (!other.number || !call.followsRowsOf(i))
      continue;
    if ((number && number != other.number) ||
        call.getKernelParams().front() != other.rows)
      return Value();
    number = other.number;
  }
  return number;
}

void mlir::mtp::LiveRows::add(KernelOpInterface call) {
  Value number = numberFor(call);
  if (!number)
    return;
  calls[call.getOperation()] = number;
  Count rows = call.getKernelParams().front();
  for (Value result : call->getResults())
    if (ratio(rowsOf(result), rows))
      values[result] = {number, rows};
}
