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

/// Positions that a row may take: a round that starts at the last one of the
/// context still has a window of `nodes` rows.
inline constexpr uint64_t positionCount(uint64_t maxContext, uint64_t nodes) {
  return maxContext + nodes;
}

/// Pages that a slot of full length holds.
inline constexpr uint64_t pagesPerSlot(uint64_t maxContext, uint64_t nodes,
                                       uint64_t pageTokens) {
  return (positionCount(maxContext, nodes) + pageTokens - 1) / pageTokens;
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_KVPAGE_H
