//===- WriteScores.h - Log-probabilities as JSON ----------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_SAMPLING_WRITESCORES_H
#define MTP_TOOLS_MTP_SERVE_API_SAMPLING_WRITESCORES_H

#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/sampling/AskedScores.h"
#include "tools/mtp-serve/api/sampling/TokenScores.h"

namespace mtp::serve {

/// Writes the log-probabilities of answers. Tokens without probability have the
/// logarithm -9999, as in vLLM, because JSON has no infinity.
class ScoreWriter {
public:
  /// The references must outlive the writer. `tokenizer` may be null: tokens
  /// are then written as "token_id:ID". `isGreedy`: the likeliest token is
  /// drawn in any case.
  ScoreWriter(JsonWriter &json, const AskedScores &asked,
              const Tokenizer *tokenizer, bool isGreedy)
      : json(json), asked(asked), tokenizer(tokenizer), isGreedy(isGreedy) {}

  // Each function writes the tokens in one form: OpenAI's chats and
  // completions, and llama-server's completions.
  void writeChat(const std::vector<TokenScore> &scores);
  /// Writes an object for each token, as in chats and responses.
  void writeChatTokens(const std::vector<TokenScore> &scores);
  void writeCompletion(const std::vector<TokenScore> &scores);
  void writeNative(const std::vector<TokenScore> &scores);

  /// Writes vLLM's `prompt_logprobs`: null for the first token, and an object
  /// from ids to numbers for each other token.
  void writePrompt(const std::vector<TokenLogprobs> &scores);

private:
  /// A name for a token: its text, or "token_id:ID".
  std::string nameOf(int32_t token) const;
  /// The name in completions. A token whose bytes are no text is written as
  /// OpenAI does: "bytes:\\xe2\\x80".
  std::string completionName(int32_t token) const;
  std::string_view piece(int32_t token) const;
  void writeBytes(int32_t token);
  void writeNumber(std::string_view name, float logprob);
  void writeChatToken(const TokenLogprob &one);
  void writeNativeToken(const TokenLogprob &one, bool isLikeliest);
  void writeTop(const TokenScore &score);

  JsonWriter &json;
  const AskedScores &asked;
  const Tokenizer *tokenizer;
  bool isGreedy;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_SAMPLING_WRITESCORES_H
