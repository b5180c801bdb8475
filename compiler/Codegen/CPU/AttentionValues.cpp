//===- AttentionValues.cpp - States and values of a block of attention ----===//

#include "compiler/Codegen/CPU/AttentionBlock.h"

#include <limits>

using namespace mtp::codegen;
using namespace mlir;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

void AttentionBlock::open(Value state) {
  double lowest = -std::numeric_limits<double>::infinity();
  Value zero = kb.constant(kb.f32Vector(), 0);
  kb.store(kb.constant(kb.f32Vector(), lowest),
           kb.at(state, layout.stateMax()));
  kb.store(zero, kb.at(state, layout.stateTotal()));
  Value sums = kb.at(state, layout.stateSums());
  kb.forRange(kb.integer(0), kb.integer(tile() * layout.paddedColumns()),
              lanes(),
              [&](Value first) { kb.store(zero, kb.at(sums, first, 4)); });
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void AttentionBlock::prepareValues(Value offset, Value rows) {
  valueOffset = offset;
  if (!layout.copiesValues)
    return;
  // The keys are in scratch by now: their pointers become those of the copies,
  // less the offset.
  kb.ifThen(kb.cmp(Cmp::GT, rows, 1), [&] {
    Value back = kb.sub(kb.integer(0), offset);
    kb.forRange(kb.integer(0), kb.integer(layout.block()), 1, [&](Value i) {
      Value pointer = kb.at(scratchAt(layout.pointers()), i, 8);
      Value copy = kb.at(scratchAt(layout.copies()), i, layout.copyBytes());
      kb.copy(valueAt(i), copy, layout.dv * layout.bytes / 4);
      kb.store(kb.at(copy, back, 1), pointer);
    });
  });
}

/// The vectors of `columns` columns (at most a chunk) of a value.
Values AttentionBlock::loadValue(Value from, int64_t columns) {
  if (columns < layout.chunk()) {
    Values tail;
    for (int64_t first = 0; first < columns; first += lanes()) {
      int64_t count = std::min(columns - first, lanes());
      Value mask = count < lanes() ? kb.prefixMask(count, lanes()) : Value();
      tail.push_back(
          kb.loadFloats(kb.at(from, first * layout.bytes), layout.dtype, mask));
    }
    return tail;
  }
  if (layout.dtype == DType::F32)
    return {kb.load(kb.f32Vector(), from)};
  Value pairs = kb.load(kb.i32Vector(), from);
  return {widenLower(pairs), widenUpper(pairs)};
}

/// Where the value of a position of the block lies.
Value AttentionBlock::valueAt(Value position) {
  Value at = kb.at(scratchAt(layout.pointers()), position, 8);
  return kb.at(kb.load(kb.scratch().getType(), at), valueOffset, 1);
}

/// Adds the products of the weights and the value of one position.
void AttentionBlock::multiplyValue(Values &sums, Value state, Value position,
                                   Value from, int64_t chunks,
                                   int64_t columns) {
  Values values;
  for (int64_t c = 0; c < chunks; ++c)
    values.append(
        loadValue(kb.at(from, c * layout.chunk() * layout.bytes), columns));
  Value weights = kb.at(kb.at(state, layout.stateScores()), position, 4);
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value at = kb.at(weights, i / values.size() * layout.block() * 4);
    Value weight = kb.splat(kb.load(kb.f32Type(), at));
    sum = kb.fma(weight, values[i % values.size()], sum);
  }
}

/// sums = alpha * sums + weights * values for all heads and, from column
/// `first`, `chunks` chunks or the last `columns` columns.
void AttentionBlock::accumulate(Value state, Value begin, Value end,
                                ValueRange alphas, Value first, int64_t chunks,
                                int64_t columns) {
  int64_t perHead = chunks * llvm::divideCeil(columns, lanes());
  auto place = [&](int64_t i) {
    int64_t offset = layout.stateSums() +
                     i / perHead * layout.paddedColumns() * 4 +
                     i % perHead * lanes() * 4;
    return kb.at(kb.at(state, first, 4), offset);
  };
  Values sums;
  for (int64_t i = 0; i < tile() * perHead; ++i)
    sums.push_back(
        kb.mul(kb.load(kb.f32Vector(), place(i)), alphas[i / perHead]));
  // Positions outside are not read at all: their weight is 0, but what lies
  // there may be no number.
  sums = kb.forRange(begin, end, 1, sums, [&](Value position, ValueRange in) {
    Values next(in.begin(), in.end());
    Value from = kb.at(valueAt(position), first, layout.bytes);
    multiplyValue(next, state, position, from, chunks, columns);
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

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Stores `columns` columns (at most a chunk) in their order.
void AttentionBlock::storeColumns(Value y, ValueRange vectors,
                                  int64_t columns) {
  for (int64_t first = 0; first < columns; first += lanes()) {
    int64_t count = std::min(columns - first, lanes());
    Value mask = count < lanes() ? kb.prefixMask(count, lanes()) : Value();
    Value vector = vectors[first / lanes()];
    if (columns == layout.chunk() && layout.vectorsPerChunk() == 2) {
      SmallVector<int64_t> order;
      for (int64_t i = 0; i < lanes(); ++i)
        order.push_back(layout.laneOf(first + i));
      vector = kb.shuffle(vectors[0], vectors[1], order);
    }
    kb.store(vector, kb.at(y, first * 4), mask);
  }
}

void AttentionBlock::close(Value state, Value y) {
  Value zero = kb.constant(kb.f32Vector(), 0);
  Value total = kb.load(kb.f32Vector(), kb.at(state, layout.stateTotal()));
  Value one = kb.constant(kb.f32Vector(), 1);
  Value inverses =
      kb.select(kb.cmp(Cmp::EQ, total, zero), zero, kb.div(one, total));
  for (int64_t head = 0; head < tile(); ++head) {
    Value inverse = ofHead(inverses, head);
    Value sums =
        kb.at(state, layout.stateSums() + head * layout.paddedColumns() * 4);
    auto store = [&](Value first, int64_t columns) {
      Values vectors;
      for (int64_t at = 0; at < columns; at += lanes()) {
        Value from = kb.at(kb.at(sums, first, 4), at * 4);
        vectors.push_back(kb.mul(kb.load(kb.f32Vector(), from), inverse));
      }
      Value to = kb.at(kb.at(y, head * layout.dv * 4), first, 4);
      storeColumns(to, vectors, columns);
    };
    kb.forRange(kb.integer(0), kb.integer(layout.chunked()), layout.chunk(),
                [&](Value first) { store(first, layout.chunk()); });
    if (layout.restColumns())
      store(kb.integer(layout.chunked()), layout.restColumns());
  }
}
