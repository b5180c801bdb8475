//===- Embedding.cpp - Token embeddings -----------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
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
  kb.forItems(panel.fullGroups(),
              [&](Value group) { widen(group, panel.group); });
  if (panel.restInputs())
    widen(kb.integer(panel.fullGroups()), panel.restInputs());
}

/// Emits embed. Buffers: table, tokens, out. Params: M.
static void emitEmbed(KernelBuilder &kb, exec::EmbedKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  WeightFormat format = kernel.getFormat().getFormat();
  int64_t rowBytes = format.rowBytes(width);
  kb.forTasks([&](Value row) {
    // Padding rows may hold any token; stay inside the table.
    Value token = kb.max(kb.loadI32(kb.buffer(1), row), kb.integer(0));
    token = kb.min(token, kb.integer(kernel.getVocab() - 1));
    Value from = kb.at(kb.buffer(0), token, rowBytes);
    Value to = kb.at(kb.buffer(2), row, width * 4);
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
