//===- TokenWeight.cpp - Weight of a token in a row -----------------------===//

#include "compiler/Codegen/Rows/TokenWeight.h"

using namespace mtp::codegen;

Value mtp::codegen::emitDistance(KernelBuilder &kb, Value best,
                                 Value perTemperature, Value logit) {
  auto type = kb.f32Lanes();
  Value distance = kb.mul(kb.sub(best, logit), perTemperature);
  distance = kb.min(distance, kb.constant(type, kFarDistance));
  return kb.max(distance, kb.constant(type, 0));
}

TokenWeight mtp::codegen::emitWeight(KernelBuilder &kb, Value distance) {
  auto number = [&](double value) { return kb.constant(kb.f32Lanes(), value); };
  Value magic = number(12582912);
  Value shifted = kb.add(kb.mul(distance, number(0x1.715476p+0)), magic);
  Value n = kb.sub(kb.bitcast(shifted, kb.i32Lanes()),
                   kb.bitcast(magic, kb.i32Lanes()));
  Value whole = kb.sub(shifted, magic);
  Value r = kb.add(kb.sub(kb.mul(whole, number(0.693359375)), distance),
                   kb.mul(whole, number(-0x1.bd0106p-13)));
  static constexpr double coefficients[] = {0x1.123fc6p-7, 0x1.555916p-5,
                                            0x1.55548ap-3, 0x1.fffffcp-2};
  Value q = number(0x1.6a1a72p-10);
  for (double coefficient : coefficients)
    q = kb.add(kb.mul(q, r), number(coefficient));
  Value power = kb.add(kb.add(kb.mul(kb.mul(r, r), q), r), number(1));
  return {power, n};
}

Value mtp::codegen::emitUnits(KernelBuilder &kb, const TokenWeight &weight) {
  mlir::Type wide = kb.laneType(kb.i64Type());
  Value units = kb.toInteger(
      kb.mul(weight.power, kb.constant(kb.f32Lanes(), 0x1p24)), kb.i32Type());
  Value shifted =
      kb.shiftLeft(kb.extendUnsigned(units, wide), kb.constant(wide, 16));
  return kb.shiftRight(shifted, kb.extendUnsigned(weight.n, wide));
}

/// Returns a type of `element` in the shape of `value`, which halves as lanes
/// are joined.
static mlir::Type shapedLike(Value value, mlir::Type element) {
  auto vector = mlir::dyn_cast<mlir::VectorType>(value.getType());
  return vector ? mlir::Type(vector.clone(element)) : element;
}

Value mtp::codegen::emitOrder(KernelBuilder &kb, Value value) {
  mlir::Type integers = shapedLike(value, kb.i32Type());
  auto number = [&](double bits) { return kb.constant(integers, bits); };
  // Adding 0 makes both zeros equal.
  Value bits =
      kb.bitcast(kb.add(value, kb.constant(value.getType(), 0)), integers);
  Value isNegative = kb.shiftRightSigned(bits, number(31));
  return kb.bitXor(bits, kb.bitAnd(isNegative, number(0x7fffffff)));
}

Value mtp::codegen::emitLeastUnits(KernelBuilder &kb, Value minP) {
  Value share = kb.max(kb.min(minP, kb.f32(1)), kb.f32(0));
  Value weight = kb.mul(share, kb.f32(0x1p40));
  Value whole = kb.toInteger(weight, kb.i64Type());
  Value isLess = kb.cmp(Cmp::LT, kb.toFloat(whole), weight);
  return kb.add(whole, kb.extendUnsigned(isLess, kb.i64Type()));
}

Value mtp::codegen::emitShareOfUnits(KernelBuilder &kb, Value topP, Value sum) {
  Value share = kb.max(kb.min(topP, kb.f32(1)), kb.f32(0));
  Value units = kb.toInteger(kb.mul(share, kb.f32(0x1p32)), kb.i64Type());
  Value mask = kb.integer(0xffffffff), half = kb.integer(32);
  Value upper = kb.mul(kb.shiftRight(sum, half), units);
  Value lower = kb.add(kb.mul(kb.bitAnd(sum, mask), units), mask);
  return kb.max(kb.add(upper, kb.shiftRight(lower, half)), kb.integer(1));
}

Value mtp::codegen::emitSumOfUnits(KernelBuilder &kb, Value lanes) {
  // A GPU's lanes exchange 32 bits at a time.
  auto halves = [&](Value wide) {
    mlir::Type half = shapedLike(wide, kb.i32Type());
    Value upper = kb.shiftRight(wide, kb.constant(wide.getType(), 32));
    return Values{kb.truncate(upper, half), kb.truncate(wide, half)};
  };
  auto join = [&](ValueRange parts) {
    mlir::Type wide = shapedLike(parts[0], kb.i64Type());
    Value upper =
        kb.shiftLeft(kb.extendUnsigned(parts[0], wide), kb.constant(wide, 32));
    return kb.bitOr(upper, kb.extendUnsigned(parts[1], wide));
  };
  return join(kb.reduceLanes(halves(lanes), [&](ValueRange a, ValueRange b) {
    return halves(kb.add(join(a), join(b)));
  }));
}
