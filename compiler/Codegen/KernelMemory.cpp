//===- KernelMemory.cpp - Pointers, loads and stores of kernels -----------===//

#include "compiler/Codegen/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

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

Value KernelBuilder::loadOne(Type type, Value pointer) {
  unsigned bytes = std::max(1u, type.getIntOrFloatBitWidth() / 8);
  return LLVM::LoadOp::create(builder, loc, type, pointer, bytes);
}

Value KernelBuilder::loadI32(Value base, Value index) {
  return extend(loadOne(i32Type(), at(base, index, 4)), i64Type());
}

Value KernelBuilder::loadHalf(Value pointer) {
  return arith::ExtFOp::create(builder, loc, builder.getF32Type(),
                               loadOne(builder.getF16Type(), pointer));
}

void KernelBuilder::storeI32(Value value, Value base, Value index) {
  storeOne(truncate(value, i32Type()), at(base, index, 4));
}

Value KernelBuilder::packLanes(Value, Value, Value) {
  llvm_unreachable("expected a target that packs lanes");
}

Value KernelBuilder::loadFloats(Value pointer, DType dtype, Value mask) {
  if (dtype == DType::F32)
    return loadLanes(f32Type(), pointer, mask);
  Value half = loadLanes(i16Type(), pointer, mask);
  Value wide =
      shiftLeft(extendUnsigned(half, i32Lanes()), constant(i32Lanes(), 16));
  return bitcast(wide, f32Lanes());
}

void KernelBuilder::storeFloats(Value value, Value pointer, DType dtype,
                                Value mask) {
  storeLanes(dtype == DType::F32 ? value : roundToBF16(value), pointer, mask);
}

void KernelBuilder::copy(Value from, Value to, int64_t width) {
  mapChunks(
      width,
      [&](Value first, Value mask) {
        return Values{loadLanes(i32Type(), at(from, first, 4), mask)};
      },
      [&](Value first, Value mask, ValueRange loaded) {
        storeLanes(loaded[0], at(to, first, 4), mask);
      });
}

void KernelBuilder::copyFloats(Value from, Value to, int64_t width,
                               DType dtype) {
  mapChunks(
      width,
      [&](Value first, Value mask) {
        return Values{loadLanes(f32Type(), at(from, first, 4), mask)};
      },
      [&](Value first, Value mask, ValueRange loaded) {
        storeFloats(loaded[0], at(to, first, byteWidth(dtype)), dtype, mask);
      });
}
