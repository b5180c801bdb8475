//===- Cache.cpp - Writing the paged KV cache -----------------------------===//

#include "compiler/Codegen/Rows/Cache.h"

#include "compiler/Codegen/KernelCatalogue.h"

using namespace mtp::codegen;
using namespace mlir;

/// The first head's share of the entry of `slot` at `position`.
static Value shareAt(KernelBuilder &kb, const CacheBuffers &cache,
                     const CacheLayout &layout, int64_t bytes, Value slot,
                     Value position) {
  Value index =
      kb.add(kb.mul(slot, cache.maxPages), kb.div(position, layout.page));
  Value page = kb.at(cache.pages, kb.loadI32(cache.pageTable, index),
                     layout.pageBytes(bytes));
  return kb.at(page, kb.rem(position, layout.page), layout.share() * bytes);
}

/// Whether a slot can have an entry at `position`.
static Value isEntry(KernelBuilder &kb, const CacheBuffers &cache,
                     const CacheLayout &layout, Value position) {
  Value end = kb.mul(cache.maxPages, layout.page);
  return kb.bitAnd(kb.cmp(Cmp::GE, position, 0),
                   kb.cmp(Cmp::LT, position, end));
}

void mtp::codegen::emitForEntry(KernelBuilder &kb, const CacheBuffers &cache,
                                const CacheLayout &layout, int64_t bytes,
                                Value row,
                                llvm::function_ref<void(Value)> body) {
  Value position = kb.loadI32(cache.positions, row);
  kb.ifThen(isEntry(kb, cache, layout, position), [&] {
    Value slot = kb.clampIndex(kb.loadI32(cache.slots, row), cache.slotCount);
    body(shareAt(kb, cache, layout, bytes, slot, position));
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
  kb.forItems(layout.heads, [&](Value head) {
    kb.copyFloats(kb.at(from, head, perHead * 4),
                  kb.at(to, head, layout.headStride() * bytes), perHead, dtype);
  });
}

/// buffers: x, slots, positions, page table, base of the layer's pages.
/// params: M, maxPages.
static void emitKvAppend(KernelBuilder &kb, const KernelConfig &config) {
  int64_t width = config.integer("width");
  int64_t stride = config.integer("x_stride", width);
  CacheBuffers cache{kb.buffer(1), kb.buffer(2), kb.buffer(3),
                     kb.buffer(4), kb.param(1),  config.integer("slots")};
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

/// A head's share each.
static TaskItems kvAppendItems(const KernelConfig &config) {
  return {appendLayout(config).heads, /*areJoined=*/false};
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

/// Task i moves the entries of the i-th slot, in the order of the positions.
/// buffers: slots, from, to, page table, base of the layer's pages.
/// params: b, maxPages, positions of a slot.
static void emitKvMove(KernelBuilder &kb, const KernelConfig &config) {
  CacheBuffers cache{kb.buffer(0), kb.buffer(1), kb.buffer(3),
                     kb.buffer(4), kb.param(1),  config.integer("slots")};
  CacheLayout layout(config, config.integer("entry_width"));
  DType dtype = config.dtype();
  int64_t bytes = byteWidth(dtype);
  Value count = kb.param(2);
  kb.forTasks([&](Value i) {
    Value slot = kb.clampIndex(kb.loadI32(cache.slots, i), cache.slotCount);
    kb.forRange(kb.integer(0), count, 1, [&](Value j) {
      Value place = kb.add(kb.mul(i, count), j);
      Value from = kb.loadI32(kb.buffer(1), place);
      Value to = kb.loadI32(kb.buffer(2), place);
      Value moves = kb.bitAnd(isEntry(kb, cache, layout, from),
                              isEntry(kb, cache, layout, to));
      kb.ifThen(kb.bitAnd(moves, kb.cmp(Cmp::NE, from, to)), [&] {
        Value source = shareAt(kb, cache, layout, bytes, slot, from);
        Value target = shareAt(kb, cache, layout, bytes, slot, to);
        Value heads = kb.integer(layout.heads);
        kb.forRange(kb.integer(0), heads, 1, [&](Value head) {
          int64_t stride = layout.headStride() * bytes;
          Value x = kb.at(source, head, stride);
          Value y = kb.at(target, head, stride);
          kb.mapChunks(
              layout.share(),
              [&](Value first, Value mask) {
                return Values{
                    kb.loadFloats(kb.at(x, first, bytes), dtype, mask)};
              },
              [&](Value first, Value mask, ValueRange loaded) {
                kb.storeFloats(loaded[0], kb.at(y, first, bytes), dtype, mask);
              });
        });
      });
    });
  });
}

static LogicalResult verifyKvMove(const KernelConfig &config,
                                  EmitError emitError) {
  return verifyCacheHeads(CacheLayout(config, config.integer("entry_width")),
                          emitError);
}

static constexpr ConfigKey kvMoveKeys[] = {
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, true},
    {"cache_heads", ConfigKey::Int, false},
    {"slots", ConfigKey::Int, false}};

static constexpr ConfigKey kvAppendKeys[] = {
    {"width", ConfigKey::Int, true},
    {"dtype", ConfigKey::Text, true, "f32|bf16"},
    {"page", ConfigKey::Int, true},
    {"entry_width", ConfigKey::Int, false},
    {"entry_offset", ConfigKey::Int, false},
    {"cache_heads", ConfigKey::Int, false},
    {"slots", ConfigKey::Int, false},
    {"x_stride", ConfigKey::Int, false}};

static const RowKernel kinds[] = {
    {{"kv_append", kvAppendKeys, verifyKvAppend},
     emitKvAppend,
     /*scratch=*/nullptr,
     kvAppendItems},
    {{"kv_move", kvMoveKeys, verifyKvMove}, emitKvMove}};

llvm::ArrayRef<RowKernel> mtp::codegen::cacheKernels() { return kinds; }
