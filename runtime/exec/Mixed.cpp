//===- Mixed.cpp - Rows of a prompt beside a round ------------------------===//
//
// Where the artifact has programs for it, prompts that wait while others run
// are read in the rounds of these: one pass over the target's weights for the
// rows of both. A round takes rows of one prompt, the first in turn
// (Prefill.cpp), as many as the session's time for it allows. What a row
// computes does not depend on the rows beside it.
//
// Where nobody runs prompts go through passes of their own. So do rows that a
// library makes, which never mix.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/SessionImpl.h"

#include <algorithm>

using namespace mtp;

/// Rows that a round takes in any case where nobody says how long it may take;
/// where somebody does, a prompt comes to its end, and that is all.
static constexpr uint32_t kLeastBeside = 16, kLeastInTime = 1;

/// Whether the session's rounds can have rows of prompts beside theirs: at each
/// k, as it is known late which one a round has.
bool Session::Impl::canMix() const {
  if (options.separatePrompts ||
      options.chunksPerStep != SessionOptions::kOneBesideRunning)
    return false;
  for (uint32_t k = 0; k <= options.k; ++k)
    for (uint32_t batch = 1; batch <= options.maxSlots; ++batch)
      if (!inner.programs.mixed(batch, k))
        return false;
  return true;
}

/// Whether the next round is to take the rows of prompts. Who has got a slot
/// shares the prompts' turns.
bool Session::Impl::mixesNext() {
  if (!mixes || !isAnyRunning() || prefilling.empty())
    return false;
  return nextRun(*prefillOrder().front()).maker == PageMaker::Plan;
}

/// Rows that a round of the plan may have beside its own, of `most`.
uint32_t Session::Impl::rowsBesideRound(const RoundPlan &plan,
                                        uint32_t most) const {
  if (options.stepMilliseconds == 0 && options.promptMilliseconds == 0)
    return most;
  double prompt = std::max(options.promptMilliseconds / 1e3, roundSeconds);
  double seconds = options.stepMilliseconds ? options.stepMilliseconds / 1e3
                                            : roundSeconds + prompt;
  uint64_t own = 0;
  for (const RoundPlan::Row &row : plan.rows)
    own += inner.programs.nodes(row.drafts);
  uint64_t rows = stepCost.rowsIn(seconds);
  rows = std::max<uint64_t>(rows > own ? rows - own : 0,
                            options.stepMilliseconds ? kLeastInTime
                                                     : kLeastBeside);
  return uint32_t(std::min<uint64_t>(rows, most));
}

/// Takes rows of a prompt into the next round, if one waits.
Status Session::Impl::findBeside(const RoundPlan &plan, Flight &next) {
  // Who ran before pages became short may wait now.
  if (!mixesNext())
    return okStatus();
  auto program = inner.programs.mixed(uint32_t(plan.rows.size()), plan.k);
  if (!program)
    return okStatus();
  Sequence &sequence = *prefillOrder().front();
  uint32_t most = rowsBesideRound(plan, inner.programs.promptRows(*program));
  next.program = *program;
  next.beside = {sequence.id,
                 uint32_t(std::min<uint64_t>(nextRun(sequence).tokens, most))};
  MTP_RETURN_IF_ERROR(syncPageTable(sequence));
  PromptPart part{sequence.slot, uint32_t(sequence.length), next.beside.rows, 0,
                  sequence.context};
  return host->setPrefill({&part, 1});
}

/// Goes on with the prompt whose rows a round had beside its own.
Status Session::Impl::readBeside(const Flight &over) {
  auto [id, rows] = over.beside;
  auto found = sequences.find(id);
  if (rows == 0 || found == sequences.end() ||
      found->second.phase != Sequence::Phase::Prefilling)
    return okStatus();
  Sequence &sequence = found->second;
  ++statistics.prefillChunks;
  for (Statistics *of : {&statistics, &sequence.statistics})
    of->besideTokens += rows;
  uint32_t batch = uint32_t(over.rows.size());
  Binding logits = inner.programs.promptLogits(over.program, batch);
  return commitPrefill({&sequence, rows},
                       {logits, over.program, batch, 0, 1, /*isBeside=*/true});
}

/// Notes what a round cost. What one with rows of a prompt took says nothing of
/// its drafts.
void Session::Impl::countSeconds(const Flight &over, double seconds) {
  RoundCost::Work work{uint32_t(over.rows.size()), over.k, 0};
  for (const Flight::Row &row : over.rows)
    work.rows += inner.programs.nodes(row.drafts);
  stepCost.add(work.rows + over.beside.rows, seconds);
  if (over.beside.rows == 0)
    draftPolicy.addRound(work, seconds);
}
