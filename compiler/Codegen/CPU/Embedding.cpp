//===- Embedding.cpp - Token embeddings -----------------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;

/// buffers: table, tokens, out. params: M.
static void emitEmbed(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  DType dtype = config.dtype();
  kb.forTasks([&](Value row) {
    // Rows that nobody reads may hold any token; stay inside the table.
    Value token = kb.max(kb.loadI32(kb.buffer(1), row), kb.integer(0));
    token = kb.min(token, kb.integer(config.integer("vocab") - 1));
    Value from = kb.at(kb.buffer(0), token, width * byteWidth(dtype));
    Value to = kb.at(kb.buffer(2), row, width * 4);
    kb.forChunks(width, [&](Value first, Value mask) {
      Value value =
          kb.loadFloats(kb.at(from, first, byteWidth(dtype)), dtype, mask);
      kb.store(value, kb.at(to, first, 4), mask);
    });
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
    {"dtype", ConfigKey::Text, true, "f32|bf16"}};

static constexpr ConfigKey maskFirstKeys[] = {{"width", ConfigKey::Int, true}};

static const KernelKind kinds[] = {
    {"embed", embedKeys, emitEmbed, taskPerRow},
    {"mask_first", maskFirstKeys, emitMaskFirst, taskPerRow}};

llvm::ArrayRef<KernelKind> mtp::codegen::embeddingKernels() { return kinds; }
