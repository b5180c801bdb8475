//===- ExecSampleOps.cpp - Kernels that pick tokens -----------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/LogitRules.h"

#include <algorithm>

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

//===----------------------------------------------------------------------===//
// ProcessLogitsOp
//===----------------------------------------------------------------------===//

LogicalResult ProcessLogitsOp::verify() {
  bool isRanked = getRanked().size() == 2 && getBest() &&
                  getRanked()[0].getType() == getBest().getType() &&
                  getRanked()[1].getType() == getColumns().getType();
  if (!isRanked && (!getRanked().empty() || getBest())) // C5
    return emitOpError("expected results like logits, best and columns, got ")
           << getResultTypes();
  if (!getMasks())
    return success();
  if (getTokens()) // C7
    return emitOpError("expected masks or tokens, got both");
  ArrayRef<int64_t> shape = shapeOf(getMasks());
  int64_t words = int64_t(::mtp::maskWords(columnsOf(getLogits())));
  int64_t nodes = getPath() ? columnsOf(getPath()) / 2 : 1;
  nodes = std::min(nodes, ::mtp::kMostMasks);
  if (shape.size() == 3 && shape.back() == words && shape[1] >= nodes) // C6
    return success();
  return emitOpError("expected masks of ")
         << nodes << " or more nodes with " << words << " words each, got "
         << getMasks().getType();
}

Value ProcessLogitsOp::getResultFor(Value operand) {
  if (operand == getLogits())
    return getY();
  if (getBest() && operand == getBest())
    return getRanked()[0];
  return getBest() && operand == getColumns() ? getRanked()[1] : Value();
}

KernelAttrInterface ProcessLogitsOp::makeKernel() {
  return ProcessLogitsKernelAttr::get(
      getContext(), {.width = columnsOf(getLogits()),
                     .parts = getBest() ? columnsOf(getBest()) : 0,
                     .nodes = getPath() ? columnsOf(getPath()) / 2 : 0,
                     .depth = getPath() ? int64_t(getDepth()) : 0,
                     .placed = bool(getPlaces()),
                     .masks = getMasks() ? shapeOf(getMasks())[1] : 0,
                     .vocab = getTokens() ? columnsOf(getBias()) : 0,
                     .slots = rowLimitOf(getRules())});
}

llvm::SmallVector<Count> ProcessLogitsOp::getKernelParams() {
  return {rowsOf(getLogits())};
}

bool ProcessLogitsOp::readsAnyRow(size_t index) {
  return isa<MemRefType>(getOperand(index).getType());
}
