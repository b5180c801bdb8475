//===- CatchUp.cpp - Drafters that have fallen behind ---------------------===//
//
// A round without drafts, or with fewer than a chain has modules, leaves the
// caches of drafters behind. Where the artifact has programs for it, they are
// refreshed before the next round that drafts: over the tokens since then, with
// the hidden states that commits have kept of the last ones. What has then been
// written is what rounds with drafts would have left, to the bit.
//
// What is missing for good is not read: entries behind the gap follow those in
// front of it. Where a round has more drafts than a sequence of it, those of
// its drafters do not run which have missed something.
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

/// Leaves out of a sequence's caches what drafters have missed that rounds of k
/// run and rounds of less do not: the next entry that they make is at `begin`.
void Session::Impl::leaveOut(Sequence &sequence, uint32_t k,
                             uint64_t begin) const {
  sequence.isTorn = true;
  if (!host->hasDrafterPlaces())
    return;
  Sequence::DrafterPlaces &places = sequence.places[k - 1];
  // The last ones in front of the gap may be of drafts. Those behind the gap
  // before may be as few.
  uint64_t behind = inner.artifact().ahead + places.skipped + places.first;
  if (sequence.draftedTo[k] > behind)
    places.first += sequence.draftedTo[k] - behind;
  places.skipped = begin - places.first;
}

/// Notes that the drafters which a round of k runs will be up to date.
void Session::Impl::noteCaughtUp(Sequence &sequence, uint32_t k) const {
  for (size_t of = 0; of < sequence.draftedTo.size(); ++of)
    if (reuse.layers[of] <= reuse.layers[k])
      sequence.draftedTo[of] = sequence.draftsFrom();
}

/// Tells the device where the programs that come have entries of a sequence's
/// drafters, and which of these run, by k: the rows of others are dead.
Status Session::Impl::writePlaces(Sequence &sequence,
                                  const std::function<bool(uint32_t)> &runs) {
  std::vector<int32_t> words(sequence.placeWords.size(), 0);
  for (uint32_t k = 1; k <= sequence.places.size(); ++k) {
    int32_t *own = &words[(k - 1) * kPlaceWords];
    const Sequence::DrafterPlaces &places = sequence.places[k - 1];
    own[kPlaceSkipped] = runs(k) ? int32_t(places.skipped) : INT32_MAX;
    own[kPlaceFirst] = int32_t(places.first);
  }
  if (words == sequence.placeWords)
    return okStatus();
  MTP_RETURN_IF_ERROR(host->setDrafterPlaces(sequence.slot, words));
  sequence.placeWords = std::move(words);
  return okStatus();
}

/// Readies a sequence for what brings its drafters up to date, and says over
/// which rows: as far as hidden states go back.
Result<Session::Impl::CatchUp> Session::Impl::beginCatchUp(Sequence &sequence) {
  uint64_t ahead = inner.artifact().ahead;
  uint64_t reach = inner.programs.catchUpReach();
  uint64_t end = sequence.draftsFrom(), known = sequence.draftedTo.back();
  // The deepest drafters may be some that no round of the session runs.
  bool isWhole = isInReach(sequence, known);
  if (!isWhole) {
    sequence.isTorn = true;
    known = sequence.draftedTo[options.k];
  }
  // What a module needs of the one before it is not kept.
  uint64_t first = known > ahead ? known - ahead : 0;
  if (!isInReach(sequence, known)) {
    first = sequence.length - std::min(sequence.length, reach);
    known = std::min(first + ahead, end);
    for (uint32_t k = 1; k <= options.k; ++k)
      if (!isInReach(sequence, sequence.draftedTo[k]))
        leaveOut(sequence, k, first);
  }
  noteCaughtUp(sequence,
               isWhole ? uint32_t(sequence.draftedTo.size() - 1) : options.k);
  learnTokens(sequence, end);
  MTP_RETURN_IF_ERROR(syncPageTable(sequence));
  MTP_RETURN_IF_ERROR(writePlaces(
      sequence, [&](uint32_t k) { return isWhole || k <= options.k; }));
  for (Statistics *of : {&statistics, &sequence.statistics})
    of->caughtUpTokens += end - known;
  // No module has a token behind the last row.
  return CatchUp{&sequence, first, end - (ahead > 0)};
}

/// Runs the drafters of several sequences over their rows, in as few passes as
/// these fit into: whoever has few leaves its share to the others.
Status Session::Impl::runCatchUps(std::vector<CatchUp> runs) {
  const ProgramTable &programs = inner.programs;
  auto rest = [](const CatchUp &run) { return run.last - run.first; };
  std::ranges::sort(runs, {}, rest);
  std::erase_if(runs, [](const CatchUp &run) { return run.first >= run.last; });
  while (!runs.empty()) {
    size_t count = std::min<size_t>(runs.size(), programs.catchUpSequences());
    uint32_t room = programs.catchUpRows(), all = 0;
    std::vector<PromptPart> parts;
    for (size_t i = 0; i < count; ++i) {
      auto &[sequence, first, last] = runs[i];
      uint32_t share = room / uint32_t(count - i);
      uint32_t rows = uint32_t(std::min<uint64_t>(last - first, share));
      if (rows == 0)
        continue;
      parts.push_back({sequence->slot, uint32_t(first), rows, 0,
                       std::span(sequence->context)
                           .first(last + (inner.artifact().ahead > 0))});
      first += rows;
      room -= rows;
      all += rows;
    }
    MTP_RETURN_IF_ERROR(host->setPrefill(parts));
    MTP_RETURN_IF_ERROR(executable->run(programs.catchUp(all), all));
    std::erase_if(runs,
                  [](const CatchUp &run) { return run.first >= run.last; });
  }
  return okStatus();
}

/// Refreshes the drafters of sequences as far as hidden states go back.
Status Session::Impl::catchUp(std::span<Sequence *const> behind) {
  std::vector<CatchUp> runs;
  for (Sequence *sequence : behind) {
    MTP_ASSIGN_OR_RETURN(CatchUp run, beginCatchUp(*sequence));
    runs.push_back(run);
  }
  MTP_RETURN_IF_ERROR(runCatchUps(std::move(runs)));
  for (Sequence *sequence : behind)
    publishRound(*sequence);
  return okStatus();
}

/// Refreshes those drafters that the next rounds would leave too far behind.
Status Session::Impl::keepUp(RoundPlan &plan) {
  uint32_t perRound = plan.k + 1;
  uint32_t rounds = std::min(plan.rounds, options.roundsPerLaunch);
  std::vector<Sequence *> falling, behind;
  for (auto [sequence, drafts] : plan.rows) {
    bool fallsBehind = reuse.layers[plan.k] < reuse.layers[options.k] ||
                       sequence->accepted > plan.k;
    if (!sequence->choosesK || !fallsBehind ||
        isInReach(*sequence, sequence->draftedTo[options.k],
                  uint64_t(rounds) * perRound))
      continue;
    falling.push_back(sequence);
    if (sequence->draftedTo[options.k] != sequence->draftsFrom())
      behind.push_back(sequence);
  }
  if (falling.empty() ||
      keepUpSeconds > kKeepUpShare * statistics.decodeSeconds)
    return okStatus();
  double start = clock();
  MTP_RETURN_IF_ERROR(catchUp(behind));
  keepUpSeconds += clock() - start;
  for (Sequence *sequence : falling)
    while (rounds > 1 && !isInReach(*sequence, sequence->draftedTo[options.k],
                                    uint64_t(rounds) * perRound))
      plan.rounds = --rounds;
  return okStatus();
}

/// Lets the drafters of those who want drafts go on as they are.
void Session::Impl::goOnBehindGaps(const RoundPlan &plan) const {
  for (auto [sequence, drafts] : plan.rows) {
    uint64_t end = sequence->draftsFrom();
    if (drafts == 0 || sequence->draftedTo[drafts] == end)
      continue;
    // The next round refreshes from the token there on, in rows that with
    // hidden states are one position before their tokens.
    for (uint32_t k = 1; k <= drafts; ++k)
      if (sequence->draftedTo[k] != end)
        leaveOut(*sequence, k, end - (inner.artifact().ahead > 0));
    if (host->hasDrafterPlaces())
      noteCaughtUp(*sequence, drafts);
  }
}

/// Brings up to date the drafters that the next rounds need, or may need later.
Status Session::Impl::catchUp(RoundPlan &plan) {
  double begin = clock();
  std::vector<Sequence *> behind;
  for (auto [sequence, drafts] : plan.rows)
    // Those that its own drafts come from, whatever else the round runs.
    if (drafts > 0 && sequence->draftedTo[drafts] != sequence->draftsFrom())
      behind.push_back(sequence);
  if (inner.programs.catchUpRows() == 0) {
    goOnBehindGaps(plan);
    return okStatus();
  }
  MTP_RETURN_IF_ERROR(catchUp(behind));
  MTP_RETURN_IF_ERROR(keepUp(plan));
  draftPolicy.addCatchUp(clock() - begin);
  return okStatus();
}

/// Sees to it that the drafters which the next rounds run have what they read:
/// of a sequence that has no use of them they run if they are up to date.
Status Session::Impl::prepareDrafters(RoundPlan &plan) {
  MTP_RETURN_IF_ERROR(catchUp(plan));
  if (plan.k == 0)
    return okStatus();
  for (auto [sequence, drafts] : plan.rows) {
    const std::vector<uint64_t> &known = sequence->draftedTo;
    uint64_t end = sequence->draftsFrom();
    MTP_RETURN_IF_ERROR(writePlaces(*sequence, [&](uint32_t k) {
      return k > options.k || known[k] == end;
    }));
  }
  return okStatus();
}
