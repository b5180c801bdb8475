//===- Cache.cpp - Writing the paged KV cache -----------------------------===//

#include "compiler/Codegen/CPU/Cache.h"

#include "compiler/Codegen/CPU/KernelTable.h"

using namespace mtp::codegen;
using namespace mlir;

void mtp::codegen::emitForEntry(KernelBuilder &kb, const CacheBuffers &cache,
                                const CacheLayout &layout, int64_t bytes,
                                Value row,
                                llvm::function_ref<void(Value)> body) {
  Value position = kb.loadI32(cache.positions, row);
  Value end = kb.mul(cache.maxPages, layout.page);
  Value isLive = kb.bitAnd(kb.cmp(Cmp::GE, position, 0),
                           kb.cmp(Cmp::LT, position, end));
  kb.ifThen(isLive, [&] {
    Value slot = kb.clampIndex(kb.loadI32(cache.slots, row), cache.slotCount);
    Value index =
        kb.add(kb.mul(slot, cache.maxPages), kb.div(position, layout.page));
    Value page = kb.at(cache.pages, kb.loadI32(cache.pageTable, index),
                       layout.pageBytes(bytes));
    body(kb.at(page, kb.rem(position, layout.page), layout.share() * bytes));
  });
}

LogicalResult mtp::codegen::verifyCacheHeads(const CacheLayout &layout,
                                             EmitError emitError) {
  if (layout.entry % layout.heads != 0)
    return emitError() << "expected entry_width to be a multiple of "
                          "cache_heads "
                       << layout.heads << ", got " << layout.entry;
  return success();
}

LogicalResult mtp::codegen::verifyCacheHeads(const CacheLayout &layout,
                                             int64_t heads, StringRef key,
                                             EmitError emitError) {
  if (layout.heads != 1 && layout.heads != heads)
    return emitError() << "expected cache_heads to be 1 or " << key << " "
                       << heads << ", got " << layout.heads;
  return verifyCacheHeads(layout, emitError);
}

LogicalResult mtp::codegen::verifyInEntry(const CacheLayout &layout,
                                          int64_t offset, int64_t width,
                                          StringRef offsetKey,
                                          StringRef widthKey,
                                          EmitError emitError) {
  if (offset < 0 || offset + width > layout.entry)
    return emitError() << "expected " << offsetKey << " + " << widthKey
                       << " to be at most entry_width " << layout.entry
                       << ", got " << offset + width;
  for (auto [key, value] :
       {std::pair(offsetKey, offset), std::pair(widthKey, width)})
    if (value % layout.heads != 0)
      return emitError() << "expected " << key
                         << " to be a multiple of cache_heads " << layout.heads
                         << ", got " << value;
  return success();
}

static CacheLayout appendLayout(const KernelConfig &config) {
  return CacheLayout(config,
                     config.integer("entry_width", config.integer("width")));
}

void mtp::codegen::emitCopyToShares(KernelBuilder &kb,
                                    const CacheLayout &layout, Value from,
                                    Value share, int64_t offset, int64_t width,
                                    DType dtype) {
  int64_t bytes = byteWidth(dtype), perHead = width / layout.heads;
  Value to = kb.at(share, offset / layout.heads * bytes);
  kb.forRange(kb.integer(0), kb.integer(layout.heads), 1, [&](Value head) {
    kb.copyFloats(kb.at(from, head, perHead * 4),
                  kb.at(to, head, layout.headStride() * bytes), perHead, dtype);
  });
}

/// buffers: x, slots, positions, page table, base of the layer's pages.
/// params: M, maxPages.
static void emitKvAppend(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t stride = config.integer("x_stride", width);
  CacheBuffers cache{kb.buffer(1), kb.buffer(2), kb.buffer(3), kb.buffer(4),
                     kb.param(1), config.integer("slots")};
  CacheLayout layout = appendLayout(config);
  kb.forTasks([&](Value row) {
    emitForEntry(
        kb, cache, layout, byteWidth(config.dtype()), row, [&](Value share) {
          emitCopyToShares(kb, layout, kb.at(kb.buffer(0), row, stride * 4),
                           share, config.integer("entry_offset"), width,
                           config.dtype());
        });
  });
}

static LogicalResult verifyKvAppend(const KernelConfig &config,
                                    EmitError emitError) {
  CacheLayout layout = appendLayout(config);
  if (failed(verifyCacheHeads(layout, emitError)))
    return failure();
  return verifyInEntry(layout, config.integer("entry_offset"),
                       config.integer("width"), "entry_offset", "width",
                       emitError);
}

static constexpr ConfigKey kvAppendKeys[] = {
    {"width", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, false},
    {"entry_offset", ConfigKey::Int, false},
    {"cache_heads", ConfigKey::Int, false},
    {"slots", ConfigKey::Int, false},
    {"x_stride", ConfigKey::Int, false}};

static const KernelKind kinds[] = {{"kv_append", kvAppendKeys, emitKvAppend,
                                    taskPerRow, nullptr, verifyKvAppend}};

llvm::ArrayRef<KernelKind> mtp::codegen::cacheKernels() { return kinds; }
