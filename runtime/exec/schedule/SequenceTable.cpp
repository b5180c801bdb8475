//===- SequenceTable.cpp - All sequences and the lists by phase -----------===//

#include "runtime/exec/schedule/SequenceTable.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <utility>

using namespace mtp;

using Phase = Sequence::Phase;

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

Sequence &SequenceTable::add() {
  SequenceId id = nextId++;
  Sequence &sequence = sequences[id];
  sequence.id = id;
  waitingIds.insert(id);
  return sequence;
}

Sequence *SequenceTable::find(SequenceId id) {
  auto found = sequences.find(id);
  return found == sequences.end() ? nullptr : &found->second;
}

const Sequence *SequenceTable::find(SequenceId id) const {
  auto found = sequences.find(id);
  return found == sequences.end() ? nullptr : &found->second;
}

Sequence *SequenceTable::findRunning(SequenceId id) {
  Sequence *sequence = find(id);
  return sequence && sequence->isRunning() ? sequence : nullptr;
}

std::vector<Sequence *> SequenceTable::running() {
  std::vector<Sequence *> found;
  for (SequenceId id : admittedIds)
    if (Sequence &sequence = sequences.at(id); sequence.isRunning())
      found.push_back(&sequence);
  return found;
}

SequenceCounts SequenceTable::counts() const {
  SequenceCounts counts;
  counts.waiting = uint32_t(waitingIds.size());
  counts.prefilling = uint32_t(prefillingIds.size());
  counts.running = uint32_t(admittedIds.size() - prefillingIds.size());
  counts.paused = uint32_t(pausedIds.size());
  counts.finished = uint32_t(sequences.size() - waitingIds.size() -
                             admittedIds.size() - pausedIds.size());
  return counts;
}

uint32_t SequenceTable::firstFreeSlot() const {
  return uint32_t(std::ranges::find(slots, SequenceId(0)) - slots.begin());
}

std::vector<uint32_t> SequenceTable::firstFreeSlots(uint32_t count) const {
  std::vector<uint32_t> free;
  for (uint32_t slot = 0; slot < slots.size() && free.size() < count; ++slot)
    if (slots[slot] == 0)
      free.push_back(slot);
  return free;
}

//===----------------------------------------------------------------------===//
// Transitions
//===----------------------------------------------------------------------===//

static std::string_view nameOf(Phase phase) {
  static constexpr std::string_view kNames[] = {"Waiting", "Prefilling",
                                                "Running", "Paused", "Done"};
  return kNames[size_t(phase)];
}

/// Whether a sequence may go from one phase to the other.
static bool isLegal(Phase from, Phase to) {
  switch (to) {
  case Phase::Waiting:
    return from != Phase::Waiting && from != Phase::Done;
  case Phase::Prefilling:
    return from == Phase::Waiting;
  case Phase::Running:
    return from == Phase::Prefilling;
  case Phase::Paused:
    return from != Phase::Paused && from != Phase::Done;
  case Phase::Done:
    return from != Phase::Done;
  }
  return false;
}

void SequenceTable::admit(SequenceId id, Residency residency) {
  sequences.at(id).residency = std::move(residency);
  moveTo(id, Phase::Prefilling);
}

void SequenceTable::moveTo(SequenceId id, Phase phase) {
  Sequence &sequence = sequences.at(id);
  if (!isLegal(sequence.current, phase) && violation.isOk())
    violation =
        internalError(strCat("sequence ", id, " went from ",
                             nameOf(sequence.current), " to ", nameOf(phase)));
  leave(sequence);
  enter(sequence, phase);
}

/// Takes a sequence out of the lists of its phase.
void SequenceTable::leave(Sequence &sequence) {
  waitingIds.erase(sequence.id);
  pausedIds.erase(sequence.id);
  if (sequence.current == Phase::Prefilling)
    std::erase(prefillingIds, sequence.id);
}

/// Puts a sequence into the lists of a phase.
void SequenceTable::enter(Sequence &sequence, Phase phase) {
  sequence.current = phase;
  bool isAdmitted = phase == Phase::Prefilling || phase == Phase::Running;
  if (phase == Phase::Prefilling) {
    admittedIds.insert(sequence.id);
    prefillingIds.push_back(sequence.id);
    slots[sequence.residency->slot] = sequence.id;
  } else if (!isAdmitted && admittedIds.erase(sequence.id)) {
    slots[sequence.residency->slot] = 0;
    sequence.residency.reset();
  }
  if (phase == Phase::Waiting)
    waitingIds.insert(sequence.id);
  else if (phase == Phase::Paused)
    pausedIds.insert(sequence.id);
}

//===----------------------------------------------------------------------===//
// Invariant
//===----------------------------------------------------------------------===//

Status SequenceTable::checkSequence(const Sequence &sequence) const {
  Phase phase = sequence.phase();
  bool isAdmitted = phase == Phase::Prefilling || phase == Phase::Running;
  auto prefills = std::ranges::count(prefillingIds, sequence.id);
  if (waitingIds.contains(sequence.id) != (phase == Phase::Waiting) ||
      pausedIds.contains(sequence.id) != (phase == Phase::Paused) ||
      admittedIds.contains(sequence.id) != isAdmitted ||
      prefills != (phase == Phase::Prefilling))
    return internalError(strCat("sequence ", sequence.id, " is ", nameOf(phase),
                                ", and the lists say otherwise"));
  if (sequence.hasSlot() != isAdmitted)
    return internalError(strCat("sequence ", sequence.id, " is ", nameOf(phase),
                                sequence.hasSlot() ? " with" : " without",
                                " a residency"));
  if (!isAdmitted)
    return okStatus();
  const Residency &residency = *sequence.residency;
  if (residency.slot >= slots.size() || slots[residency.slot] != sequence.id)
    return internalError(strCat("sequence ", sequence.id, " has slot ",
                                residency.slot,
                                ", which the table gives to another one"));
  if (residency.isPrefilled() != sequence.isRunning())
    return internalError(strCat("sequence ", sequence.id, " is ", nameOf(phase),
                                ", but its prefill says otherwise"));
  return okStatus();
}

Status SequenceTable::checkInvariant() const {
  MTP_RETURN_IF_ERROR(violation);
  for (const auto &[id, sequence] : sequences)
    MTP_RETURN_IF_ERROR(checkSequence(sequence));
  size_t used = slots.size() - size_t(std::ranges::count(slots, SequenceId(0)));
  if (used != admittedIds.size())
    return internalError(strCat(used, " slots are used, and ",
                                admittedIds.size(), " sequences admitted"));
  // Every name in a list is of a sequence.
  for (const std::set<SequenceId> *ids :
       {&waitingIds, &admittedIds, &pausedIds})
    for (SequenceId id : *ids)
      if (!sequences.contains(id))
        return internalError(
            strCat("no sequence has the id ", id, ", which a list has"));
  return okStatus();
}
