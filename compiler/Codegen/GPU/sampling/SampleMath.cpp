//===- SampleMath.cpp - Noise and weight of a token, on a GPU -------------===//

#include "compiler/Codegen/GPU/sampling/SampleMath.h"

#include "compiler/Codegen/Rows/TokenNoise.h"
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
  // Adding 0 turns -0 into 0.
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

Value SampleMath::gumbelNoise(Value word) { return emitGumbel(kb, word); }

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
  return emitNoiseWords(kb, {law.seedLow, law.seedHigh, law.position, i32(0)},
                        block);
}

Value SampleMath::wordOf(const std::array<Value, 4> &words, Value token) {
  return emitWordOf(kb, words, token);
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
