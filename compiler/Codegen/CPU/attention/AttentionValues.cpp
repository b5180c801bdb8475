//===- AttentionValues.cpp - Queries and values of a block of attention ---===//

#include "compiler/Codegen/CPU/attention/AttentionBlock.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

void AttentionBlock::begin() {
  if (!layout.dot)
    return;
  int64_t words = llvm::alignTo(layout.dv * layout.bytes, 64) / 4;
  kb.forRange(kb.integer(0), kb.integer(words), lanes(), [&](Value first) {
    kb.store(kb.constant(kb.i32Vector(), 0),
             kb.at(scratchAt(layout.zeros()), first, 4));
  });
}

void AttentionBlock::open(Value state, Value q) {
  if (!layout.dot)
    return;
  for (int64_t head = 0; head < tile(); ++head) {
    Value from = kb.at(q, head * layout.dk * 4);
    Value to =
        kb.at(state, layout.stateQueries() + head * layout.paddedUnits() * 4);
    auto round = [&](Value column, Value mask, Value upperMask) {
      Value source = kb.at(from, column, 4);
      Value lower = kb.load(kb.f32Vector(), source, mask);
      Value upper =
          kb.load(kb.f32Vector(), kb.at(source, lanes() * 4), upperMask);
      Value both =
          kb.concat({kb.truncateToBF16(lower), kb.truncateToBF16(upper)});
      kb.store(both, kb.at(to, column, 2));
    };
    int64_t step = 2 * lanes(), whole = layout.dk / step * step;
    kb.forRange(kb.integer(0), kb.integer(whole), step,
                [&](Value column) { round(column, Value(), Value()); });
    if (int64_t rest = layout.dk - whole) {
      int64_t lower = std::min(rest, lanes());
      round(kb.integer(whole), kb.prefixMask(lower, lanes()),
            kb.prefixMask(rest - lower, lanes()));
    }
  }
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Loads `count` integers, at most a vector of elements of scratch, as these
/// elements. The other elements are 0.
Value AttentionBlock::loadIntegers(Value from, int64_t count) {
  int64_t width = layout.dot ? 2 * lanes() : lanes();
  Value mask = count < width ? kb.prefixMask(count, width) : Value();
  Value loaded = kb.load(kb.vectorType(kb.i8Type(), width), from, mask);
  Value wide =
      kb.toFloat(kb.extend(loaded, kb.vectorType(kb.i32Type(), width)));
  return layout.dot ? kb.truncateToBF16(wide) : wide;
}

/// Stores the integers of a value as elements of scratch, in whole vectors.
void AttentionBlock::widenRow(Value from, Value to) {
  int64_t width = layout.dot ? 2 * lanes() : lanes();
  auto widen = [&](Value first, int64_t count) {
    kb.store(loadIntegers(kb.at(from, first, 1), count),
             kb.at(to, first, layout.bytes));
  };
  int64_t whole = layout.dv / width * width;
  kb.forRange(kb.integer(0), kb.integer(whole), width,
              [&](Value first) { widen(first, width); });
  if (whole < layout.dv)
    widen(kb.integer(whole), layout.dv - whole);
}

/// Brings the scales of all positions of the block into scratch.
void AttentionBlock::prepareScales() {
  int64_t keys = layout.scaleBehindKey(layout.keysAt);
  int64_t values = layout.scaleBehindKey(layout.valuesAt);
  int64_t rest = layout.scaleBehindKey(/*column=*/layout.latentColumns());
  kb.forRange(kb.integer(0), kb.integer(layout.block()), 1, [&](Value i) {
    Value key = kb.load(kb.scratch().getType(),
                        kb.at(scratchAt(layout.pointers()), i, 8));
    auto bring = [&](int64_t behind, int64_t scales) {
      kb.store(kb.load(kb.f32Type(), kb.at(key, behind)),
               kb.at(scratchAt(scales), i, 4));
    };
    bring(keys, layout.keyScales());
    bring(values, layout.valueScales());
    if (layout.latentColumns())
      bring(rest, layout.restScales());
  });
}

void AttentionBlock::prepareValues(Value offset, Value rows) {
  valueOffset = offset;
  if (layout.integers)
    prepareScales();
  if (!layout.copiesValues)
    return;
  auto locate = [&](llvm::function_ref<Value(Value, Value)> place) {
    kb.forRange(kb.integer(0), kb.integer(layout.block()), 1, [&](Value i) {
      Value key = kb.load(kb.scratch().getType(),
                          kb.at(scratchAt(layout.pointers()), i, 8));
      kb.store(place(i, kb.at(key, valueOffset, 1)),
               kb.at(scratchAt(layout.valuePointers()), i, 8));
    });
  };
  auto copy = [&](Value i, Value value) {
    Value to = kb.at(scratchAt(layout.copies()), i, layout.copyBytes());
    if (layout.integers)
      widenRow(value, to);
    else
      kb.copy(value, to, layout.dv * layout.bytes / 4);
    return to;
  };
  if (layout.integers)
    return locate(copy);
  kb.ifElse(
      kb.cmp(Cmp::GT, rows, 1), [&] { locate(copy); },
      [&] { locate([&](Value, Value value) { return value; }); });
}

/// Loads the vectors of `columns` columns (at most a chunk) of one step: one
/// row, or with dot products two rows whose columns become pairs.
Values AttentionBlock::loadValues(ValueRange rows, int64_t columns) {
  if (!layout.dot) {
    if (columns < layout.chunk()) {
      Values tail;
      for (int64_t first = 0; first < columns; first += lanes()) {
        int64_t count = std::min(columns - first, lanes());
        Value mask = count < lanes() ? kb.prefixMask(count, lanes()) : Value();
        tail.push_back(kb.loadFloats(kb.at(rows[0], first * layout.bytes),
                                     layout.dtype, mask));
      }
      return tail;
    }
    if (layout.dtype == DType::F32)
      return {kb.load(kb.f32Vector(), rows[0])};
    Value pairs = kb.load(kb.i32Vector(), rows[0]);
    return {widenLower(pairs), widenUpper(pairs)};
  }
  // At most half a chunk: its columns stay in order.
  int64_t width = columns <= lanes() ? lanes() : 2 * lanes();
  Value mask = columns < width ? kb.prefixMask(columns, width) : Value();
  Type type = kb.vectorType(kb.i16Type(), width);
  Value a = kb.load(type, rows[0], mask), b = kb.load(type, rows[1], mask);
  Values pairs;
  for (int64_t vector = 0; vector < width / lanes(); ++vector) {
    SmallVector<int64_t> lanesOf(2 * lanes());
    for (int64_t column = 0; column < width; ++column) {
      int64_t lane =
          width == lanes() ? column : layout.laneOf(column) - vector * lanes();
      if (lane < 0 || lane >= lanes())
        continue;
      lanesOf[2 * lane] = column;
      lanesOf[2 * lane + 1] = width + column;
    }
    pairs.push_back(
        asBF16(kb.bitcast(kb.shuffle(a, b, lanesOf), kb.i32Vector())));
  }
  return pairs;
}

/// Returns the addresses of the values of one step, at column `first`: one
/// position, or with dot products two. If only one of two positions is seen, a
/// row of zeros replaces the other value. Its weight is 0, but its memory may
/// hold a NaN.
Values AttentionBlock::valueRows(Value step, Value begin, Value end,
                                 Value first) {
  Value zeros = scratchAt(layout.zeros());
  Values rows;
  for (int64_t i = 0; i < layout.positionsPerStep(); ++i) {
    Value position = kb.add(kb.mul(step, layout.positionsPerStep()), i);
    int64_t pointers =
        layout.copiesValues ? layout.valuePointers() : layout.pointers();
    Value at = kb.at(scratchAt(pointers), position, 8);
    Value row = kb.load(kb.scratch().getType(), at);
    if (!layout.copiesValues)
      row = kb.at(row, valueOffset, 1);
    if (layout.dot && i == 1)
      row = kb.select(kb.cmp(Cmp::LT, position, end), row, zeros);
    else if (layout.dot && windowed)
      row = kb.select(kb.cmp(Cmp::GE, position, begin), row, zeros);
    rows.push_back(kb.at(row, first, layout.bytes));
  }
  return rows;
}

/// Adds the products of the weights and the values of one step.
void AttentionBlock::multiplyValues(Values &sums, Value state, Value step,
                                    ValueRange rows, int64_t chunks,
                                    int64_t columns) {
  Values values;
  for (int64_t c = 0; c < chunks; ++c) {
    Values at;
    for (Value row : rows)
      at.push_back(kb.at(row, c * layout.chunk() * layout.bytes));
    values.append(loadValues(at, columns));
  }
  Value weights = kb.at(kb.at(state, layout.stateScores()), step, 4);
  int64_t headBytes = layout.block() * (layout.dot ? 2 : 4);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value at = kb.at(weights, i / values.size() * headBytes);
    Value weight = kb.splat(kb.load(kb.i32Type(), at));
    Value value = values[i % values.size()];
    sum = layout.dot ? kb.dotBF16(sum, value, asBF16(weight))
                     : kb.fma(kb.bitcast(weight, kb.f32Vector()), value, sum);
  }
}

/// Computes sums = alpha * sums + weights * values for all heads, in `chunks`
/// chunks from column `first` or in the last `columns` columns.
void AttentionBlock::accumulate(Value state, Value begin, Value end,
                                ValueRange alphas, Value first, int64_t chunks,
                                int64_t columns) {
  int64_t perHead = chunks * llvm::divideCeil(columns, lanes());
  auto place = [&](int64_t i) {
    int64_t offset = layout.stateSums() + layout.sumsValues() +
                     i / perHead * layout.paddedColumns() * 4 +
                     i % perHead * lanes() * 4;
    return kb.at(kb.at(state, first, 4), offset);
  };
  Values sums;
  for (int64_t i = 0; i < tile() * perHead; ++i)
    sums.push_back(
        kb.mul(kb.load(kb.f32Vector(), place(i)), alphas[i / perHead]));
  int64_t perStep = layout.positionsPerStep();
  Value firstStep = windowed ? kb.div(begin, perStep) : kb.integer(0);
  Value endStep = kb.div(kb.add(end, perStep - 1), perStep);
  sums =
      kb.forRange(firstStep, endStep, 1, sums, [&](Value step, ValueRange in) {
        Values next(in.begin(), in.end());
        multiplyValues(next, state, step, valueRows(step, begin, end, first),
                       chunks, columns);
        return next;
      });
  for (auto [i, sum] : llvm::enumerate(sums))
    kb.store(sum, place(i));
}

void AttentionBlock::addValues(Value state, Value begin, Value end) {
  Value alpha = kb.load(kb.f32Vector(), kb.at(state, layout.stateFactors()));
  Values alphas;
  for (int64_t head = 0; head < tile(); ++head)
    alphas.push_back(ofHead(alpha, head));

  auto add = [&](Value first, int64_t chunks, int64_t columns) {
    accumulate(state, begin, end, alphas, first, chunks, columns);
  };
  int64_t chunk = layout.chunk(), chunks = layout.chunked() / chunk;
  int64_t atOnce =
      std::max<int64_t>(1, maxSums() / (tile() * layout.vectorsPerChunk()));
  int64_t tiled = chunks / atOnce * atOnce;
  kb.forRange(kb.integer(0), kb.integer(tiled * chunk), atOnce * chunk,
              [&](Value first) { add(first, atOnce, chunk); });
  if (tiled < chunks)
    add(kb.integer(tiled * chunk), chunks - tiled, chunk);
  if (layout.restColumns())
    add(kb.integer(layout.chunked()), 1, layout.restColumns());
}
