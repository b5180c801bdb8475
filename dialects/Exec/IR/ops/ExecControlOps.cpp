//===- ExecControlOps.cpp - Calls of kernels with a body ------------------===//

#include "dialects/Exec/IR/ControlKernel.h"
#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

LogicalResult ControlOp::verify() {
  Count count = getSlotCount();
  Points points = pointsOf(*this);
  if (!isWithin(count, points, 1, INT32_MAX)) // C2
    return emitOpError("expected at least one slot, got ") << count;
  auto check = [&](Value value) -> LogicalResult {
    std::optional<Count> elements = elementsOf(value);
    bool isBuffer = isa<MemRefType>(value.getType());
    if (elements && (isBuffer ? isWithin({elements->base - count.base,
                                          elements->step - count.step},
                                         points, 0, INT64_MAX)
                              : ratio(*elements, count).has_value()))
      return success();
    return emitOpError("expected a row for each of ")
           << count << " slots, got " << value.getType();
  };
  if (failed(check(getSlots())))
    return failure();
  for (ValueRange values : {ValueRange(getInputs()), ValueRange(getResults())})
    for (Value value : values)
      if (failed(check(value)))
        return failure();
  return success();
}

LogicalResult ControlOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel || !kernel.hasBody()) // C1
    return emitOpError("expected an exec.kernel with a body named '")
           << getKernel() << "'";
  if (kernel.getKernel() != makeKernel()) // C3
    return emitOpError("expected the buffers of ")
           << kernel.getKernel() << ", got " << makeKernel();
  for (size_t i = 0; i < getNumOperands(); ++i) // C4
    if (readsOtherTasks(kernel, i) && !isPacked(i))
      return emitOpError("expected buffer ")
             << i << " of '" << getKernel()
             << "', of which a task reads any row, to be packed";
  SmallVector<Value> values(getOperands());
  llvm::append_range(values, getResults());
  auto mayHaveMore = [&](size_t index) { return isPacked(index); };
  return verifyBuffers(*this, kernel, values, getSlotCount(), // C3
                       mayHaveMore);
}

KernelAttrInterface ControlOp::makeKernel() {
  return ControlKernelAttr::get(
      getContext(), {.reads = int64_t(1 + getInputs().size() +
                                      getPacked().size() + getReads().size()),
                     .updates = int64_t(getUpdates().size()),
                     .outputs = getNumResults()});
}

llvm::SmallVector<Count> ControlOp::getKernelParams() {
  return {getSlotCount()};
}

bool ControlOp::updatesOperand(size_t index) {
  return index >= getNumOperands() - getUpdates().size();
}

bool ControlOp::isPacked(size_t index) {
  size_t first = 1 + getInputs().size();
  return index >= first && index < first + getPacked().size();
}

bool ControlOp::readsAnyRow(size_t index) { return isPacked(index); }

bool ControlOp::followsRowsOf(size_t) { return false; }

bool ControlOp::isRowLocal() { return true; }

bool ControlOp::dividesByRow() { return true; }

// A slot's state belongs to the slot. Bodies for the same slots, in the same
// order, access the same parts of it. No two elements name the same slot.
bool ControlOp::updatesSameRowsAs(KernelOpInterface other) {
  auto control = dyn_cast<ControlOp>(other.getOperation());
  return control && control.getSlotCount() == getSlotCount() &&
         isSameBuffer(control.getSlots(), getSlots());
}

LogicalResult ClampTaskOp::verify() {
  if (!(*this)->getParentOfType<ProgramOp>()) // C1
    return success();
  return emitOpError("expected in the body of a kernel, got one in a program");
}
