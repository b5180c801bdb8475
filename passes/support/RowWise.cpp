//===- RowWise.cpp - Ops that treat rows one by one -----------------------===//

#include "passes/support/RowWise.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::mtp;

bool mlir::mtp::isRowWise(Operation *op) {
  return isa<LinearOp, FusedLinearOp, RmsNormOp, AddOp, SwigluOp, GegluTanhOp,
             SiluOp, SliceOp, ConcatOp, SigmoidOp, SigmoidGateOp, L2NormOp,
             DecayOp, LogSoftmaxOp>(op);
}

bool mlir::mtp::isMadeByRows(Value rows,
                             llvm::function_ref<bool(Operation *)> ends) {
  auto hasRows = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return !type || (type.getRank() > 0 && type.isDynamicDim(0));
  };
  llvm::SetVector<Value> made;
  made.insert(rows);
  for (size_t i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      if (ends(user))
        continue;
      if (!isRowWise(user) || user->getBlock() != rows.getParentBlock())
        return false;
      made.insert_range(user->getResults());
    }
  return llvm::all_of(made, [&](Value value) {
    Operation *op = value.getDefiningOp();
    return value == rows || llvm::all_of(op->getOperands(), [&](Value operand) {
             return !hasRows(operand) || made.contains(operand);
           });
  });
}
