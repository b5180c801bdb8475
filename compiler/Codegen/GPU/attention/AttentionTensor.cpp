//===- AttentionTensor.cpp - Attention in tensor cores --------------------===//

#include "compiler/Codegen/GPU/attention/AttentionTensor.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include "runtime/schema/Tunables.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr double lowest = -std::numeric_limits<double>::infinity();

/// Number of columns of a load of a key: each of four lanes has 16 bytes.
static constexpr int64_t keyColumns = 32;
static constexpr int64_t keysAhead = tunable::kKeysAhead.value;
/// Number of steps of 16 positions in a block.
static constexpr int64_t kSteps = TensorDivision::positions / 16;
static constexpr int64_t stepsAhead = tunable::kStepsAhead.value;
static constexpr int64_t wordsAhead = tunable::kWordsAhead.value;

// Distance from one query to the next in shared memory, in bytes. It puts the
// data of different queries into different banks.
static constexpr int64_t scoreBytes = (TensorDivision::positions + 8) * 4;
static constexpr int64_t weightBytes = (TensorDivision::positions + 8) * 2;
static int64_t queryBytes(const AttentionShape &shape) {
  return (shape.dk + 8) * 2;
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

bool TensorDivision::fits(const AttentionShape &shape) {
  return shape.dtype == DType::BF16 && shape.dk % keyColumns == 0 &&
         shape.dk <= 1024 && shape.dv % 64 == 0 && shape.dv <= 512 &&
         shape.elementsPerLoad(shape.dk, shape.keyOffset()) == 8 &&
         shape.elementsPerLoad(shape.dv, shape.valueOffset()) >= 2;
}

TensorDivision::TensorDivision(const AttentionShape &shape) {
  for (tile = std::min(shape.group(), queries); shape.group() % tile != 0;)
    --tile;
  rows = queries / tile;
  int64_t ofLane = shape.dv / warps / 8;
  valueStep = shape.elementsPerLoad(shape.dv, shape.valueOffset());
  while (ofLane % valueStep != 0)
    valueStep /= 2;
  valueLoads = ofLane / valueStep;
}

AttentionTensor::AttentionTensor(GpuBuilder &kb, const AttentionShape &shape,
                                 float scale, bool tree)
    : kb(kb), shape(shape), division(shape), tree(tree), scale(scale) {
  constexpr int64_t count = TensorDivision::queries;
  queries = kb.shared(count * queryBytes(shape));
  scores = kb.shared(count * scoreBytes);
  weights = kb.shared(count * weightBytes);
  places = kb.shared(2 * TensorDivision::positions * 8);
  factors = kb.shared(count * 4);
  maxima = kb.shared(count * 4);
  totals = kb.shared(count * 4);
  lowQuery = kb.div(kb.laneOfWarp(), 4);
  pair = kb.rem(kb.laneOfWarp(), kb.integer(4));
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

void AttentionTensor::open(const AttentionGroup &group, Value q, Value head) {
  kvHead = kb.div(head, shape.group());
  for (int64_t query = 0; query < TensorDivision::queries; ++query) {
    int64_t row = query / division.tile;
    bool exists = row < division.rows;
    Value isThere = kb.cmp(Cmp::LT, kb.integer(row), group.count());
    Value from = kb.at(q, row * shape.qStride * 4 +
                              query % division.tile * shape.dk * 4);
    Value to = kb.at(queries, query * queryBytes(shape));
    kb.forChunks(shape.dk, [&](Value first, Value mask) {
      Value column = kb.add(first, kb.thread());
      Value number = kb.f32(0);
      if (exists)
        number = kb.loadOwn(kb.f32Type(), kb.at(from, column, 4),
                            mask ? kb.bitAnd(mask, isThere) : isThere);
      kb.storeOwn(kb.roundToBF16(number), kb.at(to, column, 2), mask);
    });
  }
  // Clears the weights and factors of missing queries, which nothing else
  // writes.
  kb.forRange(
      kb.thread(), kb.integer(TensorDivision::queries * weightBytes / 4),
      TensorDivision::threads, [&](Value word) {
        kb.storeOwn(kb.constant(kb.i32Type(), 0), kb.at(weights, word, 4));
      });
  kb.ifThen(kb.cmp(Cmp::LT, kb.thread(), TensorDivision::queries), [&] {
    kb.storeOwn(kb.f32(0), kb.at(factors, kb.thread(), 4));
    kb.storeOwn(kb.f32(lowest), kb.at(maxima, kb.thread(), 4));
    kb.storeOwn(kb.f32(0), kb.at(totals, kb.thread(), 4));
  });
  auto seenOf = [&](Value query) {
    Value row = kb.div(query, division.tile);
    auto [from, to] = group.seenBy(kb.min(row, kb.sub(group.count(), 1)));
    Value isThere = kb.cmp(Cmp::LT, row, group.count());
    return std::pair(from, kb.select(isThere, to, kb.integer(0)));
  };
  lowSeen = seenOf(lowQuery);
  highSeen = seenOf(kb.add(lowQuery, 8));
  kb.sync();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value AttentionTensor::placesOf(const Step &step) {
  Value turn = kb.rem(step.turn, kb.integer(2));
  return kb.at(places, turn, TensorDivision::positions * 8);
}

/// Stores the places of the entries of a block.
void AttentionTensor::locate(const AttentionGroup &group, const Step &step) {
  kb.ifThen(kb.cmp(Cmp::LT, kb.thread(), TensorDivision::positions), [&] {
    Value entry = group.entryAt(kb.add(step.start, kb.thread()), step.row);
    kb.storeOwn(entry, kb.at(placesOf(step), kb.thread(), 8));
  });
}

Value AttentionTensor::headOffset(int64_t width, int64_t offset) {
  return kb.add(kb.mul(kvHead, shape.headBytes(width)), offset);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Returns the products of all queries with the keys of the warp's positions:
/// four for each of two tiles of eight positions.
Values AttentionTensor::multiplyKeys(const Step &step) {
  Value offset = headOffset(shape.dk, shape.keyOffset());
  Values keys;
  for (int64_t tile = 0; tile < 2; ++tile) {
    Value position = kb.add(kb.add(kb.mul(kb.warp(), 16), lowQuery), tile * 8);
    Value entry = kb.loadOwn(kb.i64Type(), kb.at(placesOf(step), position, 8));
    Value key = kb.at(kb.buffer(4), kb.add(entry, offset), 1);
    keys.push_back(kb.at(key, pair, 16));
  }
  Value query = kb.at(kb.at(queries, lowQuery, queryBytes(shape)), pair, 16);
  auto multiply = [&](Value first, int64_t count, Values sums) {
    llvm::SmallVector<Values> words;
    for (int64_t i = 0; i < count; ++i)
      for (Value key : keys)
        words.push_back(
            kb.loadWords(kb.at(key, kb.add(first, i), keyColumns * 2), 4));
    for (int64_t i = 0; i < count; ++i) {
      Value at = kb.at(query, kb.add(first, i), keyColumns * 2);
      Values low = kb.loadWords(at, 4);
      Values high = kb.loadWords(kb.at(at, 8 * queryBytes(shape)), 4);
      for (int64_t half = 0; half < 4; half += 2)
        for (int64_t tile = 0; tile < 2; ++tile) {
          Values &key = words[i * 2 + tile];
          Values sum = kb.multiplyTiles(
              {low[half], high[half], low[half + 1], high[half + 1]},
              {key[half], key[half + 1]}, ValueRange(sums).slice(tile * 4, 4));
          llvm::copy(sum, sums.begin() + tile * 4);
        }
    }
    return sums;
  };
  int64_t loads = shape.dk / keyColumns, whole = loads / keysAhead * keysAhead;
  Values sums(8, kb.f32(0));
  sums = kb.forRange(kb.integer(0), kb.integer(whole), keysAhead, sums,
                     [&](Value first, ValueRange in) {
                       return multiply(first, keysAhead,
                                       Values(in.begin(), in.end()));
                     });
  return multiply(kb.integer(whole), loads - whole, sums);
}

AttentionTensor::Seen AttentionTensor::seenIn(std::pair<Value, Value> seen,
                                              Value start) {
  Value zero = kb.integer(0), all = kb.integer(TensorDivision::positions);
  auto clamp = [&](Value position) {
    return kb.max(kb.min(kb.sub(position, start), all), zero);
  };
  return {clamp(seen.first), clamp(seen.second)};
}

/// Returns the range of a block that a query sees, given the range `seen` of
/// its row.
AttentionTensor::Seen AttentionTensor::seenBy(Value query,
                                              std::pair<Value, Value> seen,
                                              const Step &step) {
  Seen inBlock = seenIn(seen, step.start);
  if (!step.row)
    return inBlock;
  Value isIn =
      kb.bitOr(kb.cmp(Cmp::LT, step.row, 0),
               kb.cmp(Cmp::EQ, kb.div(query, division.tile), step.row));
  return {inBlock.first, kb.select(isIn, inBlock.last, kb.integer(0))};
}

/// Stores scores. Positions that a query's row does not see get -infinity,
/// whose exponential is 0.
void AttentionTensor::storeScores(ValueRange sums, const Step &step) {
  for (int64_t high = 0; high < 2; ++high) {
    Value query = kb.add(lowQuery, high * 8);
    Seen seen = seenBy(query, high ? highSeen : lowSeen, step);
    Value to = kb.at(kb.at(scores, query, scoreBytes), 0);
    for (int64_t tile = 0; tile < 2; ++tile) {
      Value first = kb.add(kb.mul(kb.warp(), 16), kb.mul(pair, 2));
      first = kb.add(first, tile * 8);
      Values both;
      for (int64_t i = 0; i < 2; ++i) {
        Value position = kb.add(first, i);
        Value isSeen = kb.bitAnd(kb.cmp(Cmp::GE, position, seen.first),
                                 kb.cmp(Cmp::LT, position, seen.last));
        Value score = kb.mul(sums[tile * 4 + high * 2 + i], kb.f32(scale));
        both.push_back(kb.select(isSeen, score, kb.f32(lowest)));
      }
      kb.storeOwn(kb.vectorOf(both), kb.at(to, first, 4));
    }
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Turns the scores of a query into weights. A lane has two neighbouring
/// positions.
void AttentionTensor::weighQuery(Value query, Value &most, Value &total) {
  Value lane = kb.laneOfWarp();
  Value from = kb.at(kb.at(scores, query, scoreBytes), lane, 8);
  Value both = kb.loadOwn(kb.vectorType(kb.f32Type(), 2), from);
  Value first = kb.element(both, 0), second = kb.element(both, 1);
  Value highest =
      kb.reduceWarp({kb.max(first, second)}, [&](ValueRange a, ValueRange b) {
        return Values{kb.max(a[0], b[0])};
      })[0];
  Value now = kb.max(most, highest);
  // If no position was seen yet, the difference of the maxima is undefined.
  Value isNone = kb.cmp(Cmp::EQ, now, kb.f32(lowest));
  Value base = kb.select(isNone, kb.f32(0), now);
  Value low = emitExp(kb, kb.sub(first, base));
  Value high = emitExp(kb, kb.sub(second, base));
  Value alpha = emitExp(kb, kb.sub(most, base));
  kb.storeOwn(kb.pairOfBF16(low, high),
              kb.at(kb.at(weights, query, weightBytes), lane, 4));
  kb.storeOwn(alpha, kb.at(factors, query, 4), kb.cmp(Cmp::EQ, lane, 0));
  Value sum =
      kb.reduceWarp({kb.add(low, high)}, [&](ValueRange a, ValueRange b) {
        return Values{kb.add(a[0], b[0])};
      })[0];
  most = now;
  total = kb.fma(total, alpha, sum);
}

/// Turns scores into weights. A warp takes every fourth query.
void AttentionTensor::weigh(const AttentionGroup &group, Sums &sums) {
  constexpr int64_t count = TensorDivision::queries / TensorDivision::warps;
  Value used = kb.mul(group.count(), division.tile);
  for (int64_t i = 0; i < count; ++i) {
    if (i * TensorDivision::warps >= division.tile * division.rows)
      break;
    Value query = kb.add(kb.warp(), i * TensorDivision::warps);
    Value most = sums.states[i], total = sums.states[count + i];
    Values next = kb.choose(
        kb.cmp(Cmp::LT, query, used),
        [&] {
          Values own{most, total};
          weighQuery(query, own[0], own[1]);
          return own;
        },
        [&] { return Values{most, total}; });
    sums.states[i] = next[0], sums.states[count + i] = next[1];
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns the words of the lane's load number `load`. They belong to four of
/// the step's 16 positions: the positions whose weights the lane has.
Values AttentionTensor::loadStep(const Step &of, int64_t load, int64_t step) {
  Value offset = headOffset(shape.dv, shape.valueOffset());
  int64_t bytes = division.valueStep * 2;
  Value column = kb.add(kb.mul(kb.warp(), shape.dv / TensorDivision::warps * 2),
                        kb.mul(lowQuery, bytes));
  Value first = kb.add(kb.mul(pair, 2), step * 16);
  Values words;
  for (int64_t place : {0, 1, 8, 9}) {
    Value at = kb.at(placesOf(of), kb.add(first, place), 8);
    Value entry = kb.add(kb.loadOwn(kb.i64Type(), at), offset);
    Value value = kb.at(kb.buffer(4), kb.add(entry, column), 1);
    llvm::append_range(words,
                       kb.loadWords(kb.at(value, load * 8 * bytes), bytes / 4));
  }
  return words;
}

/// Adds the products of weights and values of a step's positions to the sums of
/// a load's columns.
Values AttentionTensor::addStep(ValueRange words, int64_t step, Values sums) {
  Value at = kb.at(kb.at(weights, lowQuery, weightBytes), pair, 4);
  at = kb.at(at, step * 32);
  auto weight = [&](int64_t bytes) {
    return kb.loadOwn(kb.i32Type(), kb.at(at, bytes));
  };
  Values a{weight(0), weight(8 * weightBytes), weight(16),
           weight(8 * weightBytes + 16)};
  int64_t count = words.size() / 4;
  Value half = kb.constant(kb.i32Type(), 16);
  Value upper = kb.constant(kb.i32Type(), -65536);
  Value lower = kb.constant(kb.i32Type(), 65535);
  for (int64_t word = 0; word < count; ++word)
    for (int64_t odd = 0; odd < 2; ++odd) {
      auto interleave = [&](int64_t place) -> Value {
        Value first = words[place * count + word];
        Value second = words[(place + 1) * count + word];
        if (odd)
          return kb.bitOr(kb.shiftRight(first, half), kb.bitAnd(second, upper));
        return kb.bitOr(kb.bitAnd(first, lower), kb.shiftLeft(second, half));
      };
      int64_t tile = (word * 2 + odd) * 4;
      Values sum = kb.multiplyTiles(a, {interleave(0), interleave(2)},
                                    ValueRange(sums).slice(tile, 4));
      llvm::copy(sum, sums.begin() + tile);
    }
  return sums;
}

/// Replaces values that the row does not see by zeros. Their weight is 0, but
/// the memory may hold NaN.
Values AttentionTensor::keepSeen(ValueRange words, int64_t step,
                                 const Seen &seen) {
  Values kept;
  Value first = kb.add(kb.mul(pair, 2), step * 16);
  Value zero = kb.constant(kb.i32Type(), 0);
  int64_t count = words.size() / 4;
  for (auto [i, word] : llvm::enumerate(words)) {
    static constexpr int64_t offsets[] = {0, 1, 8, 9};
    Value place = kb.add(first, offsets[i / count]);
    Value isSeen = kb.bitAnd(kb.cmp(Cmp::GE, place, seen.first),
                             kb.cmp(Cmp::LT, place, seen.last));
    kept.push_back(kb.select(isSeen, word, zero));
  }
  return kept;
}

/// Adds a block that rows see only in part to a load's columns, for one row
/// after another.
Values AttentionTensor::addRagged(const AttentionGroup &group, const Step &of,
                                  llvm::function_ref<Values(int64_t)> wordsOf,
                                  Values values) {
  Value tile = kb.integer(division.tile);
  auto addSeen = [&](const Seen &seen, Values sums) {
    for (int64_t step = 0; step < kSteps; ++step)
      sums = addStep(keepSeen(wordsOf(step), step, seen), step, sums);
    return sums;
  };
  if (division.rows == 1)
    return addSeen(seenIn(group.seenBy(kb.integer(0)), of.start),
                   std::move(values));
  auto [begin, end] = group.rowsOf(of.row);
  return kb.forRange(begin, end, 1, values, [&](Value row, ValueRange in) {
    Seen seen = seenIn(group.seenBy(row), of.start);
    Values sums = addSeen(seen, Values(in.begin(), in.end()));
    Value isActive = kb.cmp(Cmp::LT, seen.first, seen.last);
    Values next;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      Value ofRow = kb.cmp(Cmp::EQ, kb.div(queryOf(i), tile), row);
      next.push_back(kb.select(kb.bitAnd(ofRow, isActive), sum, in[i]));
    }
    return next;
  });
}

/// Returns true if all rows see the whole block.
Value AttentionTensor::isWhole(const AttentionGroup &group, const Step &of) {
  Value whole = kb.integer(TensorDivision::positions);
  Value all = kb.boolean(true);
  if (of.row && division.rows > 1)
    all = kb.cmp(Cmp::LT, of.row, 0);
  return kb.forRange(kb.integer(0), group.count(), 1, Values{all},
                     [&](Value row, ValueRange in) {
                       Seen seen = seenIn(group.seenBy(row), of.start);
                       Value count = kb.sub(seen.last, seen.first);
                       return Values{
                           kb.bitAnd(in[0], kb.cmp(Cmp::EQ, count, whole))};
                     })[0];
}

/// Adds the block's values to the sums, the columns of one load after another.
Values AttentionTensor::addValues(const AttentionGroup &group, const Step &of,
                                  llvm::ArrayRef<Values> ahead,
                                  ValueRange values) {
  Value whole = isWhole(group, of);
  Values all;
  int64_t count = division.valueStep * 4;
  for (int64_t load = 0; load < division.valueLoads; ++load) {
    auto own = values.slice(load * count, count);
    Values sums(own.begin(), own.end());
    auto wordsOf = [&](int64_t step) {
      return ahead.empty() ? loadStep(of, load, step)
                           : ahead[load * kSteps + step];
    };
    auto addWhole = [&] {
      Values next = sums;
      for (int64_t first = 0; first < kSteps; first += stepsAhead) {
        llvm::SmallVector<Values> words;
        for (int64_t i = 0; i < stepsAhead; ++i)
          words.push_back(wordsOf(first + i));
        for (int64_t i = 0; i < stepsAhead; ++i)
          next = addStep(words[i], first + i, next);
      }
      return next;
    };
    llvm::append_range(all, kb.choose(whole, addWhole, [&] {
      return addRagged(group, of, wordsOf, sums);
    }));
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

AttentionTensor::Sums AttentionTensor::addBlock(const AttentionGroup &group,
                                                const Step &of,
                                                const Step &next, Value isLast,
                                                Sums sums) {
  // Loads values ahead if there are registers for them.
  llvm::SmallVector<Values> ahead;
  if (shape.dv / 4 <= wordsAhead)
    for (int64_t load = 0; load < division.valueLoads; ++load)
      for (int64_t step = 0; step < kSteps; ++step)
        ahead.push_back(loadStep(of, load, step));
  storeScores(multiplyKeys(of), of);
  kb.sync();
  weigh(group, sums);
  kb.ifThen(kb.cmp(Cmp::EQ, isLast, kb.boolean(false)),
            [&] { locate(group, next); });
  kb.sync();
  Value low = loadFloat(factors, lowQuery);
  Value high = loadFloat(factors, kb.add(lowQuery, 8));
  Values values;
  for (auto [i, value] : llvm::enumerate(sums.values))
    values.push_back(kb.mul(value, i % 4 < 2 ? low : high));
  sums.values = addValues(group, of, ahead, values);
  return sums;
}

/// Returns the blocks of positions [begin, end). For a tree, these are the
/// blocks before the window, for all rows, then the other blocks for one row
/// after another. A block that a row does not see leaves its sums as they are.
AttentionTensor::Steps AttentionTensor::stepsOf(const AttentionGroup &group,
                                                Value begin, Value end) {
  constexpr int64_t positions = TensorDivision::positions;
  Value first = kb.div(begin, positions);
  Value last = kb.div(kb.add(end, positions - 1), positions);
  if (!tree)
    return {first, last, [this](Value block) {
              return Step{kb.mul(block, positions), block, Value()};
            }};
  Value zero = kb.integer(0), one = kb.integer(1);
  Value window = kb.div(group.root(), positions);
  Value shared = kb.max(kb.sub(kb.min(last, window), first), zero);
  Value ofRow = kb.max(first, window);
  Value own = kb.max(kb.sub(last, ofRow), zero);
  return {zero, kb.add(shared, kb.mul(own, group.count())),
          [=, this](Value turn) {
            Value isShared = kb.cmp(Cmp::LT, turn, shared);
            Value behind = kb.max(kb.sub(turn, shared), zero);
            Value divisor = kb.max(own, one);
            Value row =
                kb.select(isShared, kb.integer(-1), kb.div(behind, divisor));
            Value block = kb.select(isShared, kb.add(first, turn),
                                    kb.add(ofRow, kb.rem(behind, divisor)));
            return Step{kb.mul(block, positions), turn, row};
          }};
}

Values AttentionTensor::addUp(const AttentionGroup &group, Value begin,
                              Value end) {
  constexpr int64_t count = TensorDivision::queries / TensorDivision::warps;
  Values inits(count, kb.f32(lowest));
  inits.append(count + resultCount(), kb.f32(0));
  auto unpack = [&](ValueRange in) {
    return Sums{Values(in.begin(), in.begin() + 2 * count),
                Values(in.begin() + 2 * count, in.end())};
  };
  Steps steps = stepsOf(group, begin, end);
  kb.sync();
  kb.ifThen(kb.cmp(Cmp::LT, steps.first, steps.end),
            [&] { locate(group, steps.at(steps.first)); });
  kb.sync();
  Values all = kb.forRange(
      steps.first, steps.end, 1, inits, [&](Value turn, ValueRange in) {
        Value behind = kb.add(turn, 1);
        Sums next = addBlock(group, steps.at(turn), steps.at(behind),
                             kb.cmp(Cmp::EQ, behind, steps.end), unpack(in));
        Values out = next.states;
        llvm::append_range(out, next.values);
        return out;
      });
  Sums sums = unpack(all);
  for (int64_t i = 0; i < count; ++i) {
    Value query = kb.add(kb.warp(), i * TensorDivision::warps);
    Value isFirst = kb.cmp(Cmp::EQ, kb.laneOfWarp(), 0);
    kb.storeOwn(sums.states[i], kb.at(maxima, query, 4), isFirst);
    kb.storeOwn(sums.states[count + i], kb.at(totals, query, 4), isFirst);
  }
  kb.sync();
  return sums.values;
}

void AttentionTensor::setTotal(Value total) {
  kb.storeOwn(total, kb.at(totals, kb.thread(), 4),
              kb.cmp(Cmp::LT, kb.thread(), TensorDivision::queries));
}

void AttentionTensor::forResults(
    const AttentionGroup &group,
    llvm::function_ref<void(int64_t, Value, Value)> body) {
  Value used = kb.mul(group.count(), division.tile);
  Value quarter = kb.mul(kb.warp(), shape.dv / TensorDivision::warps);
  int64_t step = division.valueStep;
  for (int64_t high = 0; high < 2; ++high) {
    Value query = kb.add(lowQuery, high * 8);
    kb.ifThen(kb.cmp(Cmp::LT, query, used), [&] {
      for (int64_t i = 0; i < resultCount(); ++i) {
        if (i % 4 / 2 != high)
          continue;
        // Tile i / 4 has every `step`-th column, from `place` on.
        int64_t load = i / 4 / step, place = i / 4 % step;
        Value number = kb.add(kb.mul(pair, 2), i % 2);
        Value column = kb.add(kb.mul(number, step), load * 8 * step + place);
        body(i, query, kb.add(quarter, column));
      }
    });
  }
}
