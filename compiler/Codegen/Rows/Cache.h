//===- Cache.h - Entries of the paged KV cache ------------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_ROWS_CACHE_H
#define COMPILER_CODEGEN_ROWS_CACHE_H

#include "compiler/Codegen/KernelBuilder.h"
#include "runtime/schema/KvPage.h"

namespace mtp::codegen {

/// How entries lie in a page. An entry is divided evenly among heads. A page
/// holds the first head's shares of all its entries, then the second head's, so
/// that attention finds together all that it reads for one head. The columns of
/// an entry from c on that belong to `heads` heads of w columns each are
/// columns [c / heads, c / heads + w) of the heads' shares. With one head the
/// entries lie whole, one after another.
struct CacheLayout {
  CacheLayout(int64_t page, int64_t entry, int64_t heads)
      : page(page), entry(entry), heads(heads) {}
  /// Of what a kernel says of its cache.
  template <typename KernelT>
  CacheLayout(KernelT kernel, int64_t entry)
      : CacheLayout(kernel.getPage(), entry, kernel.getCacheHeads()) {}

  /// Elements that a head has of an entry.
  int64_t share() const { return entry / heads; }
  /// Elements from a head's share to the next one's.
  int64_t headStride() const { return page * share(); }
  /// Bytes from one page to the next, where elements have `bytes`.
  int64_t pageBytes(int64_t bytes) const {
    return int64_t(mtp::pageStride(page, entry, bytes));
  }

  int64_t page;
  /// Elements of an entry.
  int64_t entry;
  int64_t heads;
};

/// The buffers that say where a row's cache entry is.
struct CacheBuffers {
  Value slots, positions, pageTable;
  /// Of one layer.
  Value pages;
  /// Pages per slot.
  Value maxPages;
  /// Slots of the page table; 0 where the kernel does not say.
  int64_t slotCount = 0;
};

/// Runs `body` on the first head's share in the entry of `row`, of elements of
/// `bytes`. A row at position -1, or behind the pages of its slot, has none:
/// nothing is written for it.
void emitForEntry(KernelBuilder &kb, const CacheBuffers &cache,
                  const CacheLayout &layout, int64_t bytes, Value row,
                  llvm::function_ref<void(Value share)> body);

/// Writes f32 columns at `from` into the shares of all heads from `share`, the
/// first one's, on: columns [offset, offset + width) of the entry.
void emitCopyToShares(KernelBuilder &kb, const CacheLayout &layout, Value from,
                      Value share, int64_t offset, int64_t width, DType dtype);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_CACHE_H
