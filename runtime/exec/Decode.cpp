//===- Decode.cpp - Rounds ------------------------------------------------===//
//
// Rounds start as a flight: one round, or as many as the device lets follow
// each other. The host makes room for all of them before, and reads each from
// the ring when it is over.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <algorithm>
#include <utility>

using namespace mtp;

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// Gives up the pages behind every running sequence's next round, which rounds
/// ahead would have used (lookAhead). No round is under way.
void Session::Impl::giveBackAhead() {
  for (SequenceId id : admitted) {
    Sequence &sequence = sequences.at(id);
    if (sequence.phase != Sequence::Phase::Running)
      continue;
    kv->shrink(sequence.slot, endOfRound(sequence.length, options.k));
    sequence.tableCapacity = 0;
  }
}

/// Gives every sequence of the next round its pages, oldest first. Where they
/// are short, pages for rounds ahead go first, then sequences from the other
/// end. Who has lost its own is not in the round.
Status Session::Impl::makeRoom(RoundPlan &plan) {
  bool isTight = false;
  for (auto [sequence, drafts] : plan.rows) {
    while (sequence->phase == Sequence::Phase::Running &&
           !kv->grow(sequence->slot, endOfRound(sequence->length, plan.k))) {
      if (isTight)
        MTP_RETURN_IF_ERROR(preemptYoungest());
      else
        giveBackAhead();
      isTight = true;
    }
  }
  std::erase_if(plan.rows, [](const RoundPlan::Row &row) {
    return row.sequence->phase != Sequence::Phase::Running;
  });
  return okStatus();
}

/// How many rounds may follow each other. With a prompt between two chunks, or
/// logits or outputs that a later round would write over, it is one.
uint32_t Session::Impl::roundsFor(const RoundPlan &plan) {
  auto needsHost = [](const RoundPlan::Row &row) {
    return !row.sequence->endsOnDevice || !row.sequence->outputs.empty() ||
           row.sequence->request.seesDrafts;
  };
  if (!host->hasRing() || options.logits != LogitsMode::None ||
      !prefilling.empty() || std::ranges::any_of(plan.rows, needsHost))
    return 1;
  return std::min(options.roundsPerLaunch, plan.rounds);
}

/// Takes pages for rounds ahead, as far as there are any: the device ends the
/// launch in front of the first page that is missing.
void Session::Impl::lookAhead(Sequence &sequence, uint32_t k, uint32_t rounds) {
  const Request &request = sequence.request;
  uint64_t last = endOfRound(request.prompt.size() + request.maxTokens - 1, k);
  for (; rounds > 1; rounds /= 2) {
    uint64_t before = uint64_t(rounds - 1) * (uint64_t(k) + 1);
    uint64_t wanted = endOfRound(sequence.length + before, k);
    if (kv->grow(sequence.slot, std::min(wanted, last)))
      return;
  }
}

/// Positions that a next round of them all may reach, for the choice of its
/// program. Rounds behind it may reach more: any program is right for those.
uint64_t Session::Impl::nextPositions(const RoundPlan &plan) const {
  uint64_t longest = 0;
  for (const RoundPlan::Row &row : plan.rows)
    longest = std::max(longest, row.sequence->length);
  return longest + inner.programs.nodes(plan.k);
}

/// Writes what the rounds go by.
Status Session::Impl::writeRows(const RoundPlan &plan, uint32_t rounds) {
  std::vector<int32_t> slots;
  LoopLimits limits;
  limits.rounds = rounds;
  limits.yields = !waiting.empty();
  std::vector<uint32_t> rows = rowsOfSlots(plan);
  for (auto [sequence, drafts] : plan.rows) {
    limits.mostRows = rows[slots.size()];
    slots.push_back(int32_t(sequence->slot));
    MTP_RETURN_IF_ERROR(syncPageTable(*sequence));
    MTP_RETURN_IF_ERROR(host->setDraftLimit(sequence->slot, drafts));
    if (!host->hasRing())
      continue;
    limits.budget =
        sequence->request.maxTokens - uint32_t(sequence->output.size());
    limits.positions = kv->capacity(sequence->slot);
    MTP_RETURN_IF_ERROR(host->setLoop(sequence->slot, limits));
  }
  return host->setActive(slots);
}

Status Session::Impl::startFlight() {
  Flight next;
  RoundPlan plan = planRound();
  MTP_RETURN_IF_ERROR(makeRoom(plan));
  if (plan.rows.empty())
    return okStatus();
  MTP_RETURN_IF_ERROR(prepareDrafters(plan));
  next.start = clock();
  for (auto [sequence, drafts] : plan.rows)
    if (!sequence->endsOnDevice && sequence->request.minTokens > 0 &&
        sequence->mayStop())
      MTP_RETURN_IF_ERROR(writeStops(*sequence));
  uint32_t rounds = roundsFor(plan);
  for (auto [sequence, drafts] : plan.rows)
    lookAhead(*sequence, plan.k, rounds);
  MTP_RETURN_IF_ERROR(writeRows(plan, rounds));
  uint32_t batch = uint32_t(plan.rows.size());
  next.program = inner.programs.decode(batch, plan.k, nextPositions(plan));
  MTP_RETURN_IF_ERROR(findBeside(plan, next));
  uint32_t program = next.program;
  for (auto [sequence, drafts] : plan.rows) {
    next.rows.push_back({sequence->id, sequence->slot, drafts});
    next.positions += sequence->length;
  }
  next.k = plan.k;
  next.logits = inner.programs.logits(program, batch);
  auto seesDrafts = [](const RoundPlan::Row &row) {
    return row.sequence->request.seesDrafts;
  };
  if (rounds > 1) {
    MTP_RETURN_IF_ERROR(executable->startRounds(program, batch));
  } else if (std::ranges::any_of(plan.rows, seesDrafts)) {
    MTP_RETURN_IF_ERROR(startStopped(next));
  } else {
    MTP_RETURN_IF_ERROR(executable->run(program, batch));
    MTP_RETURN_IF_ERROR(runOnRequest(next));
    next.progress = {1, true};
  }
  flight = std::move(next);
  return okStatus();
}

/// Runs the first half of a round, and gives those who see drafts theirs. A
/// round that may not stop, which has no drafts, has nothing in its first half.
Status Session::Impl::startStopped(Flight &next) {
  uint32_t program = next.program, batch = uint32_t(next.rows.size());
  bool isCut = inner.programs.program(program).cut != 0;
  if (isCut)
    MTP_RETURN_IF_ERROR(executable->runPart(program, batch, Part::FirstHalf));
  for (uint32_t row = 0; row < batch; ++row) {
    const auto &[id, slot, drafts] = next.rows[row];
    if (!sequences.at(id).request.seesDrafts)
      continue;
    SequenceUpdate &update = updates[id];
    update.id = id;
    SeenDrafts &seen = update.seen.emplace();
    if (!isCut)
      continue;
    MTP_ASSIGN_OR_RETURN(
        seen.tokens,
        readSlot(inner.programs.drafts(program, batch), batch, row));
    MTP_ASSIGN_OR_RETURN(
        seen.parents,
        readSlot(inner.programs.parents(program, batch), batch, row));
    // Those behind the nodes that the sequence's own number has are none, as
    // the second half says; of a chain these are the anchor and the drafts.
    for (size_t i = inner.programs.nodes(drafts) - 1; i < seen.tokens.size();
         ++i)
      seen.tokens[i] = -1;
  }
  next.isStopped = true;
  return okStatus();
}

/// Runs what of a round's program only those need who ask for its outputs.
Status Session::Impl::runOnRequest(const Flight &round) {
  bool isAsked = std::ranges::any_of(round.rows, [&](const Flight::Row &row) {
    auto sequence = sequences.find(row.sequence);
    return sequence != sequences.end() && !sequence->second.outputs.empty();
  });
  return runOnRequest(round.program, uint32_t(round.rows.size()), isAsked);
}

/// The same of any program, if somebody has asked.
Status Session::Impl::runOnRequest(uint32_t program, uint32_t n, bool isAsked) {
  if (!isAsked || inner.programs.program(program).onRequest == 0)
    return okStatus();
  return executable->runPart(program, n, Part::OnRequest);
}

/// Runs the second half.
Status Session::Impl::finishStopped() {
  uint32_t program = flight->program, batch = uint32_t(flight->rows.size());
  // What the host did meanwhile is no cost of the round.
  flight->start += clock() - flight->stopped;
  MTP_RETURN_IF_ERROR(
      inner.programs.program(program).cut != 0
          ? executable->runPart(program, batch, Part::SecondHalf)
          : executable->run(program, batch));
  MTP_RETURN_IF_ERROR(runOnRequest(*flight));
  flight->isStopped = false;
  flight->progress = {1, true};
  return okStatus();
}

/// Starts rounds where none are under way, and reads what is new.
Status Session::Impl::decodePhase() {
  double begin = clock();
  if (!flight)
    MTP_RETURN_IF_ERROR(startFlight());
  else if (flight->isStopped)
    MTP_RETURN_IF_ERROR(finishStopped());
  if (!flight)
    return okStatus();
  uint64_t before = statistics.rounds;
  bool isMixed = !flight->beside.empty();
  if (!flight->isStopped)
    MTP_RETURN_IF_ERROR(readFlight());
  double end = clock(), time = end - begin;
  statistics.decodeSeconds += time;
  if (statistics.rounds > before && !isMixed)
    roundSeconds = (time + std::exchange(halfSeconds, 0)) /
                   double(statistics.rounds - before);
  if (flight && flight->isStopped) {
    halfSeconds = time;
    flight->stopped = end;
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Waits for a round that has not been read, or for the end of the last one,
/// and gives the sequences what is new.
Status Session::Impl::readFlight() {
  if (!flight->progress.isDone) {
    MTP_ASSIGN_OR_RETURN(flight->progress,
                         executable->awaitRounds(flight->read));
  }
  for (; flight->read < flight->progress.rounds; ++flight->read) {
    ++statistics.rounds;
    ++statistics.roundsByK[flight->k];
    for (uint32_t row = 0; row < flight->rows.size(); ++row)
      MTP_RETURN_IF_ERROR(readRow(*flight, row));
  }
  if (!flight->progress.isDone)
    return okStatus();
  // What the caller does meanwhile is no cost where the device goes on.
  for (uint32_t round = 0; round < flight->read; ++round)
    countSeconds(*flight, (clock() - flight->start) / flight->read);
  MTP_RETURN_IF_ERROR(countRows(*flight));
  MTP_RETURN_IF_ERROR(readBeside(*flight));
  keepEnded();
  flight.reset();
  return applyPauses();
}

/// Counts the rows of a launch that is over and has been read.
Status Session::Impl::countRows(const Flight &over) {
  uint32_t batch = uint32_t(over.rows.size());
  uint64_t most = uint64_t(inner.programs.nodes(over.k)) * over.progress.rounds;
  bool isSaid = inner.programs.places(over.program, batch).bytes != 0;
  auto read = [&]() -> Result<std::vector<uint64_t>> {
    return isSaid ? host->liveRows() : std::vector<uint64_t>();
  };
  MTP_ASSIGN_OR_RETURN(std::vector<uint64_t> rows, read());
  for (const Flight::Row &row : over.rows) {
    uint64_t count = isSaid && row.slot < rows.size() ? rows[row.slot] : most;
    auto known = sequences.find(row.sequence);
    Statistics *own =
        known == sequences.end() ? nullptr : &known->second.statistics;
    for (Statistics *s : {own, &statistics}) {
      if (!s)
        continue;
      s->roundRows += count;
      s->roundCapacity += most;
    }
  }
  return okStatus();
}

/// Waits until nothing runs; what is over is read by a later step.
Status Session::Impl::landFlight() {
  if (!flight)
    return okStatus();
  // Whoever asks for it may write to what slots carry.
  flight->ended.clear();
  if (flight->progress.isDone)
    return okStatus();
  if (flight->isStopped)
    return failedPrecondition("a round has stopped for its host; call step() "
                              "first, which runs the rest");
  executable->stopRounds();
  MTP_ASSIGN_OR_RETURN(flight->progress, executable->awaitRounds(UINT32_MAX));
  return okStatus();
}

/// The tokens of a row's sequence, if that still runs.
Status Session::Impl::readRow(const Flight &from, uint32_t row) {
  uint32_t slot = from.rows[row].slot;
  if (!isRunning(from.rows[row].sequence))
    return noteFurtherRound(slot);
  Sequence &sequence = sequences.at(from.rows[row].sequence);
  MTP_ASSIGN_OR_RETURN(HostState::RoundOutput output,
                       host->emittedIn(from.read, slot));
  return readRound(sequence, output, from, row);
}

/// Lets the context of a sequence that runs have `count` tokens.
void Session::Impl::learnTokens(Sequence &sequence, uint64_t count) const {
  std::vector<int32_t> &known = sequence.context;
  const std::vector<int32_t> &prompt = sequence.request.prompt;
  while (known.size() < count)
    known.push_back(sequence.output[known.size() - prompt.size()]);
}

/// Shares the pages that have become final, see README.md; none where drafters
/// have fallen behind.
void Session::Impl::publishRound(Sequence &sequence) {
  if (!isFinal(sequence))
    return;
  learnTokens(sequence, sequence.draftsFrom());
  kv->publish(sequence.slot, sequence.context);
}

/// What an output says of one of `batch` slots; nothing where it is not there.
Result<std::vector<int32_t>>
Session::Impl::readSlot(Binding all, uint32_t batch, uint32_t row) {
  uint64_t bytes = all.bytes / batch;
  std::vector<int32_t> numbers(bytes / sizeof(int32_t));
  if (!numbers.empty())
    MTP_RETURN_IF_ERROR(executable->read(rowsOf(all, row * bytes, bytes),
                                         numbers.data(), bytes));
  return numbers;
}

/// Returns where a round left what it computed of a sequence, which is the
/// `row`th of the batch, and notes which rows its tokens are from.
Result<SlotResults> Session::Impl::findResults(Sequence &sequence,
                                               const Flight &from,
                                               uint32_t row) {
  uint32_t batch = uint32_t(from.rows.size());
  uint32_t nodes = inner.programs.nodes(from.k);
  // Behind the slots' rows a prompt's may have some.
  uint64_t rowBytes = inner.envelope->vocab * sizeof(float);
  uint64_t bytes = nodes * rowBytes;
  uint32_t logitsRows = uint32_t(from.logits.bytes / rowBytes);
  SlotResults results{rowsOf(from.logits, row * bytes, bytes), from.program,
                      batch, row, batch};
  sequence.windowRows.clear();
  sequence.logitsRows.clear();
  if (options.logits == LogitsMode::None && sequence.outputs.empty())
    return results;
  MTP_ASSIGN_OR_RETURN(
      std::vector<int32_t> path,
      readSlot(inner.programs.path(from.program, batch), batch, row));
  MTP_ASSIGN_OR_RETURN(
      std::vector<int32_t> places,
      readSlot(inner.programs.places(from.program, batch), batch, row));
  auto within = [](int32_t value, uint32_t count) {
    return uint32_t(std::clamp<int64_t>(value, 0, int64_t(count) - 1));
  };
  for (uint32_t j = 0; j <= from.k; ++j) {
    uint32_t node = path.empty() ? j : within(path[j], nodes);
    sequence.windowRows.push_back(node);
    sequence.logitsRows.push_back(
        places.empty() ? node : within(places[node], logitsRows));
  }
  if (!places.empty())
    results.logits = from.logits;
  return results;
}

/// Gives a sequence what a round put out for it; `row` is its place in the
/// batch.
Status Session::Impl::readRound(Sequence &sequence,
                                const HostState::RoundOutput &output,
                                const Flight &from, uint32_t row) {
  std::span<const int32_t> tokens = output.tokens;
  uint64_t anchor = sequence.length, capacity = kv->capacity(sequence.slot);
  if (tokens.empty() || tokens.size() > from.k + 1) {
    finish(sequence, FinishReason::Failed,
           internalError(strCat("expected 1 to ", from.k + 1,
                                " tokens of a round, got ", tokens.size())));
    return okStatus();
  }
  if (endOfRound(anchor, from.k) > capacity) {
    finish(sequence, FinishReason::Failed,
           internalError(strCat("expected no round behind position ", capacity,
                                ", where the pages end, got one at ", anchor)));
    return okStatus();
  }
  sequence.length += tokens.size();
  kv->commit(sequence.slot, sequence.length);
  countRound(sequence, from, from.rows[row].drafts, output);
  publishRound(sequence);
  size_t before = sequence.output.size();
  MTP_ASSIGN_OR_RETURN(SlotResults results, findResults(sequence, from, row));
  MTP_RETURN_IF_ERROR(emit(sequence, tokens, results));
  if (auto update = updates.find(sequence.id); update != updates.end())
    update->second.drafted += std::min(output.drafted, from.rows[row].drafts);
  sequence.statistics.decodeTokens += sequence.output.size() - before;
  statistics.decodeTokens += sequence.output.size() - before;
  return okStatus();
}
