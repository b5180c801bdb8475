//===- ExecSampleOps.cpp - Kernels that pick tokens -----------------------===//

#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

KernelAttrInterface ArgmaxOp::makeKernel() {
  ColumnView x = viewOf(getX());
  return ArgmaxKernelAttr::get(getContext(),
                               {.width = x.width, .x_stride = x.stride});
}

KernelAttrInterface ArgmaxPartsOp::makeKernel() {
  return ArgmaxPartsKernelAttr::get(getContext(),
                                    {.parts = columnsOf(getColumns())});
}

//===----------------------------------------------------------------------===//
// SampleOp
//===----------------------------------------------------------------------===//

LogicalResult SampleOp::verify() {
  bool inTwoCalls = getScan() || getFound();
  if ((getScan() && getFound()) || (inTwoCalls && !getBest())) // C3
    return emitOpError("expected scan or found, and either beside best");
  return success();
}

static llvm::StringRef builtinOf(SampleOp op) {
  bool isMapped = bool(op.getTokens());
  if (op.getScan())
    return isMapped ? "mtp.sample_scan_mapped" : "mtp.sample_scan";
  if (op.getFound())
    return isMapped ? "mtp.sample_join_mapped" : "mtp.sample_join";
  if (op.getBest())
    return isMapped ? "mtp.sample_parts_mapped" : "mtp.sample_parts";
  return isMapped ? "mtp.sample_mapped" : "mtp.sample";
}

template <typename KernelT>
static KernelAttrInterface compiledOf(SampleOp op) {
  return KernelT::get(op.getContext(),
                      {.vocab = columnsOf(op.getLogits()),
                       .parts = op.getBest() ? columnsOf(op.getBest()) : 0,
                       .mapped = bool(op.getTokens()),
                       .slots = rowLimitOf(op.getSampling())});
}

// The widths of a builtin are params: the runtime has one function for all.
KernelAttrInterface SampleOp::makeKernel() {
  if (!getCompiled())
    return BuiltinKernelAttr::get(getContext(), builtinOf(*this));
  return getScan()    ? compiledOf<SampleScanKernelAttr>(*this)
         : getFound() ? compiledOf<SampleJoinKernelAttr>(*this)
                      : compiledOf<SampleKernelAttr>(*this);
}

llvm::SmallVector<Count> SampleOp::getKernelParams() {
  if (getCompiled())
    return {rowsOf(getLogits())};
  return {rowsOf(getLogits()), columnsOf(getLogits()),
          getBest() ? columnsOf(getBest()) : 1};
}

bool SampleOp::readsAnyRow(size_t index) {
  Value operand = getOperand(index);
  return operand == getTokens() || operand == getSampling();
}

KernelAttrInterface MaskTokensOp::makeKernel() {
  return MaskTokensKernelAttr::get(getContext(), {.width = columnsOf(getY())});
}
