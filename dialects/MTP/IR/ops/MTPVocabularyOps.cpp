//===- MTPVocabularyOps.cpp - Verifiers of work over rows of logits -------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

static RankedTensorType tensorOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isInGroups(Value value) { return tensorOf(value).getRank() == 3; }

/// Returns the extents of one number per row of `x`: a column, or groups.
static SmallVector<int64_t> extentsOfNumbers(Value x) {
  SmallVector<int64_t> extents(tensorOf(x).getShape().drop_back());
  if (extents.size() == 1)
    extents.push_back(1);
  return extents;
}

/// Checks log_sum_exp_c1 and entropy_c1.
static LogicalResult verifyRowNumber(Operation *op, Value x, Value result) {
  if (failed(staticWidth(op, "the operand", x)))
    return failure();
  SmallVector<int64_t> extents = extentsOfNumbers(x);
  if (tensorOf(result).getShape() == ArrayRef(extents))
    return success();
  return op->emitOpError("expected a number for each row of ")
         << x.getType() << ", got " << result.getType();
}

LogicalResult LogSumExpOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return verifyRowNumber(*this, getX(), getResult());
}

LogicalResult EntropyOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return verifyRowNumber(*this, getX(), getResult());
}

LogicalResult LogSoftmaxOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  return staticWidth(*this, "the operand", getX()); // log_softmax_c1
}

LogicalResult GatherOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  if (failed(staticWidth(*this, "the operand", getX())))
    return failure();
  SmallVector<int64_t> extents(tensorOf(getColumns()).getShape());
  if (extents.size() == 1)
    extents.push_back(1);
  if (getPlaces() && isInGroups(getX())) // gather_c3
    return emitOpError("expected rows with places, got ") << getX().getType();
  bool fits =
      isInGroups(getX())
          ? tensorOf(getX()).getShape().drop_back() == ArrayRef(extents)
          : (getPlaces() || tensorOf(getX()).getDimSize(0) == extents[0]) &&
                !ShapedType::isDynamic(extents[1]);
  if (!fits) // gather_c1
    return emitOpError("expected a fixed number of columns for each row of ")
           << getX().getType() << ", got " << getColumns().getType();
  if (tensorOf(getResult()).getShape() != ArrayRef(extents)) // gather_c2
    return emitOpError("expected an element for each number of ")
           << getColumns().getType() << ", got " << getType();
  return success();
}

LogicalResult TopKOp::verify() {
  if (getNumber() && !getNoise()) // top_k_c4
    return emitOpError("expected a number with noise alone");
  if (getNumber() && !isInGroups(getX()) &&
      failed(expectRows(*this, "a number", getNumber(), getX()))) // top_k_c4
    return failure();
  if (hasOpenWidths(*this))
    return success();
  FailureOr<int64_t> width = staticWidth(*this, "the operand", getX());
  if (failed(width))
    return failure();
  int64_t k = getK();
  if (k < 1 || k > std::min<int64_t>(64, *width)) // top_k_c1
    return emitOpError("expected k from 1 to ")
           << std::min<int64_t>(64, *width) << ", got " << k;
  SmallVector<int64_t> extents(tensorOf(getX()).getShape());
  extents.back() = k;
  for (Value result : getResults()) // top_k_c2
    if (tensorOf(result).getShape() != ArrayRef(extents))
      return emitOpError("expected the ")
             << k << " best of each row of " << getX().getType() << ", got "
             << result.getType();
  return success();
}

LogicalResult TopKOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyVocabularyUse(*this, symbols, getTokensAttr(), // top_k_c3
                             widthOf(getX()));
}

LogicalResult ProbabilitiesOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  if (failed(staticWidth(*this, "the operand", getX()))) // probabilities_c1
    return failure();
  if (isInGroups(getX())) // probabilities_c2
    return expectRows(*this, "the groups", getX(), getSlots());
  int64_t rows = tensorOf(getX()).getDimSize(0);
  int64_t slots = tensorOf(getSlots()).getDimSize(0);
  if (!ShapedType::isDynamic(rows) && !ShapedType::isDynamic(slots) &&
      rows % slots != 0)
    return emitOpError("expected a fixed number of rows for each of ")
           << slots << " slots, got " << rows;
  return success();
}

LogicalResult MaskColumnsOp::verify() {
  if (failed(staticWidth(*this, "the operand", getX()))) // mask_columns_c1
    return failure();
  for (Value numbers : {getSlots(), getAt()}) // mask_columns_c4
    if (numbers && failed(expectRows(*this, "a number", numbers, getX())))
      return failure();
  return success();
}

LogicalResult MaskColumnsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  FlatSymbolRefAttr name = getStateAttr();
  auto state =
      symbols.lookupNearestSymbolFrom<SlotStateOpInterface>(*this, name);
  if (!state)
    return emitOpError("expected ") << name << " to be a state";
  SmallVector<int64_t> extents = state.getExtentSizes();
  int64_t words = llvm::divideCeil(widthOf(getX()), 32);
  if (state.getShared() || !state.getElementType().isSignlessInteger(32) ||
      extents.empty() || extents.size() > 2 ||
      extents.back() != words) // mask_columns_c2
    return emitOpError("expected ")
           << name << " to have i32 rows of " << words << " words per slot";
  if ((extents.size() == 2) != bool(getAt())) // mask_columns_c3
    return emitOpError("expected ") << (getAt() ? "several rows" : "one row")
                                    << " of words per slot in " << name;
  return success();
}

LogicalResult SampleResidualOp::verify() {
  if (hasOpenWidths(*this))
    return success();
  FailureOr<int64_t> width = staticWidth(*this, "p", getP());
  if (failed(width) || // sample_residual_c1
      (getQ() && failed(expectWidth(*this, "q", getQ(), *width))))
    return failure();
  if (getPlaces() && (isInGroups(getP()) || !getAt())) // sample_residual_c2
    return emitOpError("expected packed rows, and a row for each slot, with "
                       "places, got ")
           << getP().getType();
  for (Value rows : {Value(getP()), Value(getQ())})
    if (rows && !(getPlaces() && rows == getP()) &&
        isInGroups(rows) != bool(getAt())) // sample_residual_c2
      return emitOpError("expected ")
             << (getAt() ? "groups with" : "rows without")
             << " a row for each slot, got " << rows.getType();
  for (Value operand : getOperands()) // sample_residual_c3
    if (!(getPlaces() && operand == getP()) &&
        failed(expectRows(*this, "all operands", operand, getResult())))
      return failure();
  return success();
}
