//===- Embedding.cpp - Token embeddings -----------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;

static void widenFloats(KernelBuilder &kb, int64_t width, DType dtype,
                        Value from, Value to) {
  kb.mapChunks(
      width,
      [&](Value first, Value mask) {
        return Values{
            kb.loadFloats(kb.at(from, first, byteWidth(dtype)), dtype, mask)};
      },
      [&](Value first, Value mask, ValueRange loaded) {
        kb.storeLanes(loaded[0], kb.at(to, first, 4), mask);
      });
}

/// Writes `inputs` values of a group: each is one product, so that all
/// instruction sets give the same bits.
static void widenGroup(KernelBuilder &kb, const QuantizedPanel &panel,
                       Value from, Value to, int64_t inputs) {
  Value scale = kb.splat(kb.loadOne(kb.f32Type(), from));
  Value bias = kb.constant(kb.i32Lanes(), panel.bits == 8 ? 128 : 8);
  for (int64_t i = 0; i < inputs; i += kb.lanes()) {
    int64_t count = std::min(kb.lanes(), inputs - i);
    Value integers =
        kb.loadPacked(kb.at(from, 4 + i * panel.bits / 8), panel.bits, count);
    Value value = kb.mul(kb.toFloat(kb.sub(integers, bias)), scale);
    Value mask;
    if (count < kb.lanes())
      mask = kb.firstLanes(count);
    kb.storeLanes(value, kb.at(to, i * 4), mask);
  }
}

static void widenRow(KernelBuilder &kb, const QuantizedPanel &panel, Value from,
                     Value to) {
  auto widen = [&](Value group, int64_t inputs) {
    widenGroup(kb, panel, kb.at(from, group, panel.rowGroupBytes(panel.group)),
               kb.at(to, group, panel.group * 4), inputs);
  };
  kb.forItems(panel.fullGroups(),
              [&](Value group) { widen(group, panel.group); });
  if (panel.restInputs())
    widen(kb.integer(panel.fullGroups()), panel.restInputs());
}

/// buffers: table, tokens, out. params: M.
static void emitEmbed(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  WeightFormat format = config.weightFormat();
  QuantizedPanel panel{format.bits, format.group, width};
  int64_t rowBytes =
      format.bits ? panel.rowBytes() : width * byteWidth(format.dtype);
  kb.forTasks([&](Value row) {
    // Rows that nobody reads may hold any token; stay inside the table.
    Value token = kb.max(kb.loadI32(kb.buffer(1), row), kb.integer(0));
    token = kb.min(token, kb.integer(config.integer("vocab") - 1));
    Value from = kb.at(kb.buffer(0), token, rowBytes);
    Value to = kb.at(kb.buffer(2), row, width * 4);
    if (format.bits)
      widenRow(kb, panel, from, to);
    else
      widenFloats(kb, width, format.dtype, from, to);
  });
}

/// Zero for the rows at position 0. buffers: x, positions, out. params: M.
static void emitMaskFirst(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
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

static constexpr ConfigKey embedKeys[] = {
    {"width", ConfigKey::Int, true},
    {"vocab", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"group", ConfigKey::Int, false}};

static constexpr ConfigKey maskFirstKeys[] = {{"width", ConfigKey::Int, true}};

static TaskItems widthItems(const KernelConfig &config) {
  return TaskItems::elements(config.integer("width"));
}

static const RowKernel kinds[] = {{{"embed", embedKeys, verifyWeightFormat},
                                   emitEmbed,
                                   /*scratch=*/nullptr,
                                   widthItems},
                                  {{"mask_first", maskFirstKeys},
                                   emitMaskFirst,
                                   /*scratch=*/nullptr,
                                   widthItems}};

llvm::ArrayRef<RowKernel> mtp::codegen::embeddingKernels() { return kinds; }
