//===- ExecInterfaces.cpp - What passes ask of kernel calls ---------------===//

#include "dialects/Exec/IR/ExecInterfaces.h"
#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecInterfaces.cpp.inc"

bool mlir::exec::isSameOperand(const KernelOperand &a, const KernelOperand &b) {
  return a.offset == b.offset && isSameBuffer(a.value, b.value);
}

llvm::ArrayRef<int64_t> mlir::exec::shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

int64_t mlir::exec::rowsOf(Value value) { return shapeOf(value).front(); }

int64_t mlir::exec::columnsOf(Value value) {
  llvm::ArrayRef<int64_t> shape = shapeOf(value);
  return shape.size() == 1 ? 1 : shape.back();
}

ColumnView mlir::exec::viewOf(Value value) {
  int64_t begin = 0, width = columnsOf(value);
  while (auto columns = value.getDefiningOp<ColumnsOp>()) {
    begin += int64_t(columns.getBegin());
    value = columns.getX();
  }
  return {value, begin, columnsOf(value), width};
}

bool mlir::exec::isWhole(Value value) {
  return !value || viewOf(value).isWhole();
}

llvm::SmallVector<KernelOperand>
mlir::exec::resolveOperands(OperandRange operands) {
  return llvm::map_to_vector(operands, [](Value operand) -> KernelOperand {
    while (auto regroup = operand.getDefiningOp<RegroupOp>())
      operand = regroup.getX();
    // Packed weights and caches have no columns.
    if (!operand.getDefiningOp<ColumnsOp>())
      return {operand};
    ColumnView view = viewOf(operand);
    return {view.root, view.offset};
  });
}

bool mlir::exec::writesSameEntries(EntryWriterOpInterface call,
                                   Operation *other) {
  auto writer = dyn_cast<EntryWriterOpInterface>(other);
  return writer && isSameBuffer(call.getSlots(), writer.getSlots()) &&
         isSameBuffer(call.getPositions(), writer.getPositions()) &&
         isSameBuffer(call.getPageTable(), writer.getPageTable()) &&
         isSameBuffer(call.getPages(), writer.getPages()) &&
         call.getPages().getType() == writer.getPages().getType() &&
         call.getCacheHeads() == writer.getCacheHeads();
}

void mlir::exec::addKernelEffects(
    KernelOpInterface call,
    llvm::SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : call->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (call.updatesOperand(operand.getOperandNumber()))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}
