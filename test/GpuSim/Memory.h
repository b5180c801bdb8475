//===- Memory.h - The simulated device's memory -----------------*- C++ -*-===//

#ifndef TEST_GPUSIM_MEMORY_H
#define TEST_GPUSIM_MEMORY_H

#include "ByteBits.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mtp::gpusim {

/// What an allocation takes of the device: whole pages of 2 MiB, of which those
/// below 1 MiB share some.
size_t footprintOf(size_t bytes);

/// Devices that there may be.
inline constexpr int kMostDevices = 8;

enum class MemoryKind { Device, Pinned, Global, Constant };

struct Allocation {
  uintptr_t base;
  size_t bytes;
  MemoryKind kind;
  /// Which bytes something wrote; not kept for memory that the host writes,
  /// since nobody sees it do so.
  ByteBits written;
  size_t mappedBytes;
  /// Whose it is, where it is memory of a device.
  int device = 0;
  /// Of scratch memory, which a run of a graph finds unwritten: what was
  /// written since the last run that touched it, by copies to a graph's
  /// inputs.
  std::optional<ByteBits> fresh;
  uint64_t lastRun = 0;

  bool isWritten(size_t offset, size_t count) const {
    return kind != MemoryKind::Device || written.all(offset, count);
  }
  /// Ahead of each access; `run` is the running graph's, 0 outside of one.
  void enter(uint64_t run);
  void noteWrite(size_t offset, size_t count, uint64_t run);
};

/// Every range that a kernel may touch. An address that was freed is never
/// given out again: its pages stay mapped and forbidden, so that the host's
/// late access faults too, and a kernel's is named.
class Memory {
public:
  ~Memory();

  /// Filled with ones, NaN in every float type: what nobody wrote shows. Null
  /// where the device is full.
  Allocation *allocate(size_t bytes, MemoryKind kind);
  bool free(uintptr_t base);
  /// A module's variable or memory that the host registered: written and
  /// owned by others.
  void add(uintptr_t base, size_t bytes, MemoryKind kind);
  void remove(uintptr_t base);

  /// The allocation that holds all of the range, or null; null also where it
  /// is another device's.
  Allocation *find(uintptr_t address, size_t bytes);
  /// Whether a byte of the range is in an allocation.
  bool overlaps(uintptr_t address, size_t bytes) const;
  /// Where an address lies, for a message.
  std::string describe(uintptr_t address) const;

  /// Takes memory that is nobody's allocation, as a graph on the device does;
  /// false where there is not so much.
  bool charge(size_t bytes);
  void giveBack(size_t bytes) { used() -= bytes; }

  /// The device in whose name everything here happens.
  void setDevice(int ordinal) { current = ordinal; }
  int device() const { return current; }

  /// Of each device.
  void setCapacity(size_t bytes) { capacity = bytes; }
  size_t total() const { return capacity; }
  size_t unused() const {
    size_t taken = usedBytes[size_t(current)];
    return taken < capacity ? capacity - taken : 0;
  }

private:
  size_t &used() { return usedBytes[size_t(current)]; }

  std::map<uintptr_t, Allocation> live;
  std::map<uintptr_t, size_t> freed;
  Allocation *last = nullptr;
  size_t capacity = size_t(16) << 30;
  int current = 0;
  std::array<size_t, kMostDevices> usedBytes = {};
};

} // namespace mtp::gpusim

#endif // TEST_GPUSIM_MEMORY_H
