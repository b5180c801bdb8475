//===- Prefill.cpp - Prompts, one pass at a time --------------------------===//
//
// A pass computes rows of one prompt or of several, which share its weights.
// The prompt with the fewest tokens left comes first, and prompts gain by
// waiting, so that none waits for ever. A pass that ends a short prompt is
// short. A prompt that can share pages which another one is filling waits for
// these (see admitWaiting).
//
// Where a library of the GPU's vendor multiplies, whole chunks of a prompt go
// through its program alone, each for itself (README.md).
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace mtp;

/// Tokens of others that a prompt lets pass for each that it has left. One that
/// has waited for so many comes before all that arrive from then on.
static constexpr uint64_t kPatience = 8;

/// A pass in which a prompt ends has at most so many times the rows that the
/// prompt has: as many prompts of its length as a chunk can be of.
static constexpr uint64_t kCompany = 4;

/// Rows that a pass may have in any case: fewer cost little less.
static constexpr uint32_t kLeastRows = 16;

//===----------------------------------------------------------------------===//
// How much
//===----------------------------------------------------------------------===//

bool Session::Impl::isAnyRunning() const {
  return std::ranges::any_of(admitted,
                             [&](SequenceId id) { return isRunning(id); });
}

/// Rows of a pass that those who run wait for: as many as take the time that
/// the session allows, or a round's where rounds take longer. So prompts get
/// half of the time at least.
uint32_t Session::Impl::rowsBeside() const {
  if (options.promptMilliseconds == 0)
    return options.prefillChunk;
  double seconds = std::max(options.promptMilliseconds / 1e3, roundSeconds);
  uint64_t rows = std::max<uint64_t>(passCost.rowsIn(seconds), kLeastRows);
  return uint32_t(std::min<uint64_t>(rows, options.prefillChunk));
}

PrefillLimits Session::Impl::prefillLimits() const {
  uint32_t chunk = options.prefillChunk;
  if (options.chunksPerStep == SessionOptions::kUnbounded)
    return {UINT64_MAX, chunk};
  if (options.chunksPerStep != SessionOptions::kOneBesideRunning)
    return {uint64_t(options.chunksPerStep) * chunk, chunk};
  if (!isAnyRunning())
    return {UINT64_MAX, chunk};
  // A file may have no programs for fewer rows than some.
  uint32_t rows = std::max(rowsBeside(), inner.programs.chunks().front().first);
  return {rows, rows};
}

/// Runs passes within the limits. Where they are the session's to choose, the
/// first token of a sequence ends them: the caller gets it, and from then on a
/// sequence runs.
Status Session::Impl::prefillPhase() {
  for (PrefillLimits limits = prefillLimits();; limits.isFirst = false) {
    bool wasAnyRunning = isAnyRunning();
    MTP_RETURN_IF_ERROR(admitWaiting());
    PrefillPass pass = nextPass(limits);
    if (pass.shares.empty())
      return okStatus();
    MTP_RETURN_IF_ERROR(runPrefill(pass));
    limits.budget -= std::min<uint64_t>(limits.budget, pass.chunk);
    bool isFirstToken = !updates.empty() || (!wasAnyRunning && isAnyRunning());
    if (options.chunksPerStep == SessionOptions::kOneBesideRunning &&
        isFirstToken)
      return okStatus();
  }
}

//===----------------------------------------------------------------------===//
// Whose rows
//===----------------------------------------------------------------------===//

/// Who is to compute the pages of a prompt: a library those of its whole
/// chunks, counted from its beginning on, kernels of the plan all others.
std::vector<PageMaker> Session::Impl::planPages(uint64_t promptTokens) const {
  uint64_t page = inner.envelope->pageTokens;
  uint64_t whole =
      library.rows ? promptTokens / library.rows * library.rows / page : 0;
  std::vector<PageMaker> makers(promptTokens / page, PageMaker::Plan);
  std::fill_n(makers.begin(), whole, PageMaker::Library);
  return makers;
}

/// The tokens from the sequence's length on up to the first that another is to
/// compute, or up to where a snapshot is to be made.
PrefillRun Session::Impl::nextRun(const Sequence &sequence) const {
  KvCacheManager::Making making{kv->makers(sequence.slot)};
  uint64_t pageTokens = inner.envelope->pageTokens;
  uint64_t page = sequence.length / pageTokens, all = sequence.context.size();
  PageMaker maker = making.of(page);
  do
    ++page;
  while (page * pageTokens < all && making.of(page) == maker &&
         !isSnapshot(sequence, page * pageTokens));
  return {maker, std::min(page * pageTokens, all) - sequence.length};
}

/// A pass through the library's program. A row's place in the chunk is its
/// position's, whatever was computed before: so it has the same bits however
/// much of its chunk comes from the prefix index.
PrefillPass Session::Impl::libraryPass(Sequence &sequence, uint64_t tokens,
                                       const PrefillLimits &limits) const {
  if (library.rows > limits.budget && !limits.isFirst)
    return PrefillPass();
  uint64_t room = library.rows - sequence.length % library.rows;
  return {
      {{&sequence, uint32_t(std::min(tokens, room))}}, library.rows, 1, true};
}

/// Who is being prefilled, in the order in which they get rows: of the same
/// priority those with few tokens left and those that came early. An age is
/// counted in tokens that the session computed, so the order does not depend on
/// any clock.
std::vector<Sequence *> Session::Impl::prefillOrder() {
  std::vector<Sequence *> order;
  for (SequenceId id : prefilling)
    order.push_back(&sequences.at(id));
  std::ranges::stable_sort(order, {}, [](const Sequence *sequence) {
    return std::pair(sequence->request.priority,
                     sequence->arrival + kPatience * sequence->rest());
  });
  return order;
}

/// Rows that a pass may have in which a sequence's prompt ends: a quarter of
/// the chunk in any case.
uint32_t Session::Impl::rowsBesideEnd(const Sequence &sequence) const {
  uint64_t own = sequence.context.size() - sequence.reused;
  uint64_t least = std::max(options.prefillChunk / 4, kLeastRows);
  return uint32_t(std::min<uint64_t>(std::max(kCompany * own, least),
                                     options.prefillChunk));
}

/// Rows of the plan's for the prompts in that order, `room` of them and `first`
/// for the first one at most; a prompt that ends has little company.
std::vector<PrefillShare>
Session::Impl::shareRows(const std::vector<Sequence *> &order, uint64_t first,
                         uint64_t room, uint32_t mostSequences) const {
  std::vector<PrefillShare> shares;
  uint64_t rows = 0;
  for (Sequence *next : order) {
    if (rows >= room || shares.size() == mostSequences)
      break;
    PrefillRun run = nextRun(*next);
    if (run.maker == PageMaker::Library)
      continue;
    uint64_t most = shares.empty() ? first : room - rows;
    uint64_t more = std::min(most, run.tokens);
    shares.push_back({next, uint32_t(more)});
    rows += more;
    if (more == next->rest())
      room = std::min<uint64_t>(room, rowsBesideEnd(*next));
  }
  return shares;
}

/// All rows of these.
static uint32_t allRows(const std::vector<PrefillShare> &shares) {
  uint32_t rows = 0;
  for (const PrefillShare &share : shares)
    rows += share.rows;
  return rows;
}

/// The next pass within the limits; one without shares where nobody waits or
/// the budget is too small.
PrefillPass Session::Impl::nextPass(const PrefillLimits &limits) {
  std::vector<Sequence *> order = prefillOrder();
  if (order.empty())
    return PrefillPass();
  const ProgramTable &programs = inner.programs;
  Sequence &first = *order.front();
  PrefillRun run = nextRun(first);
  if (run.maker == PageMaker::Library)
    return libraryPass(first, run.tokens, limits);
  uint32_t chunk = programs.nextChunk(run.tokens, limits.largest);
  if (chunk > limits.budget)
    return PrefillPass();
  uint64_t room = std::min<uint64_t>(limits.budget, limits.largest);
  std::vector<PrefillShare> shares =
      shareRows(order, chunk, room, programs.mostSequences());
  // Not every number of sequences has a program.
  uint32_t sequences = 1;
  while (shares.size() > 1) {
    sequences = programs.sequencesOf(allRows(shares), uint32_t(shares.size()));
    if (canFill(shares.size(), sequences))
      break;
    shares.pop_back();
    sequences = 1;
  }
  return {shares, shares.size() > 1 ? allRows(shares) : chunk, sequences};
}

/// Whether a program for so many sequences can run with fewer prompts: what it
/// does for one that is not there is done to a slot that nobody has.
bool Session::Impl::canFill(size_t prompts, uint32_t sequences) const {
  return sequences == prompts ||
         (sequences > prompts && std::ranges::count(slotUsed, false) > 0);
}

/// Lets a chunk be of that many sequences: those that are not there have no
/// rows, and no tokens that a program could take for a whole prompt. The slot
/// that they name has no pages of others.
Status Session::Impl::fillParts(std::vector<PromptPart> &parts,
                                uint32_t sequences) {
  if (parts.size() == sequences)
    return okStatus();
  static constexpr std::array<int32_t, 1> kOneToken = {};
  auto slot = uint32_t(std::ranges::find(slotUsed, false) - slotUsed.begin());
  parts.resize(sequences, {slot, 0, 0, 0, kOneToken});
  return host->setPageTable(slot, kv->table(slot));
}

Status Session::Impl::runPrefill(const PrefillPass &pass) {
  double begin = clock();
  std::vector<PromptPart> parts;
  for (auto [sequence, rows] : pass.shares) {
    MTP_RETURN_IF_ERROR(syncPageTable(*sequence));
    uint64_t firstRow = pass.byLibrary ? sequence->length % pass.chunk : 0;
    parts.push_back({sequence->slot, uint32_t(sequence->length), rows,
                     uint32_t(firstRow), sequence->context});
  }
  uint32_t count = pass.sequences;
  MTP_RETURN_IF_ERROR(fillParts(parts, count));
  // Rounds run drafters over rows of prompts beside theirs at any k, and these
  // see what is in front of them.
  bool drafts = options.k > 0 || mixes;
  uint32_t program = pass.byLibrary
                         ? inner.programs.libraryPrefill(drafts)
                         : inner.programs.prefill(pass.chunk, drafts, count);
  MTP_RETURN_IF_ERROR(host->setPrefill(parts));
  MTP_RETURN_IF_ERROR(executable->run(program, pass.chunk));
  bool isAsked = std::ranges::any_of(pass.shares, [](const auto &share) {
    return !share.sequence->outputs.empty();
  });
  MTP_RETURN_IF_ERROR(runOnRequest(program, pass.chunk, isAsked));
  ++statistics.prefillChunks;
  Binding logits = inner.programs.logits(program, pass.chunk);
  uint64_t rowBytes = logits.bytes / count;
  for (auto [sequence, rows] : pass.shares)
    if (pass.byLibrary)
      for (Statistics *of : {&statistics, &sequence->statistics})
        of->libraryTokens += rows;
  for (uint32_t s = 0; s < pass.shares.size(); ++s)
    MTP_RETURN_IF_ERROR(
        commitPrefill(pass.shares[s], {rowsOf(logits, s * rowBytes, rowBytes),
                                       program, pass.chunk, s, count}));
  double time = clock() - begin;
  statistics.prefillSeconds += time;
  if (!pass.byLibrary)
    passCost.add(pass.chunk, time);
  return okStatus();
}

Status Session::Impl::commitPrefill(PrefillShare share,
                                    const SlotResults &results) {
  Sequence &sequence = *share.sequence;
  sequence.length += share.rows;
  sequence.statistics.prefillTokens += share.rows;
  statistics.prefillTokens += share.rows;
  ++sequence.statistics.prefillChunks;
  kv->commit(sequence.slot, sequence.length);
  if (std::exchange(sequence.isBehindCopy, false))
    MTP_RETURN_IF_ERROR(host->setAccepted(sequence.slot, 0));
  storeSnapshot(sequence);
  return sequence.rest() == 0 ? finishPrefill(sequence, results) : okStatus();
}

Status Session::Impl::finishPrefill(Sequence &sequence,
                                    const SlotResults &results) {
  if (!sequence.hasNewInputs)
    kv->publish(sequence.slot, sequence.context);
  sequence.draftedTo.assign(options.k + 2, sequence.length);
  std::erase(prefilling, sequence.id);
  sequence.phase = Sequence::Phase::Running;
  sequence.windowRows.clear();
  sequence.logitsRows.clear();
  if (!sequence.saved.empty())
    MTP_RETURN_IF_ERROR(slotStates->restore(sequence.slot, sequence.saved));
  MTP_ASSIGN_OR_RETURN(std::span<const int32_t> tokens,
                       host->emitted(sequence.slot));
  if (tokens.size() == 1 && sequence.output.empty())
    return emit(sequence, tokens, results);
  if (tokens.size() != 1)
    finish(sequence, FinishReason::Failed,
           internalError("expected one token of a prefill"));
  else if (tokens[0] != sequence.output.back())
    finish(sequence, FinishReason::Failed,
           internalError(strCat("prefill after a preemption picked token ",
                                tokens[0], ", expected ",
                                sequence.output.back())));
  return okStatus();
}
