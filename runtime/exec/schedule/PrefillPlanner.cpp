//===- PrefillPlanner.cpp - Which prompt rows come next -------------------===//

#include "runtime/exec/schedule/PrefillPlanner.h"
#include "runtime/exec/schedule/PromptRows.h"
#include "runtime/schema/Tunables.h"

#include <algorithm>
#include <utility>

using namespace mtp;

/// Tokens of other prompts that a prompt lets pass for each token that it has
/// left. A prompt that has waited for that number comes before all that arrive
/// from then on.
static constexpr uint64_t kPatience = 8;

/// Limit on the rows of a pass in which a prompt ends, in multiples of the rows
/// that the prompt has: the number of prompts that a chunk can be of.
static constexpr uint64_t kCompany = 4;

static constexpr uint32_t kLeastRows = tunable::kLeastPassRows.value;

PrefillPlanner::PrefillPlanner(const ProgramTable &programs,
                               const SessionOptions &options,
                               uint32_t libraryRows)
    : programs(programs), options(options), libraryRows(libraryRows),
      mixes(findMixes()) {}

//===----------------------------------------------------------------------===//
// Number of rows
//===----------------------------------------------------------------------===//

PrefillLimits PrefillPlanner::limits(bool isAnyRunning) const {
  uint32_t chunk = options.prefillChunk;
  if (options.chunksPerStep == SessionOptions::kUnbounded)
    return {UINT64_MAX, chunk};
  if (options.chunksPerStep != SessionOptions::kOneBesideRunning)
    return {uint64_t(options.chunksPerStep) * chunk, chunk};
  if (!isAnyRunning)
    return {UINT64_MAX, chunk};
  // A file may have no programs for fewer rows than some number.
  uint32_t rows = std::max(rowsBesideRunning(options, passCost, roundSeconds),
                           programs.chunks().front().first);
  return {rows, rows};
}

/// Returns the limit on the rows of a pass in which a prompt ends: at least a
/// quarter of the chunk.
uint32_t PrefillPlanner::rowsBesideEnd(const PendingPrompt &prompt) const {
  uint64_t least = std::max(options.prefillChunk / 4, kLeastRows);
  return uint32_t(std::min<uint64_t>(std::max(kCompany * prompt.own, least),
                                     options.prefillChunk));
}

//===----------------------------------------------------------------------===//
// Order and shares
//===----------------------------------------------------------------------===//

void PrefillPlanner::sort(std::vector<PendingPrompt> &prompts) {
  std::ranges::stable_sort(prompts, {}, [](const PendingPrompt &prompt) {
    return std::pair(prompt.priority, prompt.arrival + kPatience * prompt.rest);
  });
}

/// Shares at most `room` rows of the plan's kernels among prompts, at most
/// `first` of them for the first one. A pass in which a prompt ends has few
/// rows of other prompts.
std::vector<PrefillShare>
PrefillPlanner::shareRows(std::span<const PendingPrompt> prompts,
                          uint64_t first, uint64_t room, uint32_t mostSequences,
                          const RunOf &runOf) const {
  std::vector<PrefillShare> shares;
  uint64_t rows = 0;
  for (const PendingPrompt &prompt : prompts) {
    if (rows >= room || shares.size() == mostSequences)
      break;
    PrefillRun run = runOf(prompt.id);
    if (run.maker == PageProvenance::Library)
      continue;
    uint64_t most = shares.empty() ? first : room - rows;
    uint64_t more = std::min(most, run.tokens);
    shares.push_back({prompt.id, uint32_t(more)});
    rows += more;
    if (more == prompt.rest)
      room = std::min<uint64_t>(room, rowsBesideEnd(prompt));
  }
  return shares;
}

/// Plans a pass through the library's program. A row's place in the chunk is
/// its position's, whatever was computed before. So the row has the same bits
/// however much of its chunk comes from the prefix index.
PrefillPass PrefillPlanner::libraryPass(const PendingPrompt &prompt,
                                        uint64_t tokens,
                                        const PrefillLimits &limits) const {
  if (libraryRows > limits.budget && !limits.isFirst)
    return PrefillPass();
  uint64_t room = libraryRows - prompt.length % libraryRows;
  return {
      {{prompt.id, uint32_t(std::min(tokens, room))}}, libraryRows, 1, true};
}

static uint32_t allRows(const std::vector<PrefillShare> &shares) {
  uint32_t rows = 0;
  for (const PrefillShare &share : shares)
    rows += share.rows;
  return rows;
}

/// Whether a program for `sequences` sequences can run with `prompts` prompts:
/// what it does for a missing one is done to a free slot.
static bool canFill(size_t prompts, uint32_t sequences, bool hasFreeSlot) {
  return sequences == prompts || (sequences > prompts && hasFreeSlot);
}

PrefillPass PrefillPlanner::nextPass(std::span<const PendingPrompt> prompts,
                                     const PrefillLimits &limits,
                                     bool hasFreeSlot,
                                     const RunOf &runOf) const {
  if (prompts.empty())
    return PrefillPass();
  PrefillRun run = runOf(prompts.front().id);
  if (run.maker == PageProvenance::Library)
    return libraryPass(prompts.front(), run.tokens, limits);
  uint32_t chunk = programs.nextChunk(run.tokens, limits.largest);
  if (chunk > limits.budget)
    return PrefillPass();
  uint64_t room = std::min<uint64_t>(limits.budget, limits.largest);
  std::vector<PrefillShare> shares =
      shareRows(prompts, chunk, room, programs.mostSequences(), runOf);
  // Not every number of sequences has a program.
  uint32_t sequences = 1;
  while (shares.size() > 1) {
    sequences = programs.sequencesOf(allRows(shares), uint32_t(shares.size()));
    if (canFill(shares.size(), sequences, hasFreeSlot))
      break;
    shares.pop_back();
    sequences = 1;
  }
  return {shares, shares.size() > 1 ? allRows(shares) : chunk, sequences};
}

//===----------------------------------------------------------------------===//
// Mixed batches
//===----------------------------------------------------------------------===//

bool PrefillPlanner::findMixes() const {
  if (options.separatePrompts ||
      options.chunksPerStep != SessionOptions::kOneBesideRunning)
    return false;
  for (uint32_t k = 0; k <= options.k; ++k)
    for (uint32_t batch = 1; batch <= options.maxSlots; ++batch)
      if (!programs.mixed(batch, k))
        return false;
  return true;
}

std::vector<PrefillShare>
PrefillPlanner::mixedShares(std::span<const PendingPrompt> prompts,
                            const RoundShape &round, bool hasFreeSlot,
                            const RunOf &runOf) const {
  auto program = programs.mixed(round.batch, round.k);
  if (!program)
    return {};
  uint32_t room = rowsInRound(options, stepCost, roundSeconds, round.rows,
                              programs.promptRows(*program));
  std::vector<PrefillShare> shares =
      shareRows(prompts, room, room, programs.mostMixed(), runOf);
  auto sequences = [&] {
    return programs.mixedPrompts(round.batch, round.k, uint32_t(shares.size()));
  };
  while (shares.size() > 1 && !canFill(shares.size(), sequences(), hasFreeSlot))
    shares.pop_back();
  return shares;
}
