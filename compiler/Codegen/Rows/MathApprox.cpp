//===- MathApprox.cpp - Elementary functions on vectors -------------------===//

#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp::codegen;

/// Returns 2^n for an integer n in [-126, 127].
static Value powerOfTwo(KernelBuilder &kb, Value n) {
  auto type = kb.i32Lanes();
  Value exponent = kb.add(n, kb.constant(type, 127));
  return kb.bitcast(kb.shiftLeft(exponent, kb.constant(type, 23)),
                    kb.f32Lanes());
}

Value mtp::codegen::emitExp(KernelBuilder &kb, Value x) {
  auto type = kb.f32Lanes();
  auto number = [&](double value) { return kb.constant(type, value); };
  // Beyond these bounds the result is 0 or infinity. A NaN passes unchanged.
  x = kb.select(kb.cmp(Cmp::LT, x, number(-104.0)), number(-104.0), x);
  x = kb.select(kb.cmp(Cmp::GT, x, number(89.0)), number(89.0), x);

  // x = n ln 2 + r with |r| <= ln(2) / 2. The addition of 1.5 * 2^23 rounds to
  // an integer and leaves it in the low bits.
  Value magic = number(12582912.0);
  Value shifted = kb.fma(x, number(1.44269504088896341), magic);
  Value n = kb.sub(kb.bitcast(shifted, kb.i32Lanes()),
                   kb.bitcast(magic, kb.i32Lanes()));
  Value minusN = kb.sub(magic, shifted);
  Value r = kb.fma(minusN, number(0.693359375), x);
  r = kb.fma(minusN, number(-2.12194440054690583e-4), r);

  // Taylor series; the first omitted term is below 6e-9 of the result.
  static constexpr double coefficients[] = {
      1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0};
  Value result = number(1.0 / 5040);
  for (double coefficient : coefficients)
    result = kb.fma(result, r, number(coefficient));

  // Scales in two steps, so that neither factor leaves the normal range.
  Value half = kb.sub(kb.shiftRight(kb.add(n, kb.constant(kb.i32Lanes(), 256)),
                                    kb.constant(kb.i32Lanes(), 1)),
                      kb.constant(kb.i32Lanes(), 128));
  result = kb.mul(result, powerOfTwo(kb, half));
  return kb.mul(result, powerOfTwo(kb, kb.sub(n, half)));
}

Value mtp::codegen::emitPowerOfTwo(KernelBuilder &kb, Value x) {
  auto number = [&](double value) { return kb.constant(kb.f32Lanes(), value); };
  // x = n + r with |r| <= 1/2. The addition of 1.5 * 2^23 rounds to an integer.
  // It leaves n with the bias of exponents in the low bits.
  Value magic = number(12582912.0 + 127);
  Value shifted = kb.add(x, magic);
  Value r = kb.sub(x, kb.sub(shifted, magic));

  // A polynomial of degree 5 with the least largest error: 1e-7 of the result.
  static constexpr double coefficients[] = {
      9.671512991189957e-3, 5.550733581185341e-2, 0.24022242426872253,
      0.6931470036506653, 1.0};
  Value result = number(1.326472731307149e-3);
  for (double coefficient : coefficients)
    result = kb.fma(result, r, number(coefficient));

  Value power = kb.bitcast(kb.shiftLeft(kb.bitcast(shifted, kb.i32Lanes()),
                                        kb.constant(kb.i32Lanes(), 23)),
                           kb.f32Lanes());
  return kb.select(kb.cmp(Cmp::LT, x, number(-126.0)), number(0.0),
                   kb.mul(result, power));
}

Value mtp::codegen::emitLog(KernelBuilder &kb, Value x) {
  auto vector = mlir::dyn_cast<mlir::VectorType>(x.getType());
  mlir::Type integers =
      vector ? mlir::Type(vector.clone(kb.i32Type())) : kb.i32Type();
  auto number = [&](double value) { return kb.constant(x.getType(), value); };
  auto whole = [&](double value) { return kb.constant(integers, value); };

  // x = 2^n m with m in [sqrt(1/2), sqrt(2)). Subtracting the bits of sqrt(1/2)
  // leaves n in the bits of the exponent.
  constexpr double kRootBits = 0x3f3504f3;
  Value bits = kb.sub(kb.bitcast(x, integers), whole(kRootBits));
  Value n = kb.shiftRightSigned(bits, whole(23));
  Value significand =
      kb.add(kb.bitAnd(bits, whole(0x7fffff)), whole(kRootBits));
  Value m = kb.bitcast(significand, x.getType());

  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), at most 0.172; the first
  // omitted term is below 3e-10 of the result.
  Value less = kb.sub(m, number(1));
  Value s = kb.div(less, kb.add(m, number(1)));
  Value square = kb.mul(s, s);
  Value sum = number(2.0 / 11);
  for (double coefficient : {2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3})
    sum = kb.fma(sum, square, number(coefficient));
  Value rest = kb.mul(kb.mul(sum, square), s);
  Value log = kb.fma(s, number(2), rest);
  Value exponent = kb.toFloat(n);
  log = kb.fma(exponent, number(-2.12194440054690583e-4), log);
  return kb.fma(exponent, number(0.693359375), log);
}

/// Returns 1 + e^-x.
static Value onePlusExpMinus(KernelBuilder &kb, Value x) {
  return kb.add(kb.constant(kb.f32Lanes(), 1.0), emitExp(kb, kb.neg(x)));
}

Value mtp::codegen::emitSigmoid(KernelBuilder &kb, Value x) {
  return kb.div(kb.constant(kb.f32Lanes(), 1.0), onePlusExpMinus(kb, x));
}

Value mtp::codegen::emitSilu(KernelBuilder &kb, Value x) {
  return kb.div(x, onePlusExpMinus(kb, x));
}

Value mtp::codegen::emitGeluTanh(KernelBuilder &kb, Value x) {
  // (1 + tanh(z)) / 2 = 1 / (1 + e^-2z) with z = sqrt(2 / pi) (x + 0.044715
  // x^3), so the result is x / (1 + e^y) with y = -2z. The form with tanh
  // loses all digits where tanh is nearly -1.
  auto number = [&](double value) { return kb.constant(kb.f32Lanes(), value); };
  constexpr double kLinear = -1.5957691216057308;
  Value y = kb.mul(
      x, kb.fma(kb.mul(x, x), number(0.044715 * kLinear), number(kLinear)));
  return kb.div(x, kb.add(number(1.0), emitExp(kb, y)));
}

Value mtp::codegen::emitGated(KernelBuilder &kb,
                              mlir::mtp::ActivationKind activation, Value gate,
                              Value up) {
  bool isGelu = activation == mlir::mtp::ActivationKind::GegluTanh;
  return kb.mul(isGelu ? emitGeluTanh(kb, gate) : emitSilu(kb, gate), up);
}

Value mtp::codegen::emitSoftplus(KernelBuilder &kb, Value x) {
  mlir::Type type = x.getType();
  Value zero = kb.constant(type, 0), one = kb.constant(type, 1);
  // Computes the logarithm of the rounded 1 + e, and corrects it for the
  // rounding.
  Value e = emitExp(kb, kb.neg(kb.max(x, kb.neg(x))));
  Value sum = kb.add(one, e), added = kb.sub(sum, one);
  Value isTiny = kb.cmp(Cmp::EQ, added, zero);
  Value factor = kb.div(e, kb.select(isTiny, one, added));
  Value log = kb.select(isTiny, e, kb.mul(emitLog(kb, sum), factor));
  return kb.add(kb.max(x, zero), log);
}
