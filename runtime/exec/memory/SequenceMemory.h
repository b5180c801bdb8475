//===- SequenceMemory.h - Pages and states of sequences ---------*- C++ -*-===//
//
// The memory of a session, used one sequence at a time: KV pages and the prefix
// index, copies of recurrent states, saved states, and reservations. Nothing
// here knows a phase, a priority or another sequence's request.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_SEQUENCEMEMORY_H
#define MTP_RUNTIME_EXEC_MEMORY_SEQUENCEMEMORY_H

#include "runtime/exec/memory/SlotStates.h"
#include "runtime/exec/memory/StateCopies.h"
#include "runtime/exec/program/PrefixReusePolicy.h"

#include <optional>

namespace mtp {

/// The sizes and rules of a session's memory.
struct SequenceMemoryOptions {
  /// Their defaults are filled in.
  SessionOptions session;
  EnvelopeInfo envelope;
  PrefixReusePolicy reuse;
  /// Rows of a chunk whose products a library computes; 0: of none.
  uint32_t libraryRows = 0;
  /// Whether the host can say how many kept rows of a slot stay.
  bool canSetAccepted = false;
  MemoryLimit limit;
  /// Pages that the prefix cache leaves free for padding slots.
  uint32_t sparePages = 0;
};

/// Consecutive tokens that are computed alike.
struct PrefillRun {
  PageProvenance maker = PageProvenance::Plan;
  uint64_t tokens = 0;
};

class SequenceMemory {
public:
  /// Reserves the tables and sets the shared states. Artifact and executable
  /// must outlive the result.
  static Result<std::unique_ptr<SequenceMemory>>
  create(const Artifact &artifact, Executable &executable,
         SequenceMemoryOptions options);

  /// The part of admission that touches no device: takes what the prefix index
  /// has of the context and pages for `capacity` positions, unless fewer than
  /// `reserved` pages stay available. Nothing changes if pages are short.
  std::optional<Residency> place(KeptState &kept, std::vector<int32_t> context,
                                 uint32_t slot, uint64_t capacity,
                                 uint64_t reserved);
  /// The result of prepare().
  struct Prepared {
    /// Whether the slot goes on from a copy.
    bool isFromCopy = false;
    /// The argument of HostState::setAccepted() for the slot, if it must be
    /// called.
    std::optional<int32_t> accepted;
  };
  /// Prepares the slot on the device, as the second part of admission. `anchor`
  /// is the last output token, if there is one.
  Result<Prepared> prepare(KeptState &kept, Residency &residency,
                           std::optional<int32_t> anchor);

  /// Whether `filling`, which is being prefilled, fills pages that a sequence
  /// with `context` can share and does not have in its own copy.
  bool fillsPagesFor(const KeptState &kept, std::span<const int32_t> context,
                     const KeptState &fillingKept,
                     const Residency &filling) const;

  /// Returns the tokens from the residency's length to the first token that
  /// another maker computes, or to where states are to be copied.
  PrefillRun nextRun(const Residency &residency) const;
  /// Records that prefill has computed the tokens below the residency's length.
  void commitChunk(const KeptState &kept, const Residency &residency);
  /// Shares the pages of a context whose prefill has ended, and writes back the
  /// saved states.
  Status endPrefill(const KeptState &kept, const Residency &residency);
  /// Shares the pages that rounds have made final.
  void publishRound(const KeptState &kept, const Residency &residency);

  /// Saves what the sequence needs to go on elsewhere. release() follows.
  Status leave(KeptState &kept, Residency &residency);
  /// Gives a slot that no sequence has the states of a new sequence.
  Status clearSlot(uint32_t slot);
  /// Gives up the slot's pages.
  void release(uint32_t slot) { kv->release(slot); }
  /// Gives back what was kept of a sequence that has ended.
  void drop(KeptState &kept);

  /// Reserves memory for the saved states of a new sequence.
  Status reserveSaved(KeptState &kept);
  /// Writes an input of the sequence.
  Status setInput(KeptState &kept, const Residency *residency, uint32_t state,
                  std::vector<uint8_t> bytes);

  /// Returns what `reserve` gives. While memory for `bytes` is short, drops
  /// copies of states and tries again, if that can make room.
  template <typename Reserve>
  auto withRoom(uint64_t bytes, Reserve reserve) {
    auto reserved = reserve();
    while (!reserved.isOk() &&
           reserved.status().code() == StatusCode::ResourceExhausted &&
           stateCopies->makeRoom(bytes))
      reserved = reserve();
    return reserved;
  }

  KvCacheManager &pages() { return *kv; }
  const KvCacheManager &pages() const { return *kv; }
  StateCopies &copies() { return *stateCopies; }
  /// Null if the model has no recurrent layers.
  const Snapshots *snapshots() const { return store.get(); }
  Snapshots *snapshots() { return store.get(); }
  /// The rules that pages and copies follow.
  const SequenceMemoryOptions &rules() const { return options; }
  /// Recounts everything. Internal, naming the first contradiction.
  Status checkInvariant() const;

private:
  explicit SequenceMemory(SequenceMemoryOptions options)
      : options(std::move(options)) {}
  Status start(const Artifact &artifact, Executable &executable);
  KvConfig kvConfig() const;
  CopyRules copyRules() const;
  std::vector<PageProvenance> planPages(uint64_t promptTokens) const;

  SequenceMemoryOptions options;
  MemoryReservation tableMemory;
  /// Outlives `kv`, which tells it about pages.
  std::unique_ptr<Snapshots> store;
  std::unique_ptr<KvCacheManager> kv;
  std::unique_ptr<StateCopies> stateCopies;
  std::unique_ptr<SlotStates> slotStates;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_SEQUENCEMEMORY_H
