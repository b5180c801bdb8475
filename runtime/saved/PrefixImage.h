//===- PrefixImage.h - Pages and states of a prefix -------------*- C++ -*-===//
//
// The content of a saved prefix in memory: KV pages of all caches, and copies
// of recurrent states. Nothing here knows sessions or devices.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_SAVED_PREFIXIMAGE_H
#define MTP_RUNTIME_SAVED_PREFIXIMAGE_H

#include "runtime/cache/Digest.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mtp::saved {

/// Bytes that are not initialized.
class Bytes {
public:
  Bytes() = default;
  explicit Bytes(uint64_t count)
      : data(std::make_unique_for_overwrite<uint8_t[]>(count)), count(count) {}

  uint64_t size() const { return count; }
  std::span<uint8_t> span() { return {data.get(), count}; }
  std::span<const uint8_t> span() const { return {data.get(), count}; }

private:
  std::unique_ptr<uint8_t[]> data;
  uint64_t count = 0;
};

/// The artifact and the sizes that a prefix belongs to. A prefix is only of use
/// for a session that has an equal key.
struct PrefixKey {
  /// Name of the model, for messages.
  std::string model;
  /// Digest of the artifact's tables, which have the hashes of its weights.
  cache::Digest artifact = {};
  /// Index of the plan whose programs computed the entries.
  uint32_t plan = 0;
  uint32_t pageTokens = 0;
  /// The number of tokens after a page on which its entries depend.
  uint32_t lookahead = 0;
  /// The caches and layers of a page, in the order of their entries.
  std::vector<std::pair<uint32_t, uint32_t>> layers;
  /// Bytes of a page's entries in all layers, and of a copy's states.
  uint64_t pageBytes = 0;
  uint64_t stateBytes = 0;
};

/// A copy of recurrent states.
struct StateCopy {
  /// The number of tokens that the states have seen.
  uint64_t position = 0;
  /// Tokens up to the end of the page that the copy follows. The copy has the
  /// entries of the pages from there up to the position.
  uint64_t end = 0;
  /// The number of kept rows that go into the states, 0 or 1.
  uint32_t pending = 0;
  /// The makers of the copy's own pages.
  std::vector<uint8_t> makers;
  /// The states, and then the entries of the copy's own pages.
  Bytes data;
};

struct PrefixImage {
  PrefixKey key;
  /// Hash of the cache salt, with which the chain of page hashes begins.
  uint64_t inputs[2] = {};
  /// The tokens of all pages, and those after them on which entries and copies
  /// depend.
  std::vector<int32_t> tokens;
  /// By page, whether kernels of the plan (0) or a library (1) made it.
  std::vector<uint8_t> makers;
  /// The entries of each page, in all layers.
  Bytes pages;
  std::vector<StateCopy> copies;

  /// Returns the number of tokens in whole pages.
  uint64_t pageEnd() const { return uint64_t(makers.size()) * key.pageTokens; }
  std::span<const uint8_t> page(size_t index) const {
    return pages.span().subspan(index * key.pageBytes, key.pageBytes);
  }
};

/// Returns the number of pages whose entries a copy has.
inline uint64_t ownPages(const StateCopy &copy, uint64_t pageTokens) {
  return (copy.position + pageTokens - 1) / pageTokens - copy.end / pageTokens;
}

} // namespace mtp::saved

#endif // MTP_RUNTIME_SAVED_PREFIXIMAGE_H
