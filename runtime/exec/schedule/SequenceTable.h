//===- SequenceTable.h - All sequences and the lists by phase ---*- C++ -*-===//
//
// Which lists name a sequence follows from its phase:
//
//   Waiting       waiting
//   Prefilling    admitted, prefilling; has a residency
//   Running       admitted; has a residency
//   Paused        paused
//   Done          none
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_SEQUENCETABLE_H
#define MTP_RUNTIME_EXEC_SCHEDULE_SEQUENCETABLE_H

#include "runtime/exec/schedule/Sequence.h"

#include <map>
#include <set>

namespace mtp {

/// Owns the sequences of a session. The only writer of phases and lists.
class SequenceTable {
public:
  explicit SequenceTable(uint32_t slots) : slots(slots, 0) {}

  /// Adds a sequence, which is Waiting.
  Sequence &add();
  /// Forgets a sequence that is Done.
  void erase(SequenceId id) { sequences.erase(id); }

  /// Returns the sequence of that id, or null.
  Sequence *find(SequenceId id);
  const Sequence *find(SequenceId id) const;
  Sequence &at(SequenceId id) { return sequences.at(id); }
  const Sequence &at(SequenceId id) const { return sequences.at(id); }
  /// Returns the sequence of that id if it is Running, else null.
  Sequence *findRunning(SequenceId id);

  /// Gives a Waiting sequence its residency, and moves it to Prefilling.
  void admit(SequenceId id, Residency residency);
  /// Moves a sequence to another phase. It loses its residency unless the phase
  /// is Running.
  void moveTo(SequenceId id, Sequence::Phase phase);

  const std::map<SequenceId, Sequence> &all() const { return sequences; }
  /// Waiting sequences in order of arrival, which preempted sequences keep.
  const std::set<SequenceId> &waiting() const { return waitingIds; }
  /// Sequences with a residency by id; the last one is the youngest.
  const std::set<SequenceId> &admitted() const { return admittedIds; }
  /// Prefilling sequences in the order of admission.
  const std::vector<SequenceId> &prefilling() const { return prefillingIds; }
  /// Running sequences in order of id.
  std::vector<Sequence *> running();
  bool isAnyRunning() const {
    return admittedIds.size() > prefillingIds.size();
  }
  bool isIdle() const { return waitingIds.empty() && admittedIds.empty(); }
  SequenceCounts counts() const;

  uint32_t freeSlots() const {
    return uint32_t(slots.size() - admittedIds.size());
  }
  /// Returns the first slot that no sequence has; there must be one.
  uint32_t firstFreeSlot() const;
  /// Returns the first `count` slots that no sequence has; fewer if there are
  /// fewer.
  std::vector<uint32_t> firstFreeSlots(uint32_t count) const;

  /// Compares phases, lists, slots and residencies; Internal names the first
  /// contradiction, or the first illegal transition.
  Status checkInvariant() const;

private:
  void enter(Sequence &sequence, Sequence::Phase phase);
  void leave(Sequence &sequence);
  Status checkSequence(const Sequence &sequence) const;

  std::map<SequenceId, Sequence> sequences;
  SequenceId nextId = 1;
  std::set<SequenceId> waitingIds, admittedIds, pausedIds;
  std::vector<SequenceId> prefillingIds;
  /// By slot, the sequence that has it; 0: none.
  std::vector<SequenceId> slots;
  /// The first illegal transition.
  Status violation;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_SEQUENCETABLE_H
