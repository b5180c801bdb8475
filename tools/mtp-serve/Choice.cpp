//===- Choice.cpp - One answer as it comes --------------------------------===//

#include "tools/mtp-serve/Choice.h"

#include <utility>

using namespace mtp;
using namespace mtp::serve;

Choice::Choice(ChoiceOptions options)
    : stops(std::move(options.stops)), tokenizer(options.tokenizer),
      keepsIds(options.keepsIds), keepsRounds(options.keepsRounds),
      minTokens(options.minTokens) {
  DecodeOptions decode;
  decode.skipSpecial = options.skipsSpecial;
  // The output goes on a text that the prompt has begun.
  decode.atTextStart = false;
  if (tokenizer)
    decoder.emplace(*tokenizer, decode);
  if (options.reasoning != ReasoningFormat::None)
    splitter.emplace(options.reasoning, options.prompt);
}

void Choice::add(AnswerPart part) {
  pending.text += part.content;
  pending.reasoning += part.reasoning;
}

void Choice::add(std::string_view text) {
  if (splitter)
    add(splitter->append(text));
  else
    pending.text += text;
}

Status Choice::take(std::span<const int32_t> tokens) {
  size_t before = count;
  for (int32_t token : tokens) {
    if (isComplete())
      break;
    if (keepsIds)
      ids.push_back(token);
    ++count;
    if (!decoder)
      continue;
    if (splitter && tokenizer->isSpecial(token)) {
      // A mark, which no stop string reaches over.
      MTP_ASSIGN_OR_RETURN(std::string_view mark,
                           tokenizer->tokenToPiece(token));
      add(stops.append(decoder->finish()) + stops.finish());
      add(splitter->appendSpecial(mark));
      continue;
    }
    MTP_ASSIGN_OR_RETURN(std::string piece, decoder->append(token));
    if (count <= minTokens) {
      add(piece);
      continue;
    }
    add(stops.append(piece));
    if (stops.stopped()) {
      finish = FinishReason::Stop;
      finishText();
    }
  }
  if (keepsRounds && count > before)
    rounds.push_back(int32_t(count - before));
  return okStatus();
}

void Choice::finishText() {
  if (splitter)
    add(splitter->finish());
}

void Choice::end(FinishReason reason, Statistics statistics) {
  ended = true;
  numbers = std::move(statistics);
  if (isComplete())
    return;
  finish = reason;
  if (!decoder)
    return;
  // A character that its bytes leave incomplete may complete a stop string.
  add(stops.append(decoder->finish()));
  if (stops.stopped())
    finish = FinishReason::Stop;
  else
    add(stops.finish());
  finishText();
}

/// The first bytes of a text, at most so many, in whole characters.
static std::string takeFrom(std::string &text, size_t most) {
  if (text.size() <= most)
    return std::exchange(text, "");
  // Bytes 10xxxxxx go on a character.
  while (most > 0 && (uint8_t(text[most]) & 0xC0) == 0x80)
    --most;
  std::string part = text.substr(0, most);
  text.erase(0, most);
  return part;
}

std::string Choice::takeText(size_t most) {
  return takeFrom(pending.text, most);
}

std::string Choice::takeReasoning(size_t most) {
  return takeFrom(pending.reasoning, most);
}

std::vector<int32_t> Choice::takeIds() { return std::exchange(ids, {}); }

std::vector<int32_t> Choice::takeRounds() { return std::exchange(rounds, {}); }
