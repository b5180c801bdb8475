//===- CpuBytes.cpp - Dot products of integers in kernels --------------===//

#include "compiler/Codegen/CPU/builder/CpuBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

// Calls LLVM's intrinsics, because no dialect has these operations.
Value CpuBuilder::intrinsic(StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(builder, loc, type,
                                       builder.getStringAttr(name), operands)
      .getResult(0);
}

void CpuBuilder::intrinsic(StringRef name, ValueRange operands) {
  LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name),
                                operands);
}

Value CpuBuilder::dotBytes(Value acc, Value a, Value b) {
  assert(target.byteDot && "the target has no dot product of bytes");
  return intrinsic("llvm.x86.avx512.vpdpbusd.512", i32Vector(), {acc, a, b});
}

Value CpuBuilder::dotBytePairs(Value a, Value b) {
  return intrinsic(lanes() == 16 ? "llvm.x86.avx512.pmaddubs.w.512"
                                 : "llvm.x86.avx2.pmadd.ub.sw",
                   vectorType(i16Type(), 2 * lanes()), {a, b});
}

Value CpuBuilder::lookUpBytes(ArrayRef<uint8_t> table, Value numbers) {
  auto type = cast<VectorType>(numbers.getType());
  SmallVector<int8_t> bytes;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    bytes.push_back(int8_t(table[i % 16]));
  Value lanes = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<int8_t>(bytes)));
  return intrinsic(type.getNumElements() == 64 ? "llvm.x86.avx512.pshuf.b.512"
                                               : "llvm.x86.avx2.pshuf.b",
                   type, {lanes, numbers});
}

Value CpuBuilder::dotWordPairs(Value a, Value b) {
  return intrinsic(lanes() == 16 ? "llvm.x86.avx512.pmaddw.d.512"
                                 : "llvm.x86.avx2.pmadd.wd",
                   i32Vector(), {a, b});
}

// The fence keeps the order. LLVM has fences only for floats; a fence emits no
// instruction.
Value CpuBuilder::addInOrder(Value acc, Value products) {
  Value fenced =
      intrinsic(("llvm.arithmetic.fence.v" + Twine(lanes()) + "f32").str(),
                f32Vector(), bitcast(add(acc, products), f32Vector()));
  return bitcast(fenced, acc.getType());
}
