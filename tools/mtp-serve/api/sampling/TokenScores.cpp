//===- TokenScores.cpp - Log-probabilities of an answer's tokens ----------===//

#include "tools/mtp-serve/api/sampling/TokenScores.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace mtp;
using namespace mtp::serve;

uint64_t serve::countCharacters(std::string_view text) {
  // Bytes 10xxxxxx continue a character.
  return uint64_t(std::ranges::count_if(
      text, [](char byte) { return (uint8_t(byte) & 0xC0) != 0x80; }));
}

void ScoreQueue::prepend(std::vector<TokenScore> prompt, uint64_t count) {
  ready = std::move(prompt);
  characters = count;
}

void ScoreQueue::add(TokenLogprobs numbers) {
  waiting.push_back({{std::move(numbers), characters}, textBytes});
}

void ScoreQueue::noteText(std::string_view text) {
  textBytes += text.size();
  characters += countCharacters(text);
}

void ScoreQueue::release(size_t uncertain) {
  uint64_t certain = textBytes - std::min<uint64_t>(uncertain, textBytes);
  auto isCertain = [&](const Waiting &token) {
    return uncertain == 0 || token.begin < certain;
  };
  // Tokens are in the order of their text.
  auto end = std::ranges::partition_point(waiting, isCertain);
  for (auto token = waiting.begin(); token != end; ++token)
    ready.push_back(std::move(token->score));
  waiting.erase(waiting.begin(), end);
}

std::vector<TokenScore> ScoreQueue::take() { return std::exchange(ready, {}); }

size_t ScoreQueue::bytes() const {
  // A token with its bytes takes about 80 characters.
  constexpr size_t kBytes = 80;
  size_t tokens = 0;
  for (const TokenScore &score : ready)
    tokens += 1 + score.numbers.likeliest.size();
  return tokens * kBytes;
}

std::vector<TokenScore>
serve::scoresOfPrompt(const std::vector<int32_t> &ids, std::string_view text,
                      const std::vector<TokenLogprobs> &scores,
                      const Tokenizer *tokenizer) {
  std::vector<TokenScore> all;
  size_t place = 0;
  uint64_t characters = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    TokenScore score;
    score.numbers.own.token = ids[i];
    score.isScored = i > 0 && i <= scores.size();
    if (score.isScored)
      score.numbers = scores[i - 1];
    score.offset = characters;
    all.push_back(std::move(score));
    std::string_view piece;
    if (tokenizer)
      if (Result<std::string_view> found = tokenizer->tokenToPiece(ids[i]))
        piece = *found;
    // The tokenizer may have put a space before the text. A token that is not
    // in the text, such as a start token, takes none of it.
    if (place == 0 && piece.starts_with(' ') && !text.starts_with(' '))
      piece.remove_prefix(1);
    if (!text.substr(place).starts_with(piece))
      continue;
    place += piece.size();
    characters += countCharacters(piece);
  }
  return all;
}
