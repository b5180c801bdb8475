//===- Decode.cpp - Rounds ------------------------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <algorithm>
#include <chrono>

using namespace mtp;

/// Gives every running sequence the pages of its next round, oldest first,
/// preempting from the other end where they are short. Returns who runs.
std::vector<Sequence *> Session::Impl::makeRoom() {
  std::vector<SequenceId> order(admitted.begin(), admitted.end());
  for (SequenceId id : order) {
    Sequence &sequence = sequences.at(id);
    while (sequence.phase == Sequence::Phase::Running &&
           !kv->grow(sequence.slot, sequence.length + options.k + 1))
      preemptYoungest();
  }
  std::vector<Sequence *> running;
  for (SequenceId id : admitted)
    if (sequences.at(id).phase == Sequence::Phase::Running)
      running.push_back(&sequences.at(id));
  return running;
}

Status Session::Impl::decodePhase() {
  auto begin = std::chrono::steady_clock::now();
  std::vector<Sequence *> running = makeRoom();
  if (running.empty())
    return okStatus();
  std::vector<int32_t> slots;
  for (Sequence *sequence : running) {
    MTP_RETURN_IF_ERROR(syncPageTable(*sequence));
    slots.push_back(int32_t(sequence->slot));
  }
  MTP_RETURN_IF_ERROR(host->setActive(slots));
  uint32_t batch = uint32_t(running.size());
  uint32_t program = inner.programs.decode(batch, options.k);
  MTP_RETURN_IF_ERROR(executable->run(program, batch));
  ++statistics.rounds;
  schema::Binding logits = inner.programs.logits(program, batch);
  uint64_t bytes = logits.bytes() / batch;
  for (uint32_t i = 0; i < batch; ++i) {
    MTP_RETURN_IF_ERROR(readPath(*running[i], program, batch, i));
    MTP_RETURN_IF_ERROR(
        readRound(*running[i], rowsOf(logits, i * bytes, bytes)));
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  statistics.decodeSeconds += time.count();
  return okStatus();
}

/// Shares the pages that a round has made final, see README.md. `anchor` is the
/// position of the token that the round began with.
void Session::Impl::publishRound(Sequence &sequence, uint64_t anchor) {
  if (!reuse.roundsFill)
    return;
  std::vector<int32_t> &known = sequence.context;
  const std::vector<int32_t> &prompt = sequence.request.prompt;
  while (known.size() <= anchor)
    known.push_back(sequence.output[known.size() - prompt.size()]);
  kv->publish(sequence.slot, known);
}

/// Reads what tells rows of kept logits from those of other branches; `row` is
/// the sequence's in the batch.
Status Session::Impl::readPath(Sequence &sequence, uint32_t program,
                               uint32_t batch, uint32_t row) {
  schema::Binding all = inner.programs.path(program, batch);
  if (all.bytes() == 0 || options.logits == LogitsMode::None)
    return okStatus();
  uint64_t bytes = all.bytes() / batch;
  sequence.path.resize(bytes / sizeof(int32_t));
  return executable->read(rowsOf(all, row * bytes, bytes), sequence.path.data(),
                          bytes);
}

/// `logits` are the sequence's rows in this round.
Status Session::Impl::readRound(Sequence &sequence, schema::Binding logits) {
  MTP_ASSIGN_OR_RETURN(std::span<const int32_t> tokens,
                       host->emitted(sequence.slot));
  if (tokens.empty() || tokens.size() > options.k + 1) {
    finish(sequence, FinishReason::Failed,
           internalError(strCat("expected 1 to ", options.k + 1,
                                " tokens of a round, got ", tokens.size())));
    return okStatus();
  }
  uint64_t anchor = sequence.length;
  sequence.length += tokens.size();
  kv->commit(sequence.slot, sequence.length);
  publishRound(sequence, anchor);
  ++sequence.statistics.rounds;
  for (Statistics *s : {&sequence.statistics, &statistics}) {
    ++s->slotRounds;
    s->roundTokens += tokens.size();
    for (uint32_t j = 0; j < options.k; ++j) {
      ++s->drafted[j];
      s->accepted[j] += j + 1 < tokens.size();
    }
  }
  size_t before = sequence.output.size();
  MTP_RETURN_IF_ERROR(emit(sequence, tokens, logits));
  sequence.statistics.decodeTokens += sequence.output.size() - before;
  statistics.decodeTokens += sequence.output.size() - before;
  return okStatus();
}
