//===- Scheduler.h - Which sequences have slots and pages -------*- C++ -*-===//
//
// Admission, preemption and pausing, by priorities and fair shares. The
// scheduler knows the table and, through PageBudget, whether pages suffice. It
// knows no device, no clock and no tokens.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_EXEC_SCHEDULE_SCHEDULER_H
#define MTP_RUNTIME_EXEC_SCHEDULE_SCHEDULER_H

#include "runtime/exec/schedule/FairShare.h"
#include "runtime/exec/schedule/PageBudget.h"
#include "runtime/exec/schedule/SequenceTable.h"

#include <span>

namespace mtp {

class Scheduler {
public:
  /// Both must outlive the scheduler.
  Scheduler(SequenceTable &table, PageBudget &budget)
      : table(table), budget(budget) {}

  /// Notes a sequence that the table has just got.
  void enter(const Sequence &sequence);
  /// Ends a sequence: it gives up slot and pages, and becomes Done.
  void end(Sequence &sequence);
  /// Counts tokens that were computed for a sequence's group.
  void charge(const Sequence &sequence, uint64_t tokens) {
    shares.charge(sequence.request.group, tokens);
  }

  /// Gives Waiting sequences slots and pages in their turn. Less urgent
  /// sequences make way. No sequence overtakes one that cannot have slot and
  /// pages. A sequence that waits for pages to share is overtaken by sequences
  /// that leave it what it needs.
  Status admitWaiting();
  /// Gives the sequences of a round of k their pages, in order. If pages are
  /// short, pages for rounds ahead are given up first. Then the sequences that
  /// came last are preempted, possibly sequences of `round`.
  Status makeRoom(std::span<Sequence *const> round, uint32_t k);
  /// Takes slot and pages from the least urgent sequence that came last. It
  /// waits in its old place and will be prefilled again, output included.
  Status preemptLast();
  uint64_t preemptions() const { return preempted; }

  /// Sets a sequence aside. While rounds are under way, a sequence with a slot
  /// is only marked: its states can be saved after the rounds only.
  Status pause(Sequence &sequence, bool areRoundsUnderWay);
  /// Pauses the sequences that were marked. No round is under way.
  Status applyPauses();
  /// Lets a paused sequence wait in its old place. Returns whether it was
  /// paused.
  bool resume(Sequence &sequence);

private:
  Sequence *nextWaiting(const std::set<SequenceId> &passed);
  const Sequence *lastAdmitted() const;
  Result<bool> makeWayFor(const Sequence &sequence);
  Status admit(Sequence &sequence, Residency residency);
  Status leaveTo(Sequence &sequence, Sequence::Phase phase);

  SequenceTable &table;
  PageBudget &budget;
  FairShare shares;
  /// Whether a request has had a priority other than 0.
  bool hasPriorities = false;
  uint64_t preempted = 0;
};

} // namespace mtp

#endif // MTP_RUNTIME_EXEC_SCHEDULE_SCHEDULER_H
