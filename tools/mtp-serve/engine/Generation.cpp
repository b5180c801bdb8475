//===- Generation.cpp - The answer to one request -------------------------===//

#include "tools/mtp-serve/engine/Generation.h"
#include <algorithm>
#include <iterator>

using namespace mtp;
using namespace mtp::serve;

Generation::Generation(GenerationRequest request, const ModelFacts &facts,
                       std::string id, uint64_t created, Handle first,
                       SequenceControls controls, size_t mostPending)
    : request(std::move(request)), facts(facts),
      answers(this->request, facts, std::move(id), created), first(first),
      controls(std::move(controls)), mostPending(mostPending) {}

/// Returns the session's request for the rest of an answer.
static Request restOf(const GenerationRequest &request, const ModelFacts &facts,
                      const PreparedPrompt &prompt, size_t index, uint64_t seed,
                      MaybeError &error) {
  if (request.resume)
    seed = request.resume->seed.value_or(seed);
  Request rest =
      sequenceOf(request, facts, prompt, uint32_t(index % request.n), seed);
  if (request.resume)
    error = continueSequence(*request.resume, index, rest);
  return rest;
}

MaybeError
Generation::begin(std::vector<PreparedPrompt> prepared,
                  std::shared_ptr<const TokenConstraint> constraint) {
  request.constraint = std::move(constraint);
  MaybeError error;
  for (size_t i = 0; !error && i < size(); ++i)
    restOf(request, facts, prepared[i / request.n], i, 0, error);
  if (error)
    return error;
  if (Status status = answers.begin(std::move(prepared)); !status.isOk())
    return ownErrorOf(status);
  begun = true;
  // The sources of the prompts are not needed any more.
  for (PromptSource &source : request.prompts)
    source = {};
  request.conversation = {};
  body.release();
  return std::nullopt;
}

bool Generation::canRestart() const {
  return begun && !failed && !aborted && !answers.wasRead() && ended == 0;
}

void Generation::restart() {
  accepted = ended = 0;
  holds = false;
  if (Status status = answers.restart(); !status.isOk())
    fail(ownErrorOf(status));
}

std::vector<Request> Generation::sequences(uint64_t seed) const {
  std::vector<Request> all;
  // begin() has checked what was begun.
  MaybeError none;
  for (size_t i = 0; i < size(); ++i)
    all.push_back(restOf(request, facts, answers.prompts()[i / request.n], i,
                         seed, none));
  return all;
}

void Generation::fail(ApiError error) {
  if (!failed)
    failed = std::move(error);
  abort();
  if (listener)
    listener();
}

/// Notes the first `count` tokens of an event for the next comment to a gate.
static void noteTokens(AnswerSet::ResumeLog &log, const EngineEvent &event,
                       size_t count, bool needsScores) {
  std::ranges::copy_n(event.tokens.begin(), long(count),
                      std::back_inserter(log.tokens));
  if (needsScores)
    std::ranges::copy_n(event.logprobs.begin(),
                        long(std::min(count, event.logprobs.size())),
                        std::back_inserter(log.scores));
}

void Generation::take(const EngineEvent &event) {
  size_t index = event.handle - first;
  AnswerSet::Answer &answer = answers.at(index);
  Choice &choice = answer.choice;
  answer.isAccepted |= event.accepted;
  accepted += event.accepted;
  answer.times.note(event.time, event.admitted, !event.tokens.empty());
  if (event.isProgress && request.streams)
    answers.noteProgress(index, event.time, event.statistics);
  bool wasComplete = choice.isComplete();
  // A prompt of one token has no log-probabilities.
  if (!event.promptLogprobs.empty() || !event.tokens.empty() ||
      event.finish != FinishReason::None)
    answers.takePrompt(index, event.promptLogprobs);
  size_t before = choice.tokenCount();
  if (Status status = choice.take(event.tokens, event.drafted, event.logprobs);
      !status.isOk())
    fail(ownErrorOf(status));
  if (request.resume)
    noteTokens(answer.log, event, choice.tokenCount() - before,
               request.form == AnswerForm::Responses);
  if (request.timesEach && !wasComplete && !event.tokens.empty())
    choice.setStatistics(event.statistics);
  if (!wasComplete && choice.hasStopped()) {
    // Rounds after the stop string do not count for the answer.
    choice.setStatistics(event.statistics);
    controls.cancel(event.handle);
  }
  if (event.finish != FinishReason::None) {
    choice.end(event.finish, event.statistics, event.stopToken);
    ++ended;
  }
  // A failure before acceptance is the request's fault, and so are rules that
  // leave no token. An answer that a stop string has ended is complete.
  if (event.finish == FinishReason::Failed && !wasComplete) {
    ApiError error = errorOf(event.error);
    if (answer.isAccepted && !event.isRequestsFault)
      error.status = 500;
    fail(std::move(error));
  }
  holdIfMuchWaits();
  if (listener)
    listener();
}

void Generation::abort() {
  aborted = true;
  for (size_t i = 0; i < answers.size(); ++i)
    if (!answers.at(i).choice.hasEnded())
      controls.cancel(first + i);
}

/// Pauses the sequences of a stream if much text waits for its reader. An
/// answer that is no stream waits as a whole, and is as long as its context.
void Generation::holdIfMuchWaits() {
  if (!request.streams || holds || aborted ||
      answers.pendingBytes() < mostPending)
    return;
  holds = true;
  for (size_t i = 0; i < answers.size(); ++i)
    if (!answers.at(i).choice.isComplete())
      controls.pause(first + i);
}

void Generation::goOnIfLittleWaits() {
  if (!holds || aborted || answers.pendingBytes() > mostPending / 4)
    return;
  holds = false;
  for (size_t i = 0; i < answers.size(); ++i)
    if (!answers.at(i).choice.isComplete())
      controls.resume(first + i);
}

std::string Generation::answer() {
  finished = true;
  return answers.whole();
}

bool Generation::hasNews() const {
  return !finished && (failed || hasEnded() || answers.hasNews());
}

std::string Generation::takeEvents() {
  std::string events;
  if (failed) {
    finished = true;
    events = answers.errorEvent(*failed);
    // Another server may succeed, unless the request is at fault or late.
    bool isFinal = failed->status < 500 || failed->status == 504;
    return request.resume && isFinal ? events.append(AnswerSet::kLastComment)
                                     : events;
  }
  events = answers.takeEvents();
  goOnIfLittleWaits();
  if (hasEnded() && answers.areClosed()) {
    finished = true;
    events += answers.lastEvents();
  }
  if (request.resume && (finished || !events.empty()))
    events += answers.takeComment(finished);
  return events;
}
