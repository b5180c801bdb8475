//===- Answers.h - Parts of answers -----------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_ANSWERS_H
#define MTP_TOOLS_MTP_SERVE_API_ANSWERS_H

#include "mtp/session.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/sampling/TokenScores.h"
#include "tools/mtp-serve/api/tools/CallPieces.h"

#include <optional>
#include <string>
#include <vector>

namespace mtp::serve {

/// Fields that all objects of an answer share.
struct AnswerHead {
  std::string id;
  std::string model;
  uint64_t created = 0;
  /// Names the server's version and model; empty: null.
  std::string fingerprint;
};

/// For each group of tokens that arrived together: the number of tokens, and
/// the number of drafts in the rounds that produced them.
struct AnswerRounds {
  std::vector<int32_t> tokens, drafted;
};

/// Numbers and times of sequences, as llama-server reports them.
struct Timings {
  /// The number of prompt tokens that were taken from the cache, and the number
  /// that were computed.
  uint64_t cachedTokens = 0, promptTokens = 0;
  uint64_t outputTokens = 0;
  double promptSeconds = 0, outputSeconds = 0;
  uint64_t drafted = 0, accepted = 0;

  /// Adds another sequence of the request. The slowest one gives the times.
  void add(const Timings &other);
};

/// How much of a prompt was read.
struct PromptProgress {
  uint64_t total = 0, cached = 0, processed = 0;
  double seconds = 0;
};

/// One answer, or its new part.
struct ChoicePart {
  size_t index = 0;
  std::string text;
  /// In a chat, the reasoning before the answer.
  std::string reasoning;
  /// In a chat with tools, the answer after `text`: calls, and text after them.
  std::vector<CallPiece> pieces;
  /// The number of complete calls of the answer so far.
  size_t calls = 0;
  /// Why the answer has ended; None while it goes on.
  FinishReason finish = FinishReason::None;
  /// The stop string, or the end or stop token, that ended it.
  std::optional<std::string> stopString;
  std::optional<int32_t> stopToken;
  /// Whether `stopToken` is one of the request's stop tokens, not of the model.
  bool isOwnStop = false;
  /// True for the first part of a streamed answer.
  bool isFirst = false;
  /// Set if the request asks for ids.
  std::optional<std::vector<int32_t>> ids;
  std::optional<std::vector<int32_t>> promptIds;
  /// Set if the request asks for it.
  std::optional<AnswerRounds> rounds;
  /// Set if the request asks for log-probabilities of the output, or of the
  /// prompt.
  std::optional<std::vector<TokenScore>> scores;
  std::optional<std::vector<TokenLogprobs>> promptScores;
  /// The tokenizer of the scores; may be null.
  const Tokenizer *tokenizer = nullptr;
  /// Set in the last part, or in each part if the request asks for it.
  std::optional<Timings> timings;
  /// Set in a part without text, before the first token.
  std::optional<PromptProgress> progress;
  /// The numbers of tokens of the prompt and of the output so far.
  size_t promptTokens = 0, outputTokens = 0;
  /// The text of the prompt, for llama-server's last part.
  std::string prompt;
};

struct Usage {
  uint64_t promptTokens = 0;
  uint64_t cachedTokens = 0;
  /// Tokens of the output, and the part of them that is reasoning.
  uint64_t outputTokens = 0, reasoningTokens = 0;
  uint64_t rounds = 0;
  /// Numbers of drafts and of accepted drafts, by position in the round.
  std::vector<uint64_t> drafted, accepted;

  /// Adds the round counters of a sequence.
  void addRounds(const Statistics &statistics);
};

/// Returns OpenAI's name for a finish reason.
std::string finishName(FinishReason reason);
/// Returns whether an answer has ended in order to call tools.
inline bool endsWithCalls(const ChoicePart &part) {
  return part.finish == FinishReason::Stop && part.calls > 0;
}

/// Returns the sum of counts.
uint64_t sumOf(const std::vector<uint64_t> &counts);

/// Writes the members "timings" and "prompt_progress" of llama-server.
void writeTimings(JsonWriter &json, const Timings &timings);
void writeProgress(JsonWriter &json, const PromptProgress &progress);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_ANSWERS_H
