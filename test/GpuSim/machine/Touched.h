//===- Touched.h - Bytes that a graph node touches --------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_MACHINE_TOUCHED_H
#define MTP_TEST_GPUSIM_MACHINE_TOUCHED_H

#include "ByteBits.h"
#include "Memory.h"
#include <map>
#include <string>

namespace mtp::gpusim {

/// Bytes of global memory by the allocation that contains them.
class TouchedSet {
public:
  void add(const Allocation &allocation, size_t offset, size_t bytes) {
    Recent &recent = recents[allocation.base / kPage % recents.size()];
    if (!recent.bytes || recent.base != allocation.base)
      recent = {allocation.base, &bytesOf(allocation.base, allocation.bytes)};
    recent.bytes->bits.set(offset, bytes);
  }
  void merge(const TouchedSet &other);
  bool empty() const { return sets.empty(); }
  /// Returns true if the set has one of the bytes from `address` on. A range is
  /// within one allocation.
  bool has(uintptr_t address, size_t bytes) const;
  /// Describes a place that is in both sets, or returns an empty string.
  std::string overlap(const TouchedSet &other) const;

private:
  struct Bytes {
    size_t count;
    ByteBits bits;
  };

  /// An allocation that was touched recently.
  struct Recent {
    uintptr_t base = 0;
    Bytes *bytes = nullptr;
  };
  static constexpr uintptr_t kPage = 4096;

  Bytes &bytesOf(uintptr_t base, size_t count);

  std::map<uintptr_t, Bytes> sets;
  std::array<Recent, 4> recents;
};

/// Bytes that one node touched. `early` has the reads before the thread's
/// griddepcontrol.wait. All writes come after it.
struct Touched {
  TouchedSet early, reads, writes;
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_TOUCHED_H
