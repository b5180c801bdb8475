//===- Cache.h - Entries of the paged KV cache ------------------*- C++ -*-===//

#ifndef COMPILER_CODEGEN_CPU_CACHE_H
#define COMPILER_CODEGEN_CPU_CACHE_H

#include "compiler/Codegen/CPU/KernelBuilder.h"

namespace mtp::codegen {

/// The buffers that say where a row's cache entry is.
struct CacheBuffers {
  Value slots, positions, pageTable;
  /// Of one layer.
  Value pages;
  /// Pages per slot.
  Value maxPages;
};

/// Runs `body` on the entry of `row`, of `entryBytes` in pages of `page`
/// entries. A row at position -1 has none: nothing is written for it.
void emitForEntry(KernelBuilder &kb, const CacheBuffers &cache, int64_t page,
                  int64_t entryBytes, Value row,
                  llvm::function_ref<void(Value entry)> body);

/// Reports unless columns [offset, offset + width) lie in an entry; the keys
/// name them in the message.
mlir::LogicalResult verifyInEntry(int64_t offset, int64_t width, int64_t entry,
                                  llvm::StringRef keys, EmitError emitError);

} // namespace mtp::codegen

#endif // COMPILER_CODEGEN_CPU_CACHE_H
