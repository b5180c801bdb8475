//===- Memory.h - The simulated device's memory -----------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_MACHINE_MEMORY_H
#define MTP_TEST_GPUSIM_MACHINE_MEMORY_H

#include "ByteBits.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace mtp::gpusim {

/// Returns the device memory of an allocation: whole pages of 2 MiB.
/// Allocations below 1 MiB share pages.
size_t footprintOf(size_t bytes);

/// Maximum number of devices.
inline constexpr int kMostDevices = 8;

enum class MemoryKind { Device, Pinned, Global, Constant };

struct Allocation {
  uintptr_t base;
  size_t bytes;
  MemoryKind kind;
  /// Bytes that were written. Not kept for memory that the host writes
  /// directly, which the simulator cannot see.
  ByteBits written;
  size_t mappedBytes;
  /// Device that owns the memory, if it is device memory.
  int device = 0;
  /// Bytes of scratch memory that copies to a graph's inputs have written since
  /// the last run that touched the memory. Scratch memory is unwritten when a
  /// graph's run begins.
  std::optional<ByteBits> fresh;
  uint64_t lastRun = 0;

  bool isWritten(size_t offset, size_t count) const {
    return kind != MemoryKind::Device || written.all(offset, count);
  }
  /// Begins an access, and must be called before each one. The first access in
  /// a graph's run makes scratch memory unwritten. `run` is the number of the
  /// running graph's run, or 0 outside of graphs.
  void enter(uint64_t run) {
    if (fresh && run != 0 && run != lastRun)
      beginRun(run);
  }
  void noteWrite(size_t offset, size_t count, uint64_t run);

private:
  void beginRun(uint64_t run);
};

/// All ranges that a kernel may touch. A freed address is never reused. Its
/// pages stay mapped and protected, so a late access of the host faults, and a
/// late access of a kernel is reported.
class Memory {
public:
  ~Memory();

  /// Allocates memory filled with ones, NaN in every float type, so that reads
  /// of unwritten memory show. Returns null if the device is full.
  Allocation *allocate(size_t bytes, MemoryKind kind);
  bool free(uintptr_t base);
  /// Adds a module's variable, or memory that the host registered. Others own
  /// it, and it counts as written.
  void add(uintptr_t base, size_t bytes, MemoryKind kind);
  void remove(uintptr_t base);

  /// Returns the allocation that contains the whole range, or null. Memory of
  /// another device is not found.
  Allocation *find(uintptr_t address, size_t bytes) {
    Allocation *recent = recents[address / kPage % kRecents];
    return recent && contains(*recent, address, bytes) ? recent
                                                       : search(address, bytes);
  }
  /// Returns true if a byte of the range is in an allocation.
  bool overlaps(uintptr_t address, size_t bytes) const;
  /// Describes the place of an address, for a message.
  std::string describe(uintptr_t address) const;

  /// Takes memory without an allocation, as a graph on the device does. Returns
  /// false if there is not enough memory.
  bool charge(size_t bytes);
  void giveBack(size_t bytes) { used() -= bytes; }

  /// Device on which all calls here act.
  void setDevice(int ordinal) { current = ordinal; }
  int device() const { return current; }

  /// Memory of each device.
  void setCapacity(size_t bytes) { capacity = bytes; }
  size_t total() const { return capacity; }
  size_t unused() const {
    size_t taken = usedBytes[size_t(current)];
    return taken < capacity ? capacity - taken : 0;
  }

private:
  static constexpr uintptr_t kPage = 4096, kRecents = 64;

  size_t &used() { return usedBytes[size_t(current)]; }
  bool contains(const Allocation &allocation, uintptr_t address,
                size_t bytes) const {
    return (allocation.kind != MemoryKind::Device ||
            allocation.device == current) &&
           address >= allocation.base &&
           address - allocation.base <= allocation.bytes &&
           bytes <= allocation.bytes - (address - allocation.base);
  }
  Allocation *search(uintptr_t address, size_t bytes);

  std::map<uintptr_t, Allocation> live;
  std::map<uintptr_t, size_t> freed;
  /// Allocations that were found recently, by a page of their addresses.
  std::array<Allocation *, kRecents> recents = {};
  size_t capacity = size_t(16) << 30;
  int current = 0;
  std::array<size_t, kMostDevices> usedBytes = {};
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_MEMORY_H
