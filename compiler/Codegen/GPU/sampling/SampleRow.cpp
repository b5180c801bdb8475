//===- SampleRow.cpp - The row of logits that a block samples -------------===//
//
// A thread takes four neighbouring columns at a time, which share a block of
// noise. With a map, it takes one. If a filter compares tokens with each other,
// tokens are added to buckets by their distance from the best logit, as on the
// CPU (runtime/device/cpu/Sample.cpp). All sums are sums of integers, so the
// order in which threads add does not matter.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/sampling/SampleRow.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/schema/SamplingLayout.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Number of columns that share a block of noise.
static constexpr int64_t kGroup = 4;

// Words of a slot (runtime/schema/FORMAT.md).
static constexpr int64_t kSeedLow = 0, kSeedHigh = 1, kTemperature = 2,
                         kTopK = 3, kTopP = 4, kMinP = 5;

Value codegen::addShared(GpuBuilder &kb, Value pointer, Value value) {
  return LLVM::AtomicRMWOp::create(kb.mlirBuilder(), kb.location(),
                                   LLVM::AtomicBinOp::add, pointer, value,
                                   LLVM::AtomicOrdering::monotonic);
}

Value codegen::raiseShared(GpuBuilder &kb, Value pointer, Value value) {
  return LLVM::AtomicRMWOp::create(kb.mlirBuilder(), kb.location(),
                                   LLVM::AtomicBinOp::umax, pointer, value,
                                   LLVM::AtomicOrdering::monotonic);
}

SampleBuckets::SampleBuckets(GpuBuilder &kb)
    : weights(kb.shared(SampleMath::kBuckets * 8)),
      counts(kb.shared(SampleMath::kBuckets * 4)),
      picks(kb.shared(SampleMath::kBuckets * 8)) {}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

SampleRow::SampleRow(GpuBuilder &kb, const SampleParams &params, Value row)
    : kb(kb), values(kb), vocabulary(params.vocab), parts(params.parts),
      isMapped(params.isMapped), row(row) {
  int64_t next = parts > 0 ? 2 : 0;
  logits = kb.at(kb.buffer(next++), row, vocabulary * 4);
  if (isMapped)
    tokens = kb.buffer(next++);
  // Slot numbers come from memory: an invalid one is clamped.
  Value slot = kb.clampIndex(kb.loadI32(kb.buffer(next++), row), params.slots);
  position = kb.loadOne(kb.i32Type(), kb.at(kb.buffer(next++), row, 4));
  words = kb.at(kb.buffer(next++), slot, kSamplingWords * 4);
  firstOutput = next;
}

Value SampleRow::isPadding() {
  return kb.cmp(Cmp::LT, position, values.i32(0));
}

Value SampleRow::sampling(int64_t word, Type type) {
  return kb.loadOne(type, kb.at(words, word * 4));
}

Value SampleRow::loadLogit(Value column) {
  return kb.loadOwn(kb.f32Type(), kb.at(logits, column, 4));
}

Value SampleRow::loadToken(Value column) {
  return isMapped ? kb.loadOwn(kb.i32Type(), kb.at(tokens, column, 4))
                  : kb.truncate(column, kb.i32Type());
}

/// Loads the logits of a group (or of one column, with a map) from `first` on.
/// Columns from `end` on are -infinity.
Values SampleRow::loadColumns(Value first, Value end) {
  if (isMapped)
    return {loadLogit(first)};
  Values loaded;
  if (vocabulary % kGroup == 0) {
    // Stretches and rows end at group boundaries.
    Value group = kb.loadOwn(kb.vectorType(kb.f32Type(), kGroup),
                             kb.at(logits, first, 4));
    for (int64_t i = 0; i < kGroup; ++i)
      loaded.push_back(LLVM::ExtractElementOp::create(
          kb.mlirBuilder(), kb.location(), group, values.i32(i)));
    return loaded;
  }
  Value none = kb.f32(-std::numeric_limits<double>::infinity());
  for (int64_t i = 0; i < kGroup; ++i) {
    Value column = kb.add(first, i), isThere = kb.cmp(Cmp::LT, column, end);
    Value logit = kb.loadOwn(kb.f32Type(), kb.at(logits, column, 4), isThere);
    loaded.push_back(kb.select(isThere, logit, none));
  }
  return loaded;
}

//===----------------------------------------------------------------------===//
// The best logit
//===----------------------------------------------------------------------===//

/// Returns the larger of a pick and the pick of a value. The value must be
/// larger than -infinity to count.
static Value betterPick(GpuBuilder &kb, SampleMath &math, Value pick,
                        Value value, Value number) {
  Value least = kb.f32(-std::numeric_limits<double>::infinity());
  Value other = kb.select(kb.cmp(Cmp::GT, value, least),
                          math.packPick(value, number), kb.integer(0));
  return math.larger(pick, other);
}

Value SampleRow::findBest() {
  Value none = kb.integer(0), mine;
  if (parts > 0) {
    Value best = kb.at(kb.buffer(0), row, parts * 4);
    mine = kb.forRange(
        kb.thread(), kb.integer(parts), kb.threads(), {none},
        [&](Value part, ValueRange in) {
          Value value = kb.loadOwn(kb.f32Type(), kb.at(best, part, 4));
          Value number = kb.truncate(part, kb.i32Type());
          return Values{betterPick(kb, values, in[0], value, number)};
        })[0];
  } else {
    int64_t group = isMapped ? 1 : kGroup;
    Value end = kb.integer(vocabulary);
    mine = kb.forRange(
        kb.mul(kb.thread(), group), end, kb.threads() * group, {none},
        [&](Value first, ValueRange in) {
          Value pick = in[0];
          for (auto [i, logit] : llvm::enumerate(loadColumns(first, end)))
            pick = betterPick(kb, values, pick, logit,
                              loadToken(kb.add(first, int64_t(i))));
          return Values{pick};
        })[0];
  }
  Value pick = values.largestOf(mine);
  bestLogit = values.keyOfPick(pick);
  bestToken = values.tokenOfPick(pick);
  if (parts == 0)
    return bestToken;
  // Until here, bestToken is the number of the part.
  bestToken = kb.choose(
      kb.cmp(Cmp::EQ, pick, none), [&] { return Values{values.i32(~0u)}; },
      [&] {
        Value index =
            kb.add(kb.mul(row, parts), kb.extend(bestToken, kb.i64Type()));
        Value column = kb.loadI32(kb.buffer(1), index);
        return Values{isMapped ? loadToken(kb.clampIndex(column, vocabulary))
                               : kb.truncate(column, kb.i32Type())};
      })[0];
  return bestToken;
}

Value SampleRow::isDrawn() {
  Value infinity = kb.f32(std::numeric_limits<double>::infinity());
  Value isThere = kb.cmp(Cmp::GE, bestToken, values.i32(0));
  Value hasLaw =
      kb.cmp(Cmp::GT, sampling(kTemperature, kb.f32Type()), kb.f32(0));
  Value drawn = kb.bitAnd(kb.bitAnd(isThere, hasLaw),
                          kb.cmp(Cmp::LT, bestLogit, infinity));
  if (parts == 0)
    return drawn;
  Value skips = sampling(kSkipLogitsWord, kb.i32Type());
  return kb.bitAnd(drawn, kb.cmp(Cmp::EQ, skips, values.i32(0)));
}

//===----------------------------------------------------------------------===//
// The law
//===----------------------------------------------------------------------===//

void SampleRow::readLaw() {
  Value one = kb.f32(1), zero = kb.f32(0);
  Value most = kb.f32(std::numeric_limits<float>::max());
  SampleLaw &law = sharedLaw;
  law.best = bestLogit;
  law.perTemperature =
      kb.min(kb.div(one, sampling(kTemperature, kb.f32Type())), most);
  law.seedLow = sampling(kSeedLow, kb.i32Type());
  law.seedHigh = sampling(kSeedHigh, kb.i32Type());
  law.position = kb.add(position, values.i32(1));
  topK = sampling(kTopK, kb.i32Type());
  topP = sampling(kTopP, kb.f32Type());
  usesTopK = kb.cmp(Cmp::GT, topK, values.i32(0));
  usesTopP = kb.cmp(Cmp::LT, topP, one);
  // Rounded up to whole units. The best token has 2^40 units.
  Value minP = kb.max(kb.min(sampling(kMinP, kb.f32Type()), one), zero);
  Value weight = kb.mul(minP, kb.f32(0x1p40));
  Value whole = values.toInteger(weight, kb.i64Type());
  Value isLess = kb.cmp(Cmp::LT, kb.toFloat(whole), weight);
  law.leastWeight = kb.add(whole, kb.extendUnsigned(isLess, kb.i64Type()));
  law.bestPick = values.packPick(values.noiseOf(law, bestToken), bestToken);
}

//===----------------------------------------------------------------------===//
// The scan
//===----------------------------------------------------------------------===//

Value SampleRow::scan(Value begin, Value end, Value isBucketed,
                      const SampleBuckets &buckets) {
  int64_t group = isMapped ? 1 : kGroup;
  Value own = kb.add(begin, kb.mul(kb.thread(), group));
  return kb.forRange(
      own, end, kb.threads() * group, {sharedLaw.bestPick},
      [&](Value first, ValueRange in) {
        Value nearest = kb.f32(SampleMath::kFarDistance);
        Values distances;
        for (Value logit : loadColumns(first, end)) {
          distances.push_back(values.distanceOf(sharedLaw, logit));
          nearest = kb.min(distances.back(), nearest);
        }
        Value isNear =
            kb.cmp(Cmp::LT, nearest, kb.f32(SampleMath::kFarDistance));
        return kb.choose(
            isNear,
            [&] {
              return Values{takeColumns(first, in[0], distances, nearest,
                                        isBucketed, buckets)};
            },
            [&] { return Values{in[0]}; });
      })[0];
}

Value SampleRow::takeColumns(Value first, Value winner, ValueRange distances,
                             Value nearest, Value isBucketed,
                             const SampleBuckets &buckets) {
  Value far = kb.f32(SampleMath::kFarDistance);
  kb.ifThen(isBucketed, [&] {
    for (Value distance : distances)
      kb.ifThen(kb.cmp(Cmp::LT, distance, far), [&] {
        Value bucket = values.bucketOf(distance);
        addShared(kb, kb.at(buckets.weights, bucket, 8),
                  values.weightOf(distance));
        addShared(kb, kb.at(buckets.counts, bucket, 4), values.i32(1));
      });
  });
  // Noise has a bound: if the tokens are too far away, no noise is computed.
  Value needed = kb.add(values.keyOfPick(winner), nearest);
  return kb.choose(
      kb.cmp(Cmp::LE, needed, kb.f32(SampleMath::kMaxNoise)),
      [&] {
        Value best = winner, token = loadToken(first);
        auto words =
            values.drawWords(sharedLaw, kb.shiftRight(token, values.i32(2)));
        for (auto [i, distance] : llvm::enumerate(distances)) {
          Value word = isMapped ? values.wordOf(words, token) : words[i];
          Value own = kb.add(token, values.i32(i));
          best = takePick(values.pickOf(sharedLaw, word, own, distance), best,
                          distance, isBucketed, buckets);
        }
        return Values{best};
      },
      [&] { return Values{winner}; })[0];
}

Value SampleRow::takePick(Value pick, Value winner, Value distance,
                          Value isBucketed, const SampleBuckets &buckets) {
  Value wins = values.less(winner, pick);
  kb.ifThen(kb.bitAnd(isBucketed, wins), [&] {
    raiseShared(kb, kb.at(buckets.picks, values.bucketOf(distance), 8), pick);
  });
  return kb.select(isBucketed, winner, kb.select(wins, pick, winner));
}
