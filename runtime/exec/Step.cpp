//===- Step.cpp - One step of a session -----------------------------------===//

#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionImpl.h"

#include <algorithm>

using namespace mtp;

/// Reads what the rounds under way have given, or, where none are, goes on with
/// prompts and then starts rounds.
Status Session::Impl::advance() {
  if (flight) {
    uint64_t before = statistics.rounds;
    MTP_RETURN_IF_ERROR(decodePhase());
    if (flight || statistics.rounds > before)
      return okStatus();
  }
  MTP_RETURN_IF_ERROR(prefillPhase());
  return decodePhase();
}

/// What a call says that would go on after a failure.
Status Session::Impl::checkUsable() const {
  if (failure.isOk())
    return okStatus();
  return Status(
      failure.code(),
      strCat("an earlier step of the session failed: ", failure.message()));
}

/// Where a step has given tokens before it fails, the caller gets these, and
/// the failure by the next call.
Result<std::vector<SequenceUpdate>> Session::Impl::step() {
  MTP_RETURN_IF_ERROR(checkUsable());
  updates.clear();
  if (kv)
    failure = advance();
  if (!failure.isOk() && updates.empty())
    return failure;
  std::vector<SequenceUpdate> changed;
  for (auto &[id, update] : updates)
    changed.push_back(std::move(update));
  return changed;
}

Binding mtp::rowsOf(const Binding &all, uint64_t offset, uint64_t bytes) {
  return {all.space, all.index, all.offset + offset, bytes};
}

/// What ends a sequence.
std::vector<int32_t> Session::Impl::stopTokensOf(const Request &request) const {
  std::vector<int32_t> tokens = request.stopTokens;
  if (!request.ignoreEos)
    tokens.insert(tokens.end(), inner.generation.eos.begin(),
                  inner.generation.eos.end());
  return tokens;
}

/// Appends what a program emitted, up to the first token that ends the
/// sequence. The rest of an accepted run is dropped with the sequence, so the
/// output is what it would be one token at a time. `logits` are the rows that
/// the tokens come from.
Status Session::Impl::emit(Sequence &sequence, std::span<const int32_t> tokens,
                           Binding logits) {
  uint64_t bytes = inner.envelope->vocab * sizeof(float), emitted = 0;
  const Request &request = sequence.request;
  std::vector<int32_t> stops = stopTokensOf(request);
  for (int32_t token : tokens) {
    if (token < 0 || uint32_t(token) >= inner.envelope->vocab) {
      finish(sequence, FinishReason::Failed,
             failedPrecondition(
                 strCat("no token can follow position ",
                        request.prompt.size() + sequence.output.size() - 1,
                        ": its logits are all NaN or -inf")));
      break;
    }
    if (std::find(stops.begin(), stops.end(), token) != stops.end()) {
      finish(sequence, FinishReason::Stop);
      break;
    }
    uint64_t row = emitted++;
    if (row < sequence.logitsRows.size())
      row = sequence.logitsRows[row];
    MTP_RETURN_IF_ERROR(
        keepLogits(sequence, rowsOf(logits, row * bytes, bytes)));
    sequence.output.push_back(token);
    ++sequence.statistics.outputTokens;
    ++statistics.outputTokens;
    SequenceUpdate &update = updates[sequence.id];
    update.id = sequence.id;
    update.tokens.push_back(token);
    if (sequence.output.size() == request.maxTokens) {
      finish(sequence, FinishReason::Length);
      break;
    }
  }
  return okStatus();
}

void Session::Impl::finish(Sequence &sequence, FinishReason reason,
                           Status error) {
  giveUpSlot(sequence);
  sequence.giveBackMemory();
  sequence.phase = Sequence::Phase::Done;
  sequence.finish = reason;
  SequenceUpdate &update = updates[sequence.id];
  update.id = sequence.id;
  update.finish = reason;
  update.error = std::move(error);
}

/// Copies the logits row that the next output token came from. Where that
/// fails, the rows of the tokens before stay as they are.
Status Session::Impl::keepLogits(Sequence &sequence, Binding row) {
  if (options.logits == LogitsMode::None)
    return okStatus();
  return sequence.logits.addRow([&](std::span<float> values) {
    return executable->read(row, values.data(), row.bytes);
  });
}

/// Copies the page table to the device when it has changed.
Status Session::Impl::syncPageTable(Sequence &sequence) {
  uint64_t capacity = kv->capacity(sequence.slot);
  if (capacity == sequence.tableCapacity)
    return okStatus();
  MTP_RETURN_IF_ERROR(
      host->setPageTable(sequence.slot, kv->table(sequence.slot)));
  sequence.tableCapacity = capacity;
  return okStatus();
}
