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
  if (mixes)
    MTP_RETURN_IF_ERROR(admitWaiting());
  if (!mixesNext())
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

/// Other calls make and drop copies, too, while the caller of step() reads the
/// statistics: they change in steps alone.
void Session::Impl::countSnapshots() {
  if (!snapshots)
    return;
  const Snapshots::Counts &counts = snapshots->counts();
  statistics.snapshots = counts.made;
  statistics.droppedSnapshots = counts.dropped;
  statistics.snapshotBytes = counts.bytes;
}

/// Where a step has given tokens before it fails, the caller gets these, and
/// the failure by the next call.
Result<std::vector<SequenceUpdate>> Session::Impl::step() {
  MTP_RETURN_IF_ERROR(checkUsable());
  updates.clear();
  if (kv)
    failure = advance();
  countSnapshots();
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

/// The row that a program's token of that number comes from.
static uint64_t rowOf(const std::vector<uint32_t> &rows, uint64_t token) {
  return token < rows.size() ? rows[token] : token;
}

/// Appends what a program emitted, up to the first token that ends the
/// sequence. The rest of an accepted run is dropped with the sequence, so the
/// output is what it would be one token at a time.
Status Session::Impl::emit(Sequence &sequence, std::span<const int32_t> tokens,
                           const SlotResults &results) {
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
    if (sequence.mayStop() &&
        std::find(stops.begin(), stops.end(), token) != stops.end()) {
      MTP_RETURN_IF_ERROR(keepEnd(sequence));
      finish(sequence, FinishReason::Stop);
      break;
    }
    uint64_t row = rowOf(sequence.logitsRows, emitted++);
    MTP_RETURN_IF_ERROR(
        keepLogits(sequence, rowsOf(results.logits, row * bytes, bytes)));
    sequence.output.push_back(token);
    ++sequence.statistics.outputTokens;
    ++statistics.outputTokens;
    shares.charge(request.group, 1);
    SequenceUpdate &update = updates[sequence.id];
    update.id = sequence.id;
    update.tokens.push_back(token);
    if (sequence.output.size() == request.maxTokens) {
      MTP_RETURN_IF_ERROR(keepEnd(sequence));
      finish(sequence, FinishReason::Length);
      break;
    }
  }
  return emitted ? readOutputs(sequence, emitted, results) : okStatus();
}

/// Gives the sequence's update what its request asked for of the tokens that a
/// program has just emitted.
Status Session::Impl::readOutputs(const Sequence &sequence, size_t tokens,
                                  const SlotResults &results) {
  std::vector<OutputRows> &outputs = updates[sequence.id].outputs;
  for (size_t i = 0; i < sequence.outputs.size(); ++i) {
    const auto &[name, row, isPerToken] = sequence.outputs[i];
    OutputRows given{name, {row, {}}, {}};
    // The round's are another sequence's.
    const Port *port =
        results.isBeside ? nullptr
                         : inner.programs.program(results.program).output(name);
    uint64_t rows = !port ? 0 : isPerToken ? tokens : 1;
    uint64_t bytes = elementCount(row) * elementBytes(row.element);
    given.rows.type.shape.insert(given.rows.type.shape.begin(), rows);
    given.rows.bytes.resize(rows * bytes);
    if (port && !isPerToken)
      given.tokens.push_back(uint32_t(tokens));
    for (uint64_t t = 0; t < rows; ++t) {
      Binding all = port->place.at(results.n);
      uint64_t own = all.bytes / results.count * results.index;
      uint64_t at = isPerToken ? rowOf(sequence.windowRows, t) : 0;
      MTP_RETURN_IF_ERROR(executable->read(rowsOf(all, own + at * bytes, bytes),
                                           given.rows.bytes.data() + t * bytes,
                                           bytes));
    }
    if (i < outputs.size())
      appendRows(outputs[i], given);
    else
      outputs.push_back(std::move(given));
  }
  return okStatus();
}

void Session::Impl::finish(Sequence &sequence, FinishReason reason,
                           Status error) {
  giveUpSlot(sequence);
  giveBackMemory(sequence);
  shares.leave(sequence.request.group);
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
