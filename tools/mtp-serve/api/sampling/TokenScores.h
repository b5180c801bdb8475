//===- TokenScores.h - Log-probabilities of an answer's tokens --*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_SAMPLING_TOKENSCORES_H
#define MTP_TOOLS_MTP_SERVE_API_SAMPLING_TOKENSCORES_H

#include "mtp/logprobs.h"
#include "mtp/tokenizer.h"

#include <string_view>
#include <vector>

namespace mtp::serve {

/// A token of an answer, and its log-probabilities.
struct TokenScore {
  TokenLogprobs numbers;
  /// Characters of the answer's text before the token.
  uint64_t offset = 0;
  /// False for a prompt's first token, which has no log-probability.
  bool isScored = true;
};

/// Log-probabilities of the tokens of an answer that wait for a reader. A token
/// whose text a stop string may cut off waits until the text is certain. Tokens
/// that begin in the text that is cut off have none.
class ScoreQueue {
public:
  /// Adds the tokens of an echoed prompt, before all others. Its text has
  /// `characters` characters.
  void prepend(std::vector<TokenScore> prompt, uint64_t characters);

  /// Adds a token. Its text comes next.
  void add(TokenLogprobs numbers);
  /// Counts decoded text.
  void noteText(std::string_view text);
  /// Releases the tokens that begin before the last `uncertain` bytes of the
  /// text; all if there are none.
  void release(size_t uncertain);
  /// Drops the tokens that were not released.
  void drop() { waiting.clear(); }

  /// Takes the tokens that were released since the last call.
  std::vector<TokenScore> take();
  bool hasNews() const { return !ready.empty(); }
  /// Whether a token was not released.
  bool isWaiting() const { return !waiting.empty(); }
  /// Returns about the bytes of an answer with these tokens.
  size_t bytes() const;

private:
  struct Waiting {
    TokenScore score;
    /// Bytes of text before the token.
    uint64_t begin;
  };
  std::vector<Waiting> waiting;
  std::vector<TokenScore> ready;
  uint64_t textBytes = 0, characters = 0;
};

/// Returns the number of characters of well-formed UTF-8.
uint64_t countCharacters(std::string_view text);

/// Returns the tokens of a prompt with their places in its text. `scores` are
/// those of all tokens after the first. `tokenizer` may be null.
std::vector<TokenScore> scoresOfPrompt(const std::vector<int32_t> &ids,
                                       std::string_view text,
                                       const std::vector<TokenLogprobs> &scores,
                                       const Tokenizer *tokenizer);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_SAMPLING_TOKENSCORES_H
