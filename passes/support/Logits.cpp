//===- Logits.cpp - Ops between logits and a pick -------------------------===//

#include "passes/support/Logits.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/MTP/IR/MTPOps.h"

using namespace mlir;
using namespace mlir::mtp;

/// Returns the columns of rows of f32; nothing for other types.
static std::optional<int64_t> columnsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getRank() != 2 || !type.getElementType().isF32())
    return std::nullopt;
  return type.getDimSize(1);
}

bool mlir::mtp::passesLogits(Value operand, OpResult result) {
  std::optional<int64_t> from = columnsOf(operand), to = columnsOf(result);
  Operation *op = result.getOwner();
  if (!from || !to || isa<LinearOp>(op))
    return false;
  if (auto fused = dyn_cast<FusedLinearOp>(op))
    return operand == fused.getResidual();
  if (auto linear = dyn_cast<exec::LinearOp>(op))
    return operand == linear.getResidual();
  return from == to ||
         isa<SliceOp, ConcatOp, exec::ColumnsOp, exec::ConcatOp>(op);
}
