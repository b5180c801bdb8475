//===- TokenNoise.cpp - Noise of a token in a row -------------------------===//

#include "compiler/Codegen/Rows/TokenNoise.h"

using namespace mtp::codegen;

/// Counter word that separates this noise from other uses of the seed.
static constexpr uint32_t kSamplePurpose = 1;

static Value number(KernelBuilder &kb, uint32_t value) {
  return kb.constant(kb.i32Lanes(), static_cast<int32_t>(value));
}

static Value real(KernelBuilder &kb, double value) {
  return kb.constant(kb.f32Lanes(), value);
}

namespace {
/// Both halves of a product of two 32-bit numbers.
struct Product {
  Value high, low;
};
} // namespace

static Product multiply(KernelBuilder &kb, uint32_t factor, Value word) {
  mlir::Type wide = kb.laneType(kb.i64Type());
  Value product = kb.mul(kb.extendUnsigned(number(kb, factor), wide),
                         kb.extendUnsigned(word, wide));
  Value high = kb.shiftRight(product, kb.constant(wide, 32));
  return {kb.truncate(high, kb.i32Lanes()),
          kb.truncate(product, kb.i32Lanes())};
}

std::array<Value, 4> mtp::codegen::emitNoiseWords(KernelBuilder &kb,
                                                  const NoiseKey &key,
                                                  Value block) {
  std::array<Value, 4> words = {key.position, number(kb, kSamplePurpose), block,
                                key.number};
  Value low = key.seedLow, high = key.seedHigh;
  for (int round = 0; round < 10; ++round) {
    Product left = multiply(kb, 0xD2511F53, words[0]);
    Product right = multiply(kb, 0xCD9E8D57, words[2]);
    words = {kb.bitXor(kb.bitXor(right.high, words[1]), low), right.low,
             kb.bitXor(kb.bitXor(left.high, words[3]), high), left.low};
    low = kb.add(low, number(kb, 0x9E3779B9));
    high = kb.add(high, number(kb, 0xBB67AE85));
  }
  return words;
}

Value mtp::codegen::emitWordOf(KernelBuilder &kb,
                               const std::array<Value, 4> &words, Value token) {
  auto has = [&](uint32_t bit) {
    return kb.cmp(Cmp::NE, kb.bitAnd(token, number(kb, bit)), number(kb, 0));
  };
  Value isOdd = has(1), isLater = has(2);
  return kb.select(isLater, kb.select(isOdd, words[3], words[2]),
                   kb.select(isOdd, words[1], words[0]));
}

/// Returns -log(1 - t).
static Value minusLogOfRest(KernelBuilder &kb, Value t) {
  static constexpr double coefficients[] = {
      -0x1.3dbcbep+1, 0x1.fa09e6p+0, -0x1.30d3fp-1, 0x1.5d3b7p-2,
      0x1.67d03ap-3,  0x1.01ef12p-2, 0x1.5542acp-2, 0x1.00001ep-1};
  Value q = real(kb, 0x1.bef62ep+0);
  for (double coefficient : coefficients)
    q = kb.add(kb.mul(q, t), real(kb, coefficient));
  return kb.add(t, kb.mul(kb.mul(t, t), q));
}

static Value significandOf(KernelBuilder &kb, Value bits) {
  Value half =
      kb.bitOr(kb.bitAnd(bits, number(kb, 0x007fffff)), number(kb, 0x3f000000));
  return kb.bitcast(half, kb.f32Lanes());
}

Value mtp::codegen::emitGumbel(KernelBuilder &kb, Value word) {
  constexpr double kLn2 = 0x1.62e43p-1;
  Value one = real(kb, 1);
  Value sign = kb.shiftRightSigned(word, number(kb, 31));
  Value isUpper = kb.cmp(Cmp::NE, sign, number(kb, 0));
  Value nearest = kb.add(kb.toFloat(kb.bitXor(word, sign)), real(kb, 0.5));
  Value bits = kb.bitcast(nearest, kb.i32Lanes());
  Value t = kb.select(isUpper, kb.mul(nearest, real(kb, 0x1p-32)),
                      kb.sub(one, significandOf(kb, bits)));
  Value exponent = kb.shiftRight(bits, number(kb, 23));
  Value power =
      kb.mul(kb.toFloat(kb.sub(number(kb, 158), exponent)), real(kb, kLn2));
  Value base = kb.select(isUpper, real(kb, 0), power);
  Value exponential = kb.add(minusLogOfRest(kb, t), base);
  bits = kb.bitcast(exponential, kb.i32Lanes());
  exponent = kb.sub(kb.shiftRight(bits, number(kb, 23)), number(kb, 126));
  Value rest = minusLogOfRest(kb, kb.sub(one, significandOf(kb, bits)));
  return kb.sub(rest, kb.mul(kb.toFloat(exponent), real(kb, kLn2)));
}
