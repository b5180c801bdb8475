//===- Embedding.cpp - Token embeddings -----------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"
#include "runtime/schema/QuantizedPanel.h"

using namespace mtp::codegen;
using mtp::QuantizedPanel;

static void widenFloats(KernelBuilder &kb, int64_t width, DType dtype,
                        Value from, Value to) {
  kb.forChunks(width, [&](Value first, Value mask) {
    Value value =
        kb.loadFloats(kb.at(from, first, byteWidth(dtype)), dtype, mask);
    kb.store(value, kb.at(to, first, 4), mask);
  });
}

/// The first `count` integers at `from`, at most one vector of them, as i32 in
/// their lanes and larger by the bias; what other lanes hold does not matter.
static Value loadIntegers(KernelBuilder &kb, const QuantizedPanel &panel,
                          Value from, int64_t count) {
  int64_t perWord = 32 / panel.bits;
  int64_t words = kb.lanes() / perWord;
  int64_t stored = panel.storedInputs(count) / perWord;
  Value mask;
  if (stored < words)
    mask = kb.prefixMask(stored, words);
  Value loaded = kb.load(kb.vectorType(kb.i32Type(), words), from, mask);
  llvm::SmallVector<int64_t> wordOf;
  for (int64_t i = 0; i < kb.lanes(); ++i)
    wordOf.push_back(i / perWord);
  // Byte i % 4 of the word; of int4 its low half for the first four.
  Value lane = kb.iota(kb.lanes());
  auto all = [&](int64_t value) { return kb.constant(kb.i32Vector(), value); };
  Value shift = kb.mul(kb.bitAnd(lane, all(3)), all(8));
  if (panel.bits == 4)
    shift = kb.add(shift, kb.bitAnd(lane, all(4)));
  Value shifted = kb.shiftRight(kb.shuffle(loaded, loaded, wordOf), shift);
  return kb.bitAnd(shifted, all(panel.bits == 8 ? 0xff : 0xf));
}

/// Writes `inputs` values of a group: each is one product, so that all
/// instruction sets give the same bits.
static void widenGroup(KernelBuilder &kb, const QuantizedPanel &panel,
                       Value from, Value to, int64_t inputs) {
  Value scale = kb.splat(kb.load(kb.f32Type(), from));
  Value bias = kb.constant(kb.i32Vector(), panel.bits == 8 ? 128 : 8);
  for (int64_t i = 0; i < inputs; i += kb.lanes()) {
    int64_t count = std::min(kb.lanes(), inputs - i);
    Value integers =
        loadIntegers(kb, panel, kb.at(from, 4 + i * panel.bits / 8), count);
    Value value = kb.mul(kb.toFloat(kb.sub(integers, bias)), scale);
    Value mask;
    if (count < kb.lanes())
      mask = kb.prefixMask(count, kb.lanes());
    kb.store(value, kb.at(to, i * 4), mask);
  }
}

static void widenRow(KernelBuilder &kb, const QuantizedPanel &panel, Value from,
                     Value to) {
  auto widen = [&](Value group, int64_t inputs) {
    widenGroup(kb, panel, kb.at(from, group, panel.rowGroupBytes(panel.group)),
               kb.at(to, group, panel.group * 4), inputs);
  };
  kb.forRange(kb.integer(0), kb.integer(panel.fullGroups()), 1,
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
    kb.forChunks(width, [&](Value begin, Value mask) {
      Value value = kb.load(kb.f32Vector(), kb.at(from, begin, 4), mask);
      Value zero = kb.constant(kb.f32Vector(), 0);
      kb.store(kb.select(kb.splat(first), zero, value), kb.at(to, begin, 4),
               mask);
    });
  });
}

static constexpr ConfigKey embedKeys[] = {
    {"width", ConfigKey::Int, true},
    {"vocab", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, weightDTypes},
    {"group", ConfigKey::Int, false}};

static constexpr ConfigKey maskFirstKeys[] = {{"width", ConfigKey::Int, true}};

static const KernelEmitter kinds[] = {
    {"embed", embedKeys, emitEmbed, /*scratch=*/nullptr, verifyWeightFormat},
    {"mask_first", maskFirstKeys, emitMaskFirst}};

llvm::ArrayRef<KernelEmitter> mtp::codegen::embeddingKernels() { return kinds; }
