//===- ExecControlOps.cpp - Calls of kernels with a body ------------------===//

#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

LogicalResult ControlOp::verify() {
  int64_t count = getCount();
  if (count < 1) // C2
    return emitOpError("expected at least one slot, got ") << count;
  auto check = [&](Type type) -> LogicalResult {
    auto shaped = cast<ShapedType>(type);
    bool isBuffer = isa<MemRefType>(type);
    if (shaped.hasStaticShape() &&
        (isBuffer ? shaped.getNumElements() >= count
                  : shaped.getNumElements() % count == 0))
      return success();
    return emitOpError("expected a row for each of ")
           << count << " slots, got " << type;
  };
  if (failed(check(getSlots().getType())))
    return failure();
  for (TypeRange types :
       {TypeRange(getInputs().getTypes()), TypeRange(getResultTypes())})
    for (Type type : types)
      if (failed(check(type)))
        return failure();
  return success();
}

LogicalResult ControlOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel || !kernel.hasBody()) // C1
    return emitOpError("expected an exec.kernel with a body named '")
           << getKernel() << "'";
  if (kernel.getConfig() != getKernelConfig()) // C3
    return emitOpError("expected as many buffers as ")
           << kernel.getConfig() << ", got " << getKernelConfig();
  SmallVector<Type> types(getOperandTypes());
  llvm::append_range(types, getResultTypes());
  return verifyBufferTypes(*this, kernel, types, getCount()); // C3
}

llvm::StringRef ControlOp::getKernelKind() { return kControlKind; }

DictionaryAttr ControlOp::getKernelConfig() {
  return controlConfig(getContext(), 1 + getInputs().size() + getReads().size(),
                       getUpdates().size(), getNumResults());
}

llvm::SmallVector<int64_t> ControlOp::getKernelParams() {
  return {int64_t(getCount())};
}

bool ControlOp::updatesOperand(size_t index) {
  return index >= getNumOperands() - getUpdates().size();
}

bool ControlOp::readsAnyRow(size_t) { return false; }

bool ControlOp::isRowLocal() { return true; }

bool ControlOp::dividesByRow() { return true; }

// A slot's state belongs to the slot: bodies for the same slots, in the same
// order, touch the same of it. Two elements never name one slot.
bool ControlOp::updatesSameRowsAs(KernelOpInterface other) {
  auto control = dyn_cast<ControlOp>(other.getOperation());
  return control && control.getCount() == getCount() &&
         isSameBuffer(control.getSlots(), getSlots());
}
