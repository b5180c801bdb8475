//===- Cache.cpp - Writing the paged KV cache -----------------------------===//

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;
using namespace mlir;

/// buffers: x, slots, positions, page table, base of the layer's pages.
/// params: M, maxPages. Rows at position -1 write nothing: the dummy page is
/// there so that their page table lookups are valid, and nobody reads it.
static void emitKvAppend(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width"), page = config.integer("page");
  int64_t entry = config.integer("entry_width", width);
  int64_t bytes = byteWidth(config.dtype());
  int64_t stride = config.integer("x_stride", width);
  kb.forTasks([&](Value row) {
    Value position = kb.loadI32(kb.buffer(2), row);
    kb.ifThen(kb.cmp(Cmp::GE, position, 0), [&] {
      Value slot = kb.loadI32(kb.buffer(1), row);
      Value index = kb.add(kb.mul(slot, kb.param(1)), kb.div(position, page));
      Value block = kb.loadI32(kb.buffer(3), index);
      Value place = kb.add(kb.mul(block, page), kb.rem(position, page));
      Value to = kb.at(kb.at(kb.buffer(4), place, entry * bytes),
                       config.integer("entry_offset") * bytes);
      Value from = kb.at(kb.buffer(0), row, stride * 4);
      kb.forChunks(width, [&](Value first, Value mask) {
        Value value = kb.load(kb.f32Vector(), kb.at(from, first, 4), mask);
        kb.storeFloats(value, kb.at(to, first, bytes), config.dtype(), mask);
      });
    });
  });
}

static LogicalResult verifyKvAppend(const KernelConfig &config,
                                    EmitError emitError) {
  int64_t width = config.integer("width");
  int64_t end = config.integer("entry_offset") + width;
  int64_t entry = config.integer("entry_width", width);
  if (config.integer("entry_offset") < 0 || end > entry)
    return emitError() << "expected entry_offset + width to be at most "
                          "entry_width "
                       << entry << ", got " << end;
  return success();
}

static constexpr ConfigKey kvAppendKeys[] = {
    {"width", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, false},
    {"entry_offset", ConfigKey::Int, false},
    {"x_stride", ConfigKey::Int, false}};

static const KernelKind kinds[] = {{"kv_append", kvAppendKeys, emitKvAppend,
                                    taskPerRow, nullptr, verifyKvAppend}};

llvm::ArrayRef<KernelKind> mtp::codegen::cacheKernels() { return kinds; }
