//===- Generation.cpp - The answer to one request -------------------------===//

#include "tools/mtp-serve/engine/Generation.h"
#include "tools/mtp-serve/api/Sse.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

Generation::Generation(GenerationRequest request, const ModelFacts &facts,
                       std::string id, uint64_t created, Handle first,
                       SequenceControls controls, size_t mostPending)
    : request(std::move(request)), facts(facts), id(std::move(id)),
      created(created), first(first), controls(std::move(controls)),
      mostPending(mostPending) {}

void Generation::begin(std::vector<PreparedPrompt> prepared) {
  begun = true;
  prompts = std::move(prepared);
  // The sources of the prompts are not needed any more.
  for (PromptSource &source : request.prompts)
    source = {};
  request.conversation = {};
  body.release();
  makeChoices();
}

bool Generation::canRestart() const {
  return begun && !failed && !aborted && !wasRead && ended == 0;
}

void Generation::restart() {
  choices.clear();
  accepted = ended = 0;
  holds = false;
  makeChoices();
}

void Generation::makeChoices() {
  const GenerationRequest &r = request;
  bool keepsIds = r.returnsIds || !facts.tokenizer;
  for (const PreparedPrompt &prompt : prompts)
    for (uint32_t i = 0; i < r.n; ++i) {
      ChoiceOptions options = {facts.tokenizer, r.skipSpecialTokens,
                               keepsIds,        r.returnsRounds,
                               r.stops,         r.minTokens};
      if (r.isChat) {
        options.reasoning = facts.reasoning;
        options.prompt = prompt.text;
      }
      Answer &answer = choices.emplace_back(Answer{Choice(std::move(options))});
      if (r.echo)
        answer.choice.prepend(prompt.text);
    }
}

std::vector<Request> Generation::sequences(uint64_t seed) const {
  std::vector<Request> all;
  for (const PreparedPrompt &prompt : prompts)
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
  Answer &answer = choices[index];
  Choice &choice = answer.choice;
  answer.isAccepted |= event.accepted;
  accepted += event.accepted;
  bool wasComplete = choice.isComplete();
  if (Status status = choice.take(event.tokens, event.drafted); !status.isOk())
    fail(ownErrorOf(status));
  if (!wasComplete && choice.hasStopped()) {
    // Rounds after the stop string do not count for the answer.
    choice.setStatistics(event.statistics);
    controls.cancel(event.handle);
  }
  if (event.finish != FinishReason::None) {
    choice.end(event.finish, event.statistics);
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
  for (size_t i = 0; i < choices.size(); ++i)
    if (!choices[i].choice.hasEnded())
      controls.cancel(first + i);
}

size_t Generation::pendingBytes() const {
  size_t bytes = 0;
  for (const Answer &answer : choices)
    bytes += answer.choice.pendingBytes();
  return bytes;
}

/// Pauses the sequences of a stream if much text waits for its reader. An
/// answer that is no stream waits as a whole, and is as long as its context.
void Generation::holdIfMuchWaits() {
  if (!request.streams || holds || aborted || pendingBytes() < mostPending)
    return;
  holds = true;
  for (size_t i = 0; i < choices.size(); ++i)
    if (!choices[i].choice.isComplete())
      controls.pause(first + i);
}

void Generation::goOnIfLittleWaits() {
  if (!holds || aborted || pendingBytes() > mostPending / 4)
    return;
  holds = false;
  for (size_t i = 0; i < choices.size(); ++i)
    if (!choices[i].choice.isComplete())
      controls.resume(first + i);
}

size_t Generation::promptTokens() const {
  size_t tokens = 0;
  for (const PreparedPrompt &prompt : prompts)
    tokens += prompt.ids.size();
  return tokens;
}

size_t Generation::outputTokens() const {
  size_t tokens = 0;
  for (const Answer &answer : choices)
    tokens += answer.choice.tokenCount();
  return tokens;
}

Usage Generation::usage() const {
  Usage usage;
  usage.promptTokens = promptTokens();
  usage.outputTokens = outputTokens();
  for (size_t i = 0; i < choices.size(); ++i) {
    const Statistics &statistics = choices[i].choice.statistics();
    usage.addRounds(statistics);
    // Later answers share the pages of the first.
    if (i % request.n == 0)
      usage.cachedTokens += statistics.cachedTokens;
  }
  return usage;
}

AnswerHead Generation::head() const {
  return {id, facts.names.front(), created, request.isChat};
}

ChoicePart Generation::partOf(size_t index, size_t mostText) {
  Answer &answer = choices[index];
  wasRead = true;
  ChoicePart part;
  part.index = index;
  part.text = answer.choice.takeText(mostText);
  part.reasoning = answer.choice.takeReasoning(mostText);
  if (request.returnsIds || !facts.tokenizer) {
    part.ids = answer.choice.takeIds();
    if (!answer.hasBegun)
      part.promptIds = prompts[index / request.n].ids;
  }
  if (request.returnsRounds)
    part.rounds = answer.choice.takeRounds();
  part.isFirst = !answer.hasBegun;
  answer.hasBegun = true;
  return part;
}

std::string Generation::answer() {
  std::vector<ChoicePart> parts;
  for (size_t i = 0; i < choices.size(); ++i) {
    ChoicePart &part = parts.emplace_back(partOf(i, SIZE_MAX));
    part.finish = finishName(choices[i].choice.finishReason());
  }
  finished = true;
  return wholeAnswer(head(), parts, usage());
}

bool Generation::hasNews(const Answer &answer) const {
  return answer.choice.hasNews() ||
         (answer.choice.isComplete() && !answer.isClosed) ||
         (request.isChat && !answer.hasBegun);
}

bool Generation::hasNews() const {
  if (finished)
    return false;
  return failed || hasEnded() ||
         std::ranges::any_of(choices,
                             [this](const auto &a) { return hasNews(a); });
}

std::string Generation::eventOf(const ChoicePart &part) const {
  std::optional<Usage> soFar;
  if (request.hasUsageInAll)
    soFar = usage();
  return sseEvent(streamPart(head(), part, request.includesUsage, soFar));
}

/// Returns the new events of an answer. The end has a separate event without
/// text: clients modelled on llama.cpp's server read no text there.
std::string Generation::eventsOf(size_t index) {
  Answer &answer = choices[index];
  std::string events;
  if (answer.choice.hasNews() || (request.isChat && !answer.hasBegun))
    events += eventOf(partOf(index, kMostText));
  if (answer.choice.hasNews() || !answer.choice.isComplete() || answer.isClosed)
    return events;
  ChoicePart part = partOf(index, kMostText);
  part.finish = finishName(answer.choice.finishReason());
  answer.isClosed = true;
  return events + eventOf(part);
}

std::string Generation::takeEvents() {
  std::string events;
  if (failed) {
    finished = true;
    return sseEvent(errorJson(*failed));
  }
  bool isAllOut = true;
  for (size_t i = 0; i < choices.size(); ++i) {
    events += eventsOf(i);
    isAllOut &= choices[i].isClosed;
  }
  goOnIfLittleWaits();
  if (!hasEnded() || !isAllOut)
    return events;
  if (request.includesUsage)
    events += sseEvent(streamUsage(head(), usage()));
  events += kLastEvent;
  finished = true;
  return events;
}
