//===- UnmodifiedLmHead.cpp - The head that a pick reads ------------------===//

#include "passes/exec/UnmodifiedLmHead.h"
#include "passes/support/Logits.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

exec::LinearOp mlir::mtp::findUnmodifiedLmHead(Value logits) {
  auto linear = logits.getDefiningOp<exec::LinearOp>();
  return linear && !linear.isGated() && !linear.getResidual()
             ? linear
             : exec::LinearOp();
}

mlir::mtp::ChangedHead mlir::mtp::findChangedHead(Value logits) {
  if (findUnmodifiedLmHead(logits))
    return {};
  llvm::SetVector<Value> pending;
  pending.insert(logits);
  for (size_t i = 0; i < pending.size(); ++i) {
    auto result = dyn_cast<OpResult>(pending[i]);
    if (!result || isa<exec::MaskTokensOp>(result.getOwner()))
      continue;
    auto linear = dyn_cast<exec::LinearOp>(result.getOwner());
    if (linear && linear.isHead())
      return {linear, logits.getDefiningOp()};
    for (Value operand : result.getOwner()->getOperands())
      if (passesLogits(operand, result))
        pending.insert(operand);
  }
  return {};
}
