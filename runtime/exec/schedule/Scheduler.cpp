//===- Scheduler.cpp - Which sequences have slots and pages ---------------===//

#include "runtime/exec/schedule/Scheduler.h"

#include <algorithm>
#include <utility>

using namespace mtp;

using Phase = Sequence::Phase;

void Scheduler::enter(const Sequence &sequence) {
  hasPriorities |= sequence.request.priority != 0;
  shares.enter(sequence.request.group);
}

void Scheduler::end(Sequence &sequence) {
  if (sequence.hasSlot())
    budget.release(sequence);
  shares.leave(sequence.request.group);
  table.moveTo(sequence.id, Phase::Done);
}

//===----------------------------------------------------------------------===//
// Admission
//===----------------------------------------------------------------------===//

/// Returns the Waiting sequence whose turn it is, of those that have not been
/// passed by; null if there is none.
Sequence *Scheduler::nextWaiting(const std::set<SequenceId> &passed) {
  Sequence *first = nullptr;
  auto turn = [&](const Sequence &sequence) {
    return std::pair(sequence.request.priority,
                     shares.had(sequence.request.group));
  };
  for (SequenceId id : table.waiting()) {
    Sequence &sequence = table.at(id);
    if (!passed.contains(id) && (!first || turn(sequence) < turn(*first)))
      first = &sequence;
  }
  return first;
}

/// Returns the sequence that gives up its pages first: the youngest of the
/// least urgent ones.
const Sequence *Scheduler::lastAdmitted() const {
  auto urgency = [&](SequenceId id) {
    return std::pair(table.at(id).request.priority, id);
  };
  const std::set<SequenceId> &admitted = table.admitted();
  auto last = std::ranges::max_element(admitted, {}, urgency);
  return last == admitted.end() ? nullptr : &table.at(*last);
}

/// Preempts a sequence that is less urgent than one that waits. False if there
/// is none.
Result<bool> Scheduler::makeWayFor(const Sequence &sequence) {
  if (!hasPriorities)
    return false;
  const Sequence *last = lastAdmitted();
  if (!last || last->request.priority <= sequence.request.priority)
    return false;
  MTP_RETURN_IF_ERROR(preemptLast());
  return true;
}

Status Scheduler::admitWaiting() {
  std::set<SequenceId> kept;
  uint64_t keptPages = 0;
  for (;;) {
    if (table.freeSlots() <= kept.size() && !hasPriorities)
      return okStatus();
    Sequence *next = nextWaiting(kept);
    if (!next)
      return okStatus();
    Sequence &sequence = *next;
    std::optional<Residency> residency;
    if (table.freeSlots() > kept.size()) {
      if (budget.isWorthWaiting(sequence)) {
        kept.insert(sequence.id);
        keptPages += budget.pagesToBegin(sequence);
        continue;
      }
      // A page is left for every sequence with a slot: else the newcomer would
      // be the first to be preempted again.
      residency = budget.take(sequence, table.firstFreeSlot(),
                              table.admitted().size() + keptPages);
    }
    if (residency) {
      MTP_RETURN_IF_ERROR(admit(sequence, std::move(*residency)));
      continue;
    }
    MTP_ASSIGN_OR_RETURN(bool isFree, makeWayFor(sequence));
    if (!isFree)
      return okStatus();
  }
}

Status Scheduler::admit(Sequence &sequence, Residency residency) {
  // The tokens that a preemption costs are charged to no group.
  if (!sequence.kept.wasAdmitted)
    charge(sequence, residency.context.size() - residency.reused);
  table.admit(sequence.id, std::move(residency));
  return budget.prepare(sequence);
}

//===----------------------------------------------------------------------===//
// Preemption
//===----------------------------------------------------------------------===//

/// Takes a sequence's slot and pages away, if it has them.
Status Scheduler::leaveTo(Sequence &sequence, Phase phase) {
  if (sequence.hasSlot()) {
    MTP_RETURN_IF_ERROR(budget.save(sequence));
    budget.release(sequence);
  }
  table.moveTo(sequence.id, phase);
  return okStatus();
}

/// Preempts the least urgent sequence that came last. It goes on later with the
/// same tokens: the result of a row does not depend on the rows beside it, and
/// the makers of its pages stay.
Status Scheduler::preemptLast() {
  Sequence &sequence = table.at(lastAdmitted()->id);
  MTP_RETURN_IF_ERROR(leaveTo(sequence, Phase::Waiting));
  ++sequence.statistics.preemptions;
  ++preempted;
  return okStatus();
}

Status Scheduler::makeRoom(std::span<Sequence *const> round, uint32_t k) {
  bool isTight = false;
  for (Sequence *sequence : round)
    while (sequence->isRunning() && !budget.growForRound(*sequence, k)) {
      if (isTight)
        MTP_RETURN_IF_ERROR(preemptLast());
      else
        budget.giveBackAhead();
      isTight = true;
    }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Pauses
//===----------------------------------------------------------------------===//

Status Scheduler::pause(Sequence &sequence, bool areRoundsUnderWay) {
  if (sequence.phase() == Phase::Done || sequence.phase() == Phase::Paused)
    return okStatus();
  if (areRoundsUnderWay && sequence.hasSlot()) {
    sequence.isPausing = true;
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(leaveTo(sequence, Phase::Paused));
  sequence.isPausing = false;
  return okStatus();
}

Status Scheduler::applyPauses() {
  // Pausing changes the set.
  for (SequenceId id :
       std::vector(table.admitted().begin(), table.admitted().end()))
    if (Sequence &sequence = table.at(id); sequence.isPausing)
      MTP_RETURN_IF_ERROR(pause(sequence, /*areRoundsUnderWay=*/false));
  return okStatus();
}

bool Scheduler::resume(Sequence &sequence) {
  sequence.isPausing = false;
  if (sequence.phase() != Phase::Paused)
    return false;
  table.moveTo(sequence.id, Phase::Waiting);
  return true;
}
