//===- ExecInterfaces.cpp - Interfaces of kernel calls --------------------===//

#include "dialects/Exec/IR/ExecInterfaces.h"
#include "dialects/Exec/IR/ExecOps.h"

using namespace mlir;
using namespace mlir::exec;

#include "dialects/Exec/IR/ExecInterfaces.cpp.inc"

bool mlir::exec::isSameOperand(const KernelOperand &a, const KernelOperand &b) {
  return a.offset == b.offset && isSameBuffer(a.value, b.value);
}

bool mlir::exec::hasCountedShape(ShapedType type) {
  if (type.hasStaticShape())
    return true;
  if (llvm::is_contained(type.getShape().drop_front(), ShapedType::kDynamic))
    return false;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? isa_and_nonnull<CountAttr>(tensor.getEncoding())
                : type.getRank() == 1;
}

llvm::ArrayRef<int64_t> mlir::exec::shapeOf(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

Count mlir::exec::rowsOf(Value value) {
  auto type = cast<ShapedType>(value.getType());
  if (type.getRank() == 0)
    return 1;
  if (!type.isDynamicDim(0))
    return type.getDimSize(0);
  CountAttr rows;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    rows = dyn_cast_or_null<CountAttr>(tensor.getEncoding());
  else if (auto alloc = value.getDefiningOp<AllocOp>())
    rows = alloc.getRowsAttr();
  else if (auto ref = value.getDefiningOp<RefOp>())
    rows = ref.getFirstAttr();
  return rows ? rows.getCount() : Count();
}

llvm::SmallVector<Count, 3> mlir::exec::extentsOf(Value value) {
  llvm::SmallVector<Count, 3> extents{rowsOf(value)};
  for (int64_t extent : llvm::drop_begin(shapeOf(value)))
    extents.push_back(extent);
  return extents;
}

std::optional<Count> mlir::exec::elementsOf(Value value) {
  Count elements = rowsOf(value);
  for (int64_t extent :
       shapeOf(value).drop_front(shapeOf(value).empty() ? 0 : 1))
    if (__builtin_mul_overflow(elements.base, extent, &elements.base) ||
        __builtin_mul_overflow(elements.step, extent, &elements.step))
      return std::nullopt;
  return elements;
}

int64_t mlir::exec::rowLimitOf(Value value) {
  if (!value)
    return 0;
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  auto type = cast<ShapedType>(viewOf(value).root.getType());
  return type.getRank() > 0 && !type.isDynamicDim(0) ? type.getDimSize(0) : 0;
}

RankedTensorType mlir::exec::withRows(RankedTensorType like, Count rows) {
  SmallVector<int64_t> shape(like.getShape());
  shape.front() = rows.isFixed() ? rows.base : ShapedType::kDynamic;
  Attribute encoding;
  if (!rows.isFixed())
    encoding = CountAttr::get(like.getContext(), rows);
  return RankedTensorType::get(shape, like.getElementType(), encoding);
}

RankedTensorType mlir::exec::rowsType(Count rows, int64_t columns,
                                      Type element) {
  return withRows(RankedTensorType::get({0, columns}, element), rows);
}

llvm::SmallVector<int64_t> mlir::exec::evaluate(llvm::ArrayRef<Count> counts,
                                                int64_t n) {
  return llvm::map_to_vector(counts, [n](Count count) { return count.at(n); });
}

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
    while (auto reshape = operand.getDefiningOp<ReshapeOp>())
      operand = reshape.getX();
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

bool mlir::exec::hasCallsRows(KernelOpInterface call, size_t index) {
  Value value = call->getOperand(index);
  // The number of active rows of a non-tensor is unknown.
  return isa<RankedTensorType>(value.getType()) &&
         call.makeKernel().getDivision() != Division::Slots &&
         rowsOf(value) == call.getKernelParams().front();
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
