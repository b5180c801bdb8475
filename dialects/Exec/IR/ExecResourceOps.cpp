//===- ExecResourceOps.cpp - Verifiers of resources -----------------------===//

#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

bool mlir::exec::isSameBuffer(Value a, Value b) {
  auto first = a.getDefiningOp<RefOp>(), second = b.getDefiningOp<RefOp>();
  if (!first || !second)
    return a == b;
  return first.getResourceAttr() == second.getResourceAttr() &&
         first.getLayer() == second.getLayer() &&
         first.getRow() == second.getRow();
}

LogicalResult KernelOp::verify() {
  if (!kernelSignature(getKind(), getConfig())) { // C1
    return emitOpError("expected a kind of the kernel catalogue, got '")
           << getKind() << "'";
  }
  if (hasBody() != (getKind() == kControlKind)) { // C2
    return emitOpError("expected a body for the kind control, and for no "
                       "other");
  }
  return success();
}

/// The outputs of a panel; 0 of a layout without panels.
static int64_t layoutWidth(WeightLayoutAttrInterface layout) {
  return llvm::TypeSwitch<Attribute, int64_t>(layout)
      .Case<PanelsAttr, GatedPanelsAttr>(
          [](auto attr) { return attr.getWidth(); })
      .Default(int64_t(0));
}

LogicalResult WeightOp::verify() {
  WeightLayoutAttrInterface layout = getLayout();
  constexpr int64_t kMaxElements = int64_t(1) << 50;
  int64_t count = 0;
  if (getK() <= 0 || getN() <= 0 || getStack() <= 0 || // C2
      __builtin_mul_overflow(int64_t(getK()), int64_t(getN()), &count) ||
      __builtin_mul_overflow(count, int64_t(getStack()), &count) ||
      count > kMaxElements) {
    return emitOpError("expected positive k, n and stack whose product is at "
                       "most 2^50, got ")
           << getK() << ", " << getN() << " and " << getStack();
  }
  bool isGated = isa<GatedPanelsAttr>(layout);
  size_t wanted = isGated ? 2 : 1; // C3
  if (getSources().size() < wanted ||
      (isGated && getSources().size() != wanted)) {
    return emitOpError("expected ")
           << wanted << " sources for layout " << layout << ", got "
           << getSources().size();
  }
  if (isGated && getN() % 2 != 0) {
    return emitOpError("expected an even n for layout ")
           << layout << ", got " << int64_t(getN());
  }
  if (!getDtype().isF32() && !getDtype().isBF16() && !isQuantized()) { // C4
    return emitOpError("expected elements of f32, bf16, i8 or i4, got ")
           << getDtype();
  }
  int64_t group = getGroup().value_or(0); // C5
  if (isQuantized() && !::mtp::isQuantGroup(group)) {
    return emitOpError("expected a group of a multiple of 32 up to 128 for "
                       "elements of ")
           << getDtype() << ", got " << group;
  }
  if (isQuantized() && isa<RawLayoutAttr>(layout) && getStack() != 1) {
    return emitOpError("expected no stack for a table of ")
           << getDtype() << ", got " << int64_t(getStack());
  }
  if (!isQuantized() && getGroup())
    return emitOpError("expected no group for elements of ") << getDtype();
  int64_t panel = layoutWidth(layout);
  if (isQuantized() && panel && panel != formatPanelWidth()) {
    return emitOpError("expected panels of ") // C1
           << formatPanelWidth() << " outputs for elements of " << getDtype()
           << ", got " << layout;
  }
  if (getPicks() && // C6
      (!isa<PanelsAttr>(layout) || getSources().size() != 1 ||
       getStack() != 1)) {
    return emitOpError("expected picks of a weight in panels with one source "
                       "and no stack");
  }
  return success();
}

MemRefType WeightOp::getPackedType() {
  return getLayout().getPackedType({getDtype(), getGroup(), int64_t(getK()),
                                    int64_t(getN()), int64_t(getStack())});
}

int64_t WeightOp::getPackedBytes() {
  // The limit of C2 leaves room for all padding.
  return *bufferBytes(getPackedType());
}

LogicalResult WeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getPicks())
    return success();
  auto constant =
      symbols.lookupNearestSymbolFrom<ConstantOp>(*this, getPicksAttr());
  if (!constant) { // C6
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
  constexpr int64_t kMaxPositions = int64_t(1) << 23;
  int64_t positions = getPositions();
  if (positions < 1 || positions > kMaxPositions) // C1
    return emitOpError("expected positions in [1, 2^23], got ") << positions;
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
  if (!bufferBytes(MemRefType::get(value.getType().getShape(),
                                   value.getElementType()))) {
    return emitOpError("expected elements whose bytes fit 63 bits, got ")
           << getValue().getShapedType();
  }
  return success();
}

Type exec::StateOp::getElementType() {
  return cast<MemRefType>(getType()).getElementType();
}

SmallVector<int64_t> exec::StateOp::getExtentSizes() {
  ArrayRef<int64_t> shape = cast<MemRefType>(getType()).getShape();
  bool hasSlots = !getShared() && !shape.empty();
  return SmallVector<int64_t>(shape.drop_front(hasSlots));
}

LogicalResult exec::StateOp::verify() {
  auto type = dyn_cast<MemRefType>(getType());
  if (!type || !isHostElement(type.getElementType()) ||
      !bufferBytes(type)) { // C1
    return emitOpError(
               "expected a static memref of f32, i32 or i64 whose bytes "
               "fit 63 bits, got ")
           << getType();
  }
  if (getInitAttr() && getInitAttr().getType() != type.getElementType()) { // C2
    return emitOpError("expected init of ")
           << type.getElementType() << ", got " << getInitAttr();
  }
  if (getRebuildRows() < 1) { // C3
    return emitOpError("expected rebuild rows of at least 1, got ")
           << getRebuildRows();
  }
  if (getShared() &&
      (getRebuild() != mtp::Rebuild::Rows || getRebuildRows() != 1)) { // C4
    return emitOpError("expected no rebuild of a shared state");
  }
  return success();
}

void StateOp::build(OpBuilder &builder, OperationState &state,
                    llvm::StringRef name, MemRefType type, bool shared) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getTypeAttrName(state.name), TypeAttr::get(type));
  if (shared)
    state.addAttribute(getSharedAttrName(state.name), builder.getUnitAttr());
}

LogicalResult exec::CacheOp::verify() {
  int64_t layers = getLayers(), entry = getEntry(), page = getPage();
  int64_t heads = getHeads();
  if (layers <= 0 || entry <= 0 || heads <= 0 || page <= 0) { // C1
    return emitOpError("expected positive layers, entry, heads and page, got ")
           << layers << ", " << entry << ", " << heads << " and " << page;
  }
  if (!getDtype().isF32() && !getDtype().isBF16()) // C2
    return emitOpError("expected elements of f32 or bf16, got ") << getDtype();
  if (entry % heads != 0) { // C3
    return emitOpError("expected an entry of a multiple of ")
           << heads << " heads, got " << entry;
  }
  return success();
}
