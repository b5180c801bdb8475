//===- AnswerSet.cpp - The answers to one request -------------------------===//

#include "tools/mtp-serve/api/AnswerSet.h"
#include "tools/mtp-serve/api/sampling/ResumedScores.h"
#include <algorithm>
#include <utility>

using namespace mtp;
using namespace mtp::serve;

void AnswerSet::Times::note(Clock::time_point time,
                            std::optional<Clock::time_point> admission,
                            bool hasTokens) {
  if (admission)
    admitted = admission;
  if (!hasTokens)
    return;
  last = time;
  if (!first)
    first = last;
}

double AnswerSet::Times::promptSeconds() const {
  std::chrono::duration<double> time(0);
  if (admitted && first)
    time = *first - *admitted;
  return time.count();
}

double AnswerSet::Times::outputSeconds() const {
  std::chrono::duration<double> time(0);
  if (first)
    time = *last - *first;
  return time.count();
}

Status AnswerSet::begin(std::vector<PreparedPrompt> prepared) {
  sources = std::move(prepared);
  return restart();
}

Status AnswerSet::restart() {
  answers.clear();
  const GenerationRequest &r = request;
  bool keepsIds = r.returnsIds || !facts.tokenizer;
  for (const PreparedPrompt &prompt : sources)
    for (uint32_t i = 0; i < r.n; ++i) {
      ChoiceOptions options = {facts.tokenizer, r.skipSpecialTokens, keepsIds,
                               r.returnsRounds, r.stops};
      options.minTokens = r.minTokens;
      options.isSilent = r.maxTokens == 0u;
      options.keepsStop = r.keepsStop;
      if (r.isChat) {
        options.reasoning = facts.reasoning;
        options.prompt = prompt.text;
        options.tools = r.tools.set ? &r.tools : nullptr;
      }
      Answer &answer =
          answers.emplace_back(Answer{Choice(std::move(options)), {}, {}});
      if (r.echo && !echoesScores())
        answer.choice.prepend(prompt.text);
    }
  if (!request.resume)
    return okStatus();
  writer = makeWriter(request);
  for (size_t i = 0; i < answers.size(); ++i)
    if (const BegunAnswer *begun = request.resume->find(i))
      MTP_RETURN_IF_ERROR(replay(i, *begun));
  writer->setEventCount(request.resume->events);
  isRead = false;
  return okStatus();
}

void AnswerSet::takePrompt(size_t index,
                           const std::vector<TokenLogprobs> &scores) {
  Answer &answer = answers[index];
  if (std::exchange(answer.hasPrompt, true))
    return;
  if (request.scores.prompt)
    answer.promptScores = scores;
  if (!echoesScores())
    return;
  const PreparedPrompt &prompt = sources[index / request.n];
  answer.choice.prepend(prompt.text);
  answer.choice.pending().scores.prepend(
      scoresOfPrompt(prompt.ids, prompt.text, scores, facts.tokenizer),
      countCharacters(prompt.text));
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
    usage.reasoningTokens += answers[i].choice.reasoningTokens();
    // Later answers share the pages of the first.
    if (i % request.n > 0)
      continue;
    uint64_t cached = statistics.cachedTokens;
    // The tokens of another server may come from the cache, too.
    if (request.resume)
      cached = std::min<uint64_t>(cached, sources[i / request.n].ids.size());
    usage.cachedTokens += cached;
  }
  return usage;
}

AnswerHead AnswerSet::head() const {
  return {id, facts.names.front(), created, facts.fingerprint};
}

Timings AnswerSet::timingsOf(const Answer &answer, size_t index) const {
  const Statistics &statistics = answer.choice.statistics();
  Timings timings;
  uint64_t tokens = sources[index / request.n].ids.size();
  timings.cachedTokens = std::min(statistics.cachedTokens, tokens);
  timings.promptTokens = tokens - timings.cachedTokens;
  timings.outputTokens = answer.choice.tokenCount();
  timings.promptSeconds = answer.times.promptSeconds();
  timings.outputSeconds = answer.times.outputSeconds();
  timings.drafted = sumOf(statistics.drafted);
  timings.accepted = sumOf(statistics.accepted);
  return timings;
}

void AnswerSet::noteProgress(size_t index, Times::Clock::time_point time,
                             const Statistics &statistics) {
  Answer &answer = answers[index];
  uint64_t total = sources[index / request.n].ids.size();
  PromptProgress progress;
  progress.total = total;
  progress.cached = std::min(statistics.cachedTokens, total);
  progress.processed =
      std::min(statistics.cachedTokens + statistics.prefillTokens, total);
  if (answer.times.admitted) {
    std::chrono::duration<double> seconds = time - *answer.times.admitted;
    progress.seconds = seconds.count();
  }
  answer.progress = progress;
}

ChoicePart AnswerSet::partOf(size_t index, size_t mostText) {
  Answer &answer = answers[index];
  isRead = true;
  const PreparedPrompt &source = sources[index / request.n];
  ChoicePart part;
  part.index = index;
  part.promptTokens = source.ids.size();
  part.outputTokens = answer.choice.tokenCount();
  part.progress = std::exchange(answer.progress, std::nullopt);
  if (request.timesEach)
    part.timings = timingsOf(answer, index);
  part.text = answer.choice.pending().takeText(mostText);
  if (answer.choice.pending().text.empty())
    part.pieces = answer.choice.pending().pieces.take(mostText);
  part.calls = answer.choice.callCount();
  part.reasoning = answer.choice.pending().takeReasoning(mostText);
  if (request.returnsIds || !facts.tokenizer) {
    part.ids = answer.choice.pending().takeIds();
    if (!answer.hasBegun)
      part.promptIds = source.ids;
  }
  if (request.returnsRounds)
    part.rounds = answer.choice.pending().takeRounds();
  part.tokenizer = facts.tokenizer;
  if (request.scores.output)
    part.scores = answer.choice.pending().scores.take();
  if (request.scores.prompt)
    part.promptScores = answer.promptScores;
  part.isFirst = !answer.hasBegun;
  answer.hasBegun = true;
  return part;
}

std::string AnswerSet::whole() {
  std::vector<ChoicePart> parts;
  for (size_t i = 0; i < answers.size(); ++i) {
    ChoicePart &part = parts.emplace_back(partOf(i, SIZE_MAX));
    addEnd(part);
  }
  return writer->whole(head(), parts, usage());
}

void AnswerSet::addEnd(ChoicePart &part) const {
  const Answer &answer = answers[part.index];
  const Choice &choice = answer.choice;
  part.finish = choice.finishReason();
  if (!choice.stopString().empty())
    part.stopString = choice.stopString();
  part.stopToken = choice.stopToken();
  const std::vector<int32_t> &own = request.stopTokens;
  part.isOwnStop =
      part.stopToken && std::ranges::count(own, *part.stopToken) > 0;
  part.timings = timingsOf(answer, part.index);
  if (request.form == AnswerForm::Native)
    part.prompt = sources[part.index / request.n].text;
}

bool AnswerSet::hasNews(const Answer &answer) const {
  return answer.choice.pending().hasNews() || answer.progress ||
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

std::string AnswerSet::eventOf(const ChoicePart &part) {
  bool needsUsage = request.hasUsageInAll || request.form != AnswerForm::OpenAi;
  return writer->events(head(), part, needsUsage ? usage() : Usage());
}

/// Returns the new events of an answer. The end has a separate event without
/// text: clients modelled on llama.cpp's server read no text there.
std::string AnswerSet::eventsOf(size_t index) {
  Answer &answer = answers[index];
  std::string events;
  if (answer.choice.pending().hasNews() || answer.progress ||
      (request.isChat && !answer.hasBegun))
    events += eventOf(partOf(index, kMostText));
  if (answer.choice.pending().hasNews() || !answer.choice.isComplete() ||
      answer.isClosed)
    return events;
  ChoicePart part = partOf(index, kMostText);
  addEnd(part);
  answer.isClosed = true;
  return events + eventOf(part);
}

std::string AnswerSet::takeEvents() {
  std::string events;
  for (size_t i = 0; i < answers.size(); ++i)
    events += eventsOf(i);
  return events;
}

std::string AnswerSet::lastEvents() {
  Timings timings;
  for (size_t i = 0; i < answers.size(); ++i)
    timings.add(timingsOf(answers[i], i));
  return writer->lastEvents(head(), usage(), timings);
}

//===----------------------------------------------------------------------===//
// Streams that another server has begun
//===----------------------------------------------------------------------===//

/// Lets decoder, stop strings and writer see the tokens of a begun answer
/// again. The events are dropped, because the client has them. With
/// log-probabilities each token has an event of its own, since the tokens of
/// reasoning are told apart by events.
Status AnswerSet::replay(size_t index, const BegunAnswer &begun) {
  Answer &answer = answers[index];
  Choice &choice = answer.choice;
  if (echoesScores())
    choice.pending().scores.prepend(
        {}, countCharacters(sources[index / request.n].text));
  bool hasEnd = begun.finish != FinishReason::None;
  std::span<const int32_t> tokens = begun.tokens;
  std::span<const TokenLogprobs> scores = begun.scores;
  bool isLast = false;
  while (!isLast) {
    size_t count = scores.empty() ? tokens.size() : 1;
    MTP_RETURN_IF_ERROR(choice.take(tokens.first(count), /*drafted=*/0,
                                    scores.first(scores.empty() ? 0 : 1)));
    tokens = tokens.subspan(count);
    if (!scores.empty())
      scores = scores.subspan(1);
    isLast = tokens.empty();
    if (isLast && hasEnd)
      choice.end(begun.finish, {});
    ChoicePart part = partOf(index, SIZE_MAX);
    if (isLast && hasEnd)
      addEnd(part);
    static_cast<void>(eventOf(part));
  }
  answer.isClosed = hasEnd;
  answer.hasPrompt = true;
  answer.log = {{}, {}, true, hasEnd};
  return okStatus();
}

/// Writes what is new of an answer since the last comment.
static void writeLog(JsonWriter &json, size_t index,
                     AnswerSet::Answer &answer) {
  AnswerSet::ResumeLog &log = answer.log;
  if (log.tokens.empty() && log.hasBegun == answer.hasBegun &&
      log.isClosed == answer.isClosed)
    return;
  json.beginObject();
  json.field("index", index);
  json.field("tokens", std::exchange(log.tokens, {}));
  if (!log.scores.empty()) {
    json.key("scores");
    writeResumedScores(json, std::exchange(log.scores, {}));
  }
  if (answer.isClosed)
    json.field("finish", finishName(answer.choice.finishReason()));
  json.endObject();
  log.hasBegun = answer.hasBegun;
  log.isClosed = answer.isClosed;
}

std::string AnswerSet::takeComment(bool isLast) {
  // Events after the last comment are not shown to the client. Another server
  // goes on before them.
  for (const Answer &answer : answers)
    if (answer.choice.pending().bytes() > 0 ||
        answer.choice.pending().scores.isWaiting() ||
        answer.choice.finishReason() == FinishReason::Cancelled ||
        answer.choice.finishReason() == FinishReason::Failed)
      return "";
  if (isLast)
    return std::string(kLastComment);
  JsonWriter json(JsonWriter::Layout::OneLine);
  json.beginObject();
  json.field("events", writer->eventCount());
  json.key("answers");
  json.beginArray();
  for (size_t i = 0; i < answers.size(); ++i)
    writeLog(json, i, answers[i]);
  json.endArray();
  json.endObject();
  return ": resume " + json.text() + "\n\n";
}
