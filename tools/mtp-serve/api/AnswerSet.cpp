//===- AnswerSet.cpp - The answers to one request -------------------------===//

#include "tools/mtp-serve/api/AnswerSet.h"
#include "tools/mtp-serve/api/Sse.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::serve;

void AnswerSet::begin(std::vector<PreparedPrompt> prepared) {
  sources = std::move(prepared);
  restart();
}

void AnswerSet::restart() {
  answers.clear();
  const GenerationRequest &r = request;
  bool keepsIds = r.returnsIds || !facts.tokenizer;
  for (const PreparedPrompt &prompt : sources)
    for (uint32_t i = 0; i < r.n; ++i) {
      ChoiceOptions options = {facts.tokenizer, r.skipSpecialTokens, keepsIds,
                               r.returnsRounds, r.stops};
      options.minTokens = r.minTokens;
      options.isSilent = r.maxTokens == 0u;
      if (r.isChat) {
        options.reasoning = facts.reasoning;
        options.prompt = prompt.text;
      }
      Answer &answer = answers.emplace_back(Answer{Choice(std::move(options))});
      if (r.echo)
        answer.choice.prepend(prompt.text);
    }
}

size_t AnswerSet::pendingBytes() const {
  size_t bytes = 0;
  for (const Answer &answer : answers)
    bytes += answer.choice.pending().bytes();
  return bytes;
}

size_t AnswerSet::promptTokens() const {
  size_t tokens = 0;
  for (const PreparedPrompt &prompt : sources)
    tokens += prompt.ids.size();
  return tokens;
}

size_t AnswerSet::outputTokens() const {
  size_t tokens = 0;
  for (const Answer &answer : answers)
    tokens += answer.choice.tokenCount();
  return tokens;
}

Usage AnswerSet::usage() const {
  Usage usage;
  usage.promptTokens = promptTokens();
  usage.outputTokens = outputTokens();
  for (size_t i = 0; i < answers.size(); ++i) {
    const Statistics &statistics = answers[i].choice.statistics();
    usage.addRounds(statistics);
    // Later answers share the pages of the first.
    if (i % request.n == 0)
      usage.cachedTokens += statistics.cachedTokens;
  }
  return usage;
}

AnswerHead AnswerSet::head() const {
  return {id, facts.names.front(), created, request.isChat};
}

ChoicePart AnswerSet::partOf(size_t index, size_t mostText) {
  Answer &answer = answers[index];
  isRead = true;
  ChoicePart part;
  part.index = index;
  part.text = answer.choice.pending().takeText(mostText);
  part.reasoning = answer.choice.pending().takeReasoning(mostText);
  if (request.returnsIds || !facts.tokenizer) {
    part.ids = answer.choice.pending().takeIds();
    if (!answer.hasBegun)
      part.promptIds = sources[index / request.n].ids;
  }
  if (request.returnsRounds)
    part.rounds = answer.choice.pending().takeRounds();
  part.isFirst = !answer.hasBegun;
  answer.hasBegun = true;
  return part;
}

std::string AnswerSet::whole() {
  std::vector<ChoicePart> parts;
  for (size_t i = 0; i < answers.size(); ++i) {
    ChoicePart &part = parts.emplace_back(partOf(i, SIZE_MAX));
    part.finish = finishName(answers[i].choice.finishReason());
  }
  return wholeAnswer(head(), parts, usage());
}

bool AnswerSet::hasNews(const Answer &answer) const {
  return answer.choice.pending().hasNews() ||
         (answer.choice.isComplete() && !answer.isClosed) ||
         (request.isChat && !answer.hasBegun);
}

bool AnswerSet::hasNews() const {
  return std::ranges::any_of(answers,
                             [this](const auto &a) { return hasNews(a); });
}

bool AnswerSet::areClosed() const {
  return std::ranges::all_of(answers, &Answer::isClosed);
}

std::string AnswerSet::eventOf(const ChoicePart &part) const {
  std::optional<Usage> soFar;
  if (request.hasUsageInAll)
    soFar = usage();
  return sseEvent(streamPart(head(), part, request.includesUsage, soFar));
}

/// Returns the new events of an answer. The end has a separate event without
/// text: clients modelled on llama.cpp's server read no text there.
std::string AnswerSet::eventsOf(size_t index) {
  Answer &answer = answers[index];
  std::string events;
  if (answer.choice.pending().hasNews() || (request.isChat && !answer.hasBegun))
    events += eventOf(partOf(index, kMostText));
  if (answer.choice.pending().hasNews() || !answer.choice.isComplete() ||
      answer.isClosed)
    return events;
  ChoicePart part = partOf(index, kMostText);
  part.finish = finishName(answer.choice.finishReason());
  answer.isClosed = true;
  return events + eventOf(part);
}

std::string AnswerSet::takeEvents() {
  std::string events;
  for (size_t i = 0; i < answers.size(); ++i)
    events += eventsOf(i);
  return events;
}

std::string AnswerSet::lastEvents() const {
  std::string events;
  if (request.includesUsage)
    events += sseEvent(streamUsage(head(), usage()));
  return events.append(kLastEvent);
}
