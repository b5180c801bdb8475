//===- Pause.cpp - Sequences that are set aside ---------------------------===//
//
// A sequence that is paused gives up slot and pages, as one does that is
// preempted, and waits for nothing. What the prefix index has of it may be gone
// when it goes on; then it is computed again, to the same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SessionImpl.h"

using namespace mtp;

/// Rounds that follow each other end behind the one that runs.
void Session::Impl::endFlightSoon() {
  if (flight && !flight->isStopped)
    executable->stopRounds();
}

/// Takes a sequence's slot and pages away. What rounds alone can have made of
/// its states is saved, and what recurrent layers carry is copied. A sequence
/// that has not run since that was saved last has it still.
Status Session::Impl::leaveSlot(Sequence &sequence) {
  if (sequence.phase == Sequence::Phase::Running && slotStates->savedBytes())
    MTP_RETURN_IF_ERROR(slotStates->save(sequence.slot, sequence.saved));
  keepStates(sequence);
  sequence.hasLeft |= sequence.hasSlot();
  giveUpSlot(sequence);
  return okStatus();
}

Status Session::Impl::setAside(Sequence &sequence) {
  MTP_RETURN_IF_ERROR(leaveSlot(sequence));
  waiting.erase(sequence.id);
  paused.insert(sequence.id);
  sequence.phase = Sequence::Phase::Paused;
  sequence.isPausing = false;
  return okStatus();
}

/// While rounds are under way, those who are in them stay: their states can be
/// saved behind these alone, and nobody else gets the slot before.
Status Session::Impl::pause(SequenceId id) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(Sequence * sequence, find(id));
  if (sequence->phase == Sequence::Phase::Done ||
      sequence->phase == Sequence::Phase::Paused)
    return okStatus();
  if (!flight || !sequence->hasSlot())
    return setAside(*sequence);
  sequence->isPausing = true;
  endFlightSoon();
  return okStatus();
}

/// It waits in its old place: those that came later stand behind it.
Status Session::Impl::resume(SequenceId id) {
  MTP_RETURN_IF_ERROR(checkUsable());
  MTP_ASSIGN_OR_RETURN(Sequence * sequence, find(id));
  sequence->isPausing = false;
  if (paused.erase(id) == 0)
    return okStatus();
  sequence->phase = Sequence::Phase::Waiting;
  waiting.insert(id);
  endFlightSoon();
  return okStatus();
}

/// Pauses those who were to be while rounds were under way, which are over.
Status Session::Impl::applyPauses() {
  // The list changes on the way.
  for (SequenceId id : std::vector(admitted.begin(), admitted.end()))
    if (Sequence &sequence = sequences.at(id); sequence.isPausing)
      MTP_RETURN_IF_ERROR(setAside(sequence));
  return okStatus();
}

Result<SequenceState> Session::Impl::state(SequenceId id) const {
  MTP_ASSIGN_OR_RETURN(const Sequence *sequence, find(id));
  switch (sequence->phase) {
  case Sequence::Phase::Waiting:
    return SequenceState::Waiting;
  case Sequence::Phase::Prefilling:
    return SequenceState::Prefilling;
  case Sequence::Phase::Running:
    return SequenceState::Running;
  case Sequence::Phase::Paused:
    return SequenceState::Paused;
  case Sequence::Phase::Done:
    break;
  }
  return SequenceState::Finished;
}

SequenceCounts Session::Impl::counts() const {
  SequenceCounts counts;
  counts.waiting = uint32_t(waiting.size());
  counts.prefilling = uint32_t(prefilling.size());
  counts.running = uint32_t(admitted.size() - prefilling.size());
  counts.paused = uint32_t(paused.size());
  counts.finished = uint32_t(sequences.size() - waiting.size() -
                             admitted.size() - paused.size());
  return counts;
}
