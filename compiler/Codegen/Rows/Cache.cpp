//===- Cache.cpp - Writing the paged KV cache -----------------------------===//

#include "compiler/Codegen/Rows/Cache.h"

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/RowQuantization.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Returns the first head's share of the entry of `slot` at `position`.
static Value shareAt(KernelBuilder &kb, const CacheBuffers &cache,
                     const CacheLayout &layout, int64_t bytes, Value slot,
                     Value position) {
  Value index =
      kb.add(kb.mul(slot, cache.maxPages), kb.div(position, layout.page));
  Value page = kb.at(cache.pages, kb.loadI32(cache.pageTable, index),
                     layout.pageBytes(bytes));
  return kb.at(page, kb.rem(position, layout.page), layout.share() * bytes);
}

/// Returns whether a slot can have an entry at `position`.
static Value isEntry(KernelBuilder &kb, const CacheBuffers &cache,
                     const CacheLayout &layout, Value position) {
  Value end = kb.mul(cache.maxPages, layout.page);
  return kb.bitAnd(kb.cmp(Cmp::GE, position, 0),
                   kb.cmp(Cmp::LT, position, end));
}

void codegen::emitForEntry(KernelBuilder &kb, const CacheBuffers &cache,
                           const CacheLayout &layout, int64_t bytes, Value row,
                           llvm::function_ref<void(Value)> body) {
  Value position = kb.loadI32(cache.positions, row);
  kb.ifThen(isEntry(kb, cache, layout, position), [&] {
    Value slot = kb.clampIndex(kb.loadI32(cache.slots, row), cache.slotCount);
    body(shareAt(kb, cache, layout, bytes, slot, position));
  });
}

void codegen::emitIntegers(KernelBuilder &kb, Value from, Value to, Value scale,
                           int64_t width) {
  auto load = [&](Value first, Value mask) {
    return kb.loadLanes(kb.f32Type(), kb.at(from, first, 4), mask);
  };
  Values most = kb.forChunks(width, Values{kb.constant(kb.i32Lanes(), 0)},
                             [&](Value first, Value mask, ValueRange in) {
                               Value bits =
                                   emitMagnitudeBits(kb, load(first, mask));
                               return Values{kb.max(bits, in[0])};
                             });
  most = kb.reduceLanes(most, [&](ValueRange a, ValueRange b) {
    return Values{kb.max(a[0], b[0])};
  });
  RowScale own = emitRowScale(kb, most[0]);
  kb.mapChunks(
      width, [&](Value first, Value mask) { return Values{load(first, mask)}; },
      [&](Value first, Value mask, ValueRange loaded) {
        Value rounded = emitRowInteger(kb, loaded[0], own);
        kb.storeLanes(kb.truncate(rounded, kb.laneType(kb.i8Type())),
                      kb.at(to, first, 1), mask);
      });
  kb.storeOne(own.scale, scale);
}

void codegen::emitCopyToShares(KernelBuilder &kb, const CacheLayout &layout,
                               Value from, Value share, int64_t offset,
                               int64_t width, DType dtype) {
  int64_t bytes = byteWidth(dtype), perHead = width / layout.heads;
  Value to = kb.at(share, offset / layout.heads * bytes);
  kb.forItems(layout.heads, [&](Value head) {
    if (dtype == DType::I8) {
      Value own = kb.at(share, head, layout.headStride());
      return emitIntegers(kb, kb.at(from, head, perHead * 4),
                          kb.at(to, head, layout.headStride()),
                          kb.at(own, layout.scaleOffset(offset)), perHead);
    }
    kb.copyFloats(kb.at(from, head, perHead * 4),
                  kb.at(to, head, layout.headStride() * bytes), perHead, dtype);
  });
}

/// Emits kv_append. Buffers: x, slots, positions, page table, base of the
/// layer's pages. Params: M, maxPages.
static void emitKvAppend(KernelBuilder &kb, exec::KvAppendKernelAttr kernel) {
  int64_t width = kernel.getWidth();
  int64_t stride = strideOr(kernel.getXStride(), width);
  CacheBuffers cache{kb.buffer(1), kb.buffer(2), kb.buffer(3),
                     kb.buffer(4), kb.param(1),  kernel.getSlots()};
  CacheLayout layout(kernel, kernel.getEntry());
  kb.forTasks([&](Value row) {
    emitForEntry(kb, cache, layout, byteWidth(dtypeOf(kernel.getDtype())), row,
                 [&](Value share) {
                   emitCopyToShares(kb, layout,
                                    kb.at(kb.buffer(0), row, stride * 4), share,
                                    kernel.getEntryOffset(), width,
                                    dtypeOf(kernel.getDtype()));
                 });
  });
}

/// Returns one item for each head's share.
static TaskItems kvAppendItems(exec::KvAppendKernelAttr kernel) {
  return {kernel.getCacheHeads(),
          /*areJoined=*/exec::hasScales(kernel.getDtype())};
}

/// Emits moves of entries. Task i moves the entries of the i-th slot, in the
/// order of the positions.
/// Buffers: slots, from, to, page table, base of the layer's pages.
/// Params: b, maxPages, positions of a slot.
static void emitKvMove(KernelBuilder &kb, exec::KvMoveKernelAttr kernel) {
  CacheBuffers cache{kb.buffer(0), kb.buffer(1), kb.buffer(3),
                     kb.buffer(4), kb.param(1),  kernel.getSlots()};
  CacheLayout layout(kernel, kernel.getEntryWidth());
  DType dtype = dtypeOf(kernel.getDtype());
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
          // Shares of integers are whole words.
          if (dtype == DType::I8)
            return kb.copy(x, y, layout.share() / 4);
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

static const RowKernel kinds[] = {
    rowKernel(emitKvAppend, /*scratch=*/nullptr, kvAppendItems),
    rowKernel(emitKvMove)};

llvm::ArrayRef<RowKernel> codegen::cacheKernels() { return kinds; }
