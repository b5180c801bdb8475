//===- Embedding.cpp - Token embeddings -----------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/GroupScales.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mtp;
using namespace mtp::codegen;
using mtp::QuantizedPanel;

/// Returns lanes of a row times `scale`, or as they are without a scale.
static Value scaled(KernelBuilder &kb, Value lanes, mlir::FloatAttr scale) {
  if (!scale)
    return lanes;
  return kb.mul(lanes, kb.constant(kb.f32Lanes(), valueOf(scale)));
}

static void widenFloats(KernelBuilder &kb, int64_t width, DType dtype,
                        mlir::FloatAttr scale, Value from, Value to) {
  kb.mapChunks(
      width,
      [&](Value first, Value mask) {
        return Values{
            kb.loadFloats(kb.at(from, first, byteWidth(dtype)), dtype, mask)};
      },
      [&](Value first, Value mask, ValueRange loaded) {
        kb.storeLanes(scaled(kb, loaded[0], scale), kb.at(to, first, 4), mask);
      });
}

/// Writes `inputs` values of a group. Each value is one product, or two with a
/// scale, so that all instruction sets give equal bits.
static void widenGroup(KernelBuilder &kb, const WeightFormat &format,
                       mlir::FloatAttr rowScale, Value from, Value to,
                       int64_t inputs) {
  QuantizedPanel panel = format.panel(inputs);
  Value scale = kb.splat(kb.loadOne(kb.f32Type(), from));
  Value bias = kb.constant(kb.i32Lanes(), format.bias());
  for (int64_t i = 0; i < inputs; i += kb.lanes()) {
    int64_t count = std::min(kb.lanes(), inputs - i);
    Value integers =
        kb.loadPacked(kb.at(from, 4 + i * panel.bits / 8), panel.bits, count);
    Value value = kb.mul(kb.toFloat(kb.sub(integers, bias)), scale);
    Value mask;
    if (count < kb.lanes())
      mask = kb.firstLanes(count);
    kb.storeLanes(scaled(kb, value, rowScale), kb.at(to, i * 4), mask);
  }
}

static void widenRow(KernelBuilder &kb, const WeightFormat &format,
                     int64_t width, mlir::FloatAttr scale, Value from,
                     Value to) {
  QuantizedPanel panel = format.panel(width);
  auto widen = [&](Value group, int64_t inputs) {
    widenGroup(kb, format, scale,
               kb.at(from, group, panel.rowGroupBytes(panel.group)),
               kb.at(to, group, panel.group * 4), inputs);
  };
  kb.forItems(panel.fullBlocks(),
              [&](Value group) { widen(group, panel.group); });
  if (panel.restInputs())
    widen(kb.integer(panel.fullBlocks()), panel.restInputs());
}

namespace {

/// Widens the row of one output of a panel.
class PanelRow {
public:
  /// `panel` is the panel of the output; `lane` is its number there. `scale`
  /// multiplies the values and may be null.
  PanelRow(KernelBuilder &kb, const WeightFormat &format, int64_t width,
           mlir::FloatAttr scale, Value panel, Value lane, Value to)
      : kb(kb), format(format), layout(format.panel(width)), rowScale(scale),
        base(panel), lane(lane), to(to) {}

  void widen();

private:
  void widenBlock(Value number, int64_t inputs);
  void widenGroup(Value header, Value inBlock, Value data, Value to,
                  int64_t blockInputs, int64_t inputs);
  GroupScales scales(Value header, Value inBlock, int64_t blockInputs);
  Value integers(Value data, int64_t first, int64_t count);
  Value lookUp(Value codes);

  KernelBuilder &kb;
  const WeightFormat &format;
  const QuantizedPanel layout;
  const mlir::FloatAttr rowScale;
  const Value base, lane, to;
};

} // namespace

/// Returns the scale and the offset of a group.
GroupScales PanelRow::scales(Value header, Value inBlock, int64_t blockInputs) {
  Values numbers;
  for (const ScaleField &field : scaleFields(layout, blockInputs)) {
    Value from = placeOfField(kb, field, header, inBlock, lane);
    switch (field.kind) {
    case ScaleField::F32:
      numbers.push_back(kb.loadOne(kb.f32Type(), from));
      break;
    case ScaleField::F16:
      numbers.push_back(kb.loadHalf(from));
      break;
    case ScaleField::Word:
      numbers.push_back(kb.loadOne(kb.i32Type(), from));
      break;
    case ScaleField::Byte:
      numbers.push_back(
          kb.extendUnsigned(kb.loadOne(kb.i8Type(), from), kb.i32Type()));
      break;
    case ScaleField::SignedByte:
      numbers.push_back(kb.extend(kb.loadOne(kb.i8Type(), from), kb.i32Type()));
      break;
    }
  }
  return emitGroupScales(kb, layout, inBlock, numbers);
}

/// Returns `count` integers of a group from `first` on, as they are stored.
Value PanelRow::integers(Value data, int64_t first, int64_t count) {
  int64_t step = layout.stepInputs(), inStep = first % step;
  int64_t bits = layout.bits, low = bits == 8 ? 8 : 4, perWord = 32 / low;
  constexpr int64_t wordBytes = QuantizedPanel::kOutputs * 4;
  Value ofStep = kb.at(data, first / step * layout.stepBytes());
  Value q = kb.loadPacked(kb.at(ofStep, inStep / perWord * wordBytes), low,
                          count, wordBytes);
  if (bits == low)
    return q;
  Value high = kb.splat(
      kb.loadOne(kb.i32Type(), kb.at(ofStep, step / perWord * wordBytes)));
  auto all = [&](int64_t value) { return kb.constant(kb.i32Lanes(), value); };
  // Input i of a step has its high bits in byte i % 4.
  Value input = kb.add(kb.laneNumbers(), all(inStep));
  Value shift = kb.add(kb.mul(kb.bitAnd(input, all(3)), all(8)),
                       kb.mul(kb.shiftRight(input, all(2)), all(bits - 4)));
  Value bitsOf =
      kb.bitAnd(kb.shiftRight(high, shift), all((1 << (bits - 4)) - 1));
  return kb.bitOr(q, kb.shiftLeft(bitsOf, all(4)));
}

/// Returns the integers of codes.
Value PanelRow::lookUp(Value codes) {
  const int8_t *table = format.info().table;
  Value result = kb.constant(kb.i32Lanes(), table[0]);
  for (int i = 1; i < 16; ++i)
    result = kb.select(kb.cmp(Cmp::EQ, codes, kb.constant(kb.i32Lanes(), i)),
                       kb.constant(kb.i32Lanes(), table[i]), result);
  return result;
}

void PanelRow::widenGroup(Value header, Value inBlock, Value data, Value to,
                          int64_t blockInputs, int64_t inputs) {
  auto [scale, offset] = scales(header, inBlock, blockInputs);
  Value scales = kb.splat(scale),
        bias = kb.constant(kb.i32Lanes(), format.bias());
  // High bits are a word of each step.
  int64_t most = layout.bits == 5 || layout.bits == 6
                     ? std::min(kb.lanes(), layout.stepInputs())
                     : kb.lanes();
  for (int64_t i = 0; i < inputs; i += most) {
    int64_t count = std::min(most, inputs - i);
    Value code = integers(data, i, count);
    Value q =
        kb.toFloat(format.info().table ? lookUp(code) : kb.sub(code, bias));
    Value value =
        offset ? kb.fma(q, scales, kb.splat(offset)) : kb.mul(q, scales);
    Value mask;
    if (count < kb.lanes())
      mask = kb.firstLanes(count);
    kb.storeLanes(scaled(kb, value, rowScale), kb.at(to, i * 4), mask);
  }
}

void PanelRow::widenBlock(Value number, int64_t inputs) {
  int64_t group = layout.group, full = inputs / group;
  Value header = kb.at(base, number, layout.blockBytes(layout.blockInputs()));
  Value data = kb.at(kb.at(header, layout.headerBytes(inputs)), lane, 4);
  Value ofBlock = kb.at(to, number, layout.blockInputs() * 4);
  auto widen = [&](Value inBlock, int64_t count) {
    widenGroup(header, inBlock, kb.at(data, inBlock, layout.dataBytes(group)),
               kb.at(ofBlock, inBlock, group * 4), inputs, count);
  };
  kb.forRange(kb.integer(0), kb.integer(full), 1,
              [&](Value inBlock) { widen(inBlock, group); });
  if (inputs % group)
    widen(kb.integer(full), inputs % group);
}

void PanelRow::widen() {
  kb.forItems(layout.fullBlocks(),
              [&](Value number) { widenBlock(number, layout.blockInputs()); });
  if (layout.restInputs())
    widenBlock(kb.integer(layout.fullBlocks()), layout.restInputs());
}

/// Emits embed. Buffers: table, tokens, out. Params: M.
static void emitEmbed(KernelBuilder &kb, exec::EmbedKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  WeightFormat format = kernel.getFormat().getFormat();
  constexpr int64_t outputs = QuantizedPanel::kOutputs;
  kb.forTasks([&](Value row) {
    // Padding rows may hold any token; stay inside the table.
    Value token = kb.max(kb.loadI32(kb.buffer(1), row), kb.integer(0));
    token = kb.min(token, kb.integer(kernel.getVocab() - 1));
    Value to = kb.at(kb.buffer(2), row, width * 4);
    if (kernel.getPanels()) {
      Value panel = kb.at(kb.buffer(0), kb.div(token, outputs),
                          format.panelBytes(width, outputs));
      return PanelRow(kb, format, width, kernel.getScale(), panel,
                      kb.rem(token, outputs), to)
          .widen();
    }
    Value from = kb.at(kb.buffer(0), token, format.rowBytes(width));
    if (format.isQuantized())
      widenRow(kb, format, width, kernel.getScale(), from, to);
    else
      widenFloats(kb, width, dtypeOf(format), kernel.getScale(), from, to);
  });
}

/// Emits a copy with zeros in the rows at position 0. Buffers: x, positions,
/// out. Params: M.
static void emitMaskFirst(KernelBuilder &kb, exec::MaskFirstKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  kb.forTasks([&](Value row) {
    Value first = kb.cmp(Cmp::EQ, kb.loadI32(kb.buffer(1), row), 0);
    Value from = kb.at(kb.buffer(0), row, width * 4);
    Value to = kb.at(kb.buffer(2), row, width * 4);
    kb.mapChunks(
        width,
        [&](Value begin, Value mask) {
          return Values{
              kb.loadLanes(kb.f32Type(), kb.at(from, begin, 4), mask)};
        },
        [&](Value begin, Value mask, ValueRange loaded) {
          Value zero = kb.constant(kb.f32Lanes(), 0);
          kb.storeLanes(kb.select(kb.splat(first), zero, loaded[0]),
                        kb.at(to, begin, 4), mask);
        });
  });
}

static const RowKernel kinds[] = {elementKernel(emitEmbed),
                                  elementKernel(emitMaskFirst)};

llvm::ArrayRef<RowKernel> mtp::codegen::embeddingKernels() { return kinds; }
