//===- AttentionScores.cpp - Queries and keys of a block of attention -----===//

#include "compiler/Codegen/CPU/attention/AttentionBlock.h"

#include "compiler/Codegen/Rows/MathApprox.h"
#include <limits>

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Units of a key that are multiplied in one iteration; a multiple of the
/// chains.
static constexpr int64_t unitsPerTurn = 4;

/// Scores are logarithms to base 2.
static constexpr double kLog2E = 1.44269504088896341;

/// Transposes `count` units of the keys of one vector of positions. If `half`,
/// the last unit has only its first half.
void AttentionBlock::transposeKeys(Value vector, Value unit, int64_t count,
                                   bool half) {
  Type pointer = kb.scratch().getType();
  Value first = kb.mul(vector, lanes());
  Value pointers = kb.at(scratchAt(layout.pointers()), first, 8);
  Values rows;
  for (int64_t i = 0; i < lanes(); ++i) {
    Value key = kb.load(pointer, kb.at(pointers, i * 8));
    if (layout.integers) {
      int64_t perUnit = 4 / layout.bytes;
      Value loaded = loadIntegers(kb.at(key, unit, perUnit),
                                  count * perUnit - (half ? 1 : 0));
      rows.push_back(kb.bitcast(loaded, kb.i32Vector()));
      continue;
    }
    Value from = kb.at(key, unit, 4);
    if (!half) {
      Value mask = count < lanes() ? kb.prefixMask(count, lanes()) : Value();
      rows.push_back(kb.load(kb.i32Vector(), from, mask));
      continue;
    }
    Value mask = kb.prefixMask(2 * count - 1, 2 * lanes());
    Type type = kb.vectorType(kb.i16Type(), 2 * lanes());
    rows.push_back(kb.bitcast(kb.load(type, from, mask), kb.i32Vector()));
  }
  Value to = kb.at(kb.at(scratchAt(layout.keys()), unit, layout.block() * 4),
                   first, 4);
  Values columns = kb.transpose(rows);
  for (int64_t i = 0; i < count; ++i)
    kb.store(columns[i], kb.at(to, i * layout.block() * 4));
}

void AttentionBlock::prepareKeys(Value from, Value to) {
  Value end = kb.div(kb.add(to, lanes() - 1), lanes());
  int64_t keyBytes = layout.dk * layout.bytes;
  int64_t whole = keyBytes / 4 / lanes() * lanes();
  kb.forRange(kb.div(from, lanes()), end, 1, [&](Value vector) {
    kb.forRange(kb.integer(0), kb.integer(whole), lanes(), [&](Value unit) {
      transposeKeys(vector, unit, lanes(), /*half=*/false);
    });
    if (whole < layout.units())
      transposeKeys(vector, kb.integer(whole), layout.units() - whole,
                    /*half=*/keyBytes % 4 != 0);
  });
}

/// Adds the products with unit `unit + offset` of the keys. The sums are
/// ordered by chain, then by head, then by vector of positions.
void AttentionBlock::multiplyKeys(Values &sums, Value query, Value unit,
                                  int64_t offset, bool evenOnly) {
  bool widened = layout.dtype == DType::BF16 && !layout.dot;
  int64_t queryBytes = widened ? 8 : 4;
  int64_t queryStride = layout.queryBytes();
  Value from = kb.at(kb.at(query, unit, queryBytes), offset * queryBytes);
  Value keys = kb.at(kb.at(scratchAt(layout.keys()), unit, layout.block() * 4),
                     offset * layout.block() * 4);
  Values raw;
  for (int64_t v = 0; v < vectors(); ++v)
    raw.push_back(kb.load(kb.i32Vector(), kb.at(keys, v * lanes() * 4)));
  int64_t heads = layout.scoreHeads;
  Value *chain = &sums[offset % chains() * heads * vectors()];
  auto multiply = [&](int64_t queryOffset, Type type,
                      llvm::function_ref<Value(Value)> decode) {
    Values decoded;
    for (Value key : raw)
      decoded.push_back(decode(key));
    for (int64_t head = 0; head < heads; ++head) {
      Value at = kb.at(from, head * queryStride + queryOffset);
      Value q = kb.bitcast(kb.splat(kb.load(kb.i32Type(), at)), type);
      for (int64_t v = 0; v < vectors(); ++v) {
        Value &sum = chain[head * vectors() + v];
        sum = layout.dot ? kb.dotBF16(sum, decoded[v], q)
                         : kb.fma(q, decoded[v], sum);
      }
    }
  };
  if (layout.dot)
    return multiply(0, kb.vectorType(kb.bf16Type(), 2 * lanes()),
                    [&](Value key) { return asBF16(key); });
  if (!widened)
    return multiply(0, kb.f32Vector(),
                    [&](Value key) { return kb.bitcast(key, kb.f32Vector()); });
  multiply(0, kb.f32Vector(), [&](Value key) { return widenLower(key); });
  if (!evenOnly)
    multiply(4, kb.f32Vector(), [&](Value key) { return widenUpper(key); });
}

/// Returns the products of `scoreHeads` queries with units [first, end) of the
/// keys of the block, ordered by head, then by vector.
Values AttentionBlock::products(Value query, int64_t first, int64_t end) {
  // Queries that are read from their buffer end with an odd column.
  bool evenTail = layout.dtype == DType::BF16 && !layout.dot &&
                  end == layout.units() && layout.dk % 2;
  int64_t units = end - evenTail;
  int64_t whole = first + (units - first) / unitsPerTurn * unitsPerTurn;
  int64_t count = layout.scoreHeads * vectors();
  Values sums(chains() * count, kb.constant(kb.f32Vector(), 0));
  sums = kb.forRange(kb.integer(first), kb.integer(whole), unitsPerTurn, sums,
                     [&](Value unit, ValueRange in) {
                       Values next(in.begin(), in.end());
                       for (int64_t i = 0; i < unitsPerTurn; ++i)
                         multiplyKeys(next, query, unit, i, false);
                       return next;
                     });
  for (int64_t unit = whole; unit < end; ++unit)
    multiplyKeys(sums, query, kb.integer(whole), unit - whole, unit == units);
  while (static_cast<int64_t>(sums.size()) > count) {
    size_t half = sums.size() / 2;
    for (size_t i = 0; i < half; ++i)
      sums[i] = kb.add(sums[i], sums[i + half]);
    sums.resize(half);
  }
  return sums;
}

/// Returns products with one vector of positions, times the positions' scales.
Value AttentionBlock::scaled(Value products, int64_t scales, int64_t vector) {
  Value at = scratchAt(scales + vector * lanes() * 4);
  return kb.mul(products, kb.load(kb.f32Vector(), at));
}

/// Returns the scaled products of `scoreHeads` queries with the keys of the
/// block, ordered by head, then by vector. Lanes of keys that were not prepared
/// are undefined.
Values AttentionBlock::scores(Value query) {
  int64_t latent = layout.latentColumns() * layout.bytes / 4;
  Values sums = products(query, 0, latent ? latent : layout.units());
  Values rest;
  if (latent)
    rest = products(query, latent, layout.units());
  for (auto [i, sum] : llvm::enumerate(sums)) {
    int64_t vector = int64_t(i) % vectors();
    if (layout.integers)
      sum = scaled(sum, layout.keyScales(), vector);
    if (latent)
      sum = kb.add(sum, scaled(rest[i], layout.restScales(), vector));
    sum = kb.mul(sum, kb.constant(kb.f32Vector(), scale * kLog2E));
  }
  return sums;
}

/// Sets the scores of positions outside [begin, end) to -infinity, whose
/// exponential is exactly 0.
void AttentionBlock::maskScores(Values &scores, Value begin, Value end) {
  double lowest = -std::numeric_limits<double>::infinity();
  auto spread = [&](Value bound) {
    return kb.splat(kb.truncate(bound, kb.i32Type()));
  };
  Value first = windowed ? spread(begin) : Value(), last = spread(end);
  for (int64_t v = 0; v < vectors(); ++v) {
    Value position = kb.add(kb.iota(lanes()),
                            kb.constant(kb.i32Vector(), double(v * lanes())));
    Value seen = kb.cmp(Cmp::LT, position, last);
    if (windowed)
      seen = kb.bitAnd(seen, kb.cmp(Cmp::GE, position, first));
    for (int64_t head = 0; head < layout.scoreHeads; ++head) {
      Value &score = scores[head * vectors() + v];
      score = kb.select(seen, score, kb.constant(kb.f32Vector(), lowest));
    }
  }
}

void AttentionBlock::score(Value state, Value q, Value begin, Value end) {
  Value queries = layout.dot ? kb.at(state, layout.stateQueries()) : q;
  kb.forRange(
      kb.integer(0), kb.integer(tile()), layout.scoreHeads, [&](Value head) {
        Values products = scores(kb.at(queries, head, layout.queryBytes()));
        maskScores(products, begin, end);
        Value to =
            kb.at(kb.at(state, layout.stateScores()), head, layout.block() * 4);
        for (auto [i, product] : llvm::enumerate(products))
          kb.store(product, kb.at(to, i * lanes() * 4));
      });
}

/// Returns the value of one head's segment in all lanes.
Value AttentionBlock::ofHead(Value segments, int64_t head) {
  int64_t segment = lanes() / llvm::PowerOf2Ceil(tile());
  SmallVector<int64_t> same(lanes(), head * segment);
  return kb.shuffle(segments, segments, same);
}

void AttentionBlock::weigh(Value state) {
  Values scores;
  for (int64_t i = 0; i < tile() * vectors(); ++i)
    scores.push_back(kb.load(
        kb.f32Vector(), kb.at(state, layout.stateScores() + i * lanes() * 4)));
  auto reduceHeads = [&](ValueRange of,
                         llvm::function_ref<Value(Value, Value)> combine) {
    Values heads;
    for (int64_t head = 0; head < tile(); ++head) {
      Value all = of[head * vectors()];
      for (int64_t v = 1; v < vectors(); ++v)
        all = combine(all, of[head * vectors() + v]);
      heads.push_back(all);
    }
    heads.resize(llvm::PowerOf2Ceil(tile()), heads.back());
    return kb.reduceEach(heads, combine);
  };
  Value most =
      reduceHeads(scores, [&](Value a, Value b) { return kb.max(a, b); });
  Value sums = kb.at(state, layout.stateSums());
  Value maxAt = kb.at(sums, layout.sumsMax());
  Value before = kb.load(kb.f32Vector(), maxAt), now = kb.max(before, most);
  kb.store(now, maxAt);

  for (int64_t head = 0; head < tile(); ++head) {
    Value most = ofHead(now, head);
    for (int64_t v = 0; v < vectors(); ++v) {
      Value &weight = scores[head * vectors() + v];
      weight = emitPowerOfTwo(kb, kb.sub(weight, most));
      Value stored = weight;
      if (layout.integers) {
        // The scale of a position that the row does not see may be a NaN.
        Value zero = kb.constant(kb.f32Vector(), 0);
        stored = kb.select(kb.cmp(Cmp::EQ, weight, zero), zero,
                           scaled(weight, layout.valueScales(), v));
      }
      int64_t place = head * layout.block() + v * lanes();
      Value at =
          kb.at(state, layout.stateScores() + place * (layout.dot ? 2 : 4));
      kb.store(layout.dot ? kb.truncateToBF16(stored) : stored, at);
    }
  }
  Value alpha = emitPowerOfTwo(kb, kb.sub(before, now)); // For all heads.
  Value sum =
      reduceHeads(scores, [&](Value a, Value b) { return kb.add(a, b); });
  Value totalAt = kb.at(sums, layout.sumsTotal());
  kb.store(kb.fma(kb.load(kb.f32Vector(), totalAt), alpha, sum), totalAt);
  kb.store(alpha, kb.at(state, layout.stateFactors()));
}
