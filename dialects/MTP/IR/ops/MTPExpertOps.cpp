//===- MTPExpertOps.cpp - Verifiers of mixtures of experts ----------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"
#include "runtime/schema/Limits.h"

using namespace mlir;
using namespace mlir::mtp;

/// Checks moe_route_c1 and moe_route_c2.
static LogicalResult verifyChoice(MoeRouteOp op, int64_t experts) {
  int64_t topK = op.getTopK(), groups = op.getGroups(), keep = op.getKeep();
  if (experts > ::mtp::kMostExperts || topK < 1 || topK > experts) {
    return op.emitOpError("expected top_k within ")
           << experts << " of at most " << ::mtp::kMostExperts
           << " experts, got " << topK;
  }
  if (groups < 1 || experts % groups != 0 || keep < 1 || keep > groups) {
    return op.emitOpError("expected groups that divide ")
           << experts << " experts and keep some, got " << groups << " keep "
           << keep;
  }
  int64_t size = experts / groups;
  if (topK > keep * size || (groups > 1 && size < 2)) {
    return op.emitOpError("expected ")
           << topK << " experts in " << keep << " kept groups of at least 2, "
           << "got groups of " << size;
  }
  return success();
}

LogicalResult MoeRouteOp::verify() {
  FailureOr<int64_t> experts = staticWidth(*this, "the logits", getLogits());
  if (failed(experts) || failed(verifyChoice(*this, *experts)))
    return failure();
  if (getBias() && failed(expectWidth(*this, "the bias", getBias(),
                                      *experts))) { // moe_route_c3
    return failure();
  }
  for (Value result : {getExperts(), getWeights()}) { // moe_route_c4
    if (failed(expectRows(*this, "a result", result, getLogits())) ||
        failed(expectWidth(*this, "a result", result, getTopK()))) {
      return failure();
    }
  }
  return expectFinitePositive(*this, "scale", getScale()); // moe_route_c5
}

/// Checks moe_experts_c2: [E, I, H], [E, I, H], [E, H, I]; moe_experts_c5: one
/// type.
static LogicalResult verifyStacks(MoeExpertsOp op, int64_t hidden) {
  auto gate = cast<RankedTensorType>(op.getGate().getType());
  auto down = cast<RankedTensorType>(op.getDown().getType());
  if (!gate.hasStaticShape() || gate.getDimSize(2) != hidden ||
      op.getUp().getType() != gate) {
    return op.emitOpError("expected gate and up of one type with ")
           << hidden << " inputs, got " << gate << " and "
           << op.getUp().getType();
  }
  auto expected = RankedTensorType::get(
      {gate.getDimSize(0), hidden, gate.getDimSize(1)}, gate.getElementType());
  if (down != expected)
    return op.emitOpError("expected down of ") << expected << ", got " << down;
  return success();
}

LogicalResult MoeExpertsOp::verify() {
  FailureOr<int64_t> hidden = staticWidth(*this, "the operand", getX());
  FailureOr<int64_t> topK = staticWidth(*this, "the indices", getIndices());
  if (failed(hidden) || failed(topK) ||
      failed(expectWidth(*this, "the weights", getWeights(),
                         *topK)) || // moe_experts_c1
      failed(expectRows(*this, "indices", getIndices(), getX())) ||
      failed(expectRows(*this, "weights", getWeights(), getX())) ||
      failed(verifyStacks(*this, *hidden))) {
    return failure();
  }
  int64_t experts = cast<RankedTensorType>(getGate().getType()).getDimSize(0);
  if (*topK > experts) { // moe_experts_c3
    return emitOpError("expected at most ")
           << experts << " experts per row, got " << *topK;
  }
  for (Value value :
       {getShared(), getResidual(), getResult()}) { // moe_experts_c4
    if (value && value.getType() != getX().getType()) {
      return emitOpError("expected addends and result of type ")
             << getX().getType() << ", got " << value.getType();
    }
  }
  return success();
}
