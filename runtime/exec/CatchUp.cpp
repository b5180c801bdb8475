//===- CatchUp.cpp - Drafters that have fallen behind ---------------------===//
//
// A round without drafts, or with fewer than a chain has modules, leaves the
// caches of drafters behind. Where the artifact has programs for it, they are
// refreshed before the next round that drafts: over the tokens since then, with
// the hidden states that commits have kept of the last ones. What has then been
// written is what rounds with drafts would have left, to the bit.
//
// A sequence that chooses k may want to draft again. Its drafters are refreshed
// before the first hidden state that they need is written over, as long as that
// takes a small share of all time.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SessionImpl.h"

#include <algorithm>

using namespace mtp;

/// The share of the rounds' time that drafters may take which nobody waits for.
static constexpr double kKeepUpShare = 0.01;

/// Notes what a round of k, which began with that anchor, has brought up to
/// date.
void Session::Impl::noteDrafters(Sequence &sequence, uint32_t k,
                                 uint64_t anchor) const {
  // It refreshes k + 1 rows.
  if (sequence.accepted > k)
    return;
  uint64_t before = anchor - sequence.accepted;
  for (size_t of = 0; of < sequence.draftedTo.size(); ++of)
    if (reuse.layers[of] <= reuse.layers[k] && sequence.draftedTo[of] == before)
      sequence.draftedTo[of] = anchor + 1;
}

/// Whether what drafters have missed that are true up to there can be made up
/// for when the sequence has `tokens` more.
bool Session::Impl::isInReach(const Sequence &sequence, uint64_t draftedTo,
                              uint64_t tokens) const {
  return sequence.length + tokens + inner.artifact().ahead <=
         draftedTo + inner.programs.catchUpReach();
}

/// Refreshes a sequence's drafters as far as hidden states go back.
Status Session::Impl::catchUp(Sequence &sequence) {
  const ProgramTable &programs = inner.programs;
  uint64_t ahead = inner.artifact().ahead, reach = programs.catchUpReach();
  uint64_t end = sequence.draftsFrom(), known = sequence.draftedTo.back();
  if (!isInReach(sequence, known)) {
    // The deepest drafters may be some that no round of the session runs.
    sequence.isTorn = true;
    known = sequence.draftedTo[options.k];
  }
  // What a module needs of the one before it is not kept.
  uint64_t first = known > ahead ? known - ahead : 0;
  if (!isInReach(sequence, known)) {
    first = sequence.length - std::min(sequence.length, reach);
    known = std::min(first + ahead, end);
  }
  // No module has a token behind the last row.
  uint64_t last = end - (ahead > 0);
  learnTokens(sequence, end);
  MTP_RETURN_IF_ERROR(syncPageTable(sequence));
  while (first < last) {
    uint32_t rows =
        uint32_t(std::min<uint64_t>(last - first, programs.catchUpRows()));
    PromptPart part{sequence.slot, uint32_t(first), rows, 0,
                    std::span(sequence.context).first(end)};
    MTP_RETURN_IF_ERROR(host->setPrefill({&part, 1}));
    MTP_RETURN_IF_ERROR(executable->run(programs.catchUp(rows), rows));
    first += rows;
  }
  sequence.draftedTo.assign(sequence.draftedTo.size(), end);
  for (Statistics *of : {&statistics, &sequence.statistics})
    of->caughtUpTokens += end - known;
  publishRound(sequence);
  return okStatus();
}

/// Refreshes the drafters that the next rounds run, and those that these would
/// leave too far behind.
Status Session::Impl::catchUp(RoundPlan &plan) {
  if (inner.programs.catchUpRows() == 0)
    return okStatus();
  double begin = clock(), keptUp = 0;
  for (auto [sequence, drafts] : plan.rows) {
    uint64_t end = sequence->draftsFrom();
    // Those that its own drafts come from, whatever else the round runs.
    if (drafts > 0 && sequence->draftedTo[drafts] != end)
      MTP_RETURN_IF_ERROR(catchUp(*sequence));
    bool fallsBehind = reuse.layers[plan.k] < reuse.layers[options.k] ||
                       sequence->accepted > plan.k;
    uint64_t perRound = uint64_t(plan.k) + 1;
    uint32_t rounds = std::min(plan.rounds, options.roundsPerLaunch);
    if (!sequence->choosesK || !fallsBehind ||
        isInReach(*sequence, sequence->draftedTo[options.k],
                  rounds * perRound) ||
        keepUpSeconds > kKeepUpShare * statistics.decodeSeconds)
      continue;
    double start = clock();
    if (sequence->draftedTo[options.k] != end)
      MTP_RETURN_IF_ERROR(catchUp(*sequence));
    keptUp += clock() - start;
    while (rounds > 1 && !isInReach(*sequence, sequence->draftedTo[options.k],
                                    rounds * perRound))
      plan.rounds = --rounds;
  }
  keepUpSeconds += keptUp;
  draftPolicy.addCatchUp(clock() - begin);
  return okStatus();
}
