//===- Cache.cpp - Writing the paged KV cache -----------------------------===//

#include "compiler/Codegen/CPU/Cache.h"

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;
using namespace mlir;

void mtp::codegen::emitForEntry(KernelBuilder &kb, const CacheBuffers &cache,
                                int64_t page, int64_t entryBytes, Value row,
                                llvm::function_ref<void(Value)> body) {
  Value position = kb.loadI32(cache.positions, row);
  kb.ifThen(kb.cmp(Cmp::GE, position, 0), [&] {
    Value slot = kb.loadI32(cache.slots, row);
    Value index = kb.add(kb.mul(slot, cache.maxPages), kb.div(position, page));
    Value block = kb.loadI32(cache.pageTable, index);
    Value place = kb.add(kb.mul(block, page), kb.rem(position, page));
    body(kb.at(cache.pages, place, entryBytes));
  });
}

LogicalResult mtp::codegen::verifyInEntry(int64_t offset, int64_t width,
                                          int64_t entry, StringRef keys,
                                          EmitError emitError) {
  if (offset < 0 || offset + width > entry)
    return emitError() << "expected " << keys << " to be at most entry_width "
                       << entry << ", got " << offset + width;
  return success();
}

/// buffers: x, slots, positions, page table, base of the layer's pages.
/// params: M, maxPages.
static void emitKvAppend(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t bytes = byteWidth(config.dtype());
  int64_t stride = config.integer("x_stride", width);
  CacheBuffers cache{kb.buffer(1), kb.buffer(2), kb.buffer(3), kb.buffer(4),
                     kb.param(1)};
  kb.forTasks([&](Value row) {
    emitForEntry(
        kb, cache, config.integer("page"),
        config.integer("entry_width", width) * bytes, row, [&](Value entry) {
          Value to = kb.at(entry, config.integer("entry_offset") * bytes);
          kb.copyFloats(kb.at(kb.buffer(0), row, stride * 4), to, width,
                        config.dtype());
        });
  });
}

static LogicalResult verifyKvAppend(const KernelConfig &config,
                                    EmitError emitError) {
  int64_t width = config.integer("width");
  return verifyInEntry(config.integer("entry_offset"), width,
                       config.integer("entry_width", width),
                       "entry_offset + width", emitError);
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
