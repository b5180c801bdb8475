//===- QuantizedMatmul.cpp - Rows times panels of integers ----------------===//
//
// Weights are stored as unsigned integers, because the instructions take one
// unsigned operand. Without offsets the format's bias has been added. The bias
// adds a number to a dot product that depends on the row alone, so accumulators
// start with the negative of that number.
//
// A prepared row is its integers in order, then the scale of every group, then
// a number for every group: the start of the accumulators, or the sum that
// offsets are multiplied with.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/CPU/products/QuantizedMatmul.h"

#include "compiler/Codegen/Rows/GroupScales.h"
#include "compiler/Codegen/Rows/RowNorm.h"
#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp;
using namespace mtp::codegen;
using mtp::QuantizedPanel;

static constexpr int64_t lineBytes = 64;

/// Largest sum of products of an operand and a row in an i16.
static int64_t pairSum(const WeightFormat &format) {
  return int64_t(format.largestOperand()) * 127 * 2;
}

/// Returns whether bytes are widened to i16 before they are multiplied, because
/// pairs of products do not fit the sums of vpmaddubsw.
static bool isWide(const WeightFormat &format, const TargetDesc &target) {
  return !target.byteDot && pairSum(format) > INT16_MAX;
}

/// Returns the number of operands whose products fit an i16 sum.
static int64_t mostOperands(const WeightFormat &format) {
  return INT16_MAX / pairSum(format);
}

/// Returns the number of rows whose sums fit in registers. With 8 lanes, five
/// rows are faster in one block than in two; six are not.
static RowBlocks::RowLimits rowLimits(const TargetDesc &target) {
  bool wide = target.lanes == 16;
  return {std::min<int64_t>(wide ? 8 : 4, target.blockRows), wide ? 8 : 5, 64};
}

/// Returns the size of one row's integers at one byte each. Wide rows take
/// twice as much.
static int64_t rowDataBytes(int64_t k) { return llvm::alignTo(k, 64); }

/// Returns the scratch bytes of a panel's scales and offsets as f32: 0 unless
/// they have two levels. Other scales are cheap to convert for each block.
static int64_t readyScaleBytes(const QuantizedPanel &panel) {
  if (!panel.hasTwoLevels())
    return 0;
  return panel.groups() * QuantizedPanel::kScaleBytes *
         (panel.hasOffset ? 2 : 1);
}

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
                                 rowLimits(target),
                                 readyScaleBytes(format.panel(k)));
}

QuantizedMatmul::QuantizedMatmul(CpuBuilder &kb, const PanelMatmulSpec &spec,
                                 RowLimits limits)
    : RowBlocks(kb, spec,
                quantizedRowBytes(spec.k, spec.format, kb.getTarget()),
                spec.format.panel(spec.k).bytes(), limits,
                readyScaleBytes(spec.format.panel(spec.k))),
      panel(spec.format.panel(spec.k)),
      wide(isWide(spec.format, kb.getTarget())),
      scalesOffset(rowDataBytes(spec.k) * (wide ? 2 : 1)),
      startsOffset(scalesOffset + panel.groups() * 4) {}

//===----------------------------------------------------------------------===//
// Preparing rows
//===----------------------------------------------------------------------===//

/// Calls `body` with every group and its number of inputs.
void QuantizedMatmul::forGroups(llvm::function_ref<void(Value, int64_t)> body) {
  int64_t full = spec.k / panel.group;
  kb.forRange(kb.integer(0), kb.integer(full), 1,
              [&](Value group) { body(group, panel.group); });
  if (int64_t rest = spec.k % panel.group)
    body(kb.integer(full), rest);
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
  Value zeros = kb.constant(kb.vectorType(kb.i8Type(), kb.lanes()), 0);
  for (int64_t i = llvm::alignTo(inputs, kb.lanes());
       i < panel.storedInputs(inputs); i += kb.lanes())
    storeBytes(zeros, kb.at(kb.at(to, first, inputBytes()), i * inputBytes()));
  kb.store(scale.scale, kb.at(kb.at(to, scalesOffset), group, 4));
  Value sum = kb.reduceAdd(total);
  Value start =
      panel.hasOffset
          ? kb.mul(kb.toFloat(sum), scale.scale)
          : kb.mul(sum, kb.constant(kb.i32Type(), -spec.format.bias()));
  kb.store(start, kb.at(kb.at(to, startsOffset), group, 4));
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

/// Returns the operands of a step's words, with consecutive inputs: in fours
/// or, if wide, in twos.
Values QuantizedMatmul::operandsOf(ValueRange words) {
  Values operands = bytesOf(words);
  if (!wide)
    return operands;
  Values halves;
  for (Value operand : operands) {
    Value pairs = kb.bitcast(operand, wordVector());
    halves.push_back(kb.bitAnd(pairs, kb.constant(wordVector(), 0xff)));
    halves.push_back(kb.shiftRight(pairs, kb.constant(wordVector(), 8)));
  }
  return halves;
}

/// Returns the operands of a step's words as unsigned bytes.
Values QuantizedMatmul::bytesOf(ValueRange words) {
  if (panel.bits == 8)
    return Values(words.begin(), words.end());
  // Low halves of bytes are four inputs, high halves the next four.
  Values operands;
  for (Value word : words.take_front(panel.stepInputs() / 8)) {
    auto [low, high] = splitNibbles(word);
    operands.append({low, high});
  }
  if (panel.bits > 4)
    for (auto [i, operand] : llvm::enumerate(operands))
      operand = addHighBits(operand, words.back(), i);
  if (const int8_t *table = spec.format.info().table) {
    llvm::SmallVector<uint8_t> bytes;
    for (int i = 0; i < 16; ++i)
      bytes.push_back(uint8_t(table[i] + spec.format.bias()));
    for (Value &operand : operands)
      operand = kb.lookUpBytes(bytes, operand);
  }
  return operands;
}

/// Adds the high bits of operand `i` of a step.
Value QuantizedMatmul::addHighBits(Value operand, Value highBits, int64_t i) {
  // The bits move to bit 4 of their bytes.
  int64_t bits = panel.bits - 4, shift = i * bits - 4;
  Value words = kb.bitcast(highBits, wordVector());
  if (shift > 0)
    words = kb.shiftRight(words, kb.constant(wordVector(), shift));
  if (shift < 0)
    words = kb.shiftLeft(words, kb.constant(wordVector(), -shift));
  Value mask = kb.constant(wordVector(), bits == 1 ? 0x1010 : 0x3030);
  return kb.bitcast(
      kb.bitOr(kb.bitcast(operand, wordVector()), kb.bitAnd(words, mask)),
      byteVector());
}

int64_t QuantizedMatmul::stepsPerLoop(int64_t rows) const {
  if (panel.stepWords() > 1)
    return 1;
  // A step of int4 has two operands.
  if (inPairs())
    return mostOperands(spec.format) / 2;
  // A step of int4 multiplies twice; longer bodies ran out of registers.
  return unroll(rows) * panel.bits / 8;
}

/// Multiplies one operand of each vector of a strip with the inputs at `x` of
/// the first row, and adds the products to `acc`.
void QuantizedMatmul::addOperands(Values &acc, ValueRange operands, Value x,
                                  Strip strip) {
  for (int64_t r = 0; r < strip.rows; ++r)
    for (auto [v, operand] : llvm::enumerate(operands)) {
      Value &sum = acc[r * strip.vectors + int64_t(v)];
      sum = dot(sum, operand, kb.at(x, r * rowBytes));
    }
}

/// Returns the operands of one step, for each vector of a strip.
llvm::SmallVector<Values> QuantizedMatmul::loadStep(Value weights,
                                                    Strip strip) {
  llvm::SmallVector<Values> step;
  for (int64_t v = 0; v < strip.vectors; ++v) {
    Values words;
    for (int64_t w = 0; w < panel.stepWords(); ++w)
      words.push_back(kb.load(
          byteVector(), kb.at(weights, w * stepBytes + v * kb.lanes() * 4)));
    step.push_back(operandsOf(words));
  }
  return step;
}

/// Adds `steps` steps to all accumulators, with a prefetch before each.
/// Products of i16 are widened after mostOperands().
Values
QuantizedMatmul::addSteps(ValueRange acc, Value weights, Value x, int64_t steps,
                          Strip strip,
                          llvm::function_ref<void(int64_t)> prefetchFor) {
  Values next(acc.begin(), acc.end()), pairs(acc.size());
  int64_t held = 0, most = mostOperands(spec.format);
  auto widen = [&] {
    for (auto [sum, pair] : llvm::zip(next, pairs)) {
      sum = kb.add(sum, kb.dotWordPairs(pair, kb.constant(wordVector(), 1)));
      pair = {};
    }
    held = 0;
  };
  for (int64_t s = 0; s < steps; ++s) {
    prefetchFor(s);
    llvm::SmallVector<Values> step =
        loadStep(kb.at(weights, s * panel.stepBytes()), strip);
    for (size_t i = 0; i < step[0].size(); ++i) {
      Values operands;
      for (const Values &ofVector : step)
        operands.push_back(ofVector[i]);
      Value from = kb.at(x, s * stepBytesOfRow() + int64_t(i) * 4);
      addOperands(inPairs() ? pairs : next, operands, from, strip);
      if (inPairs() && ++held == most)
        widen();
    }
  }
  if (held > 0)
    widen();
  return next;
}

Value QuantizedMatmul::ofRow(Value row, int64_t offset, Value group,
                             mlir::Type type) {
  return kb.splat(kb.load(type, kb.at(kb.at(row, offset), group, 4)));
}

/// Returns the place of a group's scales, or offsets, in the result of
/// getReady(). `first` is the first output of a vector.
static Value placeOfReady(CpuBuilder &kb, const QuantizedPanel &panel,
                          Value ready, Value group, int64_t first,
                          bool isOffset) {
  constexpr int64_t bytes = QuantizedPanel::kScaleBytes;
  Value ofGroup = kb.at(ready, group, panel.hasOffset ? 2 * bytes : bytes);
  return kb.at(ofGroup, (isOffset ? bytes : 0) + first * 4);
}

/// Stores all scales and offsets of a panel as f32.
void QuantizedMatmul::getReady(Value weights, Value ready) {
  addPanel({}, weights, Value(), [&](ValueRange, const Group &group) {
    auto to = [&](int64_t first, bool isOffset) {
      return placeOfReady(kb, panel, ready, group.number, first, isOffset);
    };
    for (int64_t first = 0; first < panelWidth; first += kb.lanes()) {
      GroupScales scales = loadScales(group, first);
      kb.store(scales.scale, to(first, /*isOffset=*/false));
      if (scales.offset)
        kb.store(scales.offset, to(first, /*isOffset=*/true));
    }
    return Values();
  });
}

/// Returns the scales and offsets of a vector of outputs that begins at output
/// `first`.
GroupScales QuantizedMatmul::loadScales(const Group &group, int64_t first) {
  if (group.ready) {
    auto load = [&](bool isOffset) {
      return kb.load(
          kb.f32Vector(),
          placeOfReady(kb, panel, group.ready, group.number, first, isOffset));
    };
    return {load(false), panel.hasOffset ? load(true) : Value()};
  }
  Values numbers;
  for (const ScaleField &field : scaleFields(panel, group.blockInputs)) {
    Value from =
        placeOfField(kb, field, group.header, group.inBlock, kb.integer(first));
    auto bytes = [&] {
      return kb.load(kb.vectorType(kb.i8Type(), kb.lanes()), from);
    };
    switch (field.kind) {
    case ScaleField::F32:
      numbers.push_back(kb.load(kb.f32Vector(), from));
      break;
    case ScaleField::F16:
      numbers.push_back(kb.loadHalves(from));
      break;
    case ScaleField::Word:
      numbers.push_back(kb.load(kb.i32Vector(), from));
      break;
    case ScaleField::Byte:
      numbers.push_back(kb.extendUnsigned(bytes(), kb.i32Vector()));
      break;
    case ScaleField::SignedByte:
      numbers.push_back(kb.extend(bytes(), kb.i32Vector()));
      break;
    }
  }
  return emitGroupScales(kb, panel, group.inBlock, numbers);
}

/// Adds a group's products, scaled, to the sums of a strip.
Values QuantizedMatmul::addScaled(ValueRange sums, ValueRange products,
                                  Value block, const Group &group,
                                  Strip strip) {
  llvm::SmallVector<GroupScales> scales;
  for (int64_t v = 0; v < strip.vectors; ++v)
    scales.push_back(loadScales(group, strip.bytes / 4 + v * kb.lanes()));
  Values result;
  for (int64_t r = 0; r < strip.rows; ++r) {
    Value row = kb.at(block, r * rowBytes);
    Value rowScale = ofRow(row, scalesOffset, group.number, kb.f32Type());
    Value rowSum;
    if (panel.hasOffset)
      rowSum = ofRow(row, startsOffset, group.number, kb.f32Type());
    for (int64_t v = 0; v < strip.vectors; ++v) {
      int64_t i = r * strip.vectors + v;
      Value scaled = kb.mul(kb.toFloat(products[i]), rowScale);
      Value sum = kb.fma(scaled, scales[v].scale, sums[i]);
      if (rowSum)
        sum = kb.fma(rowSum, scales[v].offset, sum);
      result.push_back(sum);
    }
  }
  return result;
}

/// Returns the cache lines of a block's header that each of its groups
/// prefetches.
int64_t QuantizedMatmul::headerLines(const Group &group) const {
  return llvm::divideCeil(panel.headerBytes(group.blockInputs),
                          lineBytes * panel.groupsOf(group.blockInputs));
}

/// Prefetches a group's share of a header, from the line at `offset` on, in
/// cache lines that the strips take in turn.
void QuantizedMatmul::prefetchHeader(Prefetch prefetch, const Group &group,
                                     Value offset, Strip strip) {
  Value from = prefetchAt(prefetch, offset);
  for (int64_t i = strip.index; i < headerLines(group);
       i += stripCount(strip.rows))
    kb.prefetch(kb.at(from, i * lineBytes), lineBytes, prefetch.level);
}

/// Adds one group to the sums of a strip.
Values QuantizedMatmul::addGroup(ValueRange sums, Prefetch prefetch,
                                 Value block, const Group &group, Strip strip) {
  Values acc;
  for (int64_t r = 0; r < strip.rows; ++r)
    acc.append(strip.vectors,
               panel.hasOffset ? kb.constant(kb.i32Vector(), 0)
                               : ofRow(kb.at(block, r * rowBytes), startsOffset,
                                       group.number, kb.i32Type()));
  int64_t groupBytes = panel.dataBytes(panel.group);
  Value data = kb.at(group.header,
                     kb.add(kb.mul(group.inBlock, groupBytes),
                            panel.headerBytes(group.blockInputs)),
                     1);
  // Groups prefetch consecutive ranges, so that a block is fetched in order.
  int64_t headerShare = headerLines(group) * lineBytes;
  Value ahead = kb.add(group.blockOffset,
                       kb.mul(group.inBlock, headerShare + groupBytes));
  prefetchHeader(prefetch, group, ahead, strip);
  int64_t steps = panel.storedInputs(group.inputs) / panel.stepInputs();
  int64_t share = strip.prefetchBytes * panel.stepWords();
  Value dataOffset = kb.add(ahead, headerShare + strip.index * steps * share);
  Value x = kb.at(block, group.number, panel.group * inputBytes());
  int64_t perLoop = stepsPerLoop(strip.rows);
  int64_t unrolled = steps / perLoop * perLoop;
  auto run = [&](Value step, ValueRange in, int64_t count) {
    Value from = prefetchAt(prefetch, kb.add(dataOffset, kb.mul(step, share)));
    return addSteps(
        in, kb.at(kb.at(data, strip.bytes), step, panel.stepBytes()),
        kb.at(x, step, stepBytesOfRow()), count, strip, [&](int64_t s) {
          kb.prefetch(kb.at(from, s * share), share, prefetch.level);
        });
  };
  if (unrolled == perLoop)
    acc = run(kb.integer(0), acc, perLoop);
  else
    acc = kb.forRange(
        kb.integer(0), kb.integer(unrolled), perLoop, acc,
        [&](Value step, ValueRange in) { return run(step, in, perLoop); });
  acc = run(kb.integer(unrolled), acc, steps - unrolled);
  return addScaled(sums, acc, block, group, strip);
}

/// Adds the groups of a block of `inputs` to the sums. `block` is its number.
Values QuantizedMatmul::addBlock(ValueRange sums, Value weights, Value ready,
                                 Value block, int64_t inputs, AddGroup add) {
  int64_t blockBytes = panel.blockBytes(panel.blockInputs());
  Group group;
  group.header = kb.at(weights, block, blockBytes);
  group.blockOffset = kb.mul(block, blockBytes);
  group.ready = ready;
  group.blockInputs = inputs;
  Value first = kb.mul(block, panel.blockGroups());
  auto run = [&](Value inBlock, ValueRange in, int64_t groupInputs) {
    group.inBlock = inBlock;
    group.number = kb.add(first, inBlock);
    group.inputs = groupInputs;
    return add(in, group);
  };
  int64_t full = inputs / panel.group;
  Values result(sums.begin(), sums.end());
  if (full == 1)
    result = run(kb.integer(0), result, panel.group);
  else if (full > 1)
    result = kb.forRange(kb.integer(0), kb.integer(full), 1, result,
                         [&](Value inBlock, ValueRange in) {
                           return run(inBlock, in, panel.group);
                         });
  if (int64_t rest = inputs % panel.group)
    result = run(kb.integer(full), result, rest);
  return result;
}

/// Adds all groups of a panel to the sums.
Values QuantizedMatmul::addPanel(ValueRange sums, Value weights, Value ready,
                                 AddGroup add) {
  Values result = kb.forRange(kb.integer(0), kb.integer(panel.fullBlocks()), 1,
                              sums, [&](Value number, ValueRange in) {
                                return addBlock(in, weights, ready, number,
                                                panel.blockInputs(), add);
                              });
  if (!panel.restInputs())
    return result;
  return addBlock(result, weights, ready, kb.integer(panel.fullBlocks()),
                  panel.restInputs(), add);
}

Values QuantizedMatmul::multiply(Value weights, Value ready, Prefetch prefetch,
                                 Value block, int64_t rows) {
  Values sums(rows * panelVectors(), kb.constant(kb.f32Vector(), 0));
  return addPanel(sums, weights, ready, [&](ValueRange in, const Group &group) {
    return forStrips(in, rows, [&](Strip strip, ValueRange ofStrip) {
      return addGroup(ofStrip, prefetch, block, group, strip);
    });
  });
}

void mtp::codegen::emitQuantizedMatmul(CpuBuilder &kb,
                                       const PanelMatmulSpec &spec) {
  QuantizedMatmul(kb, spec, rowLimits(kb.getTarget())).emit();
}
