//===- Prefill.cpp - Prompts, one chunk at a time -------------------------===//
//
// A chunk goes on with the prompt that was admitted first. Where that leaves
// rows free, and there is a program for so many sequences, the next prompts
// come along: weights are read once for all of them. A prompt that can share
// pages which another one is filling waits for these (see admitNext).
//
// Where a library of the GPU's vendor multiplies, whole chunks of a prompt go
// through its program alone, each for itself (README.md).
//
//===----------------------------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <algorithm>
#include <chrono>

using namespace mtp;

/// Rows of prompts that this step may compute. Running sequences wait for them.
uint64_t Session::Impl::prefillBudget() const {
  uint64_t chunks = options.chunksPerStep;
  if (chunks == SessionOptions::kOneBesideRunning) {
    bool isAnyRunning = std::ranges::any_of(
        admitted, [&](SequenceId id) { return isRunning(id); });
    chunks = isAnyRunning ? 1 : SessionOptions::kUnbounded;
  }
  return chunks == SessionOptions::kUnbounded ? UINT64_MAX
                                              : chunks * options.prefillChunk;
}

Status Session::Impl::prefillPhase() {
  for (uint64_t budget = prefillBudget();;) {
    MTP_ASSIGN_OR_RETURN(PrefillPass pass, nextPass(budget));
    if (pass.shares.empty())
      return okStatus();
    MTP_RETURN_IF_ERROR(runPrefill(pass));
    budget -= pass.chunk;
  }
}

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
/// compute.
PrefillRun Session::Impl::nextRun(const Sequence &sequence) const {
  KvCacheManager::Making making{kv->makers(sequence.slot)};
  uint64_t pageTokens = inner.envelope->pageTokens;
  uint64_t page = sequence.length / pageTokens, all = sequence.context.size();
  PageMaker maker = making.of(page);
  do
    ++page;
  while (page * pageTokens < all && making.of(page) == maker);
  return {maker, std::min(page * pageTokens, all) - sequence.length};
}

/// A pass through the library's program. A row's place in the chunk is its
/// position's, whatever was computed before: so it has the same bits however
/// much of its chunk comes from the prefix index.
PrefillPass Session::Impl::libraryPass(Sequence &sequence, uint64_t tokens,
                                       uint64_t budget) const {
  if (library.rows > budget)
    return PrefillPass();
  uint64_t room = library.rows - sequence.length % library.rows;
  return {{{&sequence, uint32_t(std::min(tokens, room))}}, library.rows, true};
}

/// The next pass, of `budget` rows at most; one without shares where nobody
/// waits or the budget is too small.
Result<PrefillPass> Session::Impl::nextPass(uint64_t budget) {
  if (prefilling.empty()) {
    MTP_ASSIGN_OR_RETURN(bool isAdmitted, admitNext());
    if (!isAdmitted)
      return PrefillPass();
  }
  const ProgramTable &programs = inner.programs;
  Sequence &first = sequences.at(prefilling.front());
  PrefillRun run = nextRun(first);
  if (run.maker == PageMaker::Library)
    return libraryPass(first, run.tokens, budget);
  uint32_t chunk = programs.nextChunk(run.tokens, options.prefillChunk);
  if (chunk > budget)
    return PrefillPass();
  uint32_t rows = uint32_t(std::min<uint64_t>(chunk, run.tokens));
  std::vector<PrefillShare> shares = {{&first, rows}};
  uint64_t room = std::min<uint64_t>(budget, options.prefillChunk);
  while (rows < room && shares.size() < programs.mostSequences()) {
    if (shares.size() == prefilling.size()) {
      MTP_ASSIGN_OR_RETURN(bool isAdmitted, admitNext());
      if (!isAdmitted)
        break;
    }
    Sequence &next = sequences.at(prefilling[shares.size()]);
    PrefillRun beside = nextRun(next);
    if (beside.maker == PageMaker::Library)
      break;
    uint32_t more = uint32_t(std::min<uint64_t>(room - rows, beside.tokens));
    shares.push_back({&next, more});
    rows += more;
  }
  // Not every number of sequences has a program.
  while (shares.size() > 1 &&
         !programs.hasChunk(rows, uint32_t(shares.size()))) {
    rows -= shares.back().rows;
    shares.pop_back();
  }
  return PrefillPass{shares, shares.size() > 1 ? rows : chunk};
}

Status Session::Impl::runPrefill(const PrefillPass &pass) {
  auto begin = std::chrono::steady_clock::now();
  std::vector<PromptPart> parts;
  for (auto [sequence, rows] : pass.shares) {
    MTP_RETURN_IF_ERROR(syncPageTable(*sequence));
    uint64_t firstRow = pass.byLibrary ? sequence->length % pass.chunk : 0;
    parts.push_back({sequence->slot, uint32_t(sequence->length), rows,
                     uint32_t(firstRow), sequence->context});
  }
  uint32_t count = uint32_t(parts.size());
  bool drafts = options.k > 0;
  uint32_t program = pass.byLibrary
                         ? inner.programs.libraryPrefill(drafts)
                         : inner.programs.prefill(pass.chunk, drafts, count);
  MTP_RETURN_IF_ERROR(host->setPrefill(parts));
  MTP_RETURN_IF_ERROR(executable->run(program, pass.chunk));
  ++statistics.prefillChunks;
  schema::Binding logits = inner.programs.logits(program, pass.chunk);
  uint64_t rowBytes = logits.bytes() / count;
  for (auto [sequence, rows] : pass.shares)
    if (pass.byLibrary)
      for (Statistics *of : {&statistics, &sequence->statistics})
        of->libraryTokens += rows;
  for (uint32_t s = 0; s < count; ++s)
    MTP_RETURN_IF_ERROR(
        commitPrefill(pass.shares[s], rowsOf(logits, s * rowBytes, rowBytes)));
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  statistics.prefillSeconds += time.count();
  return okStatus();
}

Status Session::Impl::commitPrefill(PrefillShare share,
                                    schema::Binding logits) {
  Sequence &sequence = *share.sequence;
  sequence.length += share.rows;
  sequence.statistics.prefillTokens += share.rows;
  statistics.prefillTokens += share.rows;
  ++sequence.statistics.prefillChunks;
  kv->commit(sequence.slot, sequence.length);
  return sequence.rest() == 0 ? finishPrefill(sequence, logits) : okStatus();
}

Status Session::Impl::finishPrefill(Sequence &sequence,
                                    schema::Binding logits) {
  kv->publish(sequence.slot, sequence.context);
  std::erase(prefilling, sequence.id);
  sequence.phase = Sequence::Phase::Running;
  MTP_ASSIGN_OR_RETURN(std::span<const int32_t> tokens,
                       host->emitted(sequence.slot));
  if (tokens.size() == 1 && sequence.output.empty())
    return emit(sequence, tokens, logits);
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
