//===- ExecLoweringSample.cpp - Kernels that pick tokens ------------------===//

#include "passes/ExecLowering.h"

using namespace mlir;
using namespace mlir::mtp;

static LogicalResult lowerArgmax(ArgmaxOp op, LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::ArgmaxOp>(op.getLoc(), op.getType(),
                                           context.lookup(op.getX())));
  return success();
}

static LogicalResult lowerSample(SampleOp op, LoweringContext &context) {
  Value sampling = context.state("sampling", op.getLoc());
  if (!sampling)
    return op.emitOpError("expected a round in the module: sampling parameters "
                          "belong to its slots; use mtp.argmax in a function");
  const RowContext &rows = context.rowsOf(op.getRows());
  Value none;
  context.map(op.getResult(),
              context.call<exec::SampleOp>(
                  op.getLoc(), op.getType(), /*best=*/none, /*columns=*/none,
                  context.whole(op.getLogits()), /*tokens=*/none, rows.slots,
                  rows.positions, sampling, /*found=*/none));
  return success();
}

static LogicalResult lowerExclude(ExcludeOp op, LoweringContext &context) {
  context.map(op.getResult(),
              context.call<exec::ExcludeOp>(op.getLoc(), op.getType(),
                                            context.whole(op.getLogits()),
                                            context.lookup(op.getTokens())));
  return success();
}

void mlir::mtp::addSampleLowerings(Lowerings &lowerings) {
  lowerings.add(lowerArgmax);
  lowerings.add(lowerExclude);
  lowerings.add(lowerSample);
}
