//===- FragmentWeights.cpp - Weights in the form of tensor cores ----------===//

#include "compiler/Codegen/GPU/products/FragmentWeights.h"

#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp::codegen;
using Order = mtp::FragmentOrder;

static constexpr int64_t kScaleBytes = mtp::QuantizedPanel::kScaleBytes;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Returns the number of a lane's values for a chunk. For integers these are
/// the scales, then the loads.
int64_t FragmentWeights::count() const {
  if (!shape.isInteger())
    return 2;
  int64_t perLoad = shape.integers().loadInputs() / Order::kInputs;
  return 1 + llvm::divideCeil(shape.units(), perLoad);
}

Values FragmentWeights::none() {
  if (!shape.isInteger())
    return Values(2, kb.constant(kb.vectorType(kb.i32Type(), 4), 0));
  IntegerFragments order = shape.integers();
  Values values{kb.constant(kb.vectorType(kb.f32Type(), 2), 0)};
  int64_t bytes = std::min<int64_t>(16, shape.units() * order.laneBytes());
  values.append(count() - 1,
                kb.constant(kb.vectorType(kb.i32Type(), bytes / 4), 0));
  return values;
}

Values FragmentWeights::load(Value panel, Value tile, Value chunk) {
  Value from = kb.at(panel, chunk, shape.chunkBytes());
  if (!shape.isInteger()) {
    auto type = kb.vectorType(kb.i32Type(), 4);
    from = kb.at(kb.at(from, tile, Order::kTileBytes), kb.laneOfWarp(),
                 Order::kLaneBytes);
    return {kb.loadOnce(type, from),
            kb.loadOnce(type, kb.at(from, Order::kFragmentBytes))};
  }
  IntegerFragments order = shape.integers();
  Value isFull =
      shape.restInputs() ? kb.cmp(Cmp::LT, chunk, shape.fullChunks()) : Value();
  // The lane's two outputs are neighbours among the scales.
  Value g = kb.div(kb.laneOfWarp(), 4);
  Value scales = kb.at(kb.at(from, tile, kScaleBytes / 2), g, 8);
  Values values{kb.loadOnce(kb.vectorType(kb.f32Type(), 2), scales)};
  Value tileBytes = kb.integer(order.tileBytes(shape.format.group));
  if (isFull)
    tileBytes = kb.select(isFull, tileBytes,
                          kb.integer(order.tileBytes(shape.restInputs())));
  from = kb.at(kb.at(from, kScaleBytes), kb.mul(tile, tileBytes), 1);
  values.append(loadIntegers(from, isFull));
  return values;
}

/// Loads the integers of a tile of a group. A null `isFull` means that all
/// groups are full.
Values FragmentWeights::loadIntegers(Value from, Value isFull) {
  IntegerFragments order = shape.integers();
  int64_t perLoad = order.loadInputs() / Order::kInputs;
  int64_t rest = shape.restInputs() / Order::kInputs;
  auto loadWords = [&](int64_t first, int64_t units) {
    int64_t bytes = units * order.laneBytes();
    Value at = kb.at(kb.at(from, first * kWarp * order.laneBytes()),
                     kb.laneOfWarp(), bytes);
    return kb.loadOnce(kb.vectorType(kb.i32Type(), bytes / 4), at);
  };
  Values values;
  for (int64_t first = 0; first < shape.units(); first += perLoad) {
    int64_t units = std::min(perLoad, shape.units() - first);
    auto whole = [&] { return Values{loadWords(first, units)}; };
    if (!isFull || rest >= first + units) {
      values.append(whole());
      continue;
    }
    // The last group ends before this load, or within it.
    auto part = [&] {
      Value zero = kb.constant(kb.i32Type(), 0);
      Values words(units * order.laneBytes() / 4, zero);
      if (rest > first) {
        Value some = loadWords(first, rest - first);
        for (int64_t i = 0; i < (rest - first) * order.laneBytes() / 4; ++i)
          words[i] = kb.element(some, i);
      }
      return Values{kb.vectorOf(words)};
    };
    values.append(kb.choose(isFull, whole, part));
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// Returns operand A of a unit.
Values FragmentWeights::unitOf(ValueRange held, int64_t unit) {
  IntegerFragments order = shape.integers();
  int64_t words = order.laneBytes() / 4;
  int64_t perLoad = order.loadInputs() / Order::kInputs;
  Value loaded = held[1 + unit / perLoad];
  Values a;
  for (int64_t i = 0; i < words; ++i)
    a.push_back(kb.element(loaded, unit % perLoad * words + i));
  if (shape.format.bits() == 8)
    return a;
  // Four bits become the upper half of a byte: 16 times the number, with its
  // sign.
  auto number = [&](int64_t value) {
    return kb.constant(kb.i32Type(), double(int32_t(value)));
  };
  Value upper = number(0xf0f0f0f0);
  Values wide;
  for (Value word : a)
    wide.push_back(kb.bitAnd(kb.shiftLeft(word, number(4)), upper));
  for (Value word : a)
    wide.push_back(kb.bitAnd(word, upper));
  return wide;
}

/// Computes sum = fma(float(dot) * rowScale, weightScale, sum), as on CPUs.
Values FragmentWeights::multiplyIntegers(ValueRange held,
                                         llvm::ArrayRef<Values> operands,
                                         ValueRange rowScales,
                                         ValueRange sums) {
  // Dot products are added up on top of the bits of the float 1.5 * 2^23.
  // Adding an integer to the bits makes the float larger by that integer. The
  // dot product of a group is below 2^22, also for int4, where it is 16 times
  // too large.
  constexpr double kBias = 12582912.0;
  static_assert(int64_t(16) * 8 * 128 * mtp::kMaxQuantGroup < 1 << 22 &&
                int64_t(127) * 128 * mtp::kMaxQuantGroup < 1 << 22);
  Values dots(4, kb.constant(kb.i32Type(), double(kRowIntegerBits)));
  for (auto [unit, words] : llvm::enumerate(operands))
    dots = kb.multiplyByteTiles(unitOf(held, unit), words, dots);
  Values result;
  for (auto [i, dot] : llvm::enumerate(dots)) {
    Value value = kb.bitcast(dot, kb.f32Type());
    value = shape.format.bits() == 8
                ? kb.sub(value, kb.f32(kBias))
                : kb.fma(value, kb.f32(1.0 / 16), kb.f32(-kBias / 16));
    value = kb.mul(value, rowScales[i % 2]);
    result.push_back(
        kb.fma(value, kb.element(held[0], int64_t(i) / 2), sums[i]));
  }
  return result;
}

Values FragmentWeights::multiply(ValueRange held,
                                 llvm::ArrayRef<Values> operands,
                                 ValueRange rowScales, ValueRange sums) {
  if (shape.isInteger())
    return multiplyIntegers(held, operands, rowScales, sums);
  Values result(sums.begin(), sums.end());
  for (int64_t i = 0; i < 2; ++i) {
    Values a;
    for (int64_t j = 0; j < 4; ++j)
      a.push_back(kb.element(held[i], j));
    result =
        kb.multiplyTiles(a, ValueRange(operands[0]).slice(2 * i, 2), result);
  }
  return result;
}
