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
  if (getCompiled())
    return getScan() ? "sample_scan" : getFound() ? "sample_join" : "sample";
  if (getScan())
    return isMapped ? "mtp.sample_scan_mapped" : "mtp.sample_scan";
  if (getFound())
    return isMapped ? "mtp.sample_join_mapped" : "mtp.sample_join";
  if (getBest())
    return isMapped ? "mtp.sample_parts_mapped" : "mtp.sample_parts";
  return isMapped ? "mtp.sample_mapped" : "mtp.sample";
}

// Of a builtin widths are params: the runtime has one function for all.
DictionaryAttr SampleOp::getKernelConfig() {
  KernelConfig config(getContext());
  if (!getCompiled())
    return config.get();
  config.number("vocab", columnsOf(getLogits()));
  if (getBest())
    config.number("parts", columnsOf(getBest()));
  if (getTokens())
    config.flag("mapped", true);
  return config.get();
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

DictionaryAttr ExcludeOp::getKernelConfig() {
  return KernelConfig(getContext()).number("width", columnsOf(getY())).get();
}
