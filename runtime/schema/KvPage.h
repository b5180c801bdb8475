//===- KvPage.h - Pages of a KV cache: how many, how far apart --*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_KVPAGE_H
#define MTP_RUNTIME_SCHEMA_KVPAGE_H

#include <cstdint>

namespace mtp {

/// Every page of a layer of a KV cache starts at a multiple of this.
inline constexpr uint64_t kPageAlignment = 64;

/// Bytes from one page to the next one of its layer: the entries of a page,
/// padded to the alignment of pages.
inline constexpr uint64_t pageStride(uint64_t pageTokens, uint64_t entryWidth,
                                     uint64_t elementBytes) {
  uint64_t entries = pageTokens * entryWidth * elementBytes;
  return (entries + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
}

/// The most rows of a slot's window in a round of k: at k = max_k `maxNodes`
/// (0: max_k + 1), one less for each draft less, and without drafts one.
inline constexpr uint64_t mostNodes(uint64_t k, uint64_t maxK,
                                    uint64_t maxNodes) {
  return k == 0 || maxNodes == 0 ? k + 1 : maxNodes - (maxK - k);
}

/// Pages that a slot of full length holds. At the context's end a window has
/// fewer rows: none stands behind the last position.
inline constexpr uint64_t pagesPerSlot(uint64_t maxContext,
                                       uint64_t pageTokens) {
  return (maxContext + pageTokens - 1) / pageTokens;
}

/// Positions that a round which begins at `length` needs pages for: a place for
/// each of `nodes` rows, as far as the context goes, and one at least.
inline constexpr uint64_t roundEnd(uint64_t length, uint64_t nodes,
                                   uint64_t maxContext) {
  uint64_t rest = maxContext > length ? maxContext - length : 1;
  return length + (nodes < rest ? nodes : rest);
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_KVPAGE_H
