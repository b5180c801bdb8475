//===- AttentionLanes.cpp - Attention of one row in a block ---------------===//

#include "compiler/Codegen/GPU/attention/AttentionLanes.h"

#include "compiler/Codegen/GPU/attention/AttentionCombine.h"
#include "compiler/Codegen/Rows/MathApprox.h"
#include "runtime/schema/Tunables.h"
#include <limits>
#include <numeric>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr int64_t loadsAhead = tunable::kLoadsAhead.value;
/// Number of sums that a thread can keep in registers.
static constexpr int64_t maxSums = 32;
static constexpr double lowest = -std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

LanesDivision::LanesDivision(const AttentionShape &shape)
    : keyStep(shape.elementsPerLoad(shape.dk, shape.keyOffset())),
      valueStep(shape.elementsPerLoad(shape.dv, shape.valueOffset())) {
  // A load has columns of one scale.
  keyStep = std::gcd(keyStep, shape.latentColumns());
  keyLoads = shape.dk / keyStep;
  loadsPerThread = llvm::divideCeil(keyLoads, threadsPerKey);
  queryFloats = loadsPerThread * threadsPerKey * keyStep;
  valueLoads = shape.dv / valueStep;
  threadsPerValue =
      std::min<int64_t>(threads, llvm::PowerOf2Ceil(uint64_t(valueLoads)));
  valueLoadsPerThread = llvm::divideCeil(valueLoads, threadsPerValue);
  valuesAtOnce = threads / threadsPerValue;
  // Takes the largest number of heads that divides a group and for which there
  // is room.
  for (tile = std::min<int64_t>(shape.group(), 8); tile > 1; --tile)
    if (shape.group() % tile == 0 &&
        tile * valueLoadsPerThread * valueStep <= maxSums &&
        sharedBytes(shape) <= sharedLimit)
      break;
  resultsPerThread = llvm::divideCeil(tile * shape.dv, threads);
}

int64_t LanesDivision::sharedBytes(const AttentionShape &shape) const {
  int64_t floats = tile * queryFloats + 2 * positions * (tile + 2) + 3 * tile +
                   valuesAtOnce * tile * shape.dv;
  // Each of seven variables begins at a multiple of 16 bytes.
  constexpr int64_t kGap = 16;
  return floats * 4 + 7 * kGap;
}

AttentionLanes::AttentionLanes(GpuBuilder &kb, const AttentionShape &shape,
                               float scale)
    : kb(kb), shape(shape), division(shape), scale(scale) {
  int64_t tile = division.tile, positions = LanesDivision::positions;
  queries = kb.shared(tile * division.queryFloats * 4);
  scores = kb.shared(2 * tile * positions * 4);
  places = kb.shared(2 * positions * 8);
  factors = kb.shared(tile * 4);
  maxima = kb.shared(tile * 4);
  totals = kb.shared(tile * 4);
  partial = kb.shared(division.valuesAtOnce * tile * shape.dv * 4);
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

/// Loads `count` integers, a power of two, as f32.
static Values loadIntegers(GpuBuilder &kb, Value pointer, int64_t count,
                           Value mask) {
  Type i32 = kb.i32Type();
  Values numbers;
  if (count < 4) {
    for (int64_t i = 0; i < count; ++i)
      numbers.push_back(kb.toFloat(
          kb.extend(kb.loadOwn(kb.i8Type(), kb.at(pointer, i), mask), i32)));
    return numbers;
  }
  for (Value word : kb.loadWords(pointer, count / 4, mask))
    for (int64_t byte = 0; byte < 4; ++byte) {
      Value top = kb.shiftLeft(word, kb.constant(i32, 24 - 8 * byte));
      numbers.push_back(
          kb.toFloat(kb.shiftRightSigned(top, kb.constant(i32, 24))));
    }
  return numbers;
}

/// Loads `count` elements of the cache, a power of two, as f32.
Values AttentionLanes::loadElements(Value pointer, int64_t count, Value mask) {
  Type i32 = kb.i32Type(), f32 = kb.f32Type();
  Value upper = kb.constant(i32, 16), high = kb.constant(i32, -65536);
  if (shape.hasIntegers())
    return loadIntegers(kb, pointer, count, mask);
  if (count * shape.bytes < 4) {
    Value half =
        kb.extendUnsigned(kb.loadOwn(kb.i16Type(), pointer, mask), i32);
    return {kb.bitcast(kb.shiftLeft(half, upper), f32)};
  }
  Values elements;
  for (Value word : kb.loadWords(pointer, count * shape.bytes / 4, mask)) {
    if (shape.dtype == DType::F32) {
      elements.push_back(kb.bitcast(word, f32));
      continue;
    }
    elements.push_back(kb.bitcast(kb.shiftLeft(word, upper), f32));
    elements.push_back(kb.bitcast(kb.bitAnd(word, high), f32));
  }
  return elements;
}

/// Loads the floats of a query that correspond to one load of a key.
Values AttentionLanes::loadQuery(Value pointer) {
  Values floats;
  for (int64_t first = 0; first < division.keyStep; first += 4)
    for (Value word : kb.loadWords(kb.at(pointer, first * 4),
                                   std::min<int64_t>(division.keyStep, 4)))
      floats.push_back(kb.bitcast(word, kb.f32Type()));
  return floats;
}

void AttentionLanes::open(Value q, Value head) {
  kvHead = kb.div(head, shape.group());
  for (int64_t i = 0; i < division.tile; ++i) {
    Value from = kb.at(q, i * shape.dk * 4);
    Value to = kb.at(queries, i * division.queryFloats * 4);
    kb.forChunks(division.queryFloats, [&](Value first, Value mask) {
      Value column = kb.add(first, kb.thread());
      Value isColumn = kb.cmp(Cmp::LT, column, shape.dk);
      Value value = kb.loadOwn(kb.f32Type(), kb.at(from, column, 4), isColumn);
      kb.storeOwn(value, kb.at(to, column, 4), mask);
    });
  }
  kb.sync();
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Returns the scale of the keys or values that begin at `offset` of a share.
/// `entry` is the place of the entry.
Value AttentionLanes::loadScale(Value entry, int64_t offset) {
  int64_t behind = shape.scaleOffset(offset);
  Value share = kb.add(kb.mul(kvHead, shape.headBytes(shape.dk)), behind);
  return kb.loadOwn(kb.f32Type(), kb.at(kb.buffer(4), kb.add(entry, share), 1));
}

/// Returns the elements of load number `load` of a key with two scales, times
/// their scale.
Values AttentionLanes::scaleLatent(ValueRange elements, Value load, Value key) {
  int64_t latent = shape.latentColumns();
  auto at = [&](int64_t column) {
    return kb.at(key, shape.scaleOffset(column));
  };
  Value scale = kb.select(kb.cmp(Cmp::LT, load, latent / division.keyStep),
                          kb.loadOwn(kb.f32Type(), at(0)),
                          kb.loadOwn(kb.f32Type(), at(latent)));
  Values scaled;
  for (Value element : elements)
    scaled.push_back(kb.mul(element, scale));
  return scaled;
}

/// Returns the products of the tile's queries with the key at `key`, over the
/// columns of this thread.
Values AttentionLanes::products(Value key) {
  int64_t step = division.keyStep;
  Value mine = kb.rem(kb.thread(), kb.integer(LanesDivision::threadsPerKey));
  auto loadOf = [&](Value turn) {
    return kb.add(kb.mul(turn, LanesDivision::threadsPerKey), mine);
  };
  auto multiply = [&](Value first, int64_t count, bool isEnd, Values sums) {
    llvm::SmallVector<Values> keys;
    for (int64_t i = 0; i < count; ++i) {
      Value load = loadOf(kb.add(first, i));
      Value mask;
      if (isEnd && i == count - 1 &&
          division.keyLoads % LanesDivision::threadsPerKey != 0)
        mask = kb.cmp(Cmp::LT, load, division.keyLoads);
      keys.push_back(
          loadElements(kb.at(key, load, step * shape.bytes), step, mask));
      if (shape.latentColumns())
        keys.back() = scaleLatent(keys.back(), load, key);
    }
    for (int64_t i = 0; i < count; ++i)
      for (int64_t head = 0; head < division.tile; ++head) {
        Value query = kb.at(queries, head * division.queryFloats * 4);
        Values q = loadQuery(kb.at(query, loadOf(kb.add(first, i)), step * 4));
        for (int64_t e = 0; e < step; ++e)
          sums[head] = kb.fma(q[e], keys[i][e], sums[head]);
      }
    return sums;
  };
  // In the last turns, some threads may have fewer loads.
  int64_t whole = (division.loadsPerThread - 1) / loadsAhead * loadsAhead;
  Values sums(division.tile, kb.f32(0));
  sums = kb.forRange(kb.integer(0), kb.integer(whole), loadsAhead, sums,
                     [&](Value first, ValueRange in) {
                       return multiply(first, loadsAhead, /*isEnd=*/false,
                                       Values(in.begin(), in.end()));
                     });
  return multiply(kb.integer(whole), division.loadsPerThread - whole,
                  /*isEnd=*/true, sums);
}

/// Stores the scores of positions [first, last) of the block at `start`, and
/// the places of their entries. Other positions get -infinity, whose
/// exponential is 0.
void AttentionLanes::score(const AttentionView &view, Value start, Value first,
                           Value last, Value turn) {
  int64_t positions = LanesDivision::positions;
  Value threads = kb.integer(LanesDivision::threadsPerKey);
  Value position = kb.div(kb.thread(), threads);
  Value seen = kb.bitAnd(kb.cmp(Cmp::GE, position, first),
                         kb.cmp(Cmp::LT, position, last));
  // A position that the row does not see is not read: there may be no page.
  Value known = kb.max(kb.min(position, kb.sub(last, 1)), first);
  Value entry = view.entryAt(kb.add(start, known));
  Value offset =
      kb.add(kb.mul(kvHead, shape.headBytes(shape.dk)), shape.keyOffset());
  Values sums = products(kb.at(kb.buffer(4), kb.add(entry, offset), 1));
  for (int64_t distance = 1; distance < LanesDivision::threadsPerKey;
       distance *= 2)
    for (Value &sum : sums)
      sum = kb.add(sum, kb.shuffleXor(sum, distance));
  if (shape.hasIntegers() && !shape.latentColumns()) {
    Value ofKey = loadScale(entry, shape.keyOffset());
    for (Value &sum : sums)
      sum = kb.mul(sum, ofKey);
  }
  Value isFirst = kb.cmp(Cmp::EQ, kb.rem(kb.thread(), threads), 0);
  Value to = kb.at(scores, turn, division.tile * positions * 4);
  kb.ifThen(isFirst, [&] {
    for (auto [head, sum] : llvm::enumerate(sums)) {
      Value score = kb.select(seen, kb.mul(sum, kb.f32(scale)), kb.f32(lowest));
      kb.storeOwn(score, kb.at(kb.at(to, head * positions * 4), position, 4));
    }
    Value place = kb.at(kb.at(places, turn, positions * 8), position, 8);
    kb.storeOwn(entry, place);
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Turns the scores into weights. Each warp takes one head at a time.
void AttentionLanes::weigh(Value turn, Sums &sums) {
  int64_t positions = LanesDivision::positions, count = headsPerWarp();
  Value lane = kb.laneOfWarp();
  auto weighHead = [&](Value head, Value &most, Value &total) {
    Value row = kb.at(kb.at(scores, turn, division.tile * positions * 4), head,
                      positions * 4);
    Values own;
    for (int64_t at = 0; at < positions; at += kWarp)
      own.push_back(loadFloat(kb.at(row, at * 4), lane));
    Value highest = own[0];
    for (Value score : llvm::drop_begin(own))
      highest = kb.max(highest, score);
    highest = kb.reduceWarp({highest}, [&](ValueRange a, ValueRange b) {
      return Values{kb.max(a[0], b[0])};
    })[0];
    Value now = kb.max(most, highest), sum;
    for (auto [i, score] : llvm::enumerate(own)) {
      Value weight = emitExp(kb, kb.sub(score, now));
      kb.storeOwn(weight, kb.at(kb.at(row, i * kWarp * 4), lane, 4));
      sum = sum ? kb.add(sum, weight) : weight;
    }
    sum = kb.reduceWarp({sum}, [&](ValueRange a, ValueRange b) {
      return Values{kb.add(a[0], b[0])};
    })[0];
    Value alpha = emitExp(kb, kb.sub(most, now));
    kb.storeOwn(alpha, kb.at(factors, head, 4), kb.cmp(Cmp::EQ, lane, 0));
    most = now;
    total = kb.fma(total, alpha, sum);
  };
  for (int64_t i = 0; i < count; ++i) {
    Value head = kb.add(kb.warp(), i * kb.warps());
    Value most = sums.states[i], total = sums.states[count + i];
    Values next{most, total};
    auto body = [&] {
      weighHead(head, next[0], next[1]);
      return next;
    };
    if ((i + 1) * kb.warps() <= division.tile)
      body();
    else
      next = kb.choose(kb.cmp(Cmp::LT, head, division.tile), body,
                       [&] { return Values{most, total}; });
    sums.states[i] = next[0], sums.states[count + i] = next[1];
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns this thread's elements of the value at `place` of the block.
Values AttentionLanes::loadValue(Value places, Value place) {
  int64_t threads = division.threadsPerValue, step = division.valueStep;
  Value entry = kb.loadOwn(kb.i64Type(), kb.at(places, place, 8));
  Value offset =
      kb.add(kb.mul(kvHead, shape.headBytes(shape.dv)), shape.valueOffset());
  Value value = kb.at(kb.buffer(4), kb.add(entry, offset), 1);
  Value first = kb.rem(kb.thread(), kb.integer(threads));
  Values elements;
  for (int64_t i = 0; i < division.valueLoadsPerThread; ++i) {
    Value load = kb.add(first, i * threads);
    // A thread without a load of its own takes the last one.
    if ((i + 1) * threads > division.valueLoads)
      load = kb.min(load, kb.integer(division.valueLoads - 1));
    llvm::append_range(
        elements, loadElements(kb.at(value, load, step * shape.bytes), step));
  }
  if (shape.hasIntegers()) {
    Value scale = loadScale(entry, shape.valueOffset());
    for (Value &element : elements)
      element = kb.mul(element, scale);
  }
  return elements;
}

void AttentionLanes::addValue(ValueRange elements, Value place, Value weights,
                              Values &values) {
  int64_t step = division.valueStep;
  for (int64_t head = 0; head < division.tile; ++head) {
    Value row = kb.at(weights, head * LanesDivision::positions * 4);
    Value weight = loadFloat(row, place);
    for (auto [i, element] : llvm::enumerate(elements)) {
      Value &sum = values[(i / step * division.tile + head) * step + i % step];
      sum = kb.fma(weight, element, sum);
    }
  }
}

Values AttentionLanes::scaleValues(ValueRange values) {
  Values scaled;
  Values alphas;
  for (int64_t head = 0; head < division.tile; ++head)
    alphas.push_back(loadFloat(factors, kb.integer(head)));
  for (auto [i, value] : llvm::enumerate(values))
    scaled.push_back(
        kb.mul(value, alphas[i / division.valueStep % division.tile]));
  return scaled;
}

/// Adds the values of positions [first, last) of the block. Each thread takes
/// every `valuesAtOnce`-th position.
Values AttentionLanes::addValues(Value turn, Value first, Value last,
                                 Values values) {
  int64_t positions = LanesDivision::positions, apart = division.valuesAtOnce;
  Value at = kb.at(places, turn, positions * 8);
  Value weights = kb.at(scores, turn, division.tile * positions * 4);
  Value own = kb.div(kb.thread(), division.threadsPerValue);
  auto placeOf = [&](Value i) { return kb.add(kb.mul(i, apart), own); };
  auto add = [&](Value from, int64_t count, ValueRange in) {
    llvm::SmallVector<Values> elements;
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(loadValue(at, placeOf(kb.add(from, i))));
    Values next(in.begin(), in.end());
    for (int64_t i = 0; i < count; ++i)
      addValue(elements[i], placeOf(kb.add(from, i)), weights, next);
    return next;
  };
  auto some = [&] {
    auto indexOf = [&](Value place) {
      return kb.div(kb.add(kb.sub(place, own), apart - 1), apart);
    };
    return kb.forRange(indexOf(first), indexOf(last), 1, values,
                       [&](Value i, ValueRange in) { return add(i, 1, in); });
  };
  int64_t turns = positions / apart;
  if (turns < loadsAhead)
    return some();
  // Computes equal sums with several loads in flight.
  Value isWhole = kb.cmp(Cmp::EQ, kb.sub(last, first), positions);
  return kb.choose(
      isWhole,
      [&] {
        return kb.forRange(
            kb.integer(0), kb.integer(turns), loadsAhead, values,
            [&](Value i, ValueRange in) { return add(i, loadsAhead, in); });
      },
      some);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Adds the positions of [begin, end) that are in the block at `start`.
AttentionLanes::Sums AttentionLanes::addBlock(const AttentionView &view,
                                              Value start, Value begin,
                                              Value end, Sums sums) {
  int64_t positions = LanesDivision::positions;
  Value first = kb.max(kb.sub(begin, start), kb.integer(0));
  Value last = kb.min(kb.sub(end, start), kb.integer(positions));
  // A warp may still add the values of a block while another computes the
  // scores of the next block, but never of the one after that.
  Value turn = kb.rem(kb.div(start, positions), kb.integer(2));
  score(view, start, first, last, turn);
  kb.sync();
  weigh(turn, sums);
  kb.sync();
  sums.values = addValues(turn, first, last, scaleValues(sums.values));
  return sums;
}

/// Joins the sums of all threads. Returns the results of this thread.
Values AttentionLanes::collect(const Sums &sums) {
  int64_t tile = division.tile, step = division.valueStep;
  int64_t threads = division.threadsPerValue;
  int64_t floats = tile * shape.dv;
  Value own = kb.at(partial, kb.div(kb.thread(), threads), floats * 4);
  Value first = kb.rem(kb.thread(), kb.integer(threads));
  for (int64_t i = 0; i < division.valueLoadsPerThread; ++i) {
    Value load = kb.add(first, i * threads);
    Value mask;
    if ((i + 1) * threads > division.valueLoads)
      mask = kb.cmp(Cmp::LT, load, division.valueLoads);
    for (int64_t head = 0; head < tile; ++head)
      for (int64_t e = 0; e < step; ++e) {
        Value to = kb.at(kb.at(own, head * shape.dv * 4), load, step * 4);
        kb.storeOwn(sums.values[(i * tile + head) * step + e], kb.at(to, e * 4),
                    mask);
      }
  }
  int64_t count = headsPerWarp();
  for (int64_t i = 0; i < count; ++i) {
    Value head = kb.add(kb.warp(), i * kb.warps());
    Value mask = kb.bitAnd(kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0),
                           kb.cmp(Cmp::LT, head, tile));
    kb.storeOwn(sums.states[i], kb.at(maxima, head, 4), mask);
    kb.storeOwn(sums.states[count + i], kb.at(totals, head, 4), mask);
  }
  kb.sync();
  Values results;
  for (int64_t i = 0; i < division.resultsPerThread; ++i) {
    Value result = kb.add(kb.thread(), i * LanesDivision::threads);
    result = kb.min(result, kb.integer(floats - 1));
    Value sum;
    for (int64_t part = 0; part < division.valuesAtOnce; ++part) {
      Value more = loadFloat(kb.at(partial, part * floats * 4), result);
      sum = sum ? kb.add(sum, more) : more;
    }
    results.push_back(sum);
  }
  return results;
}

Values AttentionLanes::addUp(const AttentionView &view, Value begin,
                             Value end) {
  int64_t positions = LanesDivision::positions, count = headsPerWarp();
  int64_t columns = division.valueLoadsPerThread * division.valueStep;
  Values inits(count, kb.f32(lowest));
  inits.append(count + division.tile * columns, kb.f32(0));
  auto unpack = [&](ValueRange in) {
    return Sums{Values(in.begin(), in.begin() + 2 * count),
                Values(in.begin() + 2 * count, in.end())};
  };
  Value ends = kb.div(kb.add(end, positions - 1), positions);
  Values sums = kb.forRange(kb.div(begin, positions), ends, 1, inits,
                            [&](Value block, ValueRange in) {
                              Sums next =
                                  addBlock(view, kb.mul(block, positions),
                                           begin, end, unpack(in));
                              Values out = next.states;
                              llvm::append_range(out, next.values);
                              return out;
                            });
  return collect(unpack(sums));
}

void AttentionLanes::setTotal(Value total, Value head) {
  kb.storeOwn(total, kb.at(totals, head, 4),
              kb.cmp(Cmp::LT, kb.thread(), division.tile));
}

void AttentionLanes::forEachResult(
    llvm::function_ref<void(int64_t, Value)> body) {
  Value last = kb.integer(division.tile * shape.dv - 1);
  for (int64_t i = 0; i < division.resultsPerThread; ++i) {
    Value result = kb.add(kb.thread(), i * LanesDivision::threads);
    body(i, kb.div(kb.min(result, last), shape.dv));
  }
}

void AttentionLanes::close(ValueRange values, Value y) {
  forResults([&](int64_t i, Value head, Value column) {
    Value to = kb.at(kb.at(y, head, shape.dv * 4), column, 4);
    kb.storeOwn(closeValue(kb, values[i], total(head)), to);
  });
}

void AttentionLanes::forResults(
    llvm::function_ref<void(int64_t, Value, Value)> body) {
  int64_t floats = division.tile * shape.dv;
  for (int64_t i = 0; i < division.resultsPerThread; ++i) {
    Value result = kb.add(kb.thread(), i * LanesDivision::threads);
    auto call = [&] {
      body(i, kb.div(result, shape.dv), kb.rem(result, kb.integer(shape.dv)));
    };
    if ((i + 1) * LanesDivision::threads <= floats)
      call();
    else
      kb.ifThen(kb.cmp(Cmp::LT, result, floats), call);
  }
}
