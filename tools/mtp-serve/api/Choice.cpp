//===- Choice.cpp - One answer as it is generated -------------------------===//

#include "tools/mtp-serve/api/Choice.h"

#include <utility>

using namespace mtp;
using namespace mtp::serve;

Choice::Choice(ChoiceOptions options)
    : stops(options.stops, options.keepsStop),
      thoughtStops(std::move(options.stops), options.keepsStop),
      tokenizer(options.tokenizer),
      flags{options.skipsSpecial, options.keepsIds, options.keepsRounds,
            options.isSilent, options.keepsStop},
      minTokens(options.minTokens) {
  DecodeOptions decode;
  decode.skipSpecial = options.skipsSpecial;
  // The output continues a text that the prompt has begun.
  decode.atTextStart = false;
  if (tokenizer)
    decoder.emplace(*tokenizer, decode);
  if (options.reasoning != ReasoningFormat::None)
    parts.reasoning.emplace(options.reasoning, options.prompt,
                            /*keepsCalls=*/options.tools != nullptr);
  if (tokenizer && options.tools)
    parts.calls.emplace(*options.tools);
}

void Choice::addContent(std::string_view text) {
  if (parts.calls)
    parts.calls->append(text, news.text, news.pieces);
  else
    news.text += text;
}

void Choice::endFor(FinishReason reason) {
  if (parts.calls)
    parts.calls->finish(news.text, news.pieces);
  finish = reason;
}

void Choice::add(const AnswerPart &part, bool isSearched) {
  if (!part.reasoning.empty() || !part.content.empty())
    thinks = part.content.empty();
  if (isComplete())
    return;
  if (!isSearched) {
    news.reasoning += part.reasoning;
    addContent(part.content);
  }
  // Text that one of the two holds back came before the other's text.
  if (isSearched && !part.reasoning.empty()) {
    addContent(stops.finish());
    news.reasoning += thoughtStops.append(part.reasoning);
  }
  if (isSearched && !part.content.empty() && !thoughtStops.stopped()) {
    news.reasoning += thoughtStops.finish();
    addContent(stops.append(part.content));
  }
  if (hasStopped())
    endFor(FinishReason::Stop);
}

void Choice::add(std::string_view text, bool isSearched) {
  if (parts.reasoning)
    add(parts.reasoning->append(text), isSearched);
  else
    add({"", std::string(text)}, isSearched);
}

void Choice::addHeld() {
  news.reasoning += thoughtStops.finish();
  addContent(stops.finish());
}

/// Handles a special token of an answer with reasoning or calls: a mark, or
/// text if special tokens are shown. No stop string extends across it.
Status Choice::takeSpecial(int32_t token, bool isSearched) {
  MTP_ASSIGN_OR_RETURN(std::string_view mark, tokenizer->tokenToPiece(token));
  // The bytes before it belong to earlier tokens.
  std::string rest = decoder->finish();
  news.scores.noteText(rest);
  add(rest, count - 1 > minTokens);
  if (isComplete())
    return okStatus();
  addHeld();
  if (parts.reasoning && parts.reasoning->isMark(mark))
    add(parts.reasoning->appendSpecial(mark), isSearched);
  else if (!flags.skipsSpecial || (parts.calls && parts.calls->isMark(mark)))
    add(mark, isSearched);
  return okStatus();
}

Result<std::string> Choice::decode(int32_t token) {
  MTP_ASSIGN_OR_RETURN(std::string text, decoder->append(token));
  news.scores.noteText(text);
  return text;
}

void Choice::releaseScores() {
  news.scores.release(stops.unshownBytes() + thoughtStops.unshownBytes());
  if (hasStopped())
    news.scores.drop();
}

Status Choice::takeToken(int32_t token) {
  bool isSearched = count > minTokens;
  if ((parts.reasoning || parts.calls) && tokenizer->isSpecial(token)) {
    MTP_RETURN_IF_ERROR(takeSpecial(token, isSearched));
  } else {
    MTP_ASSIGN_OR_RETURN(std::string piece, decode(token));
    add(piece, isSearched);
  }
  thoughts += thinks;
  return okStatus();
}

Status Choice::take(std::span<const int32_t> tokens, uint32_t drafted,
                    std::span<const TokenLogprobs> logprobs) {
  if (flags.isSilent)
    return okStatus();
  size_t before = count;
  for (size_t i = 0; i < tokens.size() && !isComplete(); ++i) {
    if (flags.keepsIds)
      news.ids.push_back(tokens[i]);
    ++count;
    if (i < logprobs.size())
      news.scores.add(logprobs[i]);
    if (decoder)
      MTP_RETURN_IF_ERROR(takeToken(tokens[i]));
    releaseScores();
  }
  if (flags.keepsRounds && count > before) {
    news.rounds.tokens.push_back(int32_t(count - before));
    news.rounds.drafted.push_back(int32_t(drafted));
  }
  return okStatus();
}

void Choice::addStopToken(int32_t token) {
  if (flags.skipsSpecial && tokenizer->isSpecial(token))
    return;
  if (Result<std::string> piece = decoder->append(token))
    add(*piece, /*isSearched=*/false);
}

void Choice::end(FinishReason reason, Statistics statistics,
                 std::optional<int32_t> stopToken) {
  ended = true;
  if (!hasStopped())
    setStatistics(std::move(statistics));
  if (isComplete())
    return;
  if (reason == FinishReason::Stop && !flags.isSilent)
    endToken = stopToken;
  // A silent answer has reached its limit of no tokens, whatever the model
  // would have said.
  if (flags.isSilent && reason == FinishReason::Stop)
    reason = FinishReason::Length;
  if (!decoder || flags.isSilent) {
    finish = reason;
    return;
  }
  if (flags.keepsStop && endToken)
    addStopToken(*endToken);
  // An incomplete character, or text that could have been a mark, may complete
  // a stop string.
  bool isSearched = count > minTokens;
  std::string rest = decoder->finish();
  news.scores.noteText(rest);
  add(rest, isSearched);
  if (parts.reasoning)
    add(parts.reasoning->finish(), isSearched);
  if (!isComplete()) {
    addHeld();
    endFor(reason);
  }
  releaseScores();
}

/// Takes the first bytes of a text, at most `most`, in whole characters.
static std::string takeFrom(std::string &text, size_t most) {
  if (text.size() <= most)
    return std::exchange(text, "");
  // Bytes 10xxxxxx continue a character.
  while (most > 0 && (uint8_t(text[most]) & 0xC0) == 0x80)
    --most;
  std::string part = text.substr(0, most);
  text.erase(0, most);
  return part;
}

std::string PendingAnswer::takeText(size_t most) {
  return takeFrom(text, most);
}

std::string PendingAnswer::takeReasoning(size_t most) {
  return takeFrom(reasoning, most);
}

std::vector<int32_t> PendingAnswer::takeIds() { return std::exchange(ids, {}); }

AnswerRounds PendingAnswer::takeRounds() { return std::exchange(rounds, {}); }
