//===- MTPControlOps.cpp - State, and its loads and stores ----------------===//

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/StateTable.h"
#include "dialects/MTP/IR/Verification.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "runtime/schema/Limits.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::mtp;

//===----------------------------------------------------------------------===//
// States shared with the host
//===----------------------------------------------------------------------===//

/// Checks state_c7.
static LogicalResult verifyHostState(StateOp op) {
  const SharedState *state = findSharedState(op.getSymName());
  if (!state || !state->isHosts)
    return success();
  auto extents = llvm::to_vector(op.getExtents().getAsRange<ExtentAttr>());
  Type element = op.getElementType();
  bool matches =
      op.getShared() == state->isForAll &&
      (state->isFloat ? element.isF32() : element.isSignlessInteger(32)) &&
      int64_t(extents.size()) == state->rank;
  for (int64_t i = 0; matches && i < state->rank; ++i)
    matches = state->extents[i].matches(extents[i]);
  if (matches)
    return success();
  return op.emitOpError("expected '")
         << describe(*state) << "', as the host shares this state";
}

//===----------------------------------------------------------------------===//
// state
//===----------------------------------------------------------------------===//

SmallVector<int64_t> StateOp::getShape(EnvelopeAttr envelope) {
  return llvm::map_to_vector(
      getExtents().getAsRange<ExtentAttr>(),
      [&](ExtentAttr extent) { return extent.getSize(envelope); });
}

SmallVector<int64_t> StateOp::getExtentSizes() {
  return llvm::map_to_vector(
      getExtents().getAsRange<ExtentAttr>(), [](ExtentAttr extent) {
        return extent.getUnit() == ExtentUnit::Fixed ? extent.getOffset()
                                                     : ShapedType::kDynamic;
      });
}

/// Checks state_c1.
static LogicalResult verifySizes(StateOp op) {
  if (op.getExtents().size() > 3)
    return op.emitOpError("expected at most 3 extents, got ")
           << op.getExtents().size();
  auto envelope = op->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (!envelope)
    return success();
  constexpr int64_t kMostElements = int64_t(1) << 46;
  int64_t count = op.getShared() ? 1 : envelope.getMaxBatch();
  for (int64_t size : op.getShape(envelope)) {
    if (size < 1)
      return op.emitOpError("expected extents of at least 1 within the "
                            "envelope, got ")
             << size;
    if (llvm::MulOverflow(count, size, count) || count > kMostElements)
      return op.emitOpError("expected at most 2^46 elements within the "
                            "envelope");
  }
  return success();
}

/// Checks state_c4 to state_c6, state_c10.
static LogicalResult verifyRebuild(StateOp op) {
  int64_t rows = op.getRebuildRows();
  if (rows < 1 || rows > ::mtp::kMostRebuildRows)
    return op.emitOpError("expected rebuild of 1 to ")
           << ::mtp::kMostRebuildRows << " rows, got " << rows;
  if (op.getShared() && (op.getRebuild() != Rebuild::Rows || rows != 1))
    return op.emitOpError("expected no rebuild of a shared state");
  if (op.getRebuild() == Rebuild::Run) // state_c10
    return op.emitOpError("expected rebuild rows, tokens, never or save, got "
                          "run, which is for what mtp.recurrence declares");
  if (op.getRebuild() != Rebuild::Tokens)
    return success();
  auto extents = op.getExtents().getAsRange<ExtentAttr>();
  if (op.getExtents().size() != 1 ||
      (*extents.begin()).getUnit() != ExtentUnit::MaxContext ||
      !op.getElementType().isSignlessInteger(32))
    return op.emitOpError("expected one extent of max_context and elements of "
                          "i32 for rebuild tokens");
  return success();
}

/// Checks state_c9.
static LogicalResult verifyInput(StateOp op) {
  if (!op.getInput())
    return success();
  Type element = op.getElementType();
  if (op.getShared() || !(element.isF32() || element.isSignlessInteger(32)))
    return op.emitOpError("expected an input of each slot's own, of i32 or "
                          "f32, got ")
           << (op.getShared() ? "a shared one of " : "") << element;
  if (op.getRebuild() != Rebuild::Rows || op.getRebuildRows() != 1)
    return op.emitOpError("expected no rebuild of an input");
  const SharedState *known = findSharedState(op.getSymName());
  if (known && known->isHosts)
    return op.emitOpError("expected another name for an input, as the host "
                          "shares the state @")
           << op.getSymName();
  return success();
}

/// Checks state_c8.
static LogicalResult verifySaved(StateOp op) {
  auto envelope = op->getParentOp()->getAttrOfType<EnvelopeAttr>(kEnvelopeAttr);
  if (op.getRebuild() != Rebuild::Save || !envelope)
    return success();
  int64_t bytes = op.getElementType().getIntOrFloatBitWidth() / 8;
  for (int64_t size : op.getShape(envelope))
    bytes *= size; // state_c1
  if (bytes <= int64_t(::mtp::kMostSavedBytes))
    return success();
  return op.emitOpError("expected at most ")
         << ::mtp::kMostSavedBytes << " bytes of a slot for rebuild save, got "
         << bytes;
}

/// Checks state_c11.
static LogicalResult verifyWish(StateOp op) {
  bool fits = !op.getShared() && op.getExtents().empty() &&
              op.getElementType().isSignlessInteger(32);
  if (op.getSymName() != "want_k" || fits)
    return success();
  return op.emitOpError("expected 'mtp.state @want_k : i32', as it says how "
                        "many drafts a slot wants");
}

LogicalResult StateOp::verify() {
  if (TypedAttr init = getInitAttr();
      init && init.getType() != getElementType()) // state_c3
    return emitOpError("expected init of ")
           << getElementType() << ", got " << init;
  return success(
      succeeded(verifySizes(*this)) && succeeded(verifyRebuild(*this)) &&
      succeeded(verifySaved(*this)) && succeeded(verifyInput(*this)) &&
      succeeded(verifyHostState(*this)) && succeeded(verifyWish(*this)));
}

//===----------------------------------------------------------------------===//
// load and store
//===----------------------------------------------------------------------===//

/// Checks load_c1, store_c1 and uniform_c1.
static LogicalResult verifyPlace(Operation *op) {
  if (op->getParentOfType<PerSlotOp>())
    return success();
  auto function = op->getParentOfType<func::FuncOp>();
  if (function && function.isPrivate())
    return success();
  return op->emitOpError("expected in the body of an mtp.per_slot, or in a "
                         "private function that it calls");
}

LogicalResult UniformOp::verify() { return verifyPlace(*this); } // uniform_c1

LogicalResult LoadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyPlace(*this)))
    return failure();
  return verifyStateUse(*this, symbols, getStateAttr(), // load_c2
                        getResult().getType(), getIndices().size());
}

LogicalResult StoreOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyPlace(*this)))
    return failure();
  if ((*this)->getParentOfType<tensor::GenerateOp>()) // store_c1
    return emitOpError("expected outside of a tensor.generate, whose order is "
                       "free");
  if (failed(verifyStateUse(*this, symbols, getStateAttr(), // store_c2
                            getValue().getType(), getIndices().size())))
    return failure();
  auto state = symbols.lookupNearestSymbolFrom<SlotStateOpInterface>(
      *this, getStateAttr());
  if (state.getShared()) // store_c3
    return emitOpError("expected a state of each slot's own, got the shared ")
           << getStateAttr();
  return verifyWritten(*this, state); // store_c4, store_c5
}

StateUses mlir::mtp::collectStateUses(Operation *op) {
  StateUses uses;
  op->walk([&](MemoryEffectOpInterface user) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    user.getEffectsOnResource(SlotResource::get(), effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      SymbolRefAttr state = effect.getSymbolRef();
      if (!state)
        continue;
      bool writes = isa<MemoryEffects::Write>(effect.getEffect());
      (writes ? uses.written : uses.read).insert(state.getLeafReference());
    }
  });
  return uses;
}
