//===- DraftTokens.cpp - Tokens of the columns of logits ------------------===//

#include "passes/support/DraftTokens.h"

using namespace mlir;

DenseElementsAttr mlir::mtp::columnTable(MLIRContext *context,
                                         llvm::ArrayRef<int32_t> numbers) {
  auto type = RankedTensorType::get({int64_t(numbers.size()), 1},
                                    IntegerType::get(context, 32));
  return DenseElementsAttr::get(type, numbers);
}

Value mlir::mtp::lookUpColumns(OpBuilder &builder, Location loc, Value table,
                               Value columns) {
  return exec::GatherRowsOp::create(builder, loc, columns.getType(), table,
                                    columns);
}
