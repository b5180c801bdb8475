//===- Distribution.cpp - Distributions of rows ---------------------------===//
//
// Weights are the weights of sampling (TokenWeight.h), and sums are of
// integers. Every target therefore keeps the same columns and computes equal
// bits. A filter orders columns by descending logit, ties by ascending column.
// It keeps the shortest run of first columns whose sizes reach a goal. The end
// of the run is found by a search over the order of logits that settles two
// bits in each pass over the row. If lanes can be packed, the candidates for
// the end are first narrowed to few logits, by several distances at once. These
// logits are packed into the result's row, so that passes over them cost
// little.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Argmax.h"
#include "compiler/Codegen/Rows/TokenWeight.h"
#include "runtime/schema/SamplingLayout.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;

// Words of a slot (runtime/schema/FORMAT.md).
static constexpr int64_t kTemperature = 2, kTopK = 3, kTopP = 4, kMinP = 5;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// End of a run in the filters' order. The run has the columns whose logits
/// have a larger order, and the columns of equal order before `column`.
/// Uniform, i32.
struct Cut {
  Value order, column;
};

/// A chunk of columns.
struct Chunk {
  /// In f32 and i32 lanes.
  Value logit, distance, order, column;
  /// Mask of lanes that exist and are nearer than kFarDistance.
  Value isNear;
};

/// Logits among which a run ends: all columns of the row that a cut keeps, or
/// some of them.
struct Candidates {
  /// Address and number (i64) of the packed logits; null for the row.
  Value packed, count;
  /// Sum of the sizes (i64, uniform) of kept columns before the candidates.
  Value before;
};

class Distribution {
public:
  Distribution(KernelBuilder &kb, int64_t width, Value x, Value y, Value words)
      : kb(kb), width(width), x(x), y(y), words(words) {}

  void emit();

private:
  void emitSoftmax(Value best);
  void emitBestAlone(Value isThere);
  Value word(int64_t index, mlir::Type type) {
    return kb.loadOne(type, kb.at(words, index * 4));
  }

  Value storeWeights(const Cut *cut, Value least);
  Cut filter(Value topK, Value topP);
  using GoalFn = llvm::function_ref<Value(Value total)>;
  Cut keepRun(const Cut &cut, GoalFn goalOf, bool byWeight);
  Candidates narrow(const Cut &cut, GoalFn goalOf, bool byWeight, Value &goal);
  Candidates narrowOnce(const Cut &cut, const Candidates &from,
                        ValueRange distances, GoalFn goalOf, bool byWeight,
                        Values &between, Value &goal);
  Value pack(const Cut &cut, const Candidates &from, Value least, Value end);
  Value orderAt(const Cut &cut, const Candidates &among, Value goal,
                bool byWeight);
  Value columnAt(const Cut &cut, Value order, Value ties);
  Values sumSizes(const Cut &cut, const Candidates &among,
                  ValueRange leastOrders, bool byWeight);
  Value countTies(const Cut &cut, const Candidates &among, Value order,
                  Value end);

  Chunk loadChunk(Value from, Value first, Value mask);
  Values forCandidates(
      const Cut &cut, const Candidates &among, ValueRange inits,
      llvm::function_ref<Values(const Chunk &, Value, Value, ValueRange)> body);
  Value isKept(const Chunk &chunk, const Cut &cut);
  Value wideLanes(double value) {
    return kb.constant(kb.laneType(kb.i64Type()), value);
  }
  Value in32(Value uniform) { return kb.truncate(uniform, kb.i32Type()); }
  Value splatNarrow(Value uniform) { return kb.splat(in32(uniform)); }

  KernelBuilder &kb;
  const int64_t width;
  const Value x, y, words;
  /// f32, uniform and in lanes.
  Value best, inverse, bestLogit, perTemperature;
};
} // namespace

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

Chunk Distribution::loadChunk(Value from, Value first, Value mask) {
  Value logit = kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask);
  Chunk chunk;
  chunk.logit = logit;
  chunk.distance = emitDistance(kb, bestLogit, perTemperature, logit);
  chunk.order = emitOrder(kb, logit);
  chunk.column = kb.add(kb.laneNumbers(), splatNarrow(first));
  chunk.isNear =
      kb.cmp(Cmp::LT, chunk.distance, kb.constant(kb.f32Lanes(), kFarDistance));
  if (mask)
    chunk.isNear = kb.bitAnd(chunk.isNear, mask);
  return chunk;
}

Value Distribution::isKept(const Chunk &chunk, const Cut &cut) {
  Value order = kb.splat(cut.order);
  Value isTie = kb.bitAnd(kb.cmp(Cmp::EQ, chunk.order, order),
                          kb.cmp(Cmp::LT, chunk.column, kb.splat(cut.column)));
  return kb.bitAnd(chunk.isNear,
                   kb.bitOr(kb.cmp(Cmp::GT, chunk.order, order), isTie));
}

/// Walks the chunks of candidates. `body` gets a chunk, the mask of its lanes
/// that are candidates, its first place among them, and the carried values.
Values Distribution::forCandidates(
    const Cut &cut, const Candidates &among, ValueRange inits,
    llvm::function_ref<Values(const Chunk &, Value, Value, ValueRange)> body) {
  if (!among.packed)
    return kb.forChunks(width, inits,
                        [&](Value first, Value mask, ValueRange in) {
                          Chunk chunk = loadChunk(x, first, mask);
                          return body(chunk, isKept(chunk, cut), first, in);
                        });
  Value end = splatNarrow(among.count);
  return kb.forRange(
      kb.integer(0), among.count, kb.lanes(), inits,
      [&](Value first, ValueRange in) {
        Value place = kb.add(kb.laneNumbers(), splatNarrow(first));
        Value mask = kb.cmp(Cmp::LT, place, end);
        return body(loadChunk(among.packed, first, mask), mask, first, in);
      });
}

/// Returns, for each of several orders (i32, uniform), the sum of the sizes
/// (i64, uniform) of the candidates with at least that order. A size is a
/// weight if `byWeight`, else 1.
Values Distribution::sumSizes(const Cut &cut, const Candidates &among,
                              ValueRange leastOrders, bool byWeight) {
  Values least, sums;
  for (Value order : leastOrders) {
    least.push_back(kb.splat(order));
    sums.push_back(wideLanes(0));
  }
  sums = forCandidates(
      cut, among, sums,
      [&](const Chunk &chunk, Value kept, Value, ValueRange in) {
        Value size = byWeight ? emitUnits(kb, emitWeight(kb, chunk.distance))
                              : wideLanes(1);
        Values out;
        for (auto [order, sum] : llvm::zip(least, in)) {
          Value counts = kb.bitAnd(kept, kb.cmp(Cmp::GE, chunk.order, order));
          out.push_back(kb.add(sum, kb.select(counts, size, wideLanes(0))));
        }
        return out;
      });
  for (Value &sum : sums)
    sum = emitSumOfUnits(kb, sum);
  return sums;
}

/// Returns the number of candidates with this order. In a row that is not
/// packed, counts only columns before `end` (null: all).
Value Distribution::countTies(const Cut &cut, const Candidates &among,
                              Value order, Value end) {
  Value equal = kb.splat(order), last = end ? splatNarrow(end) : Value();
  Values sums = forCandidates(
      cut, among, {wideLanes(0)},
      [&](const Chunk &chunk, Value kept, Value, ValueRange in) {
        Value counts = kb.bitAnd(kept, kb.cmp(Cmp::EQ, chunk.order, equal));
        if (last)
          counts = kb.bitAnd(counts, kb.cmp(Cmp::LT, chunk.column, last));
        return Values{
            kb.add(in[0], kb.select(counts, wideLanes(1), wideLanes(0)))};
      });
  return emitSumOfUnits(kb, sums[0]);
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

/// Bounds of logit orders. No logit is below the first one. No logit reaches
/// the second one, which is the order of a NaN.
static constexpr double kLeastOrder = std::numeric_limits<int32_t>::min();
static constexpr double kMostOrder = std::numeric_limits<int32_t>::max();

/// Packs the candidates whose order (i32) is at least `least` and less than
/// `end`. Returns their number.
Value Distribution::pack(const Cut &cut, const Candidates &from, Value least,
                         Value end) {
  Value low = kb.splat(least), high = kb.splat(end);
  return forCandidates(
      cut, from, {kb.integer(0)},
      [&](const Chunk &chunk, Value kept, Value, ValueRange in) {
        Value lies = kb.bitAnd(kb.cmp(Cmp::GE, chunk.order, low),
                               kb.cmp(Cmp::LT, chunk.order, high));
        Value count = kb.packLanes(chunk.logit, kb.at(y, in[0], 4),
                                   kb.bitAnd(kept, lies));
        return Values{kb.add(in[0], count)};
      })[0];
}

/// Narrows the candidates for the end of a run. `between` are two distances
/// (f32, uniform, the farther one first), and `distances` divide their range,
/// in descending order. Packs the candidates of the part in which the sizes so
/// far reach `goal`, and sets `between` to that part. If `goal` is null, it is
/// computed from the sum of all sizes.
Candidates Distribution::narrowOnce(const Cut &cut, const Candidates &from,
                                    ValueRange distances, GoalFn goalOf,
                                    bool byWeight, Values &between,
                                    Value &goal) {
  Values orders{kb.constant(kb.i32Type(), kLeastOrder)};
  Values ends{between[0]};
  for (Value distance : distances) {
    Value away = kb.div(distance, inverse);
    orders.push_back(emitOrder(kb, kb.sub(best, away)));
    ends.push_back(distance);
  }
  Values sums = sumSizes(cut, from, orders, byWeight);
  if (!goal)
    goal = goalOf(sums[0]);
  // The last order that reaches the goal, and the next one.
  orders.push_back(kb.constant(kb.i32Type(), kMostOrder));
  ends.push_back(between[1]);
  sums.push_back(kb.integer(0));
  Values low{orders[0], ends[0]}, high{orders[1], ends[1], sums[1]};
  for (size_t i = 1; i + 1 < orders.size(); ++i) {
    Value isReached = kb.cmp(Cmp::GE, kb.add(from.before, sums[i]), goal);
    auto take = [&](Value &to, Value other) {
      to = kb.select(isReached, other, to);
    };
    take(low[0], orders[i]);
    take(low[1], ends[i]);
    take(high[0], orders[i + 1]);
    take(high[1], ends[i + 1]);
    take(high[2], sums[i + 1]);
  }
  between = {low[1], high[1]};
  return {y, pack(cut, from, low[0], high[0]), kb.add(from.before, high[2])};
}

/// Returns the candidates for the end of a run whose sizes reach `goal`.
Candidates Distribution::narrow(const Cut &cut, GoalFn goalOf, bool byWeight,
                                Value &goal) {
  constexpr int64_t kParts = 8, kFew = 128, kTurns = 5;
  Candidates among{Value(), Value(), kb.integer(0)};
  if (!kb.packsLanes()) {
    Value all = kb.constant(kb.i32Type(), kLeastOrder);
    goal =
        goalOf(byWeight ? sumSizes(cut, among, {all}, byWeight)[0] : Value());
    return among;
  }
  Values between{kb.f32(kFarDistance), kb.f32(0)}, distances;
  for (double distance : {16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25})
    distances.push_back(kb.f32(distance));
  among = narrowOnce(cut, among, distances, goalOf, byWeight, between, goal);
  // Ties cannot be separated, so the number of turns is limited.
  Values left = kb.whileLoop(
      {among.count, among.before, between[0], between[1], kb.integer(0)},
      [&](ValueRange in) {
        return kb.bitAnd(kb.cmp(Cmp::GT, in[0], kFew),
                         kb.cmp(Cmp::LT, in[4], kTurns));
      },
      [&](ValueRange in) {
        Values ends{in[2], in[3]};
        Value part = kb.mul(kb.sub(ends[0], ends[1]), kb.f32(1.0 / kParts));
        for (int64_t i = 1; i < kParts; ++i)
          distances[i - 1] = kb.sub(ends[0], kb.mul(part, kb.f32(double(i))));
        Candidates next = narrowOnce(cut, {y, in[0], in[1]}, distances, goalOf,
                                     byWeight, ends, goal);
        return Values{next.count, next.before, ends[0], ends[1],
                      kb.add(in[4], 1)};
      });
  return {y, left[0], left[1]};
}

/// Returns the largest order (i32) at which the sizes of the candidates of at
/// least that order, added to the sizes before the candidates, reach `goal`.
/// Returns the least order if none reaches it.
Value Distribution::orderAt(const Cut &cut, const Candidates &among, Value goal,
                            bool byWeight) {
  constexpr int64_t kHalf = int64_t(1) << 31;
  Value left = kb.sub(goal, among.before);
  Value found = kb.forRange(
      kb.integer(0), kb.integer(16), 1, {kb.integer(-kHalf)},
      [&](Value step, ValueRange in) {
        Value shift = kb.sub(kb.integer(30), kb.mul(step, 2));
        Values orders;
        for (int64_t digit = 1; digit < 4; ++digit)
          orders.push_back(
              in32(kb.add(in[0], kb.shiftLeft(kb.integer(digit), shift))));
        Value reached = kb.integer(0);
        for (Value sum : sumSizes(cut, among, orders, byWeight))
          reached =
              kb.add(reached, kb.extendUnsigned(kb.cmp(Cmp::GE, sum, left),
                                                kb.i64Type()));
        return Values{kb.add(in[0], kb.shiftLeft(reached, shift))};
      })[0];
  return in32(found);
}

/// Returns the smallest column (i64) with `ties` ties before it. Precondition:
/// 1 <= `ties`, and the row has more ties.
Value Distribution::columnAt(const Cut &cut, Value order, Value ties) {
  int64_t steps = llvm::Log2_64_Ceil(width + 1);
  Candidates row;
  Value last = kb.forRange(
      kb.integer(0), kb.integer(steps), 1, {kb.integer(0)},
      [&](Value step, ValueRange in) {
        Value half = kb.shiftRight(kb.integer((int64_t(1) << steps) / 2), step);
        Value end = kb.add(in[0], half);
        Value isFew = kb.cmp(Cmp::LT, countTies(cut, row, order, end), ties);
        return Values{kb.select(isFew, end, in[0])};
      })[0];
  return kb.add(last, 1);
}

/// Keeps the shortest run of the kept columns whose sizes reach a goal, or all
/// of them.
Cut Distribution::keepRun(const Cut &cut, GoalFn goalOf, bool byWeight) {
  Value goal;
  Candidates among = narrow(cut, goalOf, byWeight, goal);
  Value order = orderAt(cut, among, goal, byWeight);
  // No column has the largest order, which is the order of a NaN.
  Value next = kb.add(order, kb.constant(kb.i32Type(), 1));
  Values sums = sumSizes(cut, among, {order, next}, byWeight);
  Value count = countTies(cut, among, order, /*end=*/Value());
  // Ties have equal weights.
  Value one = kb.integer(1);
  Value each =
      kb.max(kb.div(kb.sub(sums[0], sums[1]), kb.max(count, one)), one);
  Value left = kb.sub(goal, kb.add(among.before, sums[1]));
  Value ties = kb.div(kb.add(left, kb.sub(each, 1)), each);
  // If all ties stay, the old cut through these ties still applies.
  Value column = kb.choose(
      kb.cmp(Cmp::LT, ties, count),
      [&] { return Values{in32(columnAt(cut, order, ties))}; },
      [&] {
        Value isOld = kb.cmp(Cmp::LE, order, cut.order);
        return Values{
            kb.select(isOld, cut.column, kb.constant(kb.i32Type(), width))};
      })[0];
  return {kb.max(order, cut.order), column};
}

/// Applies top-k, then top-p to the columns that top-k keeps.
Cut Distribution::filter(Value topK, Value topP) {
  Value all = kb.constant(kb.i32Type(), kLeastOrder);
  Cut cut{all, kb.constant(kb.i32Type(), width)};
  auto keepIf = [&](Value isOn, GoalFn goalOf, bool byWeight) {
    Values kept = kb.choose(
        isOn,
        [&] {
          Cut shorter = keepRun(cut, goalOf, byWeight);
          return Values{shorter.order, shorter.column};
        },
        [&] { return Values{cut.order, cut.column}; });
    cut = {kept[0], kept[1]};
  };
  keepIf(
      kb.cmp(Cmp::GT, topK, 0), [&](Value) { return topK; },
      /*byWeight=*/false);
  keepIf(
      kb.cmp(Cmp::LT, topP, kb.f32(1)),
      [&](Value total) { return emitShareOfUnits(kb, topP, total); },
      /*byWeight=*/true);
  return cut;
}

//===----------------------------------------------------------------------===//
// A row
//===----------------------------------------------------------------------===//

/// Stores the weights of the columns that `cut` and `least` (i64 lanes) keep,
/// or of all near columns if there is no cut. Returns their sum in units (i64,
/// uniform).
Value Distribution::storeWeights(const Cut *cut, Value least) {
  Value none = kb.constant(kb.f32Lanes(), 0);
  Value sum = kb.forChunks(
      width, {wideLanes(0)}, [&](Value first, Value mask, ValueRange in) {
        Chunk chunk = loadChunk(x, first, mask);
        TokenWeight weight = emitWeight(kb, chunk.distance);
        Value units = emitUnits(kb, weight), kept = chunk.isNear;
        if (cut)
          kept = kb.bitAnd(isKept(chunk, *cut), kb.cmp(Cmp::GE, units, least));
        // 2^-n is far above the smallest normal number.
        Value exponent = kb.sub(kb.constant(kb.i32Lanes(), 127), weight.n);
        Value scale =
            kb.bitcast(kb.shiftLeft(exponent, kb.constant(kb.i32Lanes(), 23)),
                       kb.f32Lanes());
        Value share = kb.select(kept, kb.mul(weight.power, scale), none);
        kb.storeLanes(share, kb.at(y, first, 4), mask);
        return Values{kb.add(in[0], kb.select(kept, units, wideLanes(0)))};
      })[0];
  return emitSumOfUnits(kb, sum);
}

/// Returns the largest element; -infinity if all elements are NaN.
static Value emitLargest(KernelBuilder &kb, Value x, int64_t width) {
  // Several chains of comparisons hide the latency of one chain.
  constexpr int64_t chains = 4;
  int64_t step = chains * kb.lanes(), whole = width / step * step;
  auto larger = [&](Value first, Value most, Value mask) {
    Value v = kb.loadLanes(kb.f32Type(), kb.at(x, first, 4), mask);
    Value more = kb.max(v, most);
    return mask ? kb.select(mask, more, most) : more;
  };
  Values most(chains, kb.constant(kb.f32Lanes(), -kInfinity));
  most = kb.forRange(
      kb.integer(0), kb.integer(whole), step, most,
      [&](Value first, ValueRange in) {
        Values out;
        for (int64_t i = 0; i < chains; ++i)
          out.push_back(larger(kb.add(first, i * kb.lanes()), in[i], Value()));
        return out;
      });
  for (int64_t i = 1; i < chains; ++i)
    most[0] = kb.max(most[i], most[0]);
  Values lanes = kb.forChunks(
      width - whole, {most[0]}, [&](Value offset, Value mask, ValueRange in) {
        return Values{larger(kb.add(offset, whole), in[0], mask)};
      });
  return kb.reduceLanes(lanes, [&](ValueRange a, ValueRange b) {
    return Values{kb.max(a[0], b[0])};
  })[0];
}

void Distribution::emitSoftmax(Value largest) {
  best = largest;
  bestLogit = kb.splat(best);
  Value most = kb.f32(std::numeric_limits<float>::max());
  inverse = kb.min(kb.div(kb.f32(1), word(kTemperature, kb.f32Type())), most);
  perTemperature = kb.splat(inverse);
  Value topK = kb.extend(word(kTopK, kb.i32Type()), kb.i64Type());
  Value topP = word(kTopP, kb.f32Type()), minP = word(kMinP, kb.f32Type());
  Value isFiltered = kb.bitOr(
      kb.cmp(Cmp::GT, minP, kb.f32(0)),
      kb.bitOr(kb.cmp(Cmp::GT, topK, 0), kb.cmp(Cmp::LT, topP, kb.f32(1))));
  Value sum = kb.choose(
      isFiltered,
      [&] {
        Cut cut = filter(topK, topP);
        Value least = kb.splat(emitLeastUnits(kb, minP));
        return Values{storeWeights(&cut, least)};
      },
      [&] { return Values{storeWeights(nullptr, Value())}; })[0];
  Value total = kb.mul(kb.toFloat(sum), kb.f32(0x1p-40));
  Value share = kb.splat(kb.div(kb.f32(1), total));
  kb.mapChunks(
      width,
      [&](Value first, Value mask) {
        return Values{kb.loadLanes(kb.f32Type(), kb.at(y, first, 4), mask)};
      },
      [&](Value first, Value mask, ValueRange loaded) {
        kb.storeLanes(kb.mul(loaded[0], share), kb.at(y, first, 4), mask);
      });
}

void Distribution::emitBestAlone(Value isThere) {
  kb.forChunks(width, [&](Value first, Value mask) {
    kb.storeLanes(kb.constant(kb.f32Lanes(), 0), kb.at(y, first, 4), mask);
  });
  Value column = emitArgmax(kb, x, width);
  kb.sync();
  kb.ifThen(isThere, [&] { kb.storeOne(kb.f32(1), kb.at(y, column, 4)); });
}

void Distribution::emit() {
  Value best = emitLargest(kb, x, width);
  Value isThere = kb.cmp(Cmp::GT, best, kb.f32(-kInfinity));
  Value isDrawn =
      kb.bitAnd(kb.cmp(Cmp::LT, best, kb.f32(kInfinity)),
                kb.cmp(Cmp::GT, word(kTemperature, kb.f32Type()), kb.f32(0)));
  kb.ifElse(
      kb.bitAnd(isThere, isDrawn), [&] { emitSoftmax(best); },
      [&] { emitBestAlone(isThere); });
}

/// Emits probabilities. Buffers: x, slots, sampling, y. Params: M, slots.
static void emitProbabilities(KernelBuilder &kb,
                              exec::ProbabilitiesKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  Value slots = kb.param(1);
  Value each = kb.max(kb.div(kb.param(0), slots), kb.integer(1));
  kb.forTasks([&](Value row) {
    Value place = kb.clampIndex(kb.div(row, each), slots);
    Value slot =
        kb.clampIndex(kb.loadI32(kb.buffer(1), place), kernel.getSlots());
    Distribution(kb, width, kb.at(kb.buffer(0), row, width * 4),
                 kb.at(kb.buffer(3), row, width * 4),
                 kb.at(kb.buffer(2), slot, kSamplingWords * 4))
        .emit();
  });
}

static const RowKernel kinds[] = {rowKernel(emitProbabilities)};

llvm::ArrayRef<RowKernel> mtp::codegen::distributionKernels() { return kinds; }
