//===- DrafterWiring.cpp - Check one drafter function ---------------------===//
//
// A drafter concatenates embedding and hidden state, each normalized, and
// projects them. The checks trace the projection's halves back to their
// sources, and the results back to the head's norm, and compare with the claim.
//
//===----------------------------------------------------------------------===//

#include "passes/model/Wiring.h"

using namespace mlir;
using namespace mlir::mtp;

namespace {
/// The source of one half of the projection's operand.
struct Half {
  enum Kind { Embedding, Hidden, Other } kind = Other;
  bool masked = false; // an mtp.mask_first on the way
};
} // namespace

/// Traces `value` back through norms and masks.
static Half traceHalf(Value value) {
  Half half;
  while (Operation *op = value.getDefiningOp()) {
    if (auto norm = dyn_cast<RmsNormOp>(op)) {
      value = norm.getX();
    } else if (auto mask = dyn_cast<MaskFirstOp>(op)) {
      half.masked = true;
      value = mask.getX();
    } else {
      half.kind = isa<EmbedOp>(op) ? Half::Embedding : Half::Other;
      return half;
    }
  }
  auto argument = cast<BlockArgument>(value);
  bool carried = isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
                 argument.getArgNumber() == 1;
  half.kind = carried ? Half::Hidden : Half::Other;
  return half;
}

/// Returns the projection of embedding and hidden state: the first projection
/// of a two-part concatenation that contains an embedding or the hidden state.
static LinearOp findProjection(func::FuncOp func) {
  for (LinearOp linear : func.getBody().front().getOps<LinearOp>()) {
    auto concat = linear.getX().getDefiningOp<ConcatOp>();
    if (!concat || concat.getInputs().size() != 2)
      continue;
    for (Value input : concat.getInputs())
      if (traceHalf(input).kind != Half::Other)
        return linear;
  }
  return {};
}

/// Checks W3 to W5 for the projected concatenation.
static LogicalResult verifyHalves(func::FuncOp func, ConcatOp concat,
                                  WiringAttr claim) {
  bool embeddingFirst = claim.getOrder() == FusionOrder::EmbeddingHidden;
  Half::Kind order[] = {embeddingFirst ? Half::Embedding : Half::Hidden,
                        embeddingFirst ? Half::Hidden : Half::Embedding};
  int64_t hidden = widthOf(func.getArgument(1));
  bool masked = false;
  for (auto [index, input] : llvm::enumerate(concat.getInputs())) {
    Half half = traceHalf(input);
    if (half.kind != order[index]) { // W3
      InFlightDiagnostic diag =
          concat.emitOpError("expected the ")
          << (order[index] == Half::Embedding ? "embedding" : "hidden state")
          << " as operand " << index << " of the drafter's projection, got "
          << (half.kind == Half::Embedding ? "the embedding"
              : half.kind == Half::Hidden  ? "the hidden state"
                                           : "something else");
      diag.attachNote(func.getLoc())
          << "order " << stringifyFusionOrder(claim.getOrder())
          << " is claimed here";
      return diag;
    }
    if (widthOf(input) != hidden) { // W4
      return concat.emitOpError("expected operand ")
             << index << " as wide as the hidden state, " << hidden << ", got "
             << widthOf(input);
    }
    masked |= half.kind == Half::Embedding && half.masked;
  }
  if (masked != claim.getMaskFirst()) { // W5
    InFlightDiagnostic diag =
        concat.emitOpError("expected the embedding ")
        << (claim.getMaskFirst() ? "masked" : "not masked") << " at position 0";
    diag.attachNote(func.getLoc()) << "mask_first is claimed here";
    return diag;
  }
  return success();
}

/// Checks W6: whether the hidden state handed on is taken before or after the
/// head's norm.
static LogicalResult verifyCarry(func::FuncOp func, WiringAttr claim) {
  Operation *end = func.getBody().front().getTerminator();
  auto head = end->getOperand(0).getDefiningOp<LinearOp>();
  auto norm = head ? head.getX().getDefiningOp<RmsNormOp>() : RmsNormOp();
  if (!norm) {
    return func.emitError("expected the first result of a drafter to be a "
                          "projection of a norm, to tell which hidden state "
                          "is handed on");
  }
  Value expected =
      claim.getCarry() == CarryPoint::PreNorm ? norm.getX() : norm.getResult();
  if (end->getOperand(1) == expected)
    return success();
  InFlightDiagnostic diag =
      end->emitOpError("expected the hidden state ")
      << (claim.getCarry() == CarryPoint::PreNorm ? "before" : "after")
      << " the head's norm as the second result";
  diag.attachNote(norm.getLoc()) << "the head's norm is here";
  diag.attachNote(func.getLoc())
      << "carry " << stringifyCarryPoint(claim.getCarry())
      << " is claimed here";
  return diag;
}

LogicalResult mlir::mtp::verifyDrafter(func::FuncOp func, WiringAttr claim) {
  FunctionType type = func.getFunctionType();
  if (func.isExternal() || type.getNumInputs() != 3 ||
      type.getNumResults() != 2 || type.getInput(1) != type.getResult(1) ||
      !isa<RankedTensorType>(type.getInput(1))) {
    return func.emitError("expected a drafter to take tokens, hidden and rows "
                          "and to return logits and hidden, got ")
           << type;
  }
  LinearOp projection = findProjection(func);
  if (!projection) { // W3
    return func.emitError("expected a projection of embedding and hidden "
                          "state in a function with 'mtp.wiring'");
  }
  auto concat = projection.getX().getDefiningOp<ConcatOp>();
  if (failed(verifyHalves(func, concat, claim)))
    return failure();
  return verifyCarry(func, claim);
}
