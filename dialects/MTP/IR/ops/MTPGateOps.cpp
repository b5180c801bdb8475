//===- MTPGateOps.cpp - Gates of recurrent layers -------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/Verification.h"

using namespace mlir;
using namespace mlir::mtp;

LogicalResult SigmoidOp::verify() {
  return success(succeeded(staticWidth(*this, "the rows", getX())));
}

LogicalResult SigmoidGateOp::verify() {
  FailureOr<int64_t> width = staticWidth(*this, "the rows", getX());
  FailureOr<int64_t> gates = staticWidth(*this, "the gates", getGate());
  if (failed(width) || failed(gates) ||
      failed(expectRows(*this, "the gates", getGate(), getX())))
    return failure();
  if (*gates < 1 || *width % *gates != 0) // C1
    return emitOpError("expected gates that divide ")
           << *width << " columns, got " << *gates;
  return success();
}

LogicalResult L2NormOp::verify() {
  if (failed(expectFinitePositive(*this, "eps", getEps()))) // C1
    return failure();
  FailureOr<int64_t> width = staticWidth(*this, "the rows", getX());
  int64_t groups = getGroups();
  if (failed(width) || failed(expectPositive(*this, "groups", groups)))
    return failure();
  if (*width % groups != 0) // C2
    return emitOpError("expected groups that divide ")
           << *width << " columns, got " << groups;
  return success();
}

LogicalResult DecayOp::verify() {
  FailureOr<int64_t> width = staticWidth(*this, "the rows", getX());
  if (failed(width) ||
      failed(expectWidth(*this, "the rate", getRate(), *width)))
    return failure();
  return expectWidth(*this, "the bias", getBias(), *width);
}
