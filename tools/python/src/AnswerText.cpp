//===- AnswerText.cpp - The text of an output as it arrives ---------------===//

#include "tools/python/src/AnswerText.h"

#include <algorithm>
#include <utility>

using namespace mtp;
using namespace mtp::python;

/// Returns options for text that continues a prompt.
static DecodeOptions continuing() {
  DecodeOptions options;
  options.atTextStart = false;
  return options;
}

Result<std::unique_ptr<AnswerText>>
AnswerText::create(std::shared_ptr<const LoadedModel> model,
                   AnswerOptions options) {
  MTP_ASSIGN_OR_RETURN(const Tokenizer *tokenizer, model->tokenizer());
  for (const std::string &stop : options.stops)
    if (stop.empty())
      return invalidArgument(
          "stop: expected strings of at least 1 character, got ''");
  return std::unique_ptr<AnswerText>(
      new AnswerText(std::move(model), *tokenizer, std::move(options)));
}

AnswerText::AnswerText(std::shared_ptr<const LoadedModel> model,
                       const Tokenizer &tokenizer, AnswerOptions options)
    : model(std::move(model)), tokenizer(tokenizer),
      tools(std::move(options.tools)), decoder(tokenizer, continuing()),
      stops(options.stops), thoughtStops(std::move(options.stops)),
      minTokens(options.minTokens) {
  if (options.reasoning != ReasoningFormat::None)
    splitter.emplace(options.reasoning, options.prompt,
                     /*keepsCalls=*/tools != nullptr);
  if (tools)
    calls.emplace(tools->format, *tools->tools);
}

void AnswerText::addEvents(const ToolEvents &events) {
  for (const ToolEvent &event : events) {
    if (hasOnlyCall)
      return;
    switch (event.kind) {
    case ToolEvent::Kind::Content:
    case ToolEvent::Kind::Broken:
      news.content += event.text;
      break;
    case ToolEvent::Kind::Begin:
      call = {event.text, ""};
      break;
    case ToolEvent::Kind::Arguments:
      call.arguments += event.text;
      break;
    case ToolEvent::Kind::End:
      news.calls.push_back(std::exchange(call, {}));
      hasOnlyCall = !tools->isParallel;
      break;
    case ToolEvent::Kind::Markup:
      break;
    }
  }
}

/// Adds content that was searched.
void AnswerText::addContent(std::string_view text) {
  if (!calls) {
    news.content += text;
    return;
  }
  ToolEvents events;
  calls->append(text, events);
  addEvents(events);
}

/// Adds a part of an answer. `isSearched`: search it for stop strings.
void AnswerText::add(const AnswerPart &part, bool isSearched) {
  if (hasStopped())
    return;
  if (!isSearched) {
    news.reasoning += part.reasoning;
    addContent(part.content);
    return;
  }
  // Text that one of the two holds back came before the other's text.
  if (!part.reasoning.empty()) {
    addContent(stops.finish());
    news.reasoning += thoughtStops.append(part.reasoning);
  }
  if (!part.content.empty() && !thoughtStops.stopped()) {
    news.reasoning += thoughtStops.finish();
    addContent(stops.append(part.content));
  }
}

void AnswerText::add(std::string_view text, bool isSearched) {
  if (splitter)
    add(splitter->append(text), isSearched);
  else
    add({"", std::string(text)}, isSearched);
}

/// Adds the text that stop strings have held back.
void AnswerText::addHeld() {
  news.reasoning += thoughtStops.finish();
  addContent(stops.finish());
}

/// Handles a special token of a chat: a mark, or nothing. No stop string
/// extends across it.
Status AnswerText::takeSpecial(int32_t token, bool isSearched) {
  MTP_ASSIGN_OR_RETURN(std::string_view mark, tokenizer.tokenToPiece(token));
  // The bytes before it belong to earlier tokens.
  add(decoder.finish(), count - 1 > minTokens);
  if (hasStopped())
    return okStatus();
  addHeld();
  if (splitter && splitter->isMark(mark))
    add(splitter->appendSpecial(mark), isSearched);
  else if (calls && calls->isMark(mark))
    add(mark, isSearched);
  return okStatus();
}

Status AnswerText::takeToken(int32_t token) {
  bool isSearched = ++count > minTokens;
  if ((splitter || calls) && tokenizer.isSpecial(token))
    return takeSpecial(token, isSearched);
  MTP_ASSIGN_OR_RETURN(std::string text, decoder.append(token));
  add(text, isSearched);
  return okStatus();
}

/// Ends the text: adds what was held back, unless a stop string has cut it off.
void AnswerText::finish() {
  if (!hasStopped()) {
    bool isSearched = count > minTokens;
    add(decoder.finish(), isSearched);
    if (splitter)
      add(splitter->finish(), isSearched);
    if (!hasStopped())
      addHeld();
  }
  if (calls) {
    ToolEvents events;
    calls->finish(events);
    addEvents(events);
  }
}

/// Removes the last `dropped` rows of an output per token.
static void dropRows(OutputRows &output, size_t dropped) {
  std::vector<uint64_t> &shape = output.rows.type.shape;
  if (!output.tokens.empty() || shape.empty() || shape.front() == 0)
    return;
  size_t bytes = output.rows.bytes.size() / shape.front();
  shape.front() -= std::min<uint64_t>(dropped, shape.front());
  output.rows.bytes.resize(bytes * shape.front());
}

/// Removes what an update has after its first `used` tokens.
static void cutAfter(SequenceUpdate &update, size_t used) {
  for (OutputRows &output : update.outputs)
    dropRows(output, update.tokens.size() - used);
  update.tokens.resize(used);
  if (update.logprobs.size() > used)
    update.logprobs.resize(used);
}

Status AnswerText::take(SequenceUpdate &update) {
  size_t used = 0;
  while (used < update.tokens.size() && !hasStopped())
    MTP_RETURN_IF_ERROR(takeToken(update.tokens[used++]));
  bool isLast = update.finish != FinishReason::None || hasStopped();
  if (!isLast)
    return okStatus();
  finish();
  if (!hasStopped())
    return okStatus();
  cutAfter(update, used);
  update.finish = FinishReason::Stop;
  update.stopToken.reset();
  update.error = okStatus();
  return okStatus();
}
