//===- Drafts.cpp - How many drafts who has -------------------------------===//
//
// A round is of one k, the largest that one of its slots wants. The others say
// by a state that they draft less, and their output is the same. Where the
// artifact has no such state, its rule may not be exact, and what a sequence
// puts out depends on k: then only sequences of one k share a round, and k is
// what their requests say, whatever else runs.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"
#include "runtime/exec/schedule/RowBudget.h"

#include <algorithm>

using namespace mtp;

/// InvalidArgument where a request asks for more than the session has.
Status Session::Impl::checkK(const Request &request) const {
  if (request.k == Request::kSessions || request.k == Request::kAutomatic ||
      request.k <= options.k)
    return okStatus();
  return invalidArgument(strCat("expected k of at most ", options.k,
                                ", the session's, got ", request.k));
}

/// Settles how many drafts a new sequence has.
void Session::Impl::setK(Sequence &sequence) const {
  uint32_t k = sequence.request.k;
  bool isAutomatic = k == Request::kAutomatic ||
                     (k == Request::kSessions && options.automaticK);
  sequence.k = k <= options.k ? k : options.k;
  sequence.choosesK = isAutomatic && host->hasDraftLimit();
  sequence.statistics.drafted.assign(options.k, 0);
  sequence.statistics.accepted.assign(options.k, 0);
  sequence.statistics.roundsByK.assign(options.k + 1, 0);
}

/// Of those who run the ones of one k, which is the next one behind the last
/// rounds', and the least behind the largest.
RoundPlan Session::Impl::planOfOneK(const std::vector<Sequence *> &running) {
  auto isBehind = [&](const Sequence *sequence) { return sequence->k > lastK; };
  bool isAnyBehind = std::ranges::any_of(running, isBehind);
  RoundPlan plan;
  plan.k = UINT32_MAX;
  for (const Sequence *sequence : running)
    if (!isAnyBehind || isBehind(sequence))
      plan.k = std::min(plan.k, sequence->k);
  lastK = plan.k;
  for (Sequence *sequence : running)
    if (sequence->k == plan.k)
      plan.rows.push_back({sequence, plan.k});
  // The others wait for the end of the launch.
  if (plan.rows.size() < running.size())
    plan.rounds = 1;
  return plan;
}

/// Who is in the next round, and with how many drafts.
RoundPlan Session::Impl::planRound() {
  std::vector<Sequence *> running;
  for (SequenceId id : admitted)
    if (sequences.at(id).phase == Sequence::Phase::Running)
      running.push_back(&sequences.at(id));
  if (running.empty())
    return {};
  if (!host->hasDraftLimit())
    return planOfOneK(running);
  std::vector<DraftPolicy::Slot> slots;
  for (const Sequence *sequence : running)
    slots.push_back({sequence->choosesK ? &sequence->drafts : nullptr,
                     sequence->k, sequence->length});
  DraftPolicy::Choice choice = draftPolicy.choose(slots);
  RoundPlan plan;
  plan.k = choice.k;
  plan.rounds = choice.rounds;
  for (size_t i = 0; i < running.size(); ++i) {
    Sequence *sequence = running[i];
    uint32_t drafts = choice.drafts[i];
    plan.rows.push_back({sequence, drafts});
    // A drafter refreshes what the last round accepted, in as many rows as the
    // round has: so k falls behind a round whose drafts are limited.
    if (drafts > 0 && sequence->accepted > plan.k) {
      plan.k = sequence->accepted;
      plan.rounds = 1;
    }
  }
  return plan;
}

/// How many rows each of a round's slots may have.
std::vector<uint32_t> Session::Impl::rowsOfSlots(const RoundPlan &plan) const {
  std::vector<uint32_t> wanted;
  for (const RoundPlan::Row &row : plan.rows)
    wanted.push_back(inner.programs.nodes(row.drafts));
  return trimRows(wanted, inner.envelope->maxRows);
}

/// Counts a round of a sequence, by what it was to have and what came of it.
/// Where it has no ring, what was drafted is not said.
void Session::Impl::countRound(Sequence &sequence, const Flight &from,
                               uint32_t drafts,
                               const HostState::RoundOutput &output) {
  uint32_t drafted = std::min(output.drafted, drafts);
  uint32_t accepted = uint32_t(output.tokens.size()) - 1;
  ++sequence.statistics.rounds;
  ++sequence.statistics.roundsByK[drafts];
  for (Statistics *s : {&sequence.statistics, &statistics}) {
    ++s->slotRounds;
    s->roundTokens += output.tokens.size();
    for (uint32_t j = 0; j < from.k; ++j) {
      s->drafted[j] += j < drafted;
      s->accepted[j] += j < accepted;
    }
  }
  noteDrafters(sequence, from.k, sequence.length - output.tokens.size());
  sequence.accepted = accepted;
  // A draft that the drafter left out is as good as one that was rejected.
  draftPolicy.addOutcome(sequence.drafts, from.k, drafts, accepted);
}
