//===- Cache.h - Entries of the paged KV cache ------------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_ROWS_CACHE_H
#define COMPILER_CODEGEN_ROWS_CACHE_H

#include "compiler/Codegen/KernelBuilder.h"
#include "runtime/schema/KvPage.h"

namespace mtp::codegen {

/// Layout of entries in a page. An entry is divided evenly among heads. A page
/// holds the first head's shares of all its entries, then the second head's, so
/// that attention reads one head's data in one piece. Let columns from c on of
/// an entry belong to `heads` heads of w columns each. They are then columns
/// [c / heads, c / heads + w) of the heads' shares. With one head, entries are
/// stored whole, one after another.
struct CacheLayout {
  CacheLayout(int64_t page, int64_t entry, int64_t heads)
      : page(page), entry(entry), heads(heads) {}
  /// Reads the layout from a kernel's parameters.
  template <typename KernelT>
  CacheLayout(KernelT kernel, int64_t entry)
      : CacheLayout(kernel.getPage(), entry, kernel.getCacheHeads()) {}

  /// Returns the elements of one head's share of an entry.
  int64_t share() const { return entry / heads; }
  /// Returns the elements from a head's share to the next head's share.
  int64_t headStride() const { return page * share(); }
  /// Returns the bytes from one page to the next. An element has `bytes` bytes.
  int64_t pageBytes(int64_t bytes) const {
    return int64_t(mtp::pageStride(page, entry, bytes));
  }

  int64_t page;
  /// Elements of an entry.
  int64_t entry;
  int64_t heads;
};

/// Buffers that determine the address of a row's cache entry.
struct CacheBuffers {
  Value slots, positions, pageTable;
  /// Pages of one layer.
  Value pages;
  /// Pages per slot.
  Value maxPages;
  /// Slots of the page table; 0 if the kernel does not state them.
  int64_t slotCount = 0;
};

/// Runs `body` on the first head's share of the entry of `row`; elements have
/// `bytes` bytes. A row at position -1, or past the pages of its slot, has no
/// entry, and `body` does not run.
void emitForEntry(KernelBuilder &kb, const CacheBuffers &cache,
                  const CacheLayout &layout, int64_t bytes, Value row,
                  llvm::function_ref<void(Value share)> body);

/// Writes f32 columns at `from` to columns [offset, offset + width) of an
/// entry. `share` is the first head's share; all heads' shares are written.
void emitCopyToShares(KernelBuilder &kb, const CacheLayout &layout, Value from,
                      Value share, int64_t offset, int64_t width, DType dtype);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_ROWS_CACHE_H
