//===- Choice.cpp - One answer as it comes --------------------------------===//

#include "tools/mtp-serve/Choice.h"

#include <utility>

using namespace mtp;
using namespace mtp::serve;

Choice::Choice(const Tokenizer *tokenizer, bool skipsSpecial, bool keepsIds,
               std::vector<std::string> stops)
    : stops(std::move(stops)), keepsIds(keepsIds) {
  DecodeOptions options;
  options.skipSpecial = skipsSpecial;
  // The output goes on a text that the prompt has begun.
  options.atTextStart = false;
  if (tokenizer)
    decoder.emplace(*tokenizer, options);
}

Status Choice::take(std::span<const int32_t> tokens) {
  for (int32_t token : tokens) {
    if (isComplete())
      break;
    if (keepsIds)
      ids.push_back(token);
    ++count;
    if (!decoder)
      continue;
    MTP_ASSIGN_OR_RETURN(std::string piece, decoder->append(token));
    pending += stops.append(piece);
    if (stops.stopped())
      finish = FinishReason::Stop;
  }
  return okStatus();
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
  pending += stops.append(decoder->finish());
  if (stops.stopped())
    finish = FinishReason::Stop;
  else
    pending += stops.finish();
}

std::string Choice::takeText(size_t most) {
  if (pending.size() <= most)
    return std::exchange(pending, "");
  // Bytes 10xxxxxx go on a character.
  while (most > 0 && (uint8_t(pending[most]) & 0xC0) == 0x80)
    --most;
  std::string part = pending.substr(0, most);
  pending.erase(0, most);
  return part;
}

std::vector<int32_t> Choice::takeIds() { return std::exchange(ids, {}); }
