//===- StepResults.cpp - What steps give to the caller --------------------===//

#include "runtime/exec/StepResults.h"
#include "runtime/exec/RequestCheck.h"
#include "runtime/exec/program/RequestPorts.h"

#include <algorithm>
#include <utility>

using namespace mtp;

static void sizeByK(Statistics &statistics, uint32_t k) {
  statistics.drafted.assign(k, 0);
  statistics.accepted.assign(k, 0);
  statistics.roundsByK.assign(k + 1, 0);
}

StepResults::StepResults(const Model::Impl &model, Executable &executable,
                         const SessionOptions &options)
    : model(model), executable(executable), options(options) {
  sizeByK(all, options.k);
}

void StepResults::begin(Sequence &sequence, KeptLogits logits,
                        std::vector<RequestOutputType> outputs) const {
  sizeByK(sequence.statistics, options.k);
  sequence.output.kept = std::move(logits);
  sequence.output.asked = std::move(outputs);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

std::vector<int32_t> StepResults::stopTokensOf(const Request &request) const {
  return mtp::stopTokensOf(model, request);
}

/// Returns the row that a program's token of that number comes from.
static uint64_t rowOf(const std::vector<uint32_t> &rows, uint64_t token) {
  return token < rows.size() ? rows[token] : token;
}

Result<StepResults::Emitted> StepResults::emit(Sequence &sequence,
                                               std::span<const int32_t> tokens,
                                               const SlotResults &results) {
  uint32_t vocab = model.envelope->vocab;
  uint64_t bytes = vocab * sizeof(float);
  const Request &request = sequence.request;
  std::vector<int32_t> &output = sequence.output.emitted;
  std::vector<int32_t> stops = stopTokensOf(request);
  Emitted emitted;
  for (int32_t token : tokens) {
    if (token < 0 || uint32_t(token) >= vocab) {
      emitted.end = FinishReason::Failed;
      emitted.error = noTokenError(
          request, request.prompt.size() + output.size() - 1, output.size());
      break;
    }
    if (sequence.mayStop() &&
        std::find(stops.begin(), stops.end(), token) != stops.end()) {
      emitted.end = FinishReason::Stop;
      update(sequence.id).stopToken = token;
      break;
    }
    if (sequence.matcher) {
      emitted.error = sequence.matcher->accept(token);
      if (!emitted.error.isOk()) {
        emitted.end = FinishReason::Failed;
        break;
      }
    }
    uint64_t row = rowOf(results.logitsRows, emitted.tokens++);
    Binding source = rowsOf(results.logits, row * bytes, bytes);
    MTP_RETURN_IF_ERROR(keepLogits(sequence, source));
    MTP_RETURN_IF_ERROR(addLogprobs(sequence, token, source));
    output.push_back(token);
    count(&sequence, &Statistics::outputTokens, 1);
    update(sequence.id).tokens.push_back(token);
    if (output.size() == request.maxTokens) {
      emitted.end = FinishReason::Length;
      break;
    }
  }
  return emitted;
}

/// Copies the row of logits that the next output token came from. If that
/// fails, the rows of the tokens before stay as they are.
Status StepResults::keepLogits(Sequence &sequence, Binding row) {
  if (options.logits == LogitsMode::None)
    return okStatus();
  return sequence.output.kept.addRow([&](std::span<float> values) {
    return executable.read(row, values.data(), row.bytes);
  });
}

//===----------------------------------------------------------------------===//
// Log-probabilities
//===----------------------------------------------------------------------===//

/// Returns the log-probabilities at the position of `token`, which comes after
/// the row.
Result<TokenLogprobs> StepResults::readLogprobs(const Request &request,
                                                uint32_t count, int32_t token,
                                                LogprobsMode mode,
                                                Binding row) {
  logits.resize(model.envelope->vocab);
  MTP_RETURN_IF_ERROR(executable.read(row, logits.data(), row.bytes));
  return rowLogprobs.compute(logits, token, count, mode, request.sampling);
}

/// Adds the log-probabilities of the next output token to the update.
Status StepResults::addLogprobs(Sequence &sequence, int32_t token,
                                Binding row) {
  const Request &request = sequence.request;
  if (!sequence.readsLogits())
    return okStatus();
  MTP_ASSIGN_OR_RETURN(TokenLogprobs read,
                       readLogprobs(request, *request.logprobs.output, token,
                                    request.logprobs.mode, row));
  update(sequence.id).logprobs.push_back(std::move(read));
  return okStatus();
}

Status StepResults::addPromptRow(Sequence &sequence, uint64_t row,
                                 Binding logits) {
  const Request &request = sequence.request;
  std::vector<TokenLogprobs> &scores = sequence.output.scores;
  // A sequence that lost its slot begins again.
  scores.resize(row);
  MTP_ASSIGN_OR_RETURN(TokenLogprobs read,
                       readLogprobs(request, *request.logprobs.prompt,
                                    request.prompt[row + 1], LogprobsMode::Raw,
                                    logits));
  scores.push_back(std::move(read));
  return okStatus();
}

void StepResults::finishPrompt(Sequence &sequence) {
  update(sequence.id).promptLogprobs = std::move(sequence.output.scores);
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

Status StepResults::readOutputs(const Sequence &sequence, size_t tokens,
                                const SlotResults &results) {
  if (sequence.output.types().empty())
    return okStatus();
  std::vector<OutputRows> &outputs = update(sequence.id).outputs;
  for (size_t i = 0; i < sequence.output.types().size(); ++i) {
    const auto &[name, row, isPerToken] = sequence.output.types()[i];
    OutputRows given{name, {row, {}}, {}};
    // A mixed batch has outputs of the round's sequences only.
    const Port *port =
        results.isMixed ? nullptr
                        : model.programs.program(results.program).output(name);
    uint64_t rows = !port ? 0 : isPerToken ? tokens : 1;
    uint64_t bytes = elementCount(row) * elementBytes(row.element);
    given.rows.type.shape.insert(given.rows.type.shape.begin(), rows);
    given.rows.bytes.resize(rows * bytes);
    if (port && !isPerToken)
      given.tokens.push_back(uint32_t(tokens));
    for (uint64_t t = 0; t < rows; ++t) {
      Binding whole = port->place.at(results.n);
      uint64_t own = whole.bytes / results.count * results.index;
      uint64_t at = isPerToken ? rowOf(results.windowRows, t) : 0;
      MTP_RETURN_IF_ERROR(
          executable.read(rowsOf(whole, own + at * bytes, bytes),
                          given.rows.bytes.data() + t * bytes, bytes));
    }
    if (i < outputs.size())
      appendRows(outputs[i], given);
    else
      outputs.push_back(std::move(given));
  }
  return okStatus();
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

void StepResults::finish(Sequence &sequence, FinishReason reason,
                         Status error) {
  sequence.output.kept.finish();
  sequence.output.reason = reason;
  SequenceUpdate &last = update(sequence.id);
  last.finish = reason;
  last.error = std::move(error);
}

void StepResults::cancel(Sequence &sequence) {
  sequence.output.kept.finish();
  sequence.output.reason = FinishReason::Cancelled;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

void StepResults::countRound(Sequence &sequence, uint32_t k, uint32_t drafts,
                             uint32_t drafted, size_t tokens) {
  size_t accepted = tokens - 1;
  ++sequence.statistics.rounds;
  ++sequence.statistics.roundsByK[drafts];
  for (Statistics *s : {&sequence.statistics, &all}) {
    ++s->slotRounds;
    s->roundTokens += tokens;
    for (uint32_t j = 0; j < k; ++j) {
      s->drafted[j] += j < drafted;
      s->accepted[j] += j < accepted;
    }
  }
}

SequenceUpdate &StepResults::update(SequenceId id) {
  SequenceUpdate &found = updates[id];
  found.id = id;
  return found;
}

void StepResults::addDrafted(SequenceId id, uint32_t drafted) {
  if (auto found = updates.find(id); found != updates.end())
    found->second.drafted += drafted;
}

std::vector<SequenceUpdate> StepResults::take() {
  std::vector<SequenceUpdate> changed;
  for (auto &[id, update] : updates)
    changed.push_back(std::move(update));
  updates.clear();
  return changed;
}
