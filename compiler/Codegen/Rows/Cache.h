//===- Cache.h - Entries of the paged KV cache ------------------*- C++ -*-===//

#ifndef MTP_COMPILER_CODEGEN_ROWS_CACHE_H
#define MTP_COMPILER_CODEGEN_ROWS_CACHE_H

#include "compiler/Codegen/CacheLayout.h"
#include "compiler/Codegen/KernelBuilder.h"

namespace mtp::codegen {

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

/// Writes `width` integers at `to` and their scale at `scale` for f32 columns
/// at `from`. All lanes of the task are joined.
void emitIntegers(KernelBuilder &kb, Value from, Value to, Value scale,
                  int64_t width);

/// Writes f32 columns at `from` to columns [offset, offset + width) of an
/// entry. `share` is the first head's share; all heads' shares are written.
void emitCopyToShares(KernelBuilder &kb, const CacheLayout &layout, Value from,
                      Value share, int64_t offset, int64_t width, DType dtype);

} // namespace mtp::codegen

#endif // MTP_COMPILER_CODEGEN_ROWS_CACHE_H
