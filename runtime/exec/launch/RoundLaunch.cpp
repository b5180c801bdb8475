//===- RoundLaunch.cpp - Rounds on the device -----------------------------===//

#include "runtime/exec/launch/RoundLaunch.h"

#include <algorithm>
#include <utility>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// Writes the states that the rounds read.
Status RoundLaunch::writeRows(const RoundWork &work) {
  std::vector<int32_t> slots;
  for (const RoundWork::Row &row : work.rows) {
    slots.push_back(int32_t(row.slot));
    MTP_RETURN_IF_ERROR(host.setDraftLimit(row.slot, row.drafts));
    if (host.hasRing())
      MTP_RETURN_IF_ERROR(host.setLoop(row.slot, row.limits));
  }
  for (auto [slot, positions] : work.padding) {
    slots.push_back(int32_t(slot));
    MTP_RETURN_IF_ERROR(host.setDraftLimit(slot, 0));
    LoopLimits limits;
    limits.rounds = work.rounds;
    limits.positions = positions;
    limits.mostRows = 1;
    limits.isDead = true;
    if (host.hasRing())
      MTP_RETURN_IF_ERROR(host.setLoop(slot, limits));
  }
  MTP_RETURN_IF_ERROR(host.setActive(slots));
  return work.parts.empty() ? okStatus() : host.setPrefill(work.parts);
}

Status RoundLaunch::runOnRequestOf(const RoundWork &work) {
  bool isAsked = std::ranges::any_of(work.rows, &RoundWork::Row::isAsked);
  return runOnRequest(executable, programs, work.program, work.batch(),
                      isAsked);
}

/// Returns whether the round stops for the host.
bool RoundLaunch::stopsFor(const RoundWork &work) const {
  bool hasDrafts = programs.program(work.program).cut != 0;
  return std::ranges::any_of(work.rows, [&](const RoundWork::Row &row) {
    return row.seesDrafts || (row.isMasked && row.drafts > 0 && hasDrafts);
  });
}

Status RoundLaunch::start(RoundWork work) {
  uint32_t program = work.program, batch = work.batch();
  MTP_RETURN_IF_ERROR(writeRows(work));
  Launch next;
  next.logits = programs.logits(program, batch);
  executable.applyRules(
      std::ranges::any_of(work.rows, &RoundWork::Row::hasRules) ||
      std::ranges::any_of(work.mixed, &RoundWork::MixedPrompt::hasRules));
  if (work.rounds > 1) {
    MTP_RETURN_IF_ERROR(executable.startRounds(program, batch));
  } else if (stopsFor(work)) {
    // A round that may not stop, which has no drafts, has no first half.
    if (programs.program(program).cut != 0)
      MTP_RETURN_IF_ERROR(executable.runPart(program, batch, Part::FirstHalf));
    next.isStopped = true;
  } else {
    MTP_RETURN_IF_ERROR(executable.run(program, batch));
    MTP_RETURN_IF_ERROR(runOnRequestOf(work));
    next.progress = {1, true};
  }
  next.work = std::move(work);
  launch = std::move(next);
  return okStatus();
}

Status RoundLaunch::finishStopped() {
  const RoundWork &work = launch->work;
  MTP_RETURN_IF_ERROR(
      programs.program(work.program).cut != 0
          ? executable.runPart(work.program, work.batch(), Part::SecondHalf)
          : executable.run(work.program, work.batch()));
  MTP_RETURN_IF_ERROR(runOnRequestOf(work));
  launch->isStopped = false;
  launch->progress = {1, true};
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Reads the numbers of a row from an output; none if the program lacks the
/// output.
Result<std::vector<int32_t>> RoundLaunch::readSlot(Binding all, uint32_t row) {
  uint64_t bytes = all.bytes / launch->work.batch();
  std::vector<int32_t> numbers(bytes / sizeof(int32_t));
  if (!numbers.empty())
    MTP_RETURN_IF_ERROR(executable.read(rowsOf(all, row * bytes, bytes),
                                        numbers.data(), bytes));
  return numbers;
}

Result<SeenDrafts> RoundLaunch::seenDrafts(uint32_t row) {
  SeenDrafts seen;
  uint32_t program = launch->work.program, batch = launch->work.batch();
  if (programs.program(program).cut == 0)
    return seen;
  MTP_ASSIGN_OR_RETURN(seen.tokens,
                       readSlot(programs.drafts(program, batch), row));
  MTP_ASSIGN_OR_RETURN(seen.parents,
                       readSlot(programs.parents(program, batch), row));
  // Tokens after the nodes of the row's own number of drafts are none, as the
  // second half says. In a chain these nodes are the anchor and the drafts.
  uint32_t nodes = programs.nodes(launch->work.rows[row].drafts);
  for (size_t i = nodes - 1; i < seen.tokens.size(); ++i)
    seen.tokens[i] = -1;
  return seen;
}

Status RoundLaunch::await() {
  if (launch->progress.isDone)
    return okStatus();
  MTP_ASSIGN_OR_RETURN(launch->progress, executable.awaitRounds(launch->read));
  return okStatus();
}

Result<HostState::RoundOutput> RoundLaunch::output(uint32_t row) {
  return host.emittedIn(launch->read, launch->work.rows[row].slot);
}

Result<SlotResults> RoundLaunch::results(uint32_t row, bool needsRows) {
  const RoundWork &work = launch->work;
  uint32_t batch = work.batch(), nodes = programs.nodes(work.k);
  // The rows of a prompt may follow those of the slots.
  uint64_t rowBytes = vocab * sizeof(float), bytes = nodes * rowBytes;
  uint32_t logitsRows = uint32_t(launch->logits.bytes / rowBytes);
  SlotResults results;
  results.logits = rowsOf(launch->logits, row * bytes, bytes);
  results.program = work.program;
  results.n = results.count = batch;
  results.index = row;
  if (!needsRows)
    return results;
  MTP_ASSIGN_OR_RETURN(std::vector<int32_t> path,
                       readSlot(programs.path(work.program, batch), row));
  MTP_ASSIGN_OR_RETURN(std::vector<int32_t> places,
                       readSlot(programs.places(work.program, batch), row));
  auto within = [](int32_t value, uint32_t count) {
    return uint32_t(std::clamp<int64_t>(value, 0, int64_t(count) - 1));
  };
  for (uint32_t j = 0; j <= work.k; ++j) {
    uint32_t node = path.empty() ? j : within(path[j], nodes);
    results.windowRows.push_back(node);
    results.logitsRows.push_back(
        places.empty() ? node : within(places[node], logitsRows));
  }
  if (!places.empty())
    results.logits = launch->logits;
  return results;
}

uint64_t RoundLaunch::rowCapacity() const {
  return uint64_t(programs.nodes(launch->work.k)) * launch->progress.rounds;
}

Result<std::vector<uint64_t>> RoundLaunch::activeRows() {
  const RoundWork &work = launch->work;
  std::vector<uint64_t> counts(work.rows.size(), rowCapacity());
  // A program that does not pack its rows runs all of them.
  if (programs.places(work.program, work.batch()).bytes == 0)
    return counts;
  MTP_ASSIGN_OR_RETURN(std::vector<uint64_t> bySlot, host.activeRows());
  for (size_t row = 0; row < counts.size(); ++row)
    if (uint32_t slot = work.rows[row].slot; slot < bySlot.size())
      counts[row] = bySlot[slot];
  return counts;
}

SlotResults RoundLaunch::mixedResults(size_t prompt) const {
  uint32_t program = launch->work.program, batch = launch->work.batch();
  Binding logits = programs.promptLogits(program, batch);
  uint64_t bytes = logits.bytes / programs.program(program).sequences;
  SlotResults results;
  results.logits = rowsOf(logits, prompt * bytes, bytes);
  results.program = program;
  results.n = batch;
  results.isMixed = true;
  return results;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

void RoundLaunch::endSoon() {
  if (launch && !launch->isStopped)
    executable.stopRounds();
}

Status RoundLaunch::land() {
  if (!launch)
    return okStatus();
  // The caller may write to what slots carry.
  launch->ended.clear();
  if (launch->progress.isDone)
    return okStatus();
  if (launch->isStopped)
    return failedPrecondition("a round has stopped for its host; call step() "
                              "first, which runs the rest");
  executable.stopRounds();
  MTP_ASSIGN_OR_RETURN(launch->progress, executable.awaitRounds(UINT32_MAX));
  return okStatus();
}

Result<bool>
RoundLaunch::isAtRest(SequenceId last,
                      const std::function<bool(SequenceId)> &isRunning) {
  if (!launch)
    return true;
  auto goesOn = [&](const RoundWork::Row &row) {
    return row.sequence != last && isRunning(row.sequence);
  };
  if (!launch->progress.isDone &&
      std::ranges::none_of(launch->work.rows, goesOn)) {
    executable.stopRounds();
    MTP_ASSIGN_OR_RETURN(launch->progress,
                         executable.awaitRounds(launch->read + 1));
  }
  return launch->progress.isDone && launch->read + 1 >= launch->progress.rounds;
}

Status RoundLaunch::noteFurtherRound(uint32_t row) {
  uint32_t slot = launch->work.rows[row].slot;
  auto isOf = [slot](const EndedSequence &ended) { return ended.slot == slot; };
  if (std::ranges::none_of(launch->ended, isOf))
    return okStatus();
  MTP_ASSIGN_OR_RETURN(HostState::RoundOutput output,
                       host.emittedIn(launch->read, slot));
  if (!output.tokens.empty())
    std::erase_if(launch->ended, isOf);
  return okStatus();
}
