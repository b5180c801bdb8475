//===- QuantizedMatmul.cpp - Rows times panels of integers ----------------===//
//
// Weights are unsigned in memory, 128 or 8 more than they are: that is how the
// instructions want one operand. What it adds to a dot product depends on the
// row alone, so the accumulators start with its negative.
//
// A prepared row is its integers, in their order, then the scale of every group
// and then the accumulators' start of every group.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/QuantizedMatmul.h"

#include "compiler/Codegen/CPU/QuantizedTiles.h"
#include "compiler/Codegen/CPU/RowNorm.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;

/// The largest integer of a row.
static constexpr int64_t rowLimit = 127;
/// A group of a row whose values are all smaller than this counts as zeros: its
/// scale would have no reciprocal.
static constexpr double leastValue = 1e-36;
/// 1.5 * 2^23: added to a small value it leaves the nearest integer, ties to
/// even, in the low bits.
static constexpr double roundingBias = 12582912.0;
static constexpr int64_t roundingBits = 0x4b400000;

/// Whether bytes are widened to i16 before they are multiplied. Pairs of
/// products of int8 do not fit the sums of vpmaddubsw, those of int4 do.
static bool isWide(const WeightFormat &format, const TargetDesc &target) {
  return format.bits == 8 && !target.byteDot;
}

/// Bytes of the integers of one row, or of one half of them when wide.
static int64_t rowDataBytes(int64_t k) { return llvm::alignTo(k, 64); }

QuantizedPanel mtp::codegen::quantizedPanel(int64_t k,
                                            const WeightFormat &format) {
  return {format.bits, format.group, k};
}

int64_t mtp::codegen::quantizedRowBytes(int64_t k, const WeightFormat &format,
                                        const TargetDesc &target) {
  QuantizedPanel panel = quantizedPanel(k, format);
  int64_t lines = llvm::divideCeil(
      rowDataBytes(k) * (isWide(format, target) ? 2 : 1) + panel.groups() * 8,
      64);
  // An odd number of cache lines: rows at a power of two would share one set.
  return (lines | 1) * 64;
}

int64_t mtp::codegen::quantizedScratchBytes(int64_t k,
                                            const WeightFormat &format,
                                            const TargetDesc &target) {
  int64_t rowBytes = quantizedRowBytes(k, format, target);
  if (usesTiles(k, format, target))
    return quantizedTilesScratchBytes(rowBytes, format);
  return RowBlocks::scratchBytes(rowBytes, RowBlocks::limits(target));
}

QuantizedMatmul::QuantizedMatmul(KernelBuilder &kb, const PanelMatmulSpec &spec,
                                 RowLimits limits)
    : RowBlocks(kb, spec,
                quantizedRowBytes(spec.k, spec.format, kb.getTarget()),
                quantizedPanel(spec.k, spec.format).bytes(), limits),
      panel(quantizedPanel(spec.k, spec.format)),
      wide(isWide(spec.format, kb.getTarget())),
      scalesOffset(rowDataBytes(spec.k) * (wide ? 2 : 1)),
      startsOffset(scalesOffset + panel.groups() * 4) {}

//===----------------------------------------------------------------------===//
// Preparing rows
//===----------------------------------------------------------------------===//

/// Calls `body` with every group and its number of inputs.
void QuantizedMatmul::forGroups(llvm::function_ref<void(Value, int64_t)> body) {
  kb.forRange(kb.integer(0), kb.integer(panel.fullGroups()), 1,
              [&](Value group) { body(group, panel.group); });
  if (panel.restInputs())
    body(kb.integer(panel.fullGroups()), panel.restInputs());
}

void QuantizedMatmul::prepare(Value group, Value firstRow, Value count, Value) {
  kb.forRange(kb.integer(0), count, 1, [&](Value row) {
    Value from = spec.rowPointer(group, kb.add(firstRow, row));
    Value to = kb.at(kb.scratch(), row, rowBytes);
    Value inverse = inverseRms(from);
    forGroups([&](Value g, int64_t inputs) {
      prepareGroup(from, inverse, to, g, inputs);
    });
  });
}

void QuantizedMatmul::prepareGroup(Value from, Value inverse, Value to,
                                   Value group, int64_t inputs) {
  Value first = kb.mul(group, panel.group);
  Value largest = kb.constant(kb.i32Vector(), 0);
  Values values;
  for (int64_t i = 0; i < inputs; i += kb.lanes()) {
    Value index = kb.add(first, i), mask;
    if (inputs - i < kb.lanes())
      mask = kb.prefixMask(inputs - i, kb.lanes());
    Value x = loadInputs(from, inverse, index, mask);
    values.push_back(x);
    // Bits of magnitudes are in the order of the magnitudes, and a NaN is above
    // all: it makes the scale, and so the row's result, a NaN.
    largest = kb.max(kb.bitAnd(kb.bitcast(x, kb.i32Vector()),
                               kb.constant(kb.i32Vector(), 0x7fffffff)),
                     largest);
  }
  Value most = kb.bitcast(
      kb.reduce(largest, [&](Value a, Value b) { return kb.max(a, b); }),
      kb.f32Type());
  Value limit = kb.f32(rowLimit);
  Value perUnit = kb.select(kb.cmp(Cmp::GT, most, kb.f32(leastValue)),
                            kb.div(limit, most), kb.f32(0));
  Value total = kb.constant(kb.i32Vector(), 0);
  for (auto [i, x] : llvm::enumerate(values)) {
    Value rounded = kb.bitcast(
        kb.fma(x, kb.splat(perUnit), kb.constant(kb.f32Vector(), roundingBias)),
        kb.i32Vector());
    total = kb.add(total,
                   kb.sub(rounded, kb.constant(kb.i32Vector(), roundingBits)));
    storeBytes(kb.truncate(rounded, kb.vectorType(kb.i8Type(), kb.lanes())),
               kb.at(kb.at(to, first, 1), i * kb.lanes()));
  }
  kb.store(kb.div(most, limit), kb.at(kb.at(to, scalesOffset), group, 4));
  kb.store(
      kb.mul(kb.reduceAdd(total), kb.constant(kb.i32Type(), -weightBias())),
      kb.at(kb.at(to, startsOffset), group, 4));
}

/// Stores integers of a row; when wide, the even ones of each four and the odd
/// ones apart, as pairs of i16.
void QuantizedMatmul::storeBytes(Value bytes, Value to) {
  if (!wide)
    return kb.store(bytes, to);
  auto words = kb.vectorType(kb.i16Type(), kb.lanes() / 2);
  Value pairs = kb.bitcast(bytes, words), eight = kb.constant(words, 8);
  kb.store(kb.shiftRightSigned(kb.shiftLeft(pairs, eight), eight), to);
  kb.store(kb.shiftRightSigned(pairs, eight), kb.at(to, rowDataBytes(spec.k)));
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

/// `acc` plus the dot products of four bytes of weights with those of a row.
Value QuantizedMatmul::dot(Value acc, Value bytes, Value x) {
  auto load = [&](int64_t offset, mlir::Type type) {
    Value four = kb.load(kb.i32Type(), kb.at(x, offset));
    return kb.bitcast(kb.splat(four), type);
  };
  if (kb.getTarget().byteDot)
    return kb.dotBytes(acc, bytes, load(0, byteVector()));
  if (!wide) {
    Value pairs = kb.dotBytePairs(bytes, load(0, byteVector()));
    return kb.add(acc, kb.dotWordPairs(pairs, kb.constant(wordVector(), 1)));
  }
  Value words = kb.bitcast(bytes, wordVector());
  Value even = kb.bitAnd(words, kb.constant(wordVector(), 0xff));
  Value odd = kb.shiftRight(words, kb.constant(wordVector(), 8));
  acc = kb.add(acc, kb.dotWordPairs(even, load(0, wordVector())));
  return kb.add(acc,
                kb.dotWordPairs(odd, load(rowDataBytes(spec.k), wordVector())));
}

std::pair<Value, Value> QuantizedMatmul::splitNibbles(Value bytes) {
  Value words = kb.bitcast(bytes, wordVector());
  Value mask = kb.constant(wordVector(), 0x0f0f);
  Value high = kb.shiftRight(words, kb.constant(wordVector(), 4));
  return {kb.bitcast(kb.bitAnd(words, mask), byteVector()),
          kb.bitcast(kb.bitAnd(high, mask), byteVector())};
}

/// Four inputs of all accumulators: `x` points at those of the first row.
void QuantizedMatmul::addQuad(Values &acc, ValueRange bytes, Value x,
                              int64_t rows) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectorsPerHalf; ++v) {
      Value &sum = acc[r * vectorsPerHalf + v];
      sum = dot(sum, bytes[v], kb.at(x, r * rowBytes));
    }
}

void QuantizedMatmul::addStep(Values &acc, Value weights, Value x,
                              int64_t rows) {
  Values vectors;
  for (int64_t v = 0; v < vectorsPerHalf; ++v)
    vectors.push_back(
        kb.load(byteVector(), kb.at(weights, v * kb.lanes() * 4)));
  if (panel.bits == 8)
    return addQuad(acc, vectors, x, rows);
  // Low halves of bytes are four inputs, high halves the next four.
  Values low, high;
  for (Value vector : vectors) {
    auto [first, second] = splitNibbles(vector);
    low.push_back(first);
    high.push_back(second);
  }
  addQuad(acc, low, x, rows);
  addQuad(acc, high, kb.at(x, 4), rows);
}

Value QuantizedMatmul::ofRow(Value row, int64_t offset, Value group,
                             mlir::Type type) {
  return kb.splat(kb.load(type, kb.at(kb.at(row, offset), group, 4)));
}

/// Adds one group to the sums of `rows` rows with one half panel.
Values QuantizedMatmul::addGroup(ValueRange sums, Value weights, Ahead ahead,
                                 Value block, Value group, int64_t inputs,
                                 int64_t rows, int64_t half) {
  auto rowAt = [&](int64_t row) { return kb.at(block, row * rowBytes); };
  Values acc;
  for (int64_t r = 0; r < rows; ++r)
    acc.append(vectorsPerHalf,
               ofRow(rowAt(r), startsOffset, group, kb.i32Type()));

  int64_t groupBytes = panel.groupBytes(panel.group);
  Value ofGroup = kb.at(weights, group, groupBytes);
  Value scales = kb.at(ofGroup, half * halfBytes());
  Value data = kb.at(scales, QuantizedPanel::kScaleBytes);
  Value offset = kb.add(kb.mul(group, groupBytes), half * halfBytes());
  kb.prefetch(askedAt(ahead, offset), halfBytes(), ahead.level);
  Value dataOffset = kb.add(offset, QuantizedPanel::kScaleBytes);
  Value x = kb.at(block, group, panel.group);
  int64_t steps = panel.storedInputs(inputs) / stepInputs();
  // A step of int4 multiplies twice; longer bodies ran out of registers.
  int64_t perLoop = unroll(rows) * panel.bits / 8;
  int64_t unrolled = steps / perLoop * perLoop;
  auto run = [&](Value step, ValueRange in, int64_t count) {
    Values next(in.begin(), in.end());
    Value from = askedAt(ahead, kb.add(dataOffset, kb.mul(step, stepBytes)));
    for (int64_t s = 0; s < count; ++s) {
      Value ofStep = kb.at(kb.at(data, step, stepBytes), s * stepBytes);
      kb.prefetch(kb.at(from, s * stepBytes), halfBytes(), ahead.level);
      addStep(next, ofStep,
              kb.at(kb.at(x, step, stepInputs()), s * stepInputs()), rows);
    }
    return next;
  };
  acc = kb.forRange(
      kb.integer(0), kb.integer(unrolled), perLoop, acc,
      [&](Value step, ValueRange in) { return run(step, in, perLoop); });
  acc = run(kb.integer(unrolled), acc, steps - unrolled);

  Values result;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectorsPerHalf; ++v) {
      int64_t i = r * vectorsPerHalf + v;
      Value scale = kb.load(kb.f32Vector(), kb.at(scales, v * kb.lanes() * 4));
      Value part = kb.mul(kb.toFloat(acc[i]),
                          ofRow(rowAt(r), scalesOffset, group, kb.f32Type()));
      result.push_back(kb.fma(part, scale, sums[i]));
    }
  return result;
}

Values QuantizedMatmul::multiply(Value weights, Ahead ahead, Value block,
                                 int64_t rows, int64_t half) {
  Values sums(rows * vectorsPerHalf, kb.constant(kb.f32Vector(), 0));
  sums = kb.forRange(kb.integer(0), kb.integer(panel.fullGroups()), 1, sums,
                     [&](Value group, ValueRange in) {
                       return addGroup(in, weights, ahead, block, group,
                                       panel.group, rows, half);
                     });
  if (!panel.restInputs())
    return sums;
  return addGroup(sums, weights, ahead, block, kb.integer(panel.fullGroups()),
                  panel.restInputs(), rows, half);
}

void mtp::codegen::emitQuantizedMatmul(KernelBuilder &kb,
                                       const PanelMatmulSpec &spec) {
  if (usesTiles(spec.k, spec.format, kb.getTarget()))
    return emitQuantizedTiles(kb, spec);
  QuantizedMatmul(kb, spec, RowBlocks::limits(kb.getTarget())).emit();
}
