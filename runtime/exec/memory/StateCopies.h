//===- StateCopies.h - Copies of recurrent states per sequence --*- C++ -*-===//
//
// Decides when the states of recurrent layers are copied and which copy a
// sequence goes on from. Copies are made in three situations:
//
//   - after a chunk of a prompt that ends where a page ends;
//   - when a sequence ends, for the next turn of its conversation;
//   - when a sequence loses its slot, with the entries of all its tokens.
//
// Rounds and chunks leave states in front of the rows that they kept. Copies of
// the last two kinds stand there. The kept rows run again when a sequence goes
// on, at least one of them, and its pick is the next token.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_MEMORY_STATECOPIES_H
#define MTP_RUNTIME_EXEC_MEMORY_STATECOPIES_H

#include "runtime/exec/memory/KeptState.h"

namespace mtp {

/// The rules by which StateCopies makes copies.
struct CopyRules {
  uint64_t pageTokens = 1;
  /// The number of last tokens that no copy after a prompt may include.
  uint64_t behindLast = 1;
  /// A copy is made after every `every` tokens of a prompt.
  uint64_t every = 512;
  /// A copy at the end of a prompt must save at least this number of tokens.
  uint64_t leastSaved = 0;
  /// Whether the states of a slot can go on elsewhere between rounds.
  bool canKeepRounds = false;
};

/// A sequence that has ended while later rounds run in its slot.
struct EndedSequence {
  uint32_t slot = 0;
  std::vector<int32_t> tokens, table;
  std::vector<PageProvenance> makers;
  Hash128 inputs;
  std::vector<int32_t> salt;
};

class StateCopies {
public:
  /// `snapshots` is null if the model has no recurrent layers. Both must
  /// outlive the object.
  StateCopies(Snapshots *snapshots, KvCacheManager &kv, const CopyRules &rules,
              const MemoryLimit &memory)
      : snapshots(snapshots), kv(kv), rules(rules), memory(memory) {}

  /// Whether states are copied after the first `length` tokens of the context.
  bool isSnapshot(const Residency &residency, uint64_t length) const;
  /// Copies the states after a chunk, if isSnapshot() says so.
  void storeAfterChunk(const KeptState &kept, const Residency &residency);

  /// Copies the states of a sequence that is about to lose slot and pages. No
  /// round is under way.
  void storeLeaving(KeptState &kept, Residency &residency);

  /// Whether a copy can be made for a later turn when the sequence ends.
  bool canStoreEnd(const KeptState &kept, const Residency &residency) const;
  /// Copies the states for a later turn when the sequence ends. The slot has
  /// the states of the sequence's last round.
  void storeEnd(const KeptState &kept, Residency &residency);
  /// Returns what storeEnded() needs after later rounds have run.
  EndedSequence endedOf(const KeptState &kept,
                        const Residency &residency) const;
  void storeEnded(const EndedSequence &ended);

  /// The copy from which a sequence that has taken pages of `taken` tokens goes
  /// on; null if it begins without a copy.
  const Snapshots::Copy *copyFor(const KeptState &kept, uint32_t slot,
                                 std::span<const int32_t> context,
                                 uint64_t taken) const;
  /// Returns the number of tokens that the sequence has in its own copy.
  uint64_t keptTokens(const KeptState &kept,
                      std::span<const int32_t> context) const;
  /// Lets a slot, which has just been prepared, go on from a copy.
  Status restore(const Snapshots::Copy &copy, KeptState &kept,
                 Residency &residency);

  bool isPresent() const { return snapshots; }
  /// Drops the sequence's own copy.
  void drop(const KeptState &kept) {
    if (snapshots)
      snapshots->drop(kept.copy);
  }
  /// Drops the oldest copy if that can make room for `bytes`.
  bool makeRoom(uint64_t bytes) {
    return snapshots && snapshots->canMakeRoom(bytes, memory) &&
           snapshots->dropOldest();
  }

private:
  bool canKeep(const KeptState &kept, const Residency &residency) const;
  Snapshots::Id storeStates(const KeptState &kept, const Residency &residency,
                            bool isWhole, bool isKept);
  Snapshots::Id storeBehindPages(Prefix prefix, uint32_t slot,
                                 std::span<const int32_t> table, bool isKept);
  uint64_t lastSnapshot(const Residency &residency) const;
  PageKey pageKeyOf(const KeptState &kept, const Residency &residency) const;

  Snapshots *snapshots;
  KvCacheManager &kv;
  CopyRules rules;
  MemoryLimit memory;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_MEMORY_STATECOPIES_H
