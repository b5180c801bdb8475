//===- MTPFusedOps.cpp - Verifiers of the fused projections ---------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// fused_linear
//===----------------------------------------------------------------------===//

void FusedLinearOp::build(OpBuilder &builder, OperationState &state, Type type,
                          Value x, ValueRange weights, ValueRange biases,
                          ProjectionRoleAttr role, ActivationKind activation) {
  build(builder, state, type, x, /*norm=*/Value(), weights, biases,
        /*residual=*/Value(), /*eps=*/FloatAttr(), builder.getI64IntegerAttr(0),
        ActivationKindAttr::get(builder.getContext(), activation), role);
}

void FusedLinearOp::build(OpBuilder &builder, OperationState &state,
                          LinearOp linear) {
  SmallVector<Value> biases;
  if (linear.getBias())
    biases.push_back(linear.getBias());
  build(builder, state, linear.getType(), linear.getX(), linear.getWeight(),
        biases, linear.getRoleAttr());
}

/// Checks fused_linear_c1. Returns the sum of the weights' outputs if they are
/// well formed.
static FailureOr<int64_t> verifyWeights(FusedLinearOp op) {
  if (op.getWeights().empty()) {
    op.emitOpError("expected at least one weight");
    return failure();
  }
  Type element = getElementTypeOrSelf(op.getWeights().front().getType());
  int64_t outputs = 0;
  for (Value weight : op.getWeights()) {
    auto type = cast<RankedTensorType>(weight.getType());
    if (!type.hasStaticShape() || type.getDimSize(1) != widthOf(op.getX()) ||
        type.getElementType() != element) {
      op.emitOpError("expected weights of ")
          << widthOf(op.getX()) << " inputs and type " << element << ", got "
          << type;
      return failure();
    }
    outputs += type.getDimSize(0); // each is bounded by shapes_c1
  }
  return outputs;
}

/// Checks fused_linear_c2.
static LogicalResult verifyNorm(FusedLinearOp op) {
  if (static_cast<bool>(op.getNorm()) != op.getEps().has_value())
    return op.emitOpError("expected eps exactly with a norm");
  int64_t offset = op.getOffset();
  if (offset < 0 || offset > (op.getNorm() ? 1 : 0)) {
    return op.emitOpError("expected offset 0, or 1 with a norm, got ")
           << offset;
  }
  if (!op.getNorm())
    return success();
  if (failed(expectFinitePositive(op, "eps", *op.getEps())))
    return failure();
  return expectWidth(op, "the norm", op.getNorm(), widthOf(op.getX()));
}

/// Checks fused_linear_c4.
static LogicalResult verifyBiases(FusedLinearOp op) {
  if (op.getBiases().empty())
    return success();
  if (op.getBiases().size() != op.getWeights().size()) {
    return op.emitOpError("expected a bias per weight, got ")
           << op.getBiases().size() << " for " << op.getWeights().size();
  }
  for (auto [bias, weight] : llvm::zip(op.getBiases(), op.getWeights())) {
    int64_t n = cast<RankedTensorType>(weight.getType()).getDimSize(0);
    if (failed(expectWidth(op, "a bias", bias, n)))
      return failure();
  }
  return success();
}

/// Checks fused_linear_c3, for gates.
static LogicalResult verifyGated(FusedLinearOp op) {
  StringRef activation = stringifyActivationKind(op.getActivation());
  if (op.getWeights().size() != 2 ||
      op.getWeights()[0].getType() != op.getWeights()[1].getType()) {
    return op.emitOpError("expected gate and up of one type with ")
           << activation;
  }
  if (!op.getBiases().empty() || op.getResidual())
    return op.emitOpError("expected no bias and no residual with ")
           << activation;
  return success();
}

LogicalResult FusedLinearOp::verify() {
  if (failed(staticWidth(*this, "the operand", getX())))
    return failure();
  FailureOr<int64_t> outputs = verifyWeights(*this);
  if (failed(outputs) || failed(verifyNorm(*this)) ||
      failed(verifyBiases(*this))) {
    return failure();
  }
  int64_t width = *outputs;
  if (getActivation() != ActivationKind::None) {
    if (failed(verifyGated(*this)))
      return failure();
    width /= 2;
  }
  if (getResidual() && getResidual().getType() != getResult().getType()) {
    return emitOpError("expected a residual of type ") // fused_linear_c5
           << getResult().getType() << ", got " << getResidual().getType();
  }
  if (failed(expectRows(*this, "a result", getResult(), getX())))
    return failure();
  return expectWidth(*this, "the result", getResult(), width);
}

//===----------------------------------------------------------------------===//
// head_linear
//===----------------------------------------------------------------------===//

int64_t HeadLinearOp::getHeadOutputs() {
  if (getTransposed())
    return widthOf(getWeight());
  return static_cast<int64_t>(getBlockEnd()) -
         static_cast<int64_t>(getBlockBegin());
}

int64_t HeadLinearOp::getKeptColumns() {
  if (!getKeepBegin())
    return 0;
  return static_cast<int64_t>(*getKeepEnd()) -
         static_cast<int64_t>(*getKeepBegin());
}

/// Checks head_linear_c1 and head_linear_c2.
static LogicalResult verifyHeads(HeadLinearOp op) {
  FailureOr<int64_t> width = staticWidth(op, "the operand", op.getX());
  int64_t heads = op.getHeads();
  if (failed(width) || failed(expectPositive(op, "heads", heads)))
    return failure();
  if (*width % heads != 0) {
    return op.emitOpError("expected ")
           << heads << " heads to divide the width, got " << *width;
  }
  int64_t head = *width / heads;
  if (failed(expectRange(op, "cols", op.getColBegin(), op.getColEnd(), head)))
    return failure();
  if (op.getKeepBegin().has_value() != op.getKeepEnd().has_value())
    return op.emitOpError("expected keep with a begin and an end");
  return op.getKeepBegin() ? expectRange(op, "keep", *op.getKeepBegin(),
                                         *op.getKeepEnd(), head)
                           : success();
}

LogicalResult HeadLinearOp::verify() {
  auto weight = cast<RankedTensorType>(getWeight().getType());
  int64_t heads = getHeads(), stride = getBlockStride();
  int64_t begin = getBlockBegin(), end = getBlockEnd();
  if (failed(verifyHeads(*this)) ||
      failed(
          expectRange(*this, "block", begin, end, stride))) { // head_linear_c3
    return failure();
  }
  FailureOr<int64_t> rows = product(*this, "heads", heads, stride);
  if (failed(rows) ||
      failed(expectMatrix(*this, "the weight", getWeight(), *rows,
                          weight.getDimSize(1))) ||
      failed(staticWidth(*this, "the weight", getWeight()))) {
    return failure();
  }
  int64_t inputs = getTransposed() ? end - begin : weight.getDimSize(1);
  int64_t cols =
      static_cast<int64_t>(getColEnd()) - static_cast<int64_t>(getColBegin());
  if (cols != inputs) { // head_linear_c4
    return emitOpError("expected ")
           << inputs << " cols for the block, got " << cols;
  }
  FailureOr<int64_t> width =
      product(*this, "heads", heads, getHeadOutputs() + getKeptColumns());
  if (failed(width) ||
      failed(expectRows(*this, "a result", getResult(), getX()))) {
    return failure();
  }
  return expectWidth(*this, "the result", getResult(),
                     *width); // head_linear_c5
}
