//===- ExecResourceOps.cpp - Verifiers of resources -----------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mlir;
using namespace mlir::exec;

LogicalResult KernelOp::verify() {
  if (!kernelSignature(getKind(), getConfig())) { // C1
    return emitOpError("expected a kind of the kernel catalogue, got '")
           << getKind() << "'";
  }
  return success();
}

LogicalResult WeightOp::verify() {
  llvm::StringRef layout = getLayout();
  if (layout != "raw" && layout != "linear" && layout != "swiglu") { // C1
    return emitOpError("expected layout raw, linear or swiglu, got '")
           << layout << "'";
  }
  int64_t count = 0;
  if (getK() <= 0 || getN() <= 0 || getStack() <= 0 || // C2
      __builtin_mul_overflow(int64_t(getK()), int64_t(getN()), &count) ||
      __builtin_mul_overflow(count, int64_t(getStack()), &count)) {
    return emitOpError("expected positive k, n and stack whose product fits "
                       "64 bits, got ")
           << getK() << ", " << getN() << " and " << getStack();
  }
  size_t wanted = layout == "swiglu" ? 2 : 1; // C3
  if (getSources().size() < wanted ||
      (layout == "swiglu" && getSources().size() != wanted)) {
    return emitOpError("expected ")
           << wanted << " sources for layout " << layout << ", got "
           << getSources().size();
  }
  for (Attribute source : getSources()) { // C4
    auto entries = dyn_cast<DictionaryAttr>(source);
    if (!entries || !entries.getAs<StringAttr>("key")) {
      return emitOpError("expected a dictionary with a key per source, got ")
             << source;
    }
  }
  if (!getDtype().isF32() && !getDtype().isBF16() && !isQuantized()) { // C5
    return emitOpError("expected elements of f32, bf16, i8 or i4, got ")
           << getDtype();
  }
  int64_t group = getGroup().value_or(0); // C6
  if (isQuantized() && !::mtp::isQuantGroup(group)) {
    return emitOpError("expected a group of a multiple of 32 up to 128 for "
                       "elements of ")
           << getDtype() << ", got " << group;
  }
  if (isQuantized() && layout == "raw" && getStack() != 1) {
    return emitOpError("expected no stack for a table of ")
           << getDtype() << ", got " << int64_t(getStack());
  }
  if (!isQuantized() && getGroup()) {
    return emitOpError("expected no group for elements of ") << getDtype();
  }
  if (getPicks() && // C7
      (layout != "linear" || getSources().size() != 1 || getStack() != 1)) {
    return emitOpError("expected picks of a linear weight with one source and "
                       "no stack");
  }
  return success();
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getPicks()) {
    return success();
  }
  auto constant = symbols.lookupNearestSymbolFrom<ConstantOp>(
      *this, getPicksAttr());
  if (!constant) { // C7
    return emitOpError("expected picks to name an exec.constant, got ")
           << getPicksAttr();
  }
  ShapedType type = constant.getValue().getShapedType();
  if (!type.getElementType().isInteger(32) ||
      type.getNumElements() != int64_t(getN())) {
    return emitOpError("expected picks of ")
           << int64_t(getN()) << " elements of i32, got " << type;
  }
  return success();
}

LogicalResult RopeTableOp::verify() {
  if (int64_t(getPositions()) <= 0) { // C1
    return emitOpError("expected a positive number of positions, got ")
           << int64_t(getPositions());
  }
  return success();
}

/// Whether the host may declare a buffer of `element`s.
static bool isHostElement(Type element) {
  return element.isF32() || element.isSignlessInteger(32) ||
         element.isSignlessInteger(64);
}

LogicalResult ConstantOp::verify() {
  auto value = dyn_cast<DenseElementsAttr>(getValue());
  if (!value || !isHostElement(value.getElementType())) { // C1
    return emitOpError("expected dense elements of f32, i32 or i64, got ")
           << getValue().getShapedType();
  }
  return success();
}

LogicalResult StateOp::verify() {
  auto type = dyn_cast<MemRefType>(getType());
  if (!type || !isHostElement(type.getElementType()) || !bufferBytes(type)) { // C1
    return emitOpError("expected a static memref of f32, i32 or i64 whose bytes "
                       "fit 63 bits, got ")
           << getType();
  }
  return success();
}

LogicalResult exec::CacheOp::verify() {
  int64_t layers = getLayers(), entry = getEntry(), page = getPage();
  int64_t heads = getHeads();
  if (layers <= 0 || entry <= 0 || heads <= 0 || page <= 0) { // C1
    return emitOpError("expected positive layers, entry, heads and page, got ")
           << layers << ", " << entry << ", " << heads << " and " << page;
  }
  if (!getDtype().isF32() && !getDtype().isBF16()) { // C2
    return emitOpError("expected elements of f32 or bf16, got ") << getDtype();
  }
  if (entry % heads != 0) { // C3
    return emitOpError("expected an entry of a multiple of ")
           << heads << " heads, got " << entry;
  }
  return success();
}
