//===- RopeAppend.cpp - Rotation of keys into the cache -------------------===//
//
// The work between the projections of an attention layer and attention itself.
// Keys are rotated and written to their cache entry, values are written beside
// them, and queries are rotated. The row and its angles stay in a thread's L1
// cache.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/KernelCatalogue.h"
#include "compiler/Codegen/Rows/Cache.h"
#include "compiler/Codegen/Rows/Rope.h"

using namespace mtp;
using namespace mtp::codegen;
using namespace mlir;

/// Returns the number of query heads that are rotated with the keys.
template <typename KernelT>
static int64_t queryHeads(KernelT kernel) {
  if constexpr (requires { kernel.getQHeads(); })
    return kernel.getQHeads();
  return 0;
}

template <typename KernelT>
static CacheLayout cacheLayout(KernelT kernel) {
  return CacheLayout(kernel, kernel.getEntry());
}

/// Writes rotated keys as integers. A head is rotated in scratch, because its
/// scale depends on all its columns.
template <typename KernelT>
static void emitIntegerKeys(KernelBuilder &kb, KernelT kernel,
                            const CacheLayout &layout, Value keys, Value angles,
                            Value share) {
  int64_t stride = kernel.getHead(), offset = kernel.getKOffset();
  RopeSpec spec = ropeSpec(kernel.getRotation(), kernel.getPositions(), stride);
  kb.forItems(kernel.getKHeads(), [&](Value head) {
    // Other lanes may still read the previous head.
    kb.sync();
    emitRotatedHead(kb, spec, kb.at(keys, head, stride * 4), kb.scratch(),
                    angles);
    kb.sync();
    Value own = kb.at(share, head, layout.headStride());
    emitIntegers(kb, kb.scratch(), kb.at(own, offset / layout.heads),
                 kb.at(own, layout.scaleOffset(offset)), stride);
  });
}

template <typename KernelT>
static int64_t ropeAppendScratch(KernelT kernel) {
  return exec::hasScales(kernel.getDtype()) ? kernel.getHead() * 4 : 0;
}

/// Writes an entry: rotated keys and copied values. Both are f32 rows, and are
/// rounded to the cache's elements as they are written.
template <typename KernelT>
static void emitEntry(KernelBuilder &kb, KernelT kernel,
                      const CacheLayout &layout, Value keys, Value values,
                      Value angles, Value share) {
  int64_t stride = kernel.getHead();
  DType dtype = dtypeOf(kernel.getDtype());
  Value to =
      kb.at(share, kernel.getKOffset() / layout.heads * byteWidth(dtype));
  if (dtype == DType::I8)
    emitIntegerKeys(kb, kernel, layout, keys, angles, share);
  else
    emitRotatedHeads(
        kb, ropeSpec(kernel.getRotation(), kernel.getPositions(), stride),
        kernel.getKHeads(), stride, keys,
        layout.heads > 1 ? layout.headStride() : stride, to, angles, dtype);
  emitCopyToShares(kb, layout, values, share, kernel.getVOffset(),
                   kernel.getVWidth(), dtype);
}

/// Emits rope and append. Buffers: [q], k, v, table, rotary positions, slots,
/// positions, page table, base of the layer's pages, [y]. Params: M, maxPages.
/// q and y exist if there are query heads.
template <typename KernelT>
static void emitRopeAppend(KernelBuilder &kb, KernelT kernel) {
  int64_t heads = queryHeads(kernel), head = kernel.getHead();
  int64_t first = heads > 0 ? 1 : 0;
  auto rowOf = [&](int64_t buffer, Value row, int64_t stride, int64_t width) {
    return kb.at(kb.buffer(buffer), row, strideOr(stride, width) * 4);
  };
  RopeSpec spec = ropeSpec(kernel.getRotation(), kernel.getPositions(), head);
  int64_t keys = kernel.getKeyWidth(), values = kernel.getVWidth();
  CacheBuffers cache{kb.buffer(first + 4), kb.buffer(first + 5),
                     kb.buffer(first + 6), kb.buffer(first + 7),
                     kb.param(1),          kernel.getSlots()};
  CacheLayout layout = cacheLayout(kernel);
  kb.forTasks([&](Value row) {
    Value angles =
        emitAngles(kb, spec, kb.buffer(first + 2), kb.buffer(first + 3), row);
    emitForEntry(kb, cache, layout, byteWidth(dtypeOf(kernel.getDtype())), row,
                 [&](Value share) {
                   emitEntry(kb, kernel, layout,
                             rowOf(first, row, kernel.getKStride(), keys),
                             rowOf(first + 1, row, kernel.getVStride(), values),
                             angles, share);
                 });
    if constexpr (requires { kernel.getQHeads(); })
      emitRotatedHeads(kb, spec, heads, head,
                       rowOf(0, row, kernel.getQStride(), heads * head), head,
                       rowOf(first + 8, row, kernel.getYStride(), heads * head),
                       angles);
  });
}

/// Returns one item for each head.
template <typename KernelT>
static TaskItems ropeAppendItems(KernelT kernel) {
  return {queryHeads(kernel) + kernel.getKHeads() + cacheLayout(kernel).heads,
          /*areJoined=*/exec::hasScales(kernel.getDtype())};
}

static const RowKernel kinds[] = {
    rowKernel(emitRopeAppend<exec::RopeQkvAppendKernelAttr>,
              ropeAppendScratch<exec::RopeQkvAppendKernelAttr>,
              ropeAppendItems<exec::RopeQkvAppendKernelAttr>),
    rowKernel(emitRopeAppend<exec::RopeKvAppendKernelAttr>,
              ropeAppendScratch<exec::RopeKvAppendKernelAttr>,
              ropeAppendItems<exec::RopeKvAppendKernelAttr>)};

llvm::ArrayRef<RowKernel> codegen::ropeAppendKernels() { return kinds; }
