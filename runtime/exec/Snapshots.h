//===- Snapshots.h - Recurrent states behind prefixes -----------*- C++ -*-===//
//
// A page holds what attention reads of a prefix, and nothing of what recurrent
// layers carry on from it. So the host copies these states where a prompt has
// been read up to the end of a page, and the copy belongs to that page: as long
// as it holds the prefix, a sequence may begin behind it.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SNAPSHOTS_H
#define MTP_RUNTIME_EXEC_SNAPSHOTS_H

#include "runtime/core/MemoryAccount.h"
#include "runtime/device/Device.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace mtp {

/// Copies of slots' states (Rebuild::Run), by the page that they stand behind.
class Snapshots {
public:
  /// Keeps as many copies as fit into `budget` bytes; those that nobody used
  /// for longest go first. The executable must outlive it.
  Snapshots(const Artifact &artifact, Executable &executable, uint64_t budget);

  /// Bytes of one copy; 0 where slots have no such states.
  uint64_t bytes() const { return size; }
  /// Whether there can be any.
  bool isOn() const { return size > 0 && size <= budget; }
  size_t count() const { return copies.size(); }

  bool has(uint32_t page) const { return copies.contains(page); }
  /// Copies what the slot's states hold, the rows up to the end of `page` being
  /// the last that it ran. False where there is no memory for it, which is no
  /// error.
  Result<bool> store(uint32_t slot, uint32_t page, const MemoryLimit &memory);
  /// Writes the copy of `page`, which there must be, to the slot's states.
  Status restore(uint32_t slot, uint32_t page);
  /// The page holds something else from now on.
  void forget(uint32_t page);

private:
  struct Part {
    uint32_t state;
    /// Of a slot.
    uint64_t bytes;
  };
  struct Copy {
    std::vector<uint8_t> bytes;
    MemoryReservation memory;
    /// Its key in `byUse`.
    uint64_t tick = 0;
  };

  void use(Copy &copy, uint32_t page);

  Executable &executable;
  std::vector<Part> parts;
  uint64_t size = 0, budget = 0;
  std::unordered_map<uint32_t, Copy> copies;
  std::map<uint64_t, uint32_t> byUse;
  uint64_t clock = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SNAPSHOTS_H
