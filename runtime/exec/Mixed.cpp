//===- Mixed.cpp - Rows of a prompt beside a round ------------------------===//
//
// Where the artifact has programs for it, prompts that wait while others run
// are read in the rounds of these: one pass over the target's weights for the
// rows of both. A round takes as many rows as the session's time for it allows,
// of the prompts in their turn, as a pass over prompts does (Prefill.cpp). What
// a row computes does not depend on the rows beside it.
//
// Where nobody runs prompts go through passes of their own. So do rows that a
// library makes, which never mix, and all while a sequence runs that sees its
// drafts: a prompt does not wait for that one's host.
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
  auto stops = [&](SequenceId id) {
    return isRunning(id) && sequences.at(id).request.seesDrafts;
  };
  if (!mixes || !isAnyRunning() || prefilling.empty() ||
      std::ranges::any_of(admitted, stops))
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
  own = std::min<uint64_t>(own, inner.envelope->maxRows);
  uint64_t rows = stepCost.rowsIn(seconds);
  rows = std::max<uint64_t>(rows > own ? rows - own : 0,
                            options.stepMilliseconds ? kLeastInTime
                                                     : kLeastBeside);
  return uint32_t(std::min<uint64_t>(rows, most));
}

/// The prompts that have rows in the next round, and how many: as few as the
/// artifact has a program for.
std::vector<PrefillShare> Session::Impl::sharesBeside(const RoundPlan &plan) {
  // Who ran before pages became short may wait now.
  uint32_t batch = uint32_t(plan.rows.size());
  auto program = inner.programs.mixed(batch, plan.k);
  if (!mixesNext() || !program)
    return {};
  uint32_t room = rowsBesideRound(plan, inner.programs.promptRows(*program));
  std::vector<PrefillShare> shares =
      shareRows(prefillOrder(), room, room, inner.programs.mostBeside());
  auto prompts = [&] {
    return inner.programs.promptsBeside(batch, plan.k, uint32_t(shares.size()));
  };
  while (shares.size() > 1 && !canFill(shares.size(), prompts()))
    shares.pop_back();
  return shares;
}

/// Takes rows of prompts into the next round, if some wait.
Status Session::Impl::findBeside(const RoundPlan &plan, Flight &next) {
  std::vector<PromptPart> parts;
  for (auto [sequence, rows] : sharesBeside(plan)) {
    MTP_RETURN_IF_ERROR(syncPageTable(*sequence));
    next.beside.push_back({sequence->id, rows});
    parts.push_back({sequence->slot, uint32_t(sequence->length), rows, 0,
                     sequence->context});
  }
  if (parts.empty())
    return okStatus();
  uint32_t batch = uint32_t(plan.rows.size());
  uint32_t prompts =
      inner.programs.promptsBeside(batch, plan.k, uint32_t(parts.size()));
  MTP_RETURN_IF_ERROR(fillParts(parts, prompts));
  next.program = *inner.programs.mixed(batch, plan.k, prompts);
  return host->setPrefill(parts);
}

/// Goes on with the prompts whose rows a round had beside its own.
Status Session::Impl::readBeside(const Flight &over) {
  if (over.beside.empty())
    return okStatus();
  ++statistics.prefillChunks;
  uint32_t batch = uint32_t(over.rows.size());
  Binding logits = inner.programs.promptLogits(over.program, batch);
  uint64_t bytes =
      logits.bytes / inner.programs.program(over.program).sequences;
  for (size_t i = 0; i < over.beside.size(); ++i) {
    auto [id, rows] = over.beside[i];
    auto found = sequences.find(id);
    if (found == sequences.end() ||
        found->second.phase != Sequence::Phase::Prefilling)
      continue;
    Sequence &sequence = found->second;
    for (Statistics *of : {&statistics, &sequence.statistics})
      of->besideTokens += rows;
    MTP_RETURN_IF_ERROR(commitPrefill(
        {&sequence, rows}, {rowsOf(logits, i * bytes, bytes), over.program,
                            batch, 0, 1, /*isBeside=*/true}));
  }
  return okStatus();
}

/// Notes what a round cost. What one with rows of a prompt took says nothing of
/// its drafts.
void Session::Impl::countSeconds(const Flight &over, double seconds) {
  RoundCost::Work work{uint32_t(over.rows.size()), over.k, 0, over.positions};
  for (const Flight::Row &row : over.rows)
    work.rows += inner.programs.nodes(row.drafts);
  work.rows = std::min(work.rows, inner.envelope->maxRows);
  stepCost.add(work.rows + over.rowsBeside(), seconds);
  if (over.beside.empty())
    draftPolicy.addRound(work, seconds);
}
