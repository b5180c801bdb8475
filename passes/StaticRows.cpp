//===- StaticRows.cpp - Rows of a program's values ------------------------===//

#include "passes/StaticRows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::mtp;

static int64_t rowsOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() > 0 ? type.getDimSize(0) : ShapedType::kDynamic;
}

/// Numbers of the operand, in groups as long as the result's.
static int64_t regroupedRows(RegroupOp op) {
  int64_t count = cast<RankedTensorType>(op.getX().getType()).getNumElements();
  auto type = cast<RankedTensorType>(op.getType());
  return count / ShapedType::getNumElements(type.getShape().drop_front());
}

/// The rows of the results; most ops have a row for each of their first
/// operand.
static int64_t resultRows(Operation *op, const ProgramRows &program) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([&](SlotsOp) { return program.slots; })
      .Case([&](PromptRowsOp) { return program.chunk; })
      .Case([](RegroupOp op) { return regroupedRows(op); })
      .Case([](ReadStateOp op) {
        return rowsOf(op.getSlots()) * int64_t(op.getRows());
      })
      .Case([](ConcatRowsOp op) {
        return rowsOf(op.getHead()) + rowsOf(op.getTail());
      })
      .Case([](TakeRowsOp op) { return rowsOf(op.getIndex()); })
      .Default([](Operation *op) {
        return op->getNumOperands() ? rowsOf(op->getOperand(0))
                                    : ShapedType::kDynamic;
      });
}

void mlir::mtp::setStaticRows(Operation *op, const ProgramRows &program) {
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || type.getRank() == 0 || !type.isDynamicDim(0))
      continue;
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = resultRows(op, program);
    result.setType(type.clone(shape));
  }
}
