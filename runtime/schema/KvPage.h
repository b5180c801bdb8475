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

/// Positions that a row may take: a round that starts at the last one of the
/// context still writes max_k drafts.
inline constexpr uint64_t positionCount(uint64_t maxContext, uint64_t maxK) {
  return maxContext + maxK + 1;
}

/// Pages that a slot of full length holds.
inline constexpr uint64_t pagesPerSlot(uint64_t maxContext, uint64_t maxK,
                                       uint64_t pageTokens) {
  return (positionCount(maxContext, maxK) + pageTokens - 1) / pageTokens;
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_KVPAGE_H
