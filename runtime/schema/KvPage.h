//===- KvPage.h - How far pages of a KV cache lie apart ---------*- C++ -*-===//

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

} // namespace mtp

#endif // MTP_RUNTIME_SCHEMA_KVPAGE_H
