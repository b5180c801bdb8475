//===- SpecializeShapes.cpp - One program per point of the envelope -------===//
//
// Drives the writing of programs: reads the sizes of the model from the IR,
// declares the state, and asks the program writers for every decode round,
// prefill chunk and exported function.
//
//===----------------------------------------------------------------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/ProgramWriter.h"

namespace mlir::mtp {
#define GEN_PASS_DEF_SPECIALIZESHAPESPASS
#include "passes/Passes.h.inc"
} // namespace mlir::mtp

using namespace mlir;
using namespace mlir::mtp;

namespace {

struct SpecializeShapesPass
    : public mtp::impl::SpecializeShapesPassBase<SpecializeShapesPass> {
  using Base::Base;

  void runOnOperation() override;

private:
  LogicalResult writeRound(RoundOp round);
  LogicalResult writeFunctions();
};

} // namespace

LogicalResult SpecializeShapesPass::writeRound(RoundOp round) {
  FailureOr<RoundParts> parts = RoundParts::get(round);
  if (failed(parts)) {
    return failure();
  }
  OpBuilder builder(round);
  declareStates(builder, round.getLoc(), parts->shape);
  ProgramWriter writer(builder, *parts);
  EnvelopeAttr envelope = parts->shape.envelope;
  for (int64_t batch = 1; batch <= envelope.getMaxBatch(); ++batch) {
    for (int64_t k = 0; k <= envelope.getMaxK(); ++k) {
      writer.writeDecode(batch, k);
      ++numPrograms;
    }
  }
  for (int64_t chunk : parts->shape.prefillChunks()) {
    writer.writePrefill(chunk, /*withModules=*/false);
    ++numPrograms;
    if (parts->shape.modules > 0) {
      writer.writePrefill(chunk, /*withModules=*/true);
      ++numPrograms;
    }
  }
  // The artifact states these sizes; programs hold them only implicitly.
  getOperation()->setAttr(
      "exec.model",
      builder.getDictionaryAttr(
          {builder.getNamedAttr(
               "modules", builder.getI64IntegerAttr(parts->shape.modules)),
           builder.getNamedAttr(
               "vocab", builder.getI64IntegerAttr(parts->shape.vocab))}));
  round.erase();
  return success();
}

LogicalResult SpecializeShapesPass::writeFunctions() {
  for (auto function :
       llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
    if (function.isPublic()) {
      if (failed(writeFunctionProgram(function))) {
        return failure();
      }
      ++numPrograms;
    }
    function.erase();
  }
  return success();
}

void SpecializeShapesPass::runOnOperation() {
  for (RoundOp round : llvm::to_vector(getOperation().getOps<RoundOp>())) {
    if (failed(writeRound(round))) {
      return signalPassFailure();
    }
  }
  if (failed(writeFunctions())) {
    return signalPassFailure();
  }
}
