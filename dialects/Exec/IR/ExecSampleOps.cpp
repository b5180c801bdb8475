//===- ExecSampleOps.cpp - Kernels that pick tokens -----------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelConfig.h"

using namespace mlir;
using namespace mlir::exec;

DictionaryAttr ArgmaxOp::getKernelConfig() {
  ColumnView x = viewOf(getX());
  return KernelConfig(getContext())
      .number("width", x.width)
      .number("x_stride", x.stride)
      .get();
}

DictionaryAttr ArgmaxPartsOp::getKernelConfig() {
  return KernelConfig(getContext())
      .number("parts", columnsOf(getColumns()))
      .get();
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

llvm::StringRef SampleOp::getKernelKind() {
  bool isMapped = bool(getTokens());
  if (getScan())
    return isMapped ? "mtp.sample_scan_mapped" : "mtp.sample_scan";
  if (getFound())
    return isMapped ? "mtp.sample_join_mapped" : "mtp.sample_join";
  if (getBest())
    return isMapped ? "mtp.sample_parts_mapped" : "mtp.sample_parts";
  return isMapped ? "mtp.sample_mapped" : "mtp.sample";
}

// Widths are params: the runtime has one function for all.
DictionaryAttr SampleOp::getKernelConfig() {
  return KernelConfig(getContext()).get();
}

llvm::SmallVector<Count> SampleOp::getKernelParams() {
  return {rowsOf(getLogits()), columnsOf(getLogits()),
          getBest() ? columnsOf(getBest()) : 1};
}

bool SampleOp::readsAnyRow(size_t index) {
  Value operand = getOperand(index);
  return operand == getTokens() || operand == getSampling();
}

DictionaryAttr ExcludeOp::getKernelConfig() {
  return KernelConfig(getContext()).number("width", columnsOf(getY())).get();
}
