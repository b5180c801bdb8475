//===- RoundRunner.cpp - Launches of rounds -------------------------------===//

#include "runtime/exec/RoundRunner.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/ProfileCosts.h"
#include "runtime/schema/LogitRules.h"
#include "runtime/schema/LoopLayout.h"

#include <algorithm>
#include <utility>

using namespace mtp;

/// Returns the padding slots of rounds that run the next captured size.
static PaddingFunction paddingUpTo(profile::CaptureSizes captures) {
  return [captures = std::move(captures)](uint32_t batch, uint32_t k) {
    return profile::capturedSize(captures, k, batch) - batch;
  };
}

RoundRunner::RoundRunner(SessionParts &parts, PromptRunner &prompts,
                         profile::CaptureSizes captures)
    : parts(parts), prompts(prompts),
      planner(parts.programs(),
              {parts.options.k, parts.inner.envelope->maxRows,
               parts.host.hasDraftLimit(), paddingUpTo(std::move(captures))},
              parts.inner.learnedCosts.of(parts.options.threads)),
      catchUp(parts.programs(), parts.reuse, parts.host, parts.executable,
              *parts.memory, parts.setup.clock,
              {parts.options.k, parts.inner.artifact().ahead,
               parts.options.roundsPerLaunch}) {}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

/// Plans the next round of the Running sequences, which are its members.
RoundPlan RoundRunner::plan(std::vector<Member> &members) {
  std::vector<RoundCandidate> candidates;
  std::vector<Sequence *> running = parts.table.running();
  for (Sequence *sequence : running) {
    Residency &residency = *sequence->residency;
    SequenceDrafts &drafts = sequence->drafts;
    if (parts.setup.beforeRound)
      parts.setup.beforeRound(sequence->id, drafts.k, residency.drafters);
    candidates.push_back({sequence->id, drafts.k,
                          drafts.choosesK ? &drafts.history : nullptr,
                          residency.length, residency.accepted, drafts.forced});
  }
  RoundPlan plan = planner.plan(candidates);
  // Both are in order of id.
  size_t next = 0;
  for (const RoundPlan::Row &row : plan.rows) {
    while (running[next]->id != row.id)
      ++next;
    members.push_back({running[next], row.drafts});
  }
  return plan;
}

/// Makes room for a plan. Sequences that lose their pages leave the plan.
static Status makeRoom(Scheduler &scheduler, std::span<Sequence *const> round,
                       RoundPlan &plan) {
  MTP_RETURN_IF_ERROR(scheduler.makeRoom(round, plan.k));
  std::vector<RoundPlan::Row> rows;
  for (size_t i = 0; i < round.size(); ++i)
    if (round[i]->isRunning())
      rows.push_back(plan.rows[i]);
  plan.rows = std::move(rows);
  return okStatus();
}

/// Brings up to date the drafters that the next rounds need, or may need later.
Status RoundRunner::prepareDrafters(std::span<const Member> members,
                                    RoundPlan &plan) {
  std::vector<DrafterRow> rows;
  for (auto [sequence, drafts] : members)
    rows.push_back({&sequence->kept, &*sequence->residency, drafts,
                    sequence->drafts.choosesK});
  MTP_ASSIGN_OR_RETURN(
      double seconds,
      catchUp.prepare(rows, plan.k, plan.rounds,
                      parts.results.statistics().decodeSeconds));
  planner.addCatchUp(seconds);
  for (size_t i = 0; i < rows.size(); ++i)
    parts.results.count(members[i].sequence, &Statistics::caughtUpTokens,
                        rows[i].caughtUp);
  return okStatus();
}

/// Returns how many rounds may follow each other: one if a prompt is between
/// two chunks, or if a later round would overwrite logits or outputs.
uint32_t RoundRunner::roundsFor(std::span<const Member> members,
                                const RoundPlan &plan) const {
  auto needsHost = [](const Member &member) {
    const Sequence &sequence = *member.sequence;
    return !sequence.residency->endsOnDevice ||
           !sequence.output.types().empty() || sequence.readsLogits() ||
           sequence.request.seesDrafts || sequence.matcher;
  };
  if (!parts.host.hasRing() || parts.options.logits != LogitsMode::None ||
      !parts.table.prefilling().empty() ||
      std::ranges::any_of(members, needsHost))
    return 1;
  uint32_t most = std::min(parts.options.roundsPerLaunch, plan.rounds);
  return parts.setup.launchRounds ? std::min(most, parts.setup.launchRounds())
                                  : most;
}

/// Takes pages for rounds ahead, if there are any. The device ends the launch
/// before the first page that is missing.
void RoundRunner::lookAhead(const Sequence &sequence, uint32_t k,
                            uint32_t rounds) {
  if (rounds <= 1)
    return;
  const Request &request = sequence.request;
  const Residency &residency = *sequence.residency;
  uint64_t last =
      parts.endOfRound(request.prompt.size() + request.maxTokens - 1, k);
  for (; rounds > 1; rounds /= 2) {
    uint64_t before = uint64_t(rounds - 1) * (uint64_t(k) + 1);
    uint64_t wanted = parts.endOfRound(residency.length + before, k);
    if (parts.memory->pages().grow(residency.slot, std::min(wanted, last)))
      return;
  }
}

/// Fills the batch up to a captured size, if slots and pages are free for it.
Status RoundRunner::pad(RoundWork &work) {
  uint32_t padding = planner.paddingOf(work.batch(), work.k);
  if (padding == 0)
    return okStatus();
  std::vector<uint32_t> slots = parts.table.firstFreeSlots(padding);
  if (slots.size() < padding)
    return okStatus();
  uint64_t positions = parts.endOfRound(work.rounds, work.k);
  MTP_ASSIGN_OR_RETURN(work.padding,
                       parts.padding.begin(*parts.memory, slots, positions));
  return okStatus();
}

/// Returns the work of a plan. Brings its page tables on the device up to date.
Result<RoundWork> RoundRunner::makeWork(std::span<const Member> members,
                                        const RoundPlan &plan) {
  RoundWork work;
  work.k = plan.k;
  work.rounds = roundsFor(members, plan);
  for (const Member &member : members)
    lookAhead(*member.sequence, plan.k, work.rounds);
  std::vector<uint32_t> rows = planner.rowsOf(plan);
  uint64_t longest = 0;
  for (auto [sequence, drafts] : members) {
    Residency &residency = *sequence->residency;
    MTP_RETURN_IF_ERROR(
        parts.host.syncPageTable(residency, parts.memory->pages()));
    RoundWork::Row row{sequence->id, residency.slot, drafts};
    row.limits.rounds = work.rounds;
    row.limits.yields = !parts.table.waiting().empty();
    row.limits.mostRows = rows[work.rows.size()];
    row.limits.budget = sequence->request.maxTokens -
                        uint32_t(sequence->output.tokens().size());
    row.limits.positions = parts.memory->pages().capacity(residency.slot);
    row.seesDrafts = sequence->request.seesDrafts;
    row.isMasked = sequence->matcher != nullptr;
    row.isAsked = !sequence->output.types().empty();
    row.hasRules = parts.hasRules(sequence->request);
    work.rows.push_back(row);
    work.positions += residency.length;
    longest = std::max(longest, residency.length);
  }
  if (!prompts.mixesNext())
    MTP_RETURN_IF_ERROR(pad(work));
  // Later rounds may reach further: any program is right for these.
  work.program = parts.programs().decode(
      work.batch(), plan.k, longest + parts.programs().nodes(plan.k));
  if (prompts.mixesNext())
    MTP_RETURN_IF_ERROR(prompts.addMixed(planner.allRowsOf(plan), work));
  return work;
}

//===----------------------------------------------------------------------===//
// Run
//===----------------------------------------------------------------------===//

Status RoundRunner::run() {
  double begin = parts.setup.clock();
  RoundLaunch &launch = parts.launch;
  Statistics &statistics = parts.results.statistics();
  if (!launch.isUnderWay())
    MTP_RETURN_IF_ERROR(start());
  else if (launch.isStopped())
    MTP_RETURN_IF_ERROR(finishStopped());
  if (!launch.isUnderWay())
    return okStatus();
  uint64_t before = statistics.rounds;
  bool isMixed = !launch.work().mixed.empty();
  if (!launch.isStopped())
    MTP_RETURN_IF_ERROR(read());
  double end = parts.setup.clock(), time = end - begin;
  statistics.decodeSeconds += time;
  if (statistics.rounds > before && !isMixed)
    prompts.planner().setRoundSeconds((time + std::exchange(halfSeconds, 0)) /
                                      double(statistics.rounds - before));
  if (launch.isStopped()) {
    halfSeconds = time;
    stopped = end;
  }
  return okStatus();
}

Status RoundRunner::start() {
  MTP_RETURN_IF_ERROR(maskAnchors());
  std::vector<Member> members;
  RoundPlan next = plan(members);
  std::vector<Sequence *> round;
  for (const Member &member : members)
    round.push_back(member.sequence);
  MTP_RETURN_IF_ERROR(makeRoom(parts.scheduler, round, next));
  std::erase_if(members, [](const Member &member) {
    return !member.sequence->isRunning();
  });
  if (members.empty())
    return okStatus();
  MTP_RETURN_IF_ERROR(prepareDrafters(members, next));
  started = parts.setup.clock();
  for (const Member &member : members) {
    Sequence &sequence = *member.sequence;
    if (!sequence.residency->endsOnDevice && sequence.request.minTokens > 0 &&
        sequence.mayStop())
      MTP_RETURN_IF_ERROR(parts.admission.writeStops(sequence));
  }
  MTP_ASSIGN_OR_RETURN(RoundWork work, makeWork(members, next));
  MTP_RETURN_IF_ERROR(parts.launch.start(std::move(work)));
  return parts.launch.isStopped() ? answerStop() : okStatus();
}

/// Writes the masks of the next tokens of constrained sequences, and counts
/// their forced tokens. A sequence whose constraint cannot give a mask fails.
Status RoundRunner::maskAnchors() {
  for (Sequence *sequence : parts.table.running()) {
    if (!sequence->matcher)
      continue;
    if (Status made = parts.masks.makeNext(*sequence->matcher); !made.isOk())
      parts.ends.fail(*sequence, std::move(made));
    else
      MTP_RETURN_IF_ERROR(parts.masks.store(sequence->residency->slot));
    SequenceDrafts &drafts = sequence->drafts;
    if (drafts.k > 0 && sequence->isRunning())
      drafts.forced = uint32_t(sequence->matcher->forced(drafts.k).size());
  }
  return okStatus();
}

/// Decides which drafts of a constrained sequence are verified, and writes the
/// drafts and the masks of their rows. A sequence whose constraint cannot give
/// a mask fails.
Status RoundRunner::maskDrafts(const RoundWork::Row &row, SeenDrafts &seen) {
  Sequence *sequence = parts.table.findRunning(row.sequence);
  if (!sequence)
    return okStatus();
  Status made = parts.masks.makePaths(*sequence->matcher,
                                      parts.programs().nodes(row.drafts), seen);
  if (!made.isOk()) {
    parts.ends.fail(*sequence, std::move(made));
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(parts.masks.store(row.slot));
  return parts.masks.replaceDrafts() ? parts.masks.storeDrafts(row.slot, seen)
                                     : okStatus();
}

/// Gives the drafts of the stopped round to the host: to constraints, and to
/// callers that see drafts. Without such a caller, runs the second half.
Status RoundRunner::answerStop() {
  const std::vector<RoundWork::Row> &rows = parts.launch.work().rows;
  for (uint32_t i = 0; i < rows.size(); ++i) {
    const RoundWork::Row &row = rows[i];
    if (!row.isMasked && !row.seesDrafts)
      continue;
    MTP_ASSIGN_OR_RETURN(SeenDrafts seen, parts.launch.seenDrafts(i));
    if (row.isMasked)
      MTP_RETURN_IF_ERROR(maskDrafts(row, seen));
    if (row.seesDrafts)
      parts.results.update(row.sequence).seen = std::move(seen);
  }
  return std::ranges::any_of(rows, &RoundWork::Row::seesDrafts)
             ? okStatus()
             : parts.launch.finishStopped();
}

/// Runs the second half of a round. The time that the host took in between is
/// not counted as the round's.
Status RoundRunner::finishStopped() {
  started += parts.setup.clock() - stopped;
  return parts.launch.finishStopped();
}

//===----------------------------------------------------------------------===//
// Apply
//===----------------------------------------------------------------------===//

/// Waits for a round that has not been read, or for the end of the last one,
/// and gives the sequences the new results.
Status RoundRunner::read() {
  RoundLaunch &launch = parts.launch;
  MTP_RETURN_IF_ERROR(launch.await());
  bool isNew = launch.hasUnread() || launch.roundsRead() == 0;
  for (; launch.hasUnread(); launch.next()) {
    countRound();
    for (uint32_t row = 0; row < launch.work().rows.size(); ++row)
      MTP_RETURN_IF_ERROR(readRow(row));
  }
  // The end of a launch may be known one step after its last round. The time
  // that the caller takes between the steps is no cost.
  if (isNew)
    lastRead = parts.setup.clock();
  if (!launch.isDone())
    return okStatus();
  for (uint32_t round = 0; round < launch.roundsRead(); ++round)
    countSeconds((lastRead - started) / launch.roundsRead());
  recordLaunch(lastRead - started);
  MTP_RETURN_IF_ERROR(countRows());
  MTP_RETURN_IF_ERROR(prompts.readMixed());
  for (const EndedSequence &ended : launch.ended())
    parts.memory->copies().storeEnded(ended);
  parts.endLaunch();
  return parts.scheduler.applyPauses();
}

/// Counts the unread round of the session.
void RoundRunner::countRound() {
  const RoundWork &work = parts.launch.work();
  Statistics &statistics = parts.results.statistics();
  ++statistics.rounds;
  ++statistics.roundsByK[work.k];
  statistics.paddedRounds += !work.padding.empty();
  statistics.paddingSlots += work.padding.size();
}

/// Gives a row's sequence its tokens of the unread round, if it still runs.
Status RoundRunner::readRow(uint32_t row) {
  RoundLaunch &launch = parts.launch;
  Sequence *sequence =
      parts.table.findRunning(launch.work().rows[row].sequence);
  if (!sequence)
    return launch.noteFurtherRound(row);
  MTP_ASSIGN_OR_RETURN(HostState::RoundOutput output, launch.output(row));
  return apply(*sequence, output, row);
}

Status RoundRunner::apply(Sequence &sequence,
                          const HostState::RoundOutput &output, uint32_t row) {
  const RoundWork &work = parts.launch.work();
  std::span<const int32_t> tokens = output.tokens;
  KvCacheManager &pages = parts.memory->pages();
  Residency &residency = *sequence.residency;
  uint64_t anchor = residency.length, capacity = pages.capacity(residency.slot);
  if (tokens.empty() || tokens.size() > work.k + 1) {
    parts.ends.fail(sequence, internalError(strCat("expected 1 to ", work.k + 1,
                                                   " tokens of a round, got ",
                                                   tokens.size())));
    return okStatus();
  }
  if (parts.endOfRound(anchor, work.k) > capacity) {
    parts.ends.fail(
        sequence,
        internalError(strCat("expected no round after position ", capacity,
                             ", where the pages end, got one at ", anchor)));
    return okStatus();
  }
  residency.length += tokens.size();
  pages.commit(residency.slot, residency.length);
  uint32_t drafts = work.rows[row].drafts;
  uint32_t drafted = std::min(output.drafted, drafts);
  parts.results.countRound(sequence, work.k, drafts, drafted, tokens.size());
  catchUp.noteRound(residency, work.k, anchor);
  residency.accepted = uint32_t(tokens.size()) - 1;
  // A draft that the drafter left out counts as one that was rejected.
  planner.addOutcome(sequence.drafts.history, work.k, drafts,
                     residency.accepted, sequence.drafts.forced);
  if (parts.recorder)
    MTP_RETURN_IF_ERROR(record(sequence, output, anchor, row));
  parts.memory->publishRound(sequence.kept, residency);
  size_t before = sequence.output.tokens().size();
  bool needsRows = parts.options.logits != LogitsMode::None ||
                   sequence.readsLogits() || !sequence.output.types().empty();
  MTP_ASSIGN_OR_RETURN(SlotResults results,
                       parts.launch.results(row, needsRows));
  MTP_RETURN_IF_ERROR(parts.ends.emit(sequence, tokens, results));
  parts.results.addDrafted(sequence.id, drafted);
  parts.results.count(&sequence, &Statistics::decodeTokens,
                      sequence.output.tokens().size() - before);
  return okStatus();
}

/// Whether drafts of a sequence may end by the drafter's confidence.
bool RoundRunner::endsDrafts(const Sequence &sequence) const {
  float usual = parts.options.draftPMin.value_or(0);
  return sequence.request.draftPMin.value_or(usual) > 0;
}

/// Gives the recorder a round of a sequence. Drafts and the nodes of trees are
/// known if the launch has one round, whose outputs are still there.
Status RoundRunner::record(const Sequence &sequence,
                           const HostState::RoundOutput &output,
                           uint64_t anchor, uint32_t row) {
  const RoundWork &work = parts.launch.work();
  const RoundWork::Row &of = work.rows[row];
  std::span<const int32_t> tokens = output.tokens;
  RecordedRound round;
  round.isSampled = sequence.request.sampling.temperature > 0;
  round.kind = sequence.request.kind;
  round.context = anchor;
  round.drafts = of.drafts;
  round.accepted = uint32_t(tokens.size()) - 1;
  round.output = tokens;
  SeenDrafts seen;
  SlotResults results;
  // The host may have replaced the drafts of a sequence with masks.
  round.isReplaced = of.isMasked && parts.masks.replaceDrafts();
  round.isChain =
      !round.isReplaced && parts.programs().nodes(of.drafts) == of.drafts + 1;
  std::vector<float> confidences;
  // Drafts below a threshold have no confidence.
  if (!round.isReplaced && !endsDrafts(sequence)) {
    MTP_ASSIGN_OR_RETURN(confidences, parts.host.confidences(
                                          parts.launch.roundsRead(), of.slot,
                                          std::min(output.drafted, of.drafts)));
    round.confidences = confidences;
  }
  if (work.rounds == 1 && of.drafts > 0 && !round.isReplaced) {
    MTP_ASSIGN_OR_RETURN(seen, parts.launch.seenDrafts(row));
    round.drafted = seen.tokens;
    round.parents = seen.parents.empty() ? parts.recorder->staticTree()
                                         : std::span(seen.parents);
  }
  if (!round.parents.empty()) {
    MTP_ASSIGN_OR_RETURN(results, parts.launch.results(row, true));
    round.path = std::span(results.windowRows).subspan(1, round.accepted);
    round.verified =
        std::min(parts.programs().nodes(of.drafts), of.limits.mostRows);
    // The device verifies only the nodes that have masks.
    if (of.isMasked)
      round.verified = std::min(round.verified, uint32_t(kMostMasks));
  }
  parts.recorder->addRound(round);
  return okStatus();
}

/// Counts the rows of a launch that is over and has been read.
Status RoundRunner::countRows() {
  uint64_t capacity = parts.launch.rowCapacity();
  MTP_ASSIGN_OR_RETURN(std::vector<uint64_t> counts, parts.launch.activeRows());
  for (size_t row = 0; row < counts.size(); ++row) {
    Sequence *sequence =
        parts.table.find(parts.launch.work().rows[row].sequence);
    parts.results.count(sequence, &Statistics::roundRows, counts[row]);
    parts.results.count(sequence, &Statistics::roundCapacity, capacity);
  }
  return okStatus();
}

/// Records the time of a launch on a device that may run several rounds without
/// the host. Launches with rounds that stop or with padding, and launches that
/// end before their last round, are others.
void RoundRunner::recordLaunch(double seconds) {
  const RoundWork &work = parts.launch.work();
  auto stops = [](const RoundWork::Row &row) {
    return row.seesDrafts || row.isMasked || row.isAsked;
  };
  if (!parts.recorder || parts.inner.device == DeviceKind::Cpu ||
      !parts.host.hasRing() || parts.launch.roundsRead() != work.rounds ||
      work.rounds > kRingRounds || !work.padding.empty() ||
      !work.mixed.empty() || std::ranges::any_of(work.rows, stops))
    return;
  profile::LaunchCost shape;
  shape.batch = work.batch();
  shape.k = work.k;
  shape.rounds = parts.launch.roundsRead();
  shape.positions = work.positions;
  parts.recorder->addLaunch(shape, work.program, seconds);
}

/// Records the time of a round. A round with prompt rows says nothing about the
/// cost of drafts. A profile has no rounds whose drafts may end by confidence,
/// because their rows are unknown.
void RoundRunner::countSeconds(double seconds) {
  const RoundWork &work = parts.launch.work();
  std::vector<uint32_t> drafts;
  for (const RoundWork::Row &row : work.rows)
    drafts.push_back(row.drafts);
  RoundCostModel::Work cost = planner.workOf(drafts, work.k, work.positions);
  cost.padding = uint32_t(work.padding.size());
  prompts.planner().addRound(cost.rows + work.mixedRows(), seconds);
  if (!work.mixed.empty())
    return;
  planner.addRound(cost, seconds);
  if (!parts.recorder)
    return;
  parts.recorder->addBatch(cost.batch, cost.k);
  auto endsDrafts = [&](const RoundWork::Row &row) {
    const Sequence *sequence = parts.table.find(row.sequence);
    return row.drafts > 0 && sequence && this->endsDrafts(*sequence);
  };
  if (std::ranges::any_of(work.rows, endsDrafts))
    return;
  profile::Cost shape;
  shape.batch = cost.batch;
  shape.k = cost.k;
  shape.rows = cost.rows;
  shape.positions = cost.positions;
  shape.padding = cost.padding;
  if (parts.inner.device != DeviceKind::Cpu)
    shape.nodes = uint32_t(
        graphNodesOf(parts.inner.plan(), work.program, parts.host.hasRing()));
  parts.recorder->addCost(shape, work.program, seconds);
}
