//===- Generation.cpp - The answer to one request -------------------------===//

#include "tools/mtp-serve/engine/Generation.h"
#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

Generation::Generation(GenerationRequest request, const ModelFacts &facts,
                       std::string id, uint64_t created, Handle first,
                       SequenceControls controls, size_t mostPending)
    : request(std::move(request)), facts(facts),
      answers(this->request, facts, std::move(id), created), first(first),
      controls(std::move(controls)), mostPending(mostPending) {}

void Generation::begin(std::vector<PreparedPrompt> prepared) {
  begun = true;
  // The sources of the prompts are not needed any more.
  for (PromptSource &source : request.prompts)
    source = {};
  request.conversation = {};
  body.release();
  answers.begin(std::move(prepared));
}

bool Generation::canRestart() const {
  return begun && !failed && !aborted && !answers.wasRead() && ended == 0;
}

void Generation::restart() {
  answers.restart();
  accepted = ended = 0;
  holds = false;
}

std::vector<Request> Generation::sequences(uint64_t seed) const {
  std::vector<Request> all;
  for (const PreparedPrompt &prompt : answers.prompts())
    for (uint32_t i = 0; i < request.n; ++i)
      all.push_back(sequenceOf(request, facts, prompt, i, seed));
  return all;
}

void Generation::fail(ApiError error) {
  if (!failed)
    failed = std::move(error);
  abort();
  if (listener)
    listener();
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
  if (Status status = choice.take(event.tokens, event.drafted, event.logprobs);
      !status.isOk())
    fail(ownErrorOf(status));
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
  // A failure before acceptance is the request's fault, a later one is not. An
  // answer that a stop string has ended is complete.
  if (event.finish == FinishReason::Failed && !wasComplete) {
    ApiError error = errorOf(event.error);
    if (answer.isAccepted)
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
  if (failed) {
    finished = true;
    return answers.errorEvent(*failed);
  }
  std::string events = answers.takeEvents();
  goOnIfLittleWaits();
  if (!hasEnded() || !answers.areClosed())
    return events;
  finished = true;
  return events + answers.lastEvents();
}
