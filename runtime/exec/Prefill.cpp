//===- Prefill.cpp - Prompts, one chunk at a time -------------------------===//
//
// One sequence is prefilled at a time. The next sequence is admitted when that
// prefill has ended, so that it can share the pages that the prefill has
// filled.
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
    auto isRunning = [&](SequenceId id) {
      return sequences.at(id).phase == Sequence::Phase::Running;
    };
    chunks = std::any_of(admitted.begin(), admitted.end(), isRunning)
                 ? 1
                 : SessionOptions::kUnbounded;
  }
  return chunks == SessionOptions::kUnbounded ? UINT64_MAX
                                              : chunks * options.prefillChunk;
}

Status Session::Impl::prefillPhase() {
  for (uint64_t budget = prefillBudget(); prefilling || admitNext();) {
    Sequence &sequence = sequences.at(prefilling);
    uint32_t chunk = inner.programs.nextChunk(
        sequence.context.size() - sequence.length, options.prefillChunk);
    if (chunk > budget)
      break;
    budget -= chunk;
    MTP_RETURN_IF_ERROR(prefillChunk(sequence, chunk));
  }
  return okStatus();
}

/// Runs one program over the next tokens of a prompt.
Status Session::Impl::prefillChunk(Sequence &sequence, uint32_t chunk) {
  auto begin = std::chrono::steady_clock::now();
  uint64_t total = sequence.context.size();
  uint32_t count = uint32_t(std::min<uint64_t>(chunk, total - sequence.length));
  uint32_t program = inner.programs.prefill(chunk, options.k > 0);
  syncPageTable(sequence);
  host->setPrefill(sequence.slot, uint32_t(sequence.length), count,
                   sequence.context);
  MTP_RETURN_IF_ERROR(executable->run(program, chunk));
  sequence.length += count;
  kv->commit(sequence.slot, sequence.length);
  for (Statistics *s : {&sequence.statistics, &statistics}) {
    s->prefillTokens += count;
    ++s->prefillChunks;
  }
  if (sequence.length == total)
    finishPrefill(sequence, inner.programs.logits(program, chunk));
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  statistics.prefillSeconds += time.count();
  return okStatus();
}

void Session::Impl::finishPrefill(Sequence &sequence, schema::Binding logits) {
  kv->publish(sequence.slot, sequence.context);
  prefilling = 0;
  sequence.phase = Sequence::Phase::Running;
  std::span<const int32_t> tokens = host->emitted(sequence.slot);
  if (tokens.size() != 1)
    return finish(sequence, FinishReason::Failed,
                  internalError("expected one token of a prefill"));
  if (sequence.output.empty())
    return emit(sequence, tokens, logits);
  if (tokens[0] != sequence.output.back())
    finish(sequence, FinishReason::Failed,
           internalError(strCat("prefill after a preemption picked token ",
                                tokens[0], ", expected ",
                                sequence.output.back())));
}
