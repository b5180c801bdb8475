//===- ByteBits.h - A bit for each byte of a range --------------*- C++ -*-===//
//
// One bit for each byte of an allocation: written, or touched by a node of a
// graph. Pages of bits are created when they are first needed, so a large
// buffer that is hardly used costs little.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TEST_GPUSIM_MACHINE_BYTEBITS_H
#define MTP_TEST_GPUSIM_MACHINE_BYTEBITS_H

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

  void set(size_t first, size_t count) {
    if (isInWord(first, count) && pages[first / kPage])
      (*pages[first / kPage])[first % kPage / 64] |= maskOf(first % 64, count);
    else
      setSlowly(first, count);
  }
  void clear(size_t first, size_t count);
  /// Returns true if all bits of the range are set. Fast path for a kernel's
  /// accesses.
  bool all(size_t first, size_t count) const {
    return firstClear(first, count) == npos;
  }
  /// Returns the first byte of the range that is not set, or npos if all are.
  size_t firstClear(size_t first, size_t count) const {
    if (isInWord(first, count) && pages[first / kPage]) {
      uint64_t mask = maskOf(first % 64, count);
      if (((*pages[first / kPage])[first % kPage / 64] & mask) == mask)
        return npos;
    }
    return findClear(first, count);
  }
  /// Returns true if any byte of the range is set.
  bool any(size_t first, size_t count) const;
  /// Returns the first byte that is set here and in `other`, or npos.
  size_t firstCommon(const ByteBits &other) const;
  /// Sets all bytes that are set in `other`, which has the same size.
  void unite(const ByteBits &other);
  /// Copies the bits of a range of `other`.
  void copy(size_t first, const ByteBits &other, size_t otherFirst,
            size_t count);

private:
  static constexpr size_t kPage = 4096;
  using Page = std::array<uint64_t, kPage / 64>;

  /// Returns a mask of the bits [first, first + count) of a word. `count` is at
  /// least 1.
  static uint64_t maskOf(size_t first, size_t count) {
    return (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << first;
  }

  static bool isInWord(size_t first, size_t count) {
    return count && first % 64 + count <= 64;
  }

  // The general cases of `set` and `firstClear`, which handle a kernel's
  // accesses inline.
  void setSlowly(size_t first, size_t count);
  size_t findClear(size_t first, size_t count) const;

  bool get(size_t byte) const {
    const auto &page = pages[byte / kPage];
    return page && (*page)[byte % kPage / 64] >> byte % 64 & 1;
  }

  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_BYTEBITS_H
