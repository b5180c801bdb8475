//===- SampleSelect.cpp - Tokens that top-k and top-p keep ----------------===//
//
// Sums over buckets tell the bucket of a filter's boundary. The tokens of that
// bucket are not sorted. An element is an integer in the order of filters. The
// range that contains the boundary is divided into 128 bins, by the leading
// bits in which the ends of the range differ. The sums of the bins tell the
// next range, until one element is left (radix selection). If the elements of a
// bucket fit into shared memory, they are put there. Otherwise the row is read
// again in each turn, until the elements of the bin fit.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/GPU/sampling/SampleRow.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

static constexpr int64_t kBinBits = 7, kBins = int64_t(1) << kBinBits;
static_assert(kBins >= SampleMath::kBuckets);
/// Maximum number of listed elements.
static constexpr int64_t kRoom = 2048;

namespace {
/// First of a sequence of sums at which the running total reaches a goal.
struct Run {
  /// -1 if the total does not reach the goal.
  Value index;
  /// Rest of the goal, and the weights before that sum.
  Value goal, weightBefore;
  /// Number of elements of that sum (i64).
  Value count;
};

/// Place of the elements of a bucket: a list of `count` in shared memory, or
/// the row.
struct Elements {
  Value bucket, isListed, count;
};

/// Last element of a run, and the total weight up to it.
struct Last {
  Value element, weight;
};

class Selection {
public:
  Selection(GpuBuilder &kb, SampleRow &row, const SampleBuckets &buckets);

  Value pick();

private:
  Run findRun(Value weights, Value counts, Value limit, Value goal,
              Value byWeight);
  Value sumBelow(Value value, Value total);
  Values forElements(const Elements &from, Value low, Value high,
                     ValueRange inits,
                     llvm::function_ref<Values(Value, ValueRange)> body);
  Elements list(Value bucket, Value count, Value low, Value high);
  Values rangeOf(const Elements &from, Value low, Value high);
  Last findLast(const Elements &from, Value goal, Value byWeight);
  Values narrow(const Elements &from, ValueRange state, Value byWeight);
  Values cut(ValueRange state, Value goal, Value byWeight);
  Value weightGoal(Value weight);
  Value weightOf(Value element);
  Value shuffleWide(Value value, Value lane);

  GpuBuilder &kb;
  SampleRow &row;
  SampleMath &math;
  const SampleBuckets &buckets;
  /// In shared memory.
  Value binWeights, binCounts, totals, found, elements, listed;
};
} // namespace

Selection::Selection(GpuBuilder &kb, SampleRow &row,
                     const SampleBuckets &buckets)
    : kb(kb), row(row), math(row.math()), buckets(buckets),
      binWeights(kb.shared(kBins * 8)), binCounts(kb.shared(kBins * 4)),
      totals(kb.shared(kBins / kWarp * 16)), found(kb.shared(int64_t(4) * 8)),
      elements(kb.shared(kRoom * 8)), listed(kb.shared(4)) {}

//===----------------------------------------------------------------------===//
// Runs of sums
//===----------------------------------------------------------------------===//

Value Selection::shuffleWide(Value value, Value lane) {
  return math.join(kb.shuffleFrom(math.high(value), lane),
                   kb.shuffleFrom(math.low(value), lane));
}

/// Returns the sum of the values (i64) of all lower threads of the warp. Each
/// of the first kBins threads has a value. Each warp stores its sum at `total`.
Value Selection::sumBelow(Value value, Value total) {
  Value lane = math.low(kb.laneOfWarp()), sum = value;
  for (int64_t distance = 1; distance < kWarp; distance *= 2) {
    Value from = kb.sub(lane, math.i32(distance));
    Value isThere = kb.cmp(Cmp::GE, from, math.i32(0));
    Value other = shuffleWide(sum, kb.select(isThere, from, lane));
    sum = kb.add(sum, kb.select(isThere, other, kb.integer(0)));
  }
  Value isLast = kb.bitAnd(kb.cmp(Cmp::EQ, kb.laneOfWarp(), kWarp - 1),
                           kb.firstLanes(kBins));
  kb.storeOwn(sum, kb.at(total, kb.warp(), 16), isLast);
  return kb.sub(sum, value);
}

/// Finds the run over the first `limit` sums, to which threads have added.
Run Selection::findRun(Value weights, Value counts, Value limit, Value goal,
                       Value byWeight) {
  kb.sync();
  Value isThere = kb.cmp(Cmp::LT, kb.thread(), limit);
  Value weight =
      kb.loadOwn(kb.i64Type(), kb.at(weights, kb.thread(), 8), isThere);
  Value count = kb.extendUnsigned(
      kb.loadOwn(kb.i32Type(), kb.at(counts, kb.thread(), 4), isThere),
      kb.i64Type());
  Value weightsBelow = sumBelow(weight, totals);
  Value countsBelow = sumBelow(count, kb.at(totals, 8));
  kb.storeOne(kb.integer(-1), found);
  kb.sync();
  for (int64_t warp = 0; warp + 1 < kBins / kWarp; ++warp) {
    Value isHigher = kb.cmp(Cmp::GT, kb.warp(), warp);
    auto add = [&](Value sum, int64_t offset) {
      Value total = kb.loadOwn(kb.i64Type(), kb.at(totals, warp * 16 + offset));
      return kb.add(sum, kb.select(isHigher, total, kb.integer(0)));
    };
    weightsBelow = add(weightsBelow, 0);
    countsBelow = add(countsBelow, 8);
  }
  Value below = kb.select(byWeight, weightsBelow, countsBelow);
  Value reached = kb.add(below, kb.select(byWeight, weight, count));
  Value isIt = kb.bitAnd(
      isThere, kb.bitAnd(math.less(below, goal), math.atMost(goal, reached)));
  // One thread matches, unless wrong buckets make sums that overflow 64 bits.
  kb.ifThen(isIt, [&] {
    LLVM::AtomicRMWOp::create(kb.mlirBuilder(), kb.location(),
                              LLVM::AtomicBinOp::umin, found, kb.thread(),
                              LLVM::AtomicOrdering::monotonic);
  });
  kb.sync();
  Value index = kb.loadOwn(kb.i64Type(), found);
  kb.ifThen(kb.cmp(Cmp::EQ, index, kb.thread()), [&] {
    kb.storeOwn(kb.sub(goal, below), kb.at(found, 8));
    kb.storeOwn(weightsBelow, kb.at(found, 16));
    kb.storeOwn(count, kb.at(found, 24));
  });
  kb.sync();
  Run run;
  run.index = index;
  Value isFound = kb.cmp(Cmp::GE, run.index, 0);
  run.goal = kb.loadOwn(kb.i64Type(), kb.at(found, 8), isFound);
  run.weightBefore = kb.loadOwn(kb.i64Type(), kb.at(found, 16), isFound);
  run.count = kb.loadOwn(kb.i64Type(), kb.at(found, 24), isFound);
  return run;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Selection::weightOf(Value element) {
  return math.weightOf(
      math.distanceOf(row.law(), math.logitOfElement(element)));
}

/// Runs `body` for the thread's elements within [low, high].
Values
Selection::forElements(const Elements &from, Value low, Value high,
                       ValueRange inits,
                       llvm::function_ref<Values(Value, ValueRange)> body) {
  Value count = kb.select(from.isListed, from.count, kb.integer(row.vocab()));
  return kb.forRange(
      kb.thread(), count, kb.threads(), inits, [&](Value i, ValueRange in) {
        Values element = kb.choose(
            from.isListed,
            [&] {
              return Values{kb.loadOwn(kb.i64Type(), kb.at(elements, i, 8)),
                            kb.boolean(true)};
            },
            [&] {
              Value logit = row.loadLogit(i);
              Value bucket = math.bucketOf(math.distanceOf(row.law(), logit));
              return Values{math.packElement(logit, row.loadToken(i)),
                            kb.cmp(Cmp::EQ, bucket, from.bucket)};
            });
        Value isIn =
            kb.bitAnd(element[1], kb.bitAnd(math.atMost(low, element[0]),
                                            math.atMost(element[0], high)));
        return kb.choose(
            isIn, [&] { return body(element[0], in); },
            [&] { return Values(in.begin(), in.end()); });
      });
}

/// Lists the `count` elements of a bucket within [low, high], if they fit.
Elements Selection::list(Value bucket, Value count, Value low, Value high) {
  Value hasRoom = kb.cmp(Cmp::LE, count, kRoom);
  Elements inRow{bucket, kb.boolean(false), kb.integer(0)};
  Values length = kb.choose(
      hasRoom,
      [&] {
        kb.storeOne(math.i32(0), listed);
        kb.sync();
        forElements(inRow, low, high, {}, [&](Value element, ValueRange) {
          Value place = kb.extendUnsigned(addShared(kb, listed, math.i32(1)),
                                          kb.i64Type());
          kb.storeOwn(element, kb.at(elements, place, 8),
                      kb.cmp(Cmp::LT, place, kRoom));
          return Values();
        });
        kb.sync();
        Value length =
            kb.extendUnsigned(kb.loadOwn(kb.i32Type(), listed), kb.i64Type());
        return Values{kb.min(length, kb.integer(kRoom))};
      },
      [&] { return Values{kb.integer(0)}; });
  return {bucket, hasRoom, length[0]};
}

/// Returns the least and the largest element within [low, high]. If there is
/// none, the first is larger than the second.
Values Selection::rangeOf(const Elements &from, Value low, Value high) {
  Values ends = forElements(from, low, high, {kb.integer(-1), kb.integer(0)},
                            [&](Value element, ValueRange in) {
                              return Values{math.smaller(element, in[0]),
                                            math.larger(element, in[1])};
                            });
  return {math.smallestOf(ends[0]), math.largestOf(ends[1])};
}

//===----------------------------------------------------------------------===//
// The boundary
//===----------------------------------------------------------------------===//

/// Runs one turn. The state is: the ends of the range, the goal within it, the
/// weight before it, whether elements are listed, and their number.
Values Selection::narrow(const Elements &from, ValueRange state,
                         Value byWeight) {
  Value low = state[0], high = state[1];
  Value zeros = LLVM::CountLeadingZerosOp::create(
      kb.mlirBuilder(), kb.location(), kb.i64Type(), math.bitXor(low, high),
      /*is_zero_poison=*/false);
  Value shift = kb.max(kb.sub(kb.integer(64 - kBinBits), zeros), kb.integer(0));
  Value first = kb.shiftRight(low, shift);
  Value isBin = kb.firstLanes(kBins);
  kb.storeOwn(kb.integer(0), kb.at(binWeights, kb.thread(), 8), isBin);
  kb.storeOwn(math.i32(0), kb.at(binCounts, kb.thread(), 4), isBin);
  kb.sync();
  forElements(from, low, high, {}, [&](Value element, ValueRange) {
    Value bin = kb.sub(kb.shiftRight(element, shift), first);
    addShared(kb, kb.at(binWeights, bin, 8), weightOf(element));
    addShared(kb, kb.at(binCounts, bin, 4), math.i32(1));
    return Values();
  });
  Run run =
      findRun(binWeights, binCounts, kb.integer(kBins), state[2], byWeight);
  // The goal is reached unless the buckets are wrong for this row.
  Value bin = kb.add(first, kb.max(run.index, kb.integer(0)));
  Value begin = kb.shiftLeft(bin, shift);
  Value end = kb.sub(kb.shiftLeft(kb.add(bin, 1), shift), 1);
  Value newLow = math.larger(low, begin), newHigh = math.smaller(high, end);
  Values now = kb.choose(
      from.isListed, [&] { return Values{from.isListed, from.count}; },
      [&] {
        Elements some = list(from.bucket, run.count, newLow, newHigh);
        return Values{some.isListed, some.count};
      });
  Values ends = rangeOf({from.bucket, now[0], now[1]}, newLow, newHigh);
  return {ends[0], ends[1], run.goal, kb.add(state[3], run.weightBefore),
          now[0],  now[1]};
}

Last Selection::findLast(const Elements &from, Value goal, Value byWeight) {
  Values ends = rangeOf(from, kb.integer(0), kb.integer(-1));
  Values state = kb.whileLoop(
      {ends[0], ends[1], goal, kb.integer(0), from.isListed, from.count},
      [&](ValueRange state) { return math.less(state[0], state[1]); },
      [&](ValueRange state) {
        return narrow({from.bucket, state[4], state[5]}, state, byWeight);
      });
  return {state[0], kb.add(state[3], weightOf(state[0]))};
}

/// Keeps the shortest run of elements that reaches `goal`, or all elements. The
/// state is: the bucket that is kept in part, its last element, the weight of
/// the kept elements, whether the bucket's elements are listed, and their
/// number.
Values Selection::cut(ValueRange state, Value goal, Value byWeight) {
  Value limit = kb.min(kb.add(state[0], 1), kb.integer(SampleMath::kFarBucket));
  Run run = findRun(buckets.weights, buckets.counts, limit, goal, byWeight);
  return kb.choose(
      kb.cmp(Cmp::GE, run.index, 0),
      [&] {
        Elements all =
            list(run.index, run.count, kb.integer(0), kb.integer(-1));
        Last last = findLast(all, run.goal, byWeight);
        return Values{run.index, last.element,
                      kb.add(run.weightBefore, last.weight), all.isListed,
                      all.count};
      },
      [&] { return Values(state.begin(), state.end()); });
}

/// Returns top-p's share of a weight, rounded up. The share is in units of
/// 2^-32, rounded down.
Value Selection::weightGoal(Value weight) {
  Value share = kb.max(kb.min(row.topP, kb.f32(1)), kb.f32(0));
  Value units = math.toInteger(kb.mul(share, kb.f32(0x1p32)), kb.i64Type());
  Value mask = kb.integer(0xffffffff), half = kb.integer(32);
  Value upper = kb.mul(kb.shiftRight(weight, half), units);
  Value lower = kb.add(kb.mul(kb.bitAnd(weight, mask), units), mask);
  Value goal = kb.add(upper, kb.shiftRight(lower, half));
  return math.larger(goal, kb.integer(1));
}

Value Selection::pick() {
  // Weight of all tokens. Tokens in the far bucket have none.
  Value isBucket = kb.firstLanes(SampleMath::kFarBucket);
  Value weight = kb.loadOwn(kb.i64Type(),
                            kb.at(buckets.weights, kb.thread(), 8), isBucket);
  Values total = kb.reduceLanes(
      {math.high(weight), math.low(weight)}, [&](ValueRange a, ValueRange b) {
        Value sum = kb.add(math.join(a[0], a[1]), math.join(b[0], b[1]));
        return Values{math.high(sum), math.low(sum)};
      });
  Values state = {kb.integer(SampleMath::kFarBucket), kb.integer(0),
                  math.join(total[0], total[1]), kb.boolean(true),
                  kb.integer(0)};
  // Top-k, then top-p: one loop, so that there is one copy of the code.
  state = kb.forRange(
      kb.integer(0), kb.integer(2), 1, state, [&](Value step, ValueRange in) {
        Value byWeight = kb.cmp(Cmp::EQ, step, 1);
        Value isOn = kb.select(byWeight, row.usesTopP, row.usesTopK);
        return kb.choose(
            isOn,
            [&] {
              Value count = kb.extendUnsigned(row.topK, kb.i64Type());
              Value goal = kb.select(byWeight, weightGoal(in[2]), count);
              return cut(in, goal, byWeight);
            },
            [&] { return Values(in.begin(), in.end()); });
      });
  Value isBefore = kb.cmp(Cmp::LT, kb.thread(), state[0]);
  Value mine = math.larger(
      row.law().bestPick,
      kb.loadOwn(kb.i64Type(), kb.at(buckets.picks, kb.thread(), 8), isBefore));
  Elements partly{state[0], state[3], state[4]};
  mine = forElements(
      partly, kb.integer(0), state[1], {mine},
      [&](Value element, ValueRange in) {
        Value token = math.tokenOfElement(element);
        Value distance =
            math.distanceOf(row.law(), math.logitOfElement(element));
        auto words =
            math.drawWords(row.law(), kb.shiftRight(token, math.i32(2)));
        Value pick =
            math.pickOf(row.law(), math.wordOf(words, token), token, distance);
        return Values{math.larger(in[0], pick)};
      })[0];
  return math.largestOf(mine);
}

Value codegen::pickOfBuckets(GpuBuilder &kb, SampleRow &row,
                             const SampleBuckets &buckets) {
  return Selection(kb, row, buckets).pick();
}
