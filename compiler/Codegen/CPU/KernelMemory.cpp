//===- KernelMemory.cpp - Pointers, loads and stores of kernels -----------===//

#include "compiler/Codegen/CPU/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mtp::codegen;
using namespace mlir;

static unsigned elementBytes(Type type) {
  type = getElementTypeOrSelf(type);
  return isa<LLVM::LLVMPointerType>(type)
             ? 8
             : std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

Value KernelBuilder::argument(int64_t which, int64_t index, Type type) {
  Values &cache = loaded[which];
  if (static_cast<int64_t>(cache.size()) <= index)
    cache.resize(index + 1);
  if (!cache[index]) {
    // Loads in a loop could not be hoisted past the stores of the kernel.
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(arguments[which].getParentBlock());
    cache[index] = load(type, at(arguments[which], index * 8));
  }
  return cache[index];
}

Value KernelBuilder::buffer(int64_t index) {
  return argument(0, index, LLVM::LLVMPointerType::get(builder.getContext()));
}

Value KernelBuilder::param(int64_t index) {
  return argument(1, index, i64Type());
}

Value KernelBuilder::at(Value base, Value index, int64_t strideBytes) {
  auto stride = LLVM::LLVMArrayType::get(builder.getI8Type(), strideBytes);
  return LLVM::GEPOp::create(builder, loc, base.getType(), stride, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

Value KernelBuilder::at(Value base, int64_t bytes) {
  return LLVM::GEPOp::create(
      builder, loc, base.getType(), builder.getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value KernelBuilder::load(Type type, Value pointer, Value mask) {
  unsigned align = elementBytes(type);
  if (!mask)
    return LLVM::LoadOp::create(builder, loc, type, pointer, align);
  return LLVM::MaskedLoadOp::create(
      builder, loc, type, pointer, mask, constant(type, 0),
      builder.getI32IntegerAttr(align), /*nontemporal=*/UnitAttr());
}

void KernelBuilder::store(Value value, Value pointer, Value mask) {
  unsigned align = elementBytes(value.getType());
  if (!mask)
    LLVM::StoreOp::create(builder, loc, value, pointer, align);
  else
    LLVM::MaskedStoreOp::create(builder, loc, value, pointer, mask,
                                builder.getI32IntegerAttr(align));
}

Value KernelBuilder::loadI32(Value base, Value index) {
  return extend(load(i32Type(), at(base, index, 4)), i64Type());
}

void KernelBuilder::storeI32(Value value, Value base, Value index) {
  store(truncate(value, i32Type()), at(base, index, 4));
}

Value KernelBuilder::loadFloats(Value pointer, DType dtype, Value mask) {
  if (dtype == DType::F32)
    return load(f32Vector(), pointer, mask);
  Value half = load(vectorType(i16Type(), lanes()), pointer, mask);
  Value wide =
      shiftLeft(extendUnsigned(half, i32Vector()), constant(i32Vector(), 16));
  return bitcast(wide, f32Vector());
}

void KernelBuilder::storeFloats(Value vector, Value pointer, DType dtype,
                                Value mask) {
  store(dtype == DType::F32 ? vector : roundToBF16(vector), pointer, mask);
}

Value KernelBuilder::roundToBF16(Value vector) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  VectorType wide = vectorType(i32Type(), count);
  Value bits = bitcast(vector, wide);
  Value sixteen = constant(wide, 16);
  Value odd = bitAnd(shiftRight(bits, sixteen), constant(wide, 1));
  Value rounded = add(add(bits, constant(wide, 0x7fff)), odd);
  // Adding could carry a NaN into an infinity; keep it quiet instead.
  Value quiet = bitOr(bits, constant(wide, 0x400000));
  Value number = cmp(Cmp::EQ, vector, vector);
  Value high = shiftRight(select(number, rounded, quiet), sixteen);
  return truncate(high, vectorType(i16Type(), count));
}

Value KernelBuilder::truncateToBF16(Value vector) {
  int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  return arith::TruncFOp::create(builder, loc, vectorType(bf16Type(), count),
                                 vector);
}

void KernelBuilder::prefetch(Value pointer, int64_t bytes, int level) {
  for (int64_t line = 0; line < bytes; line += 64)
    LLVM::Prefetch::create(
        builder, loc, at(pointer, line), builder.getI32IntegerAttr(0),
        builder.getI32IntegerAttr(4 - level), builder.getI32IntegerAttr(1));
}
