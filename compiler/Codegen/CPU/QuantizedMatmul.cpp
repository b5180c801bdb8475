//===- QuantizedMatmul.cpp - Rows times panels of integers ----------------===//
//
// Weights are stored as unsigned integers, with the format's bias added,
// because the instructions take one unsigned operand. The bias adds a number to
// a dot product that depends on the row alone. Accumulators therefore start
// with the negative of that number.
//
// A prepared row is its integers in order, then the scale of every group, then
// the start of the accumulators for every group.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/QuantizedMatmul.h"

#include "compiler/Codegen/Rows/RowNorm.h"
#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp;
using namespace mtp::codegen;
using mtp::QuantizedPanel;
using mtp::WeightElements;

/// Returns whether bytes are widened to i16 before they are multiplied. Pairs
/// of int8 products do not fit the sums of vpmaddubsw; pairs of int4 products
/// do.
static bool isWide(const WeightFormat &format, const TargetDesc &target) {
  return format.bits() == 8 && !target.byteDot;
}

/// Limit on products of int4 and a row in an i16 sum: 16 * 15 * 127 < 2^15.
static constexpr int64_t mostPairs = 16;

/// Returns the number of rows whose sums fit in registers. With 8 lanes, five
/// rows are faster in one block than in two; six are not.
static RowBlocks::RowLimits rowLimits(const TargetDesc &target) {
  bool wide = target.lanes == 16;
  return {wide ? 8 : 4, wide ? 8 : 5, 64};
}

/// Returns the size of one row's integers at one byte each. Wide rows take
/// twice as much.
static int64_t rowDataBytes(int64_t k) { return llvm::alignTo(k, 64); }

int64_t mtp::codegen::quantizedRowBytes(int64_t k, const WeightFormat &format,
                                        const TargetDesc &target) {
  QuantizedPanel panel = format.panel(k);
  int64_t lines = llvm::divideCeil(
      rowDataBytes(k) * (isWide(format, target) ? 2 : 1) + panel.groups() * 8,
      64);
  // An odd number of cache lines: rows at a power-of-two stride would share one
  // set.
  return (lines | 1) * 64;
}

int64_t mtp::codegen::quantizedScratchBytes(int64_t k,
                                            const WeightFormat &format,
                                            const TargetDesc &target) {
  return RowBlocks::scratchBytes(quantizedRowBytes(k, format, target),
                                 rowLimits(target));
}

QuantizedMatmul::QuantizedMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec,
                                 RowLimits limits)
    : RowBlocks(kb, spec,
                quantizedRowBytes(spec.k, spec.format, kb.getTarget()),
                spec.format.panel(spec.k).bytes(), limits),
      panel(spec.format.panel(spec.k)),
      wide(isWide(spec.format, kb.getTarget())),
      scalesOffset(rowDataBytes(spec.k) * (wide ? 2 : 1)),
      startsOffset(scalesOffset + panel.groups() * 4) {}

//===----------------------------------------------------------------------===//
// Preparing rows
//===----------------------------------------------------------------------===//

/// Calls `body` with every group and its number of inputs.
void QuantizedMatmul::forGroups(llvm::function_ref<void(Value, int64_t)> body) {
  kb.forRange(kb.integer(0), kb.integer(panel.fullBlocks()), 1,
              [&](Value group) { body(group, panel.group); });
  if (panel.restInputs())
    body(kb.integer(panel.fullBlocks()), panel.restInputs());
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
    largest = kb.max(emitMagnitudeBits(kb, x), largest);
  }
  RowScale scale = emitRowScale(
      kb, kb.reduce(largest, [&](Value a, Value b) { return kb.max(a, b); }));
  Value total = kb.constant(kb.i32Vector(), 0);
  for (auto [i, x] : llvm::enumerate(values)) {
    Value rounded = emitRowInteger(kb, x, scale);
    total = kb.add(
        total, kb.sub(rounded, kb.constant(kb.i32Vector(), kRowIntegerBits)));
    storeBytes(
        kb.truncate(rounded, kb.vectorType(kb.i8Type(), kb.lanes())),
        kb.at(kb.at(to, first, inputBytes()), i * kb.lanes() * inputBytes()));
  }
  kb.store(scale.scale, kb.at(kb.at(to, scalesOffset), group, 4));
  kb.store(kb.mul(kb.reduceAdd(total),
                  kb.constant(kb.i32Type(), -spec.format.bias())),
           kb.at(kb.at(to, startsOffset), group, 4));
}

/// Stores integers of a row. If wide, stores them as i16: of each four, the
/// even ones and then the odd ones.
void QuantizedMatmul::storeBytes(Value bytes, Value to) {
  if (!wide)
    return kb.store(bytes, to);
  int64_t count = kb.lanes() / 2;
  auto words = kb.vectorType(kb.i16Type(), count);
  Value pairs = kb.bitcast(bytes, words), eight = kb.constant(words, 8);
  Value even = kb.shiftRightSigned(kb.shiftLeft(pairs, eight), eight);
  Value odd = kb.shiftRightSigned(pairs, eight);
  llvm::SmallVector<int64_t> order;
  for (int64_t i = 0; i < count; i += 2)
    order.append({i, i + 1, count + i, count + i + 1});
  kb.store(kb.shuffle(even, odd, order), to);
}

//===----------------------------------------------------------------------===//
// Multiplying
//===----------------------------------------------------------------------===//

Value QuantizedMatmul::load(Value x, mlir::Type type) {
  return kb.bitcast(kb.splat(kb.load(kb.i32Type(), x)), type);
}

Value QuantizedMatmul::dot(Value acc, Value weights, Value x) {
  if (kb.getTarget().byteDot)
    return kb.dotBytes(acc, weights, load(x, byteVector()));
  Value products = wide ? kb.dotWordPairs(weights, load(x, wordVector()))
                        : kb.dotBytePairs(weights, load(x, byteVector()));
  return acc ? kb.addInOrder(acc, products) : products;
}

std::pair<Value, Value> QuantizedMatmul::splitNibbles(Value bytes) {
  Value words = kb.bitcast(bytes, wordVector());
  Value mask = kb.constant(wordVector(), 0x0f0f);
  Value high = kb.shiftRight(words, kb.constant(wordVector(), 4));
  return {kb.bitcast(kb.bitAnd(words, mask), byteVector()),
          kb.bitcast(kb.bitAnd(high, mask), byteVector())};
}

/// Returns the operands that `bytes` of weights become: one, or two with
/// consecutive inputs, in fours or, if wide, in twos.
std::pair<Value, Value> QuantizedMatmul::operandsOf(Value bytes) {
  switch (spec.format.elements) {
  case WeightElements::Int4:
    // Low halves of bytes are four inputs, high halves the next four.
    return splitNibbles(bytes);
  case WeightElements::Int8: {
    if (!wide)
      return {bytes, {}};
    Value words = kb.bitcast(bytes, wordVector());
    return {kb.bitAnd(words, kb.constant(wordVector(), 0xff)),
            kb.shiftRight(words, kb.constant(wordVector(), 8))};
  }
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
    break;
  }
  llvm_unreachable("not quantised");
}

/// Adds one step to all accumulators. `x` points to the inputs of the first
/// row.
void QuantizedMatmul::addStep(Values &acc, Value weights, Value x,
                              Strip strip) {
  Values first, second;
  for (int64_t v = 0; v < strip.vectors; ++v) {
    Value bytes = kb.load(byteVector(), kb.at(weights, v * kb.lanes() * 4));
    auto [operand, more] = operandsOf(bytes);
    first.push_back(operand);
    if (more)
      second.push_back(more);
  }
  auto add = [&](ValueRange operands, int64_t offset) {
    for (int64_t r = 0; r < strip.rows; ++r)
      for (auto [v, operand] : llvm::enumerate(operands)) {
        Value &sum = acc[r * strip.vectors + int64_t(v)];
        sum = dot(sum, operand, kb.at(x, r * rowBytes + offset));
      }
  };
  add(first, 0);
  add(second, 4);
}

int64_t QuantizedMatmul::stepsPerLoop(int64_t rows) const {
  // A step of int4 has two dot products, each of two products per i16 sum.
  if (inPairs())
    return mostPairs / 4;
  // A step of int4 multiplies twice; longer bodies ran out of registers.
  return unroll(rows) * panel.bits / 8;
}

/// Adds `steps` steps, at most stepsPerLoop(), to all accumulators, with a
/// prefetch before each. Products of i16 are widened once for all steps.
Values
QuantizedMatmul::addSteps(ValueRange acc, Value weights, Value x, int64_t steps,
                          Strip strip,
                          llvm::function_ref<void(int64_t)> prefetchFor) {
  Values next(acc.begin(), acc.end());
  Values pairs(acc.size());
  for (int64_t s = 0; s < steps; ++s) {
    prefetchFor(s);
    addStep(inPairs() ? pairs : next, kb.at(weights, s * stepBytes),
            kb.at(x, s * stepInputs() * inputBytes()), strip);
  }
  if (inPairs() && steps > 0)
    for (auto [sum, pair] : llvm::zip(next, pairs))
      sum = kb.add(sum, kb.dotWordPairs(pair, kb.constant(wordVector(), 1)));
  return next;
}

Value QuantizedMatmul::ofRow(Value row, int64_t offset, Value group,
                             mlir::Type type) {
  return kb.splat(kb.load(type, kb.at(kb.at(row, offset), group, 4)));
}

/// Adds a group's products, scaled, to the sums of a strip.
Values QuantizedMatmul::addScaled(ValueRange sums, ValueRange products,
                                  Value scales, Value block, Value group,
                                  Strip strip) {
  Values result;
  for (int64_t r = 0; r < strip.rows; ++r)
    for (int64_t v = 0; v < strip.vectors; ++v) {
      int64_t i = r * strip.vectors + v;
      Value scale = kb.load(kb.f32Vector(),
                            kb.at(scales, strip.bytes + v * kb.lanes() * 4));
      Value rowScale =
          ofRow(kb.at(block, r * rowBytes), scalesOffset, group, kb.f32Type());
      Value scaled = kb.mul(kb.toFloat(products[i]), rowScale);
      result.push_back(kb.fma(scaled, scale, sums[i]));
    }
  return result;
}

/// Adds one group to the sums of a strip.
Values QuantizedMatmul::addGroup(ValueRange sums, Value weights,
                                 Prefetch prefetch, Value block, Value group,
                                 int64_t inputs, Strip strip) {
  Values acc;
  for (int64_t r = 0; r < strip.rows; ++r)
    acc.append(strip.vectors, ofRow(kb.at(block, r * rowBytes), startsOffset,
                                    group, kb.i32Type()));

  int64_t groupBytes = panel.blockBytes(panel.group);
  Value scales = kb.at(weights, group, groupBytes);
  Value data = kb.at(scales, QuantizedPanel::kScaleBytes);
  Value offset = kb.mul(group, groupBytes);
  int64_t steps = panel.storedInputs(inputs) / stepInputs();
  // The scales of all outputs have the size of one step.
  static_assert(QuantizedPanel::kScaleBytes == stepBytes);
  auto prefetchFrom = [&](Value from) {
    kb.prefetch(from, strip.prefetchBytes, prefetch.level);
  };
  prefetchFrom(
      prefetchAt(prefetch, kb.add(offset, strip.index * strip.prefetchBytes)));
  Value dataOffset =
      kb.add(offset, QuantizedPanel::kScaleBytes +
                         strip.index * steps * strip.prefetchBytes);
  Value x = kb.at(block, group, panel.group * inputBytes());
  int64_t perLoop = stepsPerLoop(strip.rows);
  int64_t unrolled = steps / perLoop * perLoop;
  auto run = [&](Value step, ValueRange in, int64_t count) {
    Value from = prefetchAt(
        prefetch, kb.add(dataOffset, kb.mul(step, strip.prefetchBytes)));
    return addSteps(
        in, kb.at(kb.at(data, strip.bytes), step, stepBytes),
        kb.at(x, step, stepInputs() * inputBytes()), count, strip,
        [&](int64_t s) { prefetchFrom(kb.at(from, s * strip.prefetchBytes)); });
  };
  acc = kb.forRange(
      kb.integer(0), kb.integer(unrolled), perLoop, acc,
      [&](Value step, ValueRange in) { return run(step, in, perLoop); });
  acc = run(kb.integer(unrolled), acc, steps - unrolled);
  return addScaled(sums, acc, scales, block, group, strip);
}

Values QuantizedMatmul::multiply(Value weights, Prefetch prefetch, Value block,
                                 int64_t rows) {
  auto add = [&](ValueRange sums, Value group, int64_t inputs) {
    return forStrips(sums, rows, [&](Strip strip, ValueRange ofStrip) {
      return addGroup(ofStrip, weights, prefetch, block, group, inputs, strip);
    });
  };
  Values sums(rows * panelVectors(), kb.constant(kb.f32Vector(), 0));
  sums = kb.forRange(
      kb.integer(0), kb.integer(panel.fullBlocks()), 1, sums,
      [&](Value group, ValueRange in) { return add(in, group, panel.group); });
  if (!panel.restInputs())
    return sums;
  return add(sums, kb.integer(panel.fullBlocks()), panel.restInputs());
}

void mtp::codegen::emitQuantizedMatmul(CpuBuilder &kb,
                                       const PanelMatmulSpec &spec) {
  QuantizedMatmul(kb, spec, rowLimits(kb.getTarget())).emit();
}
