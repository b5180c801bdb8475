//===- CacheHeads.h - Heads that divide a cache's entries -------*- C++ -*-===//

#ifndef MTP_PASSES_LOWER_CACHEHEADS_H
#define MTP_PASSES_LOWER_CACHEHEADS_H

#include "dialects/MTP/IR/MTPOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mtp {

/// Returns for each cache of `module`, by name, the number of heads among which
/// its entries are divided, so that a page stores each head's part
/// contiguously. That is the number of key heads if all attention ops on the
/// cache agree on it and every append writes all keys or all values; else one.
llvm::StringMap<int64_t> findCacheHeads(ModuleOp module);

/// Checks that each column of a cache of integers has one of the two scales of
/// its head's share: rows are appended in at most two pieces, and every
/// attention reads these pieces. `heads` is the result of findCacheHeads.
LogicalResult verifyCacheScales(ModuleOp module,
                                const llvm::StringMap<int64_t> &heads);

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_CACHEHEADS_H
