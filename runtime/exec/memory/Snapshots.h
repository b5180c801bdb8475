//===- Snapshots.h - Recurrent states behind prefixes -----------*- C++ -*-===//
//
// A page holds what attention reads of a prefix, and nothing of what recurrent
// layers carry on from it. So the host copies these states where a prompt has
// been read up to the end of a page, where a sequence ends, and where it loses
// its slot.
//
// A copy stands behind a page of the index, or of a slot: as long as it holds
// the prefix, a sequence may begin there. Rounds end where they like. So a copy
// may stand some tokens further on, and then has the entries of the pages that
// these are in beside the states. One that stands behind no page has all of its
// tokens', and needs no page to survive.
//
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

/// What copies there may be.
struct SnapshotLimits {
  /// Host memory of all copies.
  uint64_t bytes = 0;
  /// See KvConfig.
  uint32_t pageTokens = 0;
  uint32_t lookahead = 0;
  uint32_t rerun = 1;
  /// Caches and layers that have entries.
  std::vector<std::pair<uint32_t, uint32_t>> layers;
};

/// Copies of slots' states (Rebuild::Run).
class Snapshots {
public:
  using Id = uint64_t;

  /// Copies that were made and that are there no more, and bytes of those that
  /// are.
  struct Counts {
    uint64_t made = 0, dropped = 0, bytes = 0;
  };

  /// Where a copy stands.
  struct Place {
    /// Tokens that the states have seen when `pending` of the rows that are
    /// kept have gone into them.
    uint64_t position = 0;
    uint32_t pending = 0;
    /// A sequence's own, which no other copy takes the place of.
    bool isKept = false;
  };

  /// A copy, and the pages that it stands behind.
  struct Copy : Place {
    Copy(const Place &place, const Prefix &prefix)
        : Place(place), page(prefix.page), end(prefix.end) {}

    /// Of whole pages; behind none, of no tokens.
    uint32_t page;
    uint64_t end;
    /// Those behind the page, where there are any, and what the entries of
    /// drafters depend on behind these; and who made the pages.
    std::vector<int32_t> tokens;
    std::vector<PageMaker> makers;
    /// Where no page says it.
    Hash128 inputs;
    std::vector<int32_t> salt;

    /// The states, and then each page's entries.
    std::unique_ptr<uint8_t[]> data;
    uint64_t bytes = 0;
    MemoryReservation memory;
    /// Its key in `byUse`.
    uint64_t tick = 0;
  };

  /// Keeps as many copies as fit; those that nobody used for longest go first.
  /// The executable must outlive it.
  Snapshots(const Artifact &artifact, Executable &executable,
            const SnapshotLimits &limits);

  /// Bytes of one copy without pages; 0 where slots have no such states.
  uint64_t bytes() const { return size; }
  /// Whether there can be any.
  bool isOn() const { return size > 0 && size <= limits.bytes; }
  const Counts &counts() const { return counted; }

  /// The copy that leaves the fewest tokens to run of those with which a
  /// sequence may go on that has this prefix in its pages, which were made just
  /// as it says; null where there is none. Valid until one is stored or
  /// forgotten.
  const Copy *find(const Prefix &prefix) const;

  /// That copy, where there still is one with which the sequence may go on.
  const Copy *get(Id id, const Prefix &prefix) const;

  /// Copies what the slot's states hold: all tokens in front of the place's
  /// position are in them or in the first `pending` rows that are kept, and
  /// `table` has the slot's pages. Of the prefix's tokens those up to the
  /// position are there, and the lookahead. The copy stands behind `prefix`, in
  /// place of one of the same tokens. 0 where there is no memory for it, or
  /// where the device does not give it: nobody depends on a copy, and what else
  /// the device does not do fails by itself.
  Id store(const Prefix &prefix, const Place &place, uint32_t slot,
           std::span<const int32_t> table, const MemoryLimit &memory);

  /// Writes a copy to the slot's states, and its entries to those of the slot's
  /// pages that are not among the first `taken`.
  Status restore(const Copy &copy, uint32_t slot,
                 std::span<const int32_t> table, uint64_t taken);

  /// The page holds something else from now on.
  void forget(uint32_t page);
  /// `to` holds what `from` does.
  void move(uint32_t from, uint32_t to);
  /// No effect where there is none any more.
  void drop(Id id);
  /// Drops the one that nobody used for longest; false where there is none.
  bool dropOldest();
  /// Whether so many bytes of host memory are free, or are where copies go.
  bool canMakeRoom(uint64_t bytes, const MemoryLimit &memory) const;

  /// Whether every copy stands behind a page that holds its prefix, and counts
  /// are right.
  Status checkInvariant(const KvCacheManager &kv) const;

private:
  struct Part {
    uint32_t state;
    /// Of a slot.
    uint64_t bytes;
  };

  bool isOf(const Copy &copy, const Prefix &prefix) const;
  const Copy *behind(uint32_t page, const Prefix &prefix) const;
  uint64_t pagesOf(const Copy &copy) const;
  void dropSame(const Copy &copy);
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
