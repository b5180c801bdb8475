//===- KernelArith.cpp - Constants and arithmetic of kernels --------------===//

#include "compiler/Codegen/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

VectorType KernelBuilder::vectorType(Type element, int64_t count) {
  return VectorType::get({count}, element);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value KernelBuilder::integer(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value KernelBuilder::boolean(bool value) {
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
}

Value KernelBuilder::constant(Type type, double value) {
  Type element = getElementTypeOrSelf(type);
  TypedAttr attr;
  if (isa<FloatType>(element))
    attr = builder.getFloatAttr(element, value);
  else
    attr = builder.getIntegerAttr(element, static_cast<int64_t>(value));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(builder, loc, attr);
}

Type KernelBuilder::likeWith(Value value, Type element) {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return vector.clone(element);
  return element;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value KernelBuilder::add(Value a, Value b) {
  if (isFloat(a))
    return arith::AddFOp::create(builder, loc, a, b);
  return arith::AddIOp::create(builder, loc, a, b);
}

Value KernelBuilder::sub(Value a, Value b) {
  if (isFloat(a))
    return arith::SubFOp::create(builder, loc, a, b);
  return arith::SubIOp::create(builder, loc, a, b);
}

Value KernelBuilder::mul(Value a, Value b) {
  if (isFloat(a))
    return arith::MulFOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

Value KernelBuilder::div(Value a, Value b) {
  if (isFloat(a))
    return arith::DivFOp::create(builder, loc, a, b);
  return arith::DivSIOp::create(builder, loc, a, b);
}

Value KernelBuilder::rem(Value a, Value b) {
  return arith::RemSIOp::create(builder, loc, a, b);
}

// Uses LLVM's operation: on a GPU, math's operations become calls of a library.
// vector.fma becomes fmuladd, which the code generator may fuse or not, and
// here it is told not to fuse.
Value KernelBuilder::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(builder, loc, a, b, c);
}

Value KernelBuilder::neg(Value a) {
  return arith::NegFOp::create(builder, loc, a);
}

Value KernelBuilder::sqrt(Value a) {
  // By name: a GPU would call a library for the operation.
  return LLVM::CallIntrinsicOp::create(builder, loc, a.getType(),
                                       builder.getStringAttr("llvm.sqrt"),
                                       ValueRange{a})
      .getResult(0);
}

Value KernelBuilder::max(Value a, Value b) {
  return select(cmp(Cmp::GT, a, b), a, b);
}

Value KernelBuilder::min(Value a, Value b) {
  return select(cmp(Cmp::LT, a, b), a, b);
}

Value KernelBuilder::cmp(Cmp predicate, Value a, Value b) {
  using I = arith::CmpIPredicate;
  using F = arith::CmpFPredicate;
  static constexpr I ints[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr F floats[] = {F::OEQ, F::ONE, F::OLT,
                                 F::OLE, F::OGT, F::OGE};
  auto which = static_cast<unsigned>(predicate);
  if (isFloat(a))
    return arith::CmpFOp::create(builder, loc, floats[which], a, b);
  return arith::CmpIOp::create(builder, loc, ints[which], a, b);
}

Value KernelBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value KernelBuilder::bitAnd(Value a, Value b) {
  return arith::AndIOp::create(builder, loc, a, b);
}

Value KernelBuilder::bitOr(Value a, Value b) {
  return arith::OrIOp::create(builder, loc, a, b);
}

Value KernelBuilder::bitXor(Value a, Value b) {
  return arith::XOrIOp::create(builder, loc, a, b);
}

Value KernelBuilder::shiftLeft(Value a, Value b) {
  return arith::ShLIOp::create(builder, loc, a, b);
}

Value KernelBuilder::shiftRight(Value a, Value b) {
  return arith::ShRUIOp::create(builder, loc, a, b);
}

Value KernelBuilder::shiftRightSigned(Value a, Value b) {
  return arith::ShRSIOp::create(builder, loc, a, b);
}

Value KernelBuilder::countTrailingZeros(Value a) {
  return LLVM::CountTrailingZerosOp::create(builder, loc, a.getType(), a,
                                            /*is_zero_poison=*/false);
}

Value KernelBuilder::bitcast(Value a, Type type) {
  return LLVM::BitcastOp::create(builder, loc, type, a);
}

Value KernelBuilder::truncate(Value a, Type type) {
  return arith::TruncIOp::create(builder, loc, type, a);
}

Value KernelBuilder::extend(Value a, Type type) {
  return arith::ExtSIOp::create(builder, loc, type, a);
}

Value KernelBuilder::extendUnsigned(Value a, Type type) {
  return arith::ExtUIOp::create(builder, loc, type, a);
}

Value KernelBuilder::toFloat(Value a) {
  return arith::SIToFPOp::create(builder, loc, likeWith(a, f32Type()), a);
}

Value KernelBuilder::toInteger(Value a, Type element) {
  return arith::FPToSIOp::create(builder, loc, likeWith(a, element), a);
}

Value KernelBuilder::roundToBF16(Value value) {
  Type wide = likeWith(value, i32Type());
  Value bits = bitcast(value, wide);
  Value sixteen = constant(wide, 16);
  Value odd = bitAnd(shiftRight(bits, sixteen), constant(wide, 1));
  Value rounded = add(add(bits, constant(wide, 0x7fff)), odd);
  // The addition could carry a NaN into an infinity; keep it quiet instead.
  Value quiet = bitOr(bits, constant(wide, 0x400000));
  Value number = cmp(Cmp::EQ, value, value);
  Value high = shiftRight(select(number, rounded, quiet), sixteen);
  return truncate(high, likeWith(value, i16Type()));
}

Value KernelBuilder::reduceAdd(Value value) {
  return reduceLanes(value, [&](ValueRange a, ValueRange b) {
    return Values{add(a[0], b[0])};
  })[0];
}
