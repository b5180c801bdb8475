//===- PlainHead.cpp - The head behind a pick -----------------------------===//

#include "passes/exec/PlainHead.h"

using namespace mlir;
using namespace mlir::exec;

LinearOp mlir::mtp::findPlainHead(Value logits) {
  auto linear = logits.getDefiningOp<LinearOp>();
  return linear && !linear.isGated() && !linear.getResidual() ? linear
                                                              : LinearOp();
}
