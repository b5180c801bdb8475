//===- Touched.h - What a node of a graph reads and writes ------*- C++ -*-===//

#ifndef TEST_GPUSIM_TOUCHED_H
#define TEST_GPUSIM_TOUCHED_H

#include "ByteBits.h"
#include "Memory.h"
#include <map>
#include <string>

namespace mtp::gpusim {

/// Bytes of global memory by the allocation that holds them.
class TouchedSet {
public:
  void add(const Allocation &allocation, size_t offset, size_t bytes);
  void merge(const TouchedSet &other);
  bool empty() const { return sets.empty(); }
  /// Whether one of the bytes from `address` on is among them; those of a
  /// range are of one allocation.
  bool has(uintptr_t address, size_t bytes) const;
  /// Where the two meet, for a message; empty where they do not.
  std::string overlap(const TouchedSet &other) const;

private:
  struct Bytes {
    size_t count;
    ByteBits bits;
  };

  std::map<uintptr_t, Bytes> sets;
  uintptr_t lastBase = 0;
  Bytes *last = nullptr;
};

/// What one node touched. `early` is what was read ahead of the thread's
/// griddepcontrol.wait; all writes are behind it.
struct Touched {
  TouchedSet early, reads, writes;
};

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_TOUCHED_H
