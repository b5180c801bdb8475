//===- KvPage.h - Number and distance of KV pages ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_SCHEMA_KVPAGE_H
#define MTP_RUNTIME_SCHEMA_KVPAGE_H

#include <cstdint>

namespace mtp {

/// Alignment of every page of a cache layer, in bytes.
inline constexpr uint64_t kPageAlignment = 64;

/// Returns the bytes from one page to the next in a layer: the entries of a
/// page, padded to the page alignment.
inline constexpr uint64_t pageStride(uint64_t pageTokens, uint64_t entryWidth,
                                     uint64_t elementBytes) {
  uint64_t entries = pageTokens * entryWidth * elementBytes;
  return (entries + kPageAlignment - 1) / kPageAlignment * kPageAlignment;
}

/// Bytes of the two f32 scales at the end of each head's share of an entry of
/// i8. The first scale belongs to the columns that are written at column 0, the
/// second scale to the others.
inline constexpr uint64_t kEntryScaleBytes = 8;

/// Returns the bytes of a share of `columns` integers and their scales. Scales
/// are aligned to four bytes.
inline constexpr uint64_t integerShareBytes(uint64_t columns) {
  return (columns + 3) / 4 * 4 + kEntryScaleBytes;
}

/// Returns the maximum number of rows in a slot's window in a round of k. For k
/// = max_k it is `maxNodes` (0: max_k + 1), and one less for each draft less.
/// Without drafts it is one.
inline constexpr uint64_t mostNodes(uint64_t k, uint64_t maxK,
                                    uint64_t maxNodes) {
  return k == 0 || maxNodes == 0 ? k + 1 : maxNodes - (maxK - k);
}

/// Returns the number of pages of a slot of full length. At the context's end a
/// window has fewer rows: no row has a position past the context.
inline constexpr uint64_t pagesPerSlot(uint64_t maxContext,
                                       uint64_t pageTokens) {
  return (maxContext + pageTokens - 1) / pageTokens;
}

/// Returns the number of positions that need pages in a round that begins at
/// `length`: one for each of `nodes` rows, limited by the context, and at least
/// one.
inline constexpr uint64_t roundEnd(uint64_t length, uint64_t nodes,
                                   uint64_t maxContext) {
  uint64_t rest = maxContext > length ? maxContext - length : 1;
  return length + (nodes < rest ? nodes : rest);
}

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_KVPAGE_H
