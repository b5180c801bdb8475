//===- Snapshots.h - Recurrent states behind prefixes -----------*- C++ -*-===//
// A page holds what attention reads of a prefix, but no states of recurrent
// layers. So the host copies these states: after a chunk of a prompt that ends
// a page, when a sequence ends, and when a sequence loses its slot.
//
// A copy is attached to a page of the index, or of a slot. As long as that page
// holds the prefix, a sequence may begin with the copy. Rounds may end in the
// middle of a page. So a copy may be some tokens further than its page, and
// then also has the entries of the pages of these tokens. A copy without a page
// has the entries of all its tokens, and needs no page to survive.
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_SNAPSHOTS_H
#define MTP_RUNTIME_EXEC_MEMORY_SNAPSHOTS_H

#include "mtp/session.h"
#include "runtime/core/MemoryAccount.h"
#include "runtime/device/Device.h"
#include "runtime/exec/memory/KvCacheManager.h"

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace mtp {

/// Limits and sizes of copies.
struct SnapshotLimits {
  /// Bytes of host memory for all copies.
  uint64_t bytes = 0;
  /// See KvConfig.
  uint32_t pageTokens = 0;
  uint32_t lookahead = 0;
  uint32_t rerun = 1;
  /// The caches and layers that have entries.
  std::vector<std::pair<uint32_t, uint32_t>> layers;
};

/// Copies of slots' states (Rebuild::Run).
class Snapshots {
public:
  using Id = uint64_t;

  /// The number of copies made and of copies dropped, and the bytes of those
  /// that exist.
  struct Counts {
    uint64_t made = 0, dropped = 0, bytes = 0;
  };

  /// The position of a copy.
  struct Place {
    /// The number of tokens that the states have seen after `pending` of the
    /// kept rows have gone into them.
    uint64_t position = 0;
    uint32_t pending = 0;
    /// Whether the copy is a sequence's own, which no other copy replaces.
    bool isKept = false;
  };

  /// A copy, and the pages that it is attached to.
  struct Copy : Place {
    Copy(const Place &place, const Prefix &prefix)
        : Place(place), page(prefix.page), end(prefix.end) {}

    /// The last of these pages, and the number of their tokens; 0 if there are
    /// none.
    uint32_t page;
    uint64_t end;
    /// The tokens after the page and the lookahead, and the makers of their
    /// pages.
    std::vector<int32_t> tokens;
    std::vector<PageProvenance> makers;
    /// The hash of inputs and the salt, if no page says them.
    Hash128 inputs;
    std::vector<int32_t> salt;

    /// The states, and then the entries of each page.
    std::unique_ptr<uint8_t[]> data;
    uint64_t bytes = 0;
    MemoryReservation memory;
    /// Its key in `byUse`.
    uint64_t tick = 0;
  };

  /// Keeps the copies that fit; the least recently used go first. The
  /// executable must outlive it.
  Snapshots(const Artifact &artifact, Executable &executable,
            const SnapshotLimits &limits);

  /// Returns the bytes of a copy without pages; 0 if slots have no such states.
  uint64_t bytes() const { return size; }
  /// Whether there can be any copy.
  bool isOn() const { return size > 0 && size <= limits.bytes; }
  const Counts &counts() const { return counted; }

  /// Returns the copy from which a sequence with this prefix in its pages may
  /// go on with the fewest tokens left to run. The pages must have been made
  /// exactly as the prefix says. Null if there is no such copy. Valid until a
  /// copy is stored or forgotten.
  const Copy *find(const Prefix &prefix) const;

  /// Returns the copy `id` if it still exists and a sequence with `prefix` may
  /// go on with it.
  const Copy *get(Id id, const Prefix &prefix) const;

  /// Copies the slot's states: all tokens before the place's position are in
  /// them or in the first `pending` kept rows. `table` has the slot's pages.
  /// The prefix has the tokens up to the position, and the lookahead. The copy
  /// is attached to the prefix's page, and replaces a copy of equal tokens.
  /// Returns 0 if memory is short, or if the device does not give the states:
  /// no sequence depends on a copy.
  Id store(const Prefix &prefix, const Place &place, uint32_t slot,
           std::span<const int32_t> table, const MemoryLimit &memory);

  /// As store(), with the bytes of a copy that saved() gave. Returns 0 if they
  /// are not as long as the copy's.
  Id adopt(const Prefix &prefix, const Place &place,
           std::span<const uint8_t> data, const MemoryLimit &memory);

  /// Returns the copies of the prefix's tokens that are attached to its page,
  /// without those that sequences keep for themselves. Valid until a copy is
  /// stored or forgotten.
  std::vector<const Copy *> attached(const Prefix &prefix) const;

  /// Writes a copy to the slot's states, and its entries to those of the slot's
  /// pages that are not among the first `taken`.
  Status restore(const Copy &copy, uint32_t slot,
                 std::span<const int32_t> table, uint64_t taken);

  /// Notes that the page holds something else from now on.
  void forget(uint32_t page);
  /// Notes that page `to` now has the content of page `from`.
  void move(uint32_t from, uint32_t to);
  /// Drops a copy. No effect if it does not exist.
  void drop(Id id);
  /// Drops the least recently used copy; false if there is none.
  bool dropOldest();
  /// Whether `bytes` of host memory are free, or would be without copies.
  bool canMakeRoom(uint64_t bytes, const MemoryLimit &memory) const;

  /// Checks that every copy is attached to a page that holds its prefix, and
  /// that counts are right.
  Status checkInvariant(const KvCacheManager &kv) const;

private:
  struct Part {
    uint32_t state;
    /// Bytes that a slot has in the state.
    uint64_t bytes;
  };

  bool isOf(const Copy &copy, const Prefix &prefix) const;
  const Copy *behind(uint32_t page, const Prefix &prefix) const;
  uint64_t pagesOf(const Copy &copy) const;
  void dropSame(const Copy &copy);
  Copy copyOf(const Prefix &prefix, const Place &place) const;
  bool makeData(Copy &copy, const MemoryLimit &memory);
  Id keep(Copy copy);
  bool makeRoom(uint64_t bytes, const MemoryLimit &memory,
                MemoryReservation &reserved);
  Status read(Copy &copy, uint32_t slot, std::span<const int32_t> table);
  void use(Copy &copy, Id id);

  const Artifact &artifact;
  Executable &executable;
  SnapshotLimits limits;
  Counts counted;
  std::vector<Part> parts;
  uint64_t size = 0, pageSize = 0;
  std::unordered_map<Id, Copy> copies;
  std::unordered_multimap<uint32_t, Id> byPage;
  std::map<uint64_t, Id> byUse;
  uint64_t clock = 0;
  Id last = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_SNAPSHOTS_H
