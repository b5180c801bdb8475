//===- ByteBits.h - A bit for each byte of a range --------------*- C++ -*-===//
//
// Which bytes of an allocation were written, or touched by a node of a graph.
// Pages of bits are made when they are first needed, so that a large buffer
// of which little is used costs little.
//
//===----------------------------------------------------------------------===//

#ifndef TEST_GPUSIM_BYTEBITS_H
#define TEST_GPUSIM_BYTEBITS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mtp::gpusim {

class ByteBits {
public:
  static constexpr size_t npos = ~size_t(0);

  explicit ByteBits(size_t bytes) : pages((bytes + kPage - 1) / kPage) {}

  void set(size_t first, size_t count);
  void clear(size_t first, size_t count);
  /// Whether all of the range is set; the fast way for a kernel's accesses.
  bool all(size_t first, size_t count) const {
    return firstClear(first, count) == npos;
  }
  /// The first byte of the range that is not set, npos where all are.
  size_t firstClear(size_t first, size_t count) const;
  /// Whether one of the range is set.
  bool any(size_t first, size_t count) const;
  /// The first byte that is set here and in `other`, npos where there is none.
  size_t firstCommon(const ByteBits &other) const;
  /// Sets all that is set in `other`, of the same size.
  void unite(const ByteBits &other);
  /// Makes a range here what a range of `other` is.
  void copy(size_t first, const ByteBits &other, size_t otherFirst,
            size_t count);

private:
  static constexpr size_t kPage = 4096;
  using Page = std::array<uint64_t, kPage / 64>;

  bool get(size_t byte) const {
    const auto &page = pages[byte / kPage];
    return page && (*page)[byte % kPage / 64] >> byte % 64 & 1;
  }

  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_BYTEBITS_H
