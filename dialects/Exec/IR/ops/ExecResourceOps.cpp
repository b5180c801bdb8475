//===- ExecResourceOps.cpp - Verifiers of resources -----------------------===//

#include "dialects/Exec/IR/CacheElements.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include "runtime/schema/FragmentOrder.h"
#include "runtime/schema/IntegerFragments.h"
#include "runtime/schema/QuantizedPanel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::exec;

static constexpr int64_t kFragmentInputs = ::mtp::FragmentOrder::kInputs;

bool mlir::exec::isSameBuffer(Value a, Value b) {
  auto first = a.getDefiningOp<RefOp>(), second = b.getDefiningOp<RefOp>();
  if (!first || !second)
    return a == b;
  return first.getResourceAttr() == second.getResourceAttr() &&
         first.getLayer() == second.getLayer() &&
         first.getRow() == second.getRow();
}

LogicalResult KernelOp::verify() {
  KernelAttrInterface kernel = getKernel();
  auto emitError = [&] {
    return emitOpError("of kind '") << kernel.getKind() << "': ";
  };
  if (failed(kernel.verifySizes(emitError)) ||
      failed(kernel.verifyRules(emitError))) // C1
    return failure();
  if (hasBody() != isa<ControlKernelAttr>(kernel)) { // C2
    return emitOpError("expected a body for the kind control, and for no "
                       "other");
  }
  return success();
}

/// Returns the outputs of a panel; 0 for a layout without panels.
static int64_t layoutWidth(WeightLayoutAttrInterface layout) {
  return llvm::TypeSwitch<Attribute, int64_t>(layout)
      .Case<PanelsAttr, GatedPanelsAttr>(
          [](auto attr) { return attr.getWidth(); })
      .Default(int64_t(0));
}

static bool hasFragments(WeightLayoutAttrInterface layout) {
  return llvm::TypeSwitch<Attribute, bool>(layout)
      .Case<PanelsAttr, GatedPanelsAttr>(
          [](auto attr) { return attr.getFragments(); })
      .Default(false);
}

/// Checks C2 and C3: the matrices and their sources.
static LogicalResult verifyMatrices(WeightOp op) {
  constexpr int64_t kMaxElements = int64_t(1) << 50;
  int64_t k = op.getK(), n = op.getN(), stack = op.getStack(), count = 0;
  if (k <= 0 || n <= 0 || stack <= 0 || // C2
      __builtin_mul_overflow(k, n, &count) ||
      __builtin_mul_overflow(count, stack, &count) || count > kMaxElements)
    return op.emitOpError("expected positive k, n and stack whose product is "
                          "at most 2^50, got ")
           << k << ", " << n << " and " << stack;
  WeightLayoutAttrInterface layout = op.getLayout();
  bool isGated = isa<GatedPanelsAttr>(layout);
  size_t wanted = isGated ? 2 : 1, sources = op.getSources().size(); // C3
  if (sources < wanted || (isGated && sources != wanted))
    return op.emitOpError("expected ")
           << wanted << " sources for layout " << layout << ", got " << sources;
  if (isGated && n % 2 != 0)
    return op.emitOpError("expected an even n for layout ")
           << layout << ", got " << n;
  return success();
}

/// Checks C1 and C4: rules for integers.
static LogicalResult verifyElements(WeightOp op) {
  if (!op.isQuantized())
    return success();
  WeightLayoutAttrInterface layout = op.getLayout();
  if (isa<RawLayoutAttr>(layout) && op.getStack() != 1) // C4
    return op.emitOpError("expected no stack for a table of ")
           << op.getFormat() << ", got " << int64_t(op.getStack());
  int64_t panel = layoutWidth(layout); // C1
  if (panel && panel != formatPanelWidth())
    return op.emitOpError("expected panels of ")
           << formatPanelWidth() << " outputs for elements of "
           << op.getFormat() << ", got " << layout;
  return success();
}

/// Checks C6: elements and inputs form whole blocks of tensor cores.
static LogicalResult verifyFragments(WeightOp op) {
  if (!hasFragments(op.getLayout()) || op.canBeInFragments())
    return success();
  return op.emitOpError("expected elements of bf16, or integers in groups of "
                        "32, 64 or 128, and a k that is a multiple of ")
         << kFragmentInputs << " for layout " << op.getLayout() << ", got "
         << op.getFormat() << " and " << int64_t(op.getK());
}

bool WeightOp::canBeInFragments() {
  return getFormat().getFormat().canBeInFragments(getK());
}

LogicalResult WeightOp::verify() {
  if (failed(verifyMatrices(*this)) || failed(verifyElements(*this)) ||
      failed(verifyFragments(*this)))
    return failure();
  if (getPicks() && // C5
      (!isa<PanelsAttr>(getLayout()) || getSources().size() != 1 ||
       getStack() != 1))
    return emitOpError("expected picks of a weight in panels with one source "
                       "and no stack");
  return success();
}

MemRefType WeightOp::getPackedType() {
  return getLayout().getPackedType({getFormat().getFormat(), int64_t(getK()),
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
  if (!constant) { // C5
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

/// Returns whether the host may declare a buffer of `element`s.
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
  if (getShared() && (getRebuild() != mlir::mtp::Rebuild::Rows ||
                      getRebuildRows() != 1)) { // C4
    return emitOpError("expected no rebuild of a shared state");
  }
  if (getShared() && getInput()) // C4
    return emitOpError(
        "expected an input of each slot's own, got a shared one");
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
  if (!isCacheElement(getDtype())) // C2
    return emitOpError("expected elements of f32, bf16 or i8, got ")
           << getDtype();
  if (entry % heads != 0) { // C3
    return emitOpError("expected an entry of a multiple of ")
           << heads << " heads, got " << entry;
  }
  if (!hasScaleRoom(getDtype(), entry / heads)) // C4
    return emitOpError("expected parts of i8 of a multiple of four above ")
           << ::mtp::kEntryScaleBytes << " elements, got " << entry / heads;
  return success();
}
