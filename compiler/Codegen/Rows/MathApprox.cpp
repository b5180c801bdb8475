//===- MathApprox.cpp - Elementary functions on vectors -------------------===//

#include "compiler/Codegen/Rows/MathApprox.h"

using namespace mtp::codegen;

/// 2^n for an integer n in [-126, 127].
static Value powerOfTwo(KernelBuilder &kb, Value n) {
  auto type = kb.i32Lanes();
  Value exponent = kb.add(n, kb.constant(type, 127));
  return kb.bitcast(kb.shiftLeft(exponent, kb.constant(type, 23)),
                    kb.f32Lanes());
}

Value mtp::codegen::emitExp(KernelBuilder &kb, Value x) {
  auto type = kb.f32Lanes();
  auto number = [&](double value) { return kb.constant(type, value); };
  // Beyond these bounds the result is 0 or infinity; a NaN passes both.
  x = kb.select(kb.cmp(Cmp::LT, x, number(-104.0)), number(-104.0), x);
  x = kb.select(kb.cmp(Cmp::GT, x, number(89.0)), number(89.0), x);

  // x = n ln 2 + r with |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds to an
  // integer and leaves it in the low bits.
  Value magic = number(12582912.0);
  Value shifted = kb.fma(x, number(1.44269504088896341), magic);
  Value n = kb.sub(kb.bitcast(shifted, kb.i32Lanes()),
                   kb.bitcast(magic, kb.i32Lanes()));
  Value minusN = kb.sub(magic, shifted);
  Value r = kb.fma(minusN, number(0.693359375), x);
  r = kb.fma(minusN, number(-2.12194440054690583e-4), r);

  // Taylor series; the first term left out is below 6e-9 of the result.
  static constexpr double coefficients[] = {
      1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0, 1.0};
  Value result = number(1.0 / 5040);
  for (double coefficient : coefficients)
    result = kb.fma(result, r, number(coefficient));

  // In two steps, so that neither factor leaves the normal range.
  Value half = kb.sub(kb.shiftRight(kb.add(n, kb.constant(kb.i32Lanes(), 256)),
                                    kb.constant(kb.i32Lanes(), 1)),
                      kb.constant(kb.i32Lanes(), 128));
  result = kb.mul(result, powerOfTwo(kb, half));
  return kb.mul(result, powerOfTwo(kb, kb.sub(n, half)));
}

/// 1 + e^-x.
static Value onePlusExpMinus(KernelBuilder &kb, Value x) {
  return kb.add(kb.constant(kb.f32Lanes(), 1.0), emitExp(kb, kb.neg(x)));
}

Value mtp::codegen::emitSigmoid(KernelBuilder &kb, Value x) {
  return kb.div(kb.constant(kb.f32Lanes(), 1.0), onePlusExpMinus(kb, x));
}

Value mtp::codegen::emitSilu(KernelBuilder &kb, Value x) {
  return kb.div(x, onePlusExpMinus(kb, x));
}
