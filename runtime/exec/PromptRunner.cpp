//===- PromptRunner.cpp - Passes over prompts -----------------------------===//

#include "runtime/exec/PromptRunner.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <utility>

using namespace mtp;

/// Drafters read prompts if rounds draft. They also read prompt rows of mixed
/// batches at any k, and need what is before these.
PromptRunner::PromptRunner(SessionParts &parts)
    : parts(parts),
      prefillPlanner(parts.programs(), parts.options, parts.library.rows),
      launch(parts.programs(), parts.host, parts.executable,
             parts.memory->pages(),
             parts.options.k > 0 || prefillPlanner.canMix()),
      scorer(parts) {}

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

PrefillRun PromptRunner::nextRun(SequenceId id) const {
  return parts.memory->nextRun(*parts.table.at(id).residency);
}

/// Returns the prompts that are being prefilled, in the order in which they get
/// rows. A prompt that must be scored gets rows afterwards.
std::vector<PendingPrompt> PromptRunner::prompts() const {
  std::vector<PendingPrompt> prompts;
  for (SequenceId id : parts.table.prefilling()) {
    const Sequence &sequence = parts.table.at(id);
    if (PromptScorer::isPending(sequence))
      continue;
    const Residency &residency = *sequence.residency;
    prompts.push_back({id, sequence.request.priority, sequence.arrival,
                       residency.length, residency.rest(),
                       residency.context.size() - residency.reused});
  }
  PrefillPlanner::sort(prompts);
  return prompts;
}

PrefillPass PromptRunner::plan(const PrefillLimits &limits) const {
  return prefillPlanner.nextPass(prompts(), limits, parts.table.freeSlots() > 0,
                                 [this](SequenceId id) { return nextRun(id); });
}

bool PromptRunner::mixesNext() const {
  const SequenceTable &table = parts.table;
  auto stopsRounds = [&](SequenceId id) {
    const Sequence &sequence = table.at(id);
    return sequence.isRunning() && sequence.stopsRounds();
  };
  if (!canMix() || !table.isAnyRunning() || table.prefilling().empty() ||
      std::ranges::any_of(table.admitted(), stopsRounds))
    return false;
  std::vector<PendingPrompt> pending = prompts();
  return !pending.empty() &&
         nextRun(pending.front().id).maker == PageProvenance::Plan;
}

//===----------------------------------------------------------------------===//
// Passes of prompts alone
//===----------------------------------------------------------------------===//

Status PromptRunner::score() {
  double begin = parts.setup.clock();
  MTP_RETURN_IF_ERROR(
      scorer.run(prefillPlanner.limits(parts.table.isAnyRunning()).budget));
  parts.results.statistics().prefillSeconds += parts.setup.clock() - begin;
  return okStatus();
}

Status PromptRunner::run() {
  const SequenceTable &table = parts.table;
  PrefillLimits limits = prefillPlanner.limits(table.isAnyRunning());
  for (;; limits.isFirst = false) {
    bool wasAnyRunning = table.isAnyRunning();
    MTP_RETURN_IF_ERROR(parts.scheduler.admitWaiting());
    PrefillPass pass = plan(limits);
    if (pass.shares.empty())
      return okStatus();
    MTP_RETURN_IF_ERROR(runPass(pass));
    limits.budget -= std::min<uint64_t>(limits.budget, pass.chunk);
    bool isFirstToken =
        parts.results.hasUpdates() || (!wasAnyRunning && table.isAnyRunning());
    if (parts.options.chunksPerStep == SessionOptions::kOneBesideRunning &&
        isFirstToken)
      return okStatus();
  }
}

/// Returns the next `rows` rows of a prompt. Brings the sequence's page table
/// on the device up to date.
Result<PromptPart> PromptRunner::partOf(SequenceId id, uint32_t rows,
                                        uint32_t firstRow) {
  Residency &residency = *parts.table.at(id).residency;
  MTP_RETURN_IF_ERROR(
      parts.host.syncPageTable(residency, parts.memory->pages()));
  return PromptPart{residency.slot, uint32_t(residency.length), rows, firstRow,
                    residency.context};
}

/// Returns a slot that stands for missing prompts of a program.
uint32_t PromptRunner::freeSlot() const {
  return parts.table.freeSlots() > 0 ? parts.table.firstFreeSlot() : 0;
}

Status PromptRunner::runPass(const PrefillPass &pass) {
  double begin = parts.setup.clock();
  PrefillWork work;
  work.chunk = pass.chunk;
  work.sequences = pass.sequences;
  work.freeSlot = freeSlot();
  work.byLibrary = pass.byLibrary;
  uint64_t positions = 0;
  for (auto [id, rows] : pass.shares) {
    const Sequence &sequence = parts.table.at(id);
    uint64_t firstRow =
        pass.byLibrary ? sequence.residency->length % pass.chunk : 0;
    MTP_ASSIGN_OR_RETURN(PromptPart part, partOf(id, rows, uint32_t(firstRow)));
    positions += sequence.residency->length;
    work.parts.push_back(part);
    work.isAsked |= !sequence.output.types().empty();
    work.hasRules |= parts.hasRules(sequence.request);
  }
  MTP_ASSIGN_OR_RETURN(std::vector<SlotResults> results,
                       launch.run(std::move(work)));
  ++parts.results.statistics().prefillChunks;
  for (size_t s = 0; s < pass.shares.size(); ++s) {
    auto [id, rows] = pass.shares[s];
    Sequence &sequence = parts.table.at(id);
    if (pass.byLibrary)
      parts.results.count(&sequence, &Statistics::libraryTokens, rows);
    MTP_RETURN_IF_ERROR(commit(sequence, rows, results[s]));
  }
  double time = parts.setup.clock() - begin;
  parts.results.statistics().prefillSeconds += time;
  if (!pass.byLibrary)
    prefillPlanner.addPass(pass.chunk, time);
  if (!parts.recorder || results.empty())
    return okStatus();
  profile::Cost shape;
  shape.work = profile::Work::Prefill;
  shape.batch = pass.sequences;
  shape.rows = pass.chunk;
  shape.positions = positions;
  parts.recorder->addCost(shape, results[0].program, time);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Mixed batches
//===----------------------------------------------------------------------===//

Status PromptRunner::addMixed(uint64_t rowsOfRound, RoundWork &work) {
  std::vector<PrefillShare> shares =
      prefillPlanner.mixedShares(prompts(), {work.batch(), work.k, rowsOfRound},
                                 parts.table.freeSlots() > 0,
                                 [this](SequenceId id) { return nextRun(id); });
  for (auto [id, rows] : shares) {
    MTP_ASSIGN_OR_RETURN(PromptPart part, partOf(id, rows, /*firstRow=*/0));
    work.mixed.push_back(
        {id, rows, parts.hasRules(parts.table.at(id).request)});
    work.parts.push_back(part);
  }
  if (shares.empty())
    return okStatus();
  uint32_t prompts = parts.programs().mixedPrompts(work.batch(), work.k,
                                                   uint32_t(shares.size()));
  MTP_RETURN_IF_ERROR(launch.fill(work.parts, prompts, freeSlot()));
  work.program = *parts.programs().mixed(work.batch(), work.k, prompts);
  return okStatus();
}

Status PromptRunner::readMixed() {
  const std::vector<RoundWork::MixedPrompt> &mixed = parts.launch.work().mixed;
  if (mixed.empty())
    return okStatus();
  ++parts.results.statistics().prefillChunks;
  for (size_t i = 0; i < mixed.size(); ++i) {
    auto [id, rows, unused] = mixed[i];
    Sequence *sequence = parts.table.find(id);
    if (!sequence || sequence->phase() != Sequence::Phase::Prefilling)
      continue;
    parts.results.count(sequence, &Statistics::mixedTokens, rows);
    MTP_RETURN_IF_ERROR(commit(*sequence, rows, parts.launch.mixedResults(i)));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Records that prefill has computed the next `rows` tokens of a sequence.
Status PromptRunner::commit(Sequence &sequence, uint32_t rows,
                            const SlotResults &results) {
  Residency &residency = *sequence.residency;
  residency.length += rows;
  parts.results.count(&sequence, &Statistics::prefillTokens, rows);
  ++sequence.statistics.prefillChunks;
  if (std::exchange(residency.isBehindCopy, false))
    MTP_RETURN_IF_ERROR(parts.host.setAccepted(residency.slot, 0));
  parts.memory->commitChunk(sequence.kept, residency);
  return residency.rest() == 0 ? finish(sequence, results) : okStatus();
}

/// Lets a sequence run whose prefill has ended. The first token goes into its
/// output; after a preemption the token is known.
Status PromptRunner::finish(Sequence &sequence, const SlotResults &results) {
  Residency &residency = *sequence.residency;
  residency.drafters.drafterValidUpTo.assign(parts.options.k + 2,
                                             residency.length);
  parts.table.moveTo(sequence.id, Sequence::Phase::Running);
  MTP_RETURN_IF_ERROR(parts.memory->endPrefill(sequence.kept, residency));
  MTP_ASSIGN_OR_RETURN(std::span<const int32_t> tokens,
                       parts.host.emitted(residency.slot));
  const std::vector<int32_t> &output = sequence.output.tokens();
  if (tokens.size() == 1 && output.empty())
    return parts.ends.emit(sequence, tokens, results);
  if (tokens.size() != 1)
    parts.ends.fail(sequence, internalError("expected one token of a prefill"));
  else if (tokens[0] != output.back())
    parts.ends.fail(sequence, internalError(strCat(
                                  "prefill after a preemption picked "
                                  "token ",
                                  tokens[0], ", expected ", output.back())));
  else
    residency.context.push_back(tokens[0]);
  return okStatus();
}
