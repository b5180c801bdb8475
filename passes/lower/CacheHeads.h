//===- CacheHeads.h - Among how many heads a cache is divided ---*- C++ -*-===//

#ifndef MTP_PASSES_LOWER_CACHEHEADS_H
#define MTP_PASSES_LOWER_CACHEHEADS_H

#include "dialects/MTP/IR/MTPOps.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::mtp {

/// For each cache of `module`, by name, among how many heads its entries can be
/// divided, so that a page has what attention reads for a head in one piece:
/// the key heads that all attention ops on the cache have, where every append
/// writes all keys or all values; else one.
llvm::StringMap<int64_t> findCacheHeads(ModuleOp module);

} // namespace mlir::mtp

#endif // MTP_PASSES_LOWER_CACHEHEADS_H
