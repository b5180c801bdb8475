//===- SampleMath.cpp - Noise and weight of a token, on a GPU -------------===//

#include "compiler/Codegen/GPU/sampling/SampleMath.h"

#include "compiler/Codegen/Rows/TokenWeight.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value SampleMath::i32(uint32_t value) {
  return kb.constant(kb.i32Type(), static_cast<int32_t>(value));
}

Value SampleMath::bitXor(Value a, Value b) {
  return arith::XOrIOp::create(kb.mlirBuilder(), kb.location(), a, b);
}

Value SampleMath::bitNot(Value a) {
  return bitXor(a, kb.constant(a.getType(), -1));
}

Value SampleMath::less(Value a, Value b) {
  return arith::CmpIOp::create(kb.mlirBuilder(), kb.location(),
                               arith::CmpIPredicate::ult, a, b);
}

Value SampleMath::atMost(Value a, Value b) {
  return arith::CmpIOp::create(kb.mlirBuilder(), kb.location(),
                               arith::CmpIPredicate::ule, a, b);
}

Value SampleMath::join(Value high, Value low) {
  Value upper = kb.extendUnsigned(high, kb.i64Type());
  return kb.bitOr(kb.shiftLeft(upper, kb.integer(32)),
                  kb.extendUnsigned(low, kb.i64Type()));
}

Value SampleMath::toInteger(Value real, Type type) {
  return arith::FPToSIOp::create(kb.mlirBuilder(), kb.location(), type, real);
}

Value SampleMath::largestOf(Value value) {
  Values both = kb.reduceLanes(
      {high(value), low(value)}, [&](ValueRange a, ValueRange b) {
        Value most = larger(join(a[0], a[1]), join(b[0], b[1]));
        return Values{high(most), low(most)};
      });
  return join(both[0], both[1]);
}

Value SampleMath::smallestOf(Value value) {
  return bitNot(largestOf(bitNot(value)));
}

//===----------------------------------------------------------------------===//
// Picks and elements
//===----------------------------------------------------------------------===//

Value SampleMath::orderOf(Value value) {
  // Adding 0 makes one of both zeros.
  Value bits = kb.bitcast(kb.add(value, kb.f32(0)), kb.i32Type());
  Value isNegative = kb.cmp(Cmp::LT, bits, i32(0));
  return bitXor(bits, kb.select(isNegative, i32(~0u), i32(1u << 31)));
}

Value SampleMath::valueOf(Value order) {
  Value isPositive = kb.cmp(Cmp::LT, order, i32(0));
  Value bits = bitXor(order, kb.select(isPositive, i32(1u << 31), i32(~0u)));
  return kb.bitcast(bits, kb.f32Type());
}

Value SampleMath::packPick(Value key, Value token) {
  return join(orderOf(key), bitNot(token));
}

Value SampleMath::keyOfPick(Value pick) { return valueOf(high(pick)); }

Value SampleMath::packElement(Value logit, Value token) {
  return join(bitNot(orderOf(logit)), token);
}

Value SampleMath::logitOfElement(Value element) {
  return valueOf(bitNot(high(element)));
}

//===----------------------------------------------------------------------===//
// A token
//===----------------------------------------------------------------------===//

Value SampleMath::polynomial(ArrayRef<double> coefficients, Value x) {
  Value sum = kb.f32(coefficients.front());
  for (double coefficient : coefficients.drop_front())
    sum = kb.add(kb.mul(sum, x), kb.f32(coefficient));
  return sum;
}

Value SampleMath::minusLogOfRest(Value t) {
  Value q = polynomial({0x1.bef62ep+0, -0x1.3dbcbep+1, 0x1.fa09e6p+0,
                        -0x1.30d3fp-1, 0x1.5d3b7p-2, 0x1.67d03ap-3,
                        0x1.01ef12p-2, 0x1.5542acp-2, 0x1.00001ep-1},
                       t);
  return kb.add(t, kb.mul(kb.mul(t, t), q));
}

Value SampleMath::significandOf(Value bits) {
  Value half = kb.bitOr(kb.bitAnd(bits, i32(0x007fffff)), i32(0x3f000000));
  return kb.bitcast(half, kb.f32Type());
}

Value SampleMath::gumbelNoise(Value word) {
  constexpr double kLn2 = 0x1.62e43p-1;
  Value sign = kb.shiftRightSigned(word, i32(31));
  Value isUpper = kb.cmp(Cmp::NE, sign, i32(0));
  Value nearest = kb.add(kb.toFloat(bitXor(word, sign)), kb.f32(0.5));
  Value bits = kb.bitcast(nearest, kb.i32Type());
  Value t = kb.select(isUpper, kb.mul(nearest, kb.f32(0x1p-32)),
                      kb.sub(kb.f32(1), significandOf(bits)));
  Value exponent = kb.shiftRight(bits, i32(23));
  Value base =
      kb.select(isUpper, kb.f32(0),
                kb.mul(kb.toFloat(kb.sub(i32(158), exponent)), kb.f32(kLn2)));
  Value exponential = kb.add(minusLogOfRest(t), base);
  bits = kb.bitcast(exponential, kb.i32Type());
  exponent = kb.sub(kb.shiftRight(bits, i32(23)), i32(126));
  Value rest = minusLogOfRest(kb.sub(kb.f32(1), significandOf(bits)));
  return kb.sub(rest, kb.mul(kb.toFloat(exponent), kb.f32(kLn2)));
}

Value SampleMath::distanceOf(const SampleLaw &law, Value logit) {
  return emitDistance(kb, law.best, law.perTemperature, logit);
}

Value SampleMath::weightOf(Value distance) {
  return emitUnits(kb, emitWeight(kb, distance));
}

Value SampleMath::bucketOf(Value distance) {
  Value leading = kb.shiftRight(kb.bitcast(distance, kb.i32Type()), i32(20));
  Value bucket = kb.sub(kb.extendUnsigned(leading, kb.i64Type()), kFirstBucket);
  return kb.max(bucket, kb.integer(0));
}

std::array<Value, 4> SampleMath::drawWords(const SampleLaw &law, Value block) {
  constexpr uint32_t kPurpose = 1;
  auto multiply = [&](uint32_t factor, Value word) {
    return arith::MulUIExtendedOp::create(kb.mlirBuilder(), kb.location(),
                                          i32(factor), word);
  };
  std::array<Value, 4> words = {law.position, i32(kPurpose), block, i32(0)};
  Value low = law.seedLow, high = law.seedHigh;
  for (int round = 0; round < 10; ++round) {
    auto left = multiply(0xD2511F53, words[0]);
    auto right = multiply(0xCD9E8D57, words[2]);
    words = {bitXor(bitXor(right.getHigh(), words[1]), low), right.getLow(),
             bitXor(bitXor(left.getHigh(), words[3]), high), left.getLow()};
    low = kb.add(low, i32(0x9E3779B9));
    high = kb.add(high, i32(0xBB67AE85));
  }
  return words;
}

Value SampleMath::wordOf(const std::array<Value, 4> &words, Value token) {
  Value isOdd = kb.cmp(Cmp::NE, kb.bitAnd(token, i32(1)), i32(0));
  Value isLater = kb.cmp(Cmp::NE, kb.bitAnd(token, i32(2)), i32(0));
  return kb.select(isLater, kb.select(isOdd, words[3], words[2]),
                   kb.select(isOdd, words[1], words[0]));
}

Value SampleMath::noiseOf(const SampleLaw &law, Value token) {
  return gumbelNoise(
      wordOf(drawWords(law, kb.shiftRight(token, i32(2))), token));
}

Value SampleMath::pickOf(const SampleLaw &law, Value word, Value token,
                         Value distance) {
  Value key = kb.sub(gumbelNoise(word), distance);
  Value isKept = kb.choose(
      kb.cmp(Cmp::EQ, law.leastWeight, 0),
      [&] { return Values{kb.boolean(true)}; },
      [&] { return Values{atMost(law.leastWeight, weightOf(distance))}; })[0];
  return kb.select(isKept, packPick(key, token), kb.integer(0));
}
