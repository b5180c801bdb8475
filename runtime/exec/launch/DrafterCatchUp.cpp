//===- DrafterCatchUp.cpp - Drafters that have fallen behind --------------===//

#include "runtime/exec/launch/DrafterCatchUp.h"
#include "runtime/schema/PlaceLayout.h"

#include <algorithm>

using namespace mtp;

/// Limit on the time spent on drafters that no round is waiting for, as a share
/// of the rounds' time.
static constexpr double kKeepUpShare = 0.01;

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

void DrafterCatchUp::noteRound(Residency &residency, uint32_t k,
                               uint64_t anchor) const {
  // The round refreshes k + 1 rows.
  if (residency.accepted > k)
    return;
  uint64_t before = anchor - residency.accepted;
  std::vector<uint64_t> &drafterValidUpTo = residency.drafters.drafterValidUpTo;
  for (size_t of = 0; of < drafterValidUpTo.size(); ++of)
    if (reuse.layers[of] <= reuse.layers[k] && drafterValidUpTo[of] == before)
      drafterValidUpTo[of] = anchor + 1;
}

/// Whether drafters that are valid up to `drafterValidUpTo` can make up for
/// what they have missed when the sequence has `tokens` more.
bool DrafterCatchUp::isInReach(const Residency &residency,
                               uint64_t drafterValidUpTo,
                               uint64_t tokens) const {
  return residency.length + tokens + config.ahead <=
         drafterValidUpTo + programs.catchUpReach();
}

/// Leaves a gap in the caches of the drafters that rounds of k run but rounds
/// of fewer drafts do not. The next entry of these drafters is at `begin`.
void DrafterCatchUp::leaveOut(Residency &residency, uint32_t k,
                              uint64_t begin) const {
  DrafterProgress &drafters = residency.drafters;
  drafters.hasDrafterGap = true;
  if (!host.hasDrafterPlaces())
    return;
  DrafterProgress::Places &places = drafters.places[k - 1];
  // The last entries before the gap may be of drafts. Those after the gap
  // before may be as few.
  uint64_t behind = config.ahead + places.skipped + places.first;
  if (drafters.drafterValidUpTo[k] > behind)
    places.first += drafters.drafterValidUpTo[k] - behind;
  places.skipped = begin - places.first;
}

/// Records that the drafters which a round of k runs will be valid.
void DrafterCatchUp::noteCaughtUp(Residency &residency, uint32_t k) const {
  std::vector<uint64_t> &drafterValidUpTo = residency.drafters.drafterValidUpTo;
  for (size_t of = 0; of < drafterValidUpTo.size(); ++of)
    if (reuse.layers[of] <= reuse.layers[k])
      drafterValidUpTo[of] = residency.draftsFrom();
}

/// Tells the device where the next programs have the entries of a sequence's
/// drafters and, by k, which drafters run. The rows of others are padding.
Status DrafterCatchUp::writePlaces(Residency &residency,
                                   const std::function<bool(uint32_t)> &runs) {
  DrafterProgress &drafters = residency.drafters;
  std::vector<int32_t> words(drafters.placeWords.size(), 0);
  for (uint32_t k = 1; k <= drafters.places.size(); ++k) {
    int32_t *own = &words[size_t(k - 1) * kPlaceWords];
    const DrafterProgress::Places &places = drafters.places[k - 1];
    own[kPlaceSkipped] = runs(k) ? int32_t(places.skipped) : INT32_MAX;
    own[kPlaceFirst] = int32_t(places.first);
  }
  if (words == drafters.placeWords)
    return okStatus();
  MTP_RETURN_IF_ERROR(host.setDrafterPlaces(residency.slot, words));
  drafters.placeWords = std::move(words);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Readies a sequence for the passes that refresh its drafters. Returns the
/// rows: as far back as hidden states go.
Result<DrafterCatchUp::Run> DrafterCatchUp::begin(DrafterRow &row) {
  Residency &residency = *row.residency;
  DrafterProgress &drafters = residency.drafters;
  uint64_t ahead = config.ahead, reach = programs.catchUpReach();
  uint64_t end = residency.draftsFrom(),
           known = drafters.drafterValidUpTo.back();
  // The deepest drafters may be some that no round of the session runs.
  bool isWhole = isInReach(residency, known);
  if (!isWhole) {
    drafters.hasDrafterGap = true;
    known = drafters.drafterValidUpTo[config.k];
  }
  // A module reads states of the module before it, which are not kept.
  uint64_t first = known > ahead ? known - ahead : 0;
  if (!isInReach(residency, known)) {
    first = residency.length - std::min(residency.length, reach);
    known = std::min(first + ahead, end);
    for (uint32_t k = 1; k <= config.k; ++k)
      if (!isInReach(residency, drafters.drafterValidUpTo[k]))
        leaveOut(residency, k, first);
  }
  noteCaughtUp(residency, isWhole
                              ? uint32_t(drafters.drafterValidUpTo.size() - 1)
                              : config.k);
  MTP_RETURN_IF_ERROR(host.syncPageTable(residency, memory.pages()));
  MTP_RETURN_IF_ERROR(writePlaces(
      residency, [&](uint32_t k) { return isWhole || k <= config.k; }));
  row.caughtUp += end - known;
  // No module has a token after the last row.
  return Run{&residency, first, end - (ahead > 0)};
}

/// Runs the drafters of several sequences over their rows, in as few passes as
/// the rows fit into. A sequence with few rows leaves its share to the others.
Status DrafterCatchUp::run(std::vector<Run> runs) {
  auto rest = [](const Run &run) { return run.last - run.first; };
  auto isOver = [](const Run &run) { return run.first >= run.last; };
  std::ranges::sort(runs, {}, rest);
  std::erase_if(runs, isOver);
  while (!runs.empty()) {
    size_t count = std::min<size_t>(runs.size(), programs.catchUpSequences());
    uint32_t room = programs.catchUpRows(), all = 0;
    std::vector<PromptPart> parts;
    for (size_t i = 0; i < count; ++i) {
      auto &[residency, first, last] = runs[i];
      uint32_t share = room / uint32_t(count - i);
      uint32_t rows = uint32_t(std::min<uint64_t>(last - first, share));
      if (rows == 0)
        continue;
      parts.push_back(
          {residency->slot, uint32_t(first), rows, 0,
           std::span(residency->context).first(last + (config.ahead > 0))});
      first += rows;
      room -= rows;
      all += rows;
    }
    MTP_RETURN_IF_ERROR(host.setPrefill(parts));
    MTP_RETURN_IF_ERROR(executable.run(programs.catchUp(all), all));
    std::erase_if(runs, isOver);
  }
  return okStatus();
}

/// Refreshes the drafters of sequences as far back as hidden states go.
Status DrafterCatchUp::catchUp(std::span<DrafterRow *const> behind) {
  std::vector<Run> runs;
  for (DrafterRow *row : behind) {
    MTP_ASSIGN_OR_RETURN(Run next, begin(*row));
    runs.push_back(next);
  }
  MTP_RETURN_IF_ERROR(run(std::move(runs)));
  for (DrafterRow *row : behind)
    memory.publishRound(*row->kept, *row->residency);
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Before rounds
//===----------------------------------------------------------------------===//

/// Refreshes the drafters whose hidden states the next rounds would overwrite.
Status DrafterCatchUp::keepUp(std::span<DrafterRow> rows, uint32_t k,
                              uint32_t &limit, double decodeSeconds) {
  uint64_t perRound = k + 1;
  uint32_t rounds = std::min(limit, config.roundsPerLaunch);
  auto drafted = [&](const DrafterRow &row) {
    return row.residency->drafters.drafterValidUpTo[config.k];
  };
  std::vector<DrafterRow *> falling, behind;
  for (DrafterRow &row : rows) {
    const Residency &residency = *row.residency;
    bool fallsBehind =
        reuse.layers[k] < reuse.layers[config.k] || residency.accepted > k;
    if (!row.choosesK || !fallsBehind ||
        isInReach(residency, drafted(row), rounds * perRound))
      continue;
    falling.push_back(&row);
    if (drafted(row) != residency.draftsFrom())
      behind.push_back(&row);
  }
  if (falling.empty() || keepUpSeconds > kKeepUpShare * decodeSeconds)
    return okStatus();
  double start = clock();
  MTP_RETURN_IF_ERROR(catchUp(behind));
  keepUpSeconds += clock() - start;
  for (const DrafterRow *row : falling)
    while (rounds > 1 &&
           !isInReach(*row->residency, drafted(*row), rounds * perRound))
      limit = --rounds;
  return okStatus();
}

/// Lets the drafters of sequences with drafts go on with a gap.
void DrafterCatchUp::goOnBehindGaps(std::span<DrafterRow> rows) const {
  for (DrafterRow &row : rows) {
    Residency &residency = *row.residency;
    const std::vector<uint64_t> &drafterValidUpTo =
        residency.drafters.drafterValidUpTo;
    uint64_t end = residency.draftsFrom();
    if (row.drafts == 0 || drafterValidUpTo[row.drafts] == end)
      continue;
    // The next round refreshes from the token there on, in rows that with
    // hidden states are one position before their tokens.
    for (uint32_t k = 1; k <= row.drafts; ++k)
      if (drafterValidUpTo[k] != end)
        leaveOut(residency, k, end - (config.ahead > 0));
    if (host.hasDrafterPlaces())
      noteCaughtUp(residency, row.drafts);
  }
}

Result<double> DrafterCatchUp::prepare(std::span<DrafterRow> rows, uint32_t k,
                                       uint32_t &rounds, double decodeSeconds) {
  double begin = clock(), seconds = 0;
  if (programs.catchUpRows() == 0) {
    goOnBehindGaps(rows);
  } else {
    // The drafters that a sequence's own drafts come from, whatever else the
    // round runs.
    std::vector<DrafterRow *> behind;
    for (DrafterRow &row : rows)
      if (row.drafts > 0 &&
          row.residency->drafters.drafterValidUpTo[row.drafts] !=
              row.residency->draftsFrom())
        behind.push_back(&row);
    MTP_RETURN_IF_ERROR(catchUp(behind));
    MTP_RETURN_IF_ERROR(keepUp(rows, k, rounds, decodeSeconds));
    seconds = clock() - begin;
  }
  if (k == 0)
    return seconds;
  // Drafters that a sequence has no use for run if they are valid.
  for (DrafterRow &row : rows) {
    const std::vector<uint64_t> &known =
        row.residency->drafters.drafterValidUpTo;
    uint64_t end = row.residency->draftsFrom();
    MTP_RETURN_IF_ERROR(writePlaces(*row.residency, [&](uint32_t of) {
      return of > config.k || known[of] == end;
    }));
  }
  return seconds;
}
