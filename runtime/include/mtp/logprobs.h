//===- logprobs.h - Log-probabilities of tokens -----------------*- C++ -*-===//
//
// Ownership: all values belong to the caller.
//
// The numbers of a token are a function of the row of logits that it was
// picked from, and of the request. They have the same bits at any k, batch,
// thread count and prompt chunking.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_LOGPROBS_H
#define MTP_RUNTIME_INCLUDE_MTP_LOGPROBS_H

#include <cstdint>
#include <optional>
#include <vector>

namespace mtp {

/// The distribution whose log-probabilities a request asks for. Logits of a
/// request with LogitRules are the changed ones, in both modes.
enum class LogprobsMode : uint8_t {
  /// The model's: the log-softmax of the logits.
  Raw,
  /// The distribution that a token is drawn from: after temperature, top-k,
  /// top-p and min-p. For a greedy request equal to Raw.
  Processed,
};

/// The log-probabilities that a request asks for.
struct LogprobsRequest {
  /// Limit on the number of likeliest tokens.
  static constexpr uint32_t kMost = 20;
  /// Number of likeliest tokens for each output token, up to `kMost`. 0: only
  /// the output token's own log-probability. Empty: none at all. While a
  /// sequence with log-probabilities runs, a launch has one round.
  std::optional<uint32_t> output;
  /// Number of likeliest tokens for each prompt token after the first; as
  /// `output`. The prompt is then computed twice, and no part of it comes from
  /// the prefix cache. Only for models that can score prompts
  /// (Model::scoresPrompts()).
  std::optional<uint32_t> prompt;
  /// The distribution of output tokens. Prompt tokens, which are not drawn,
  /// have Raw in any case.
  LogprobsMode mode = LogprobsMode::Raw;
};

/// A token and the natural logarithm of its probability.
struct TokenLogprob {
  int32_t token = -1;
  /// -infinity for a token that the filters drop.
  float logprob = 0;
};

/// The log-probabilities at one position.
struct TokenLogprobs {
  /// The token at the position.
  TokenLogprob own;
  /// Its place, from 1 on, among all tokens in descending order of logits, and
  /// in ascending order of ids among equals.
  uint32_t rank = 0;
  /// The likeliest tokens in this order. Tokens without probability are left
  /// out.
  std::vector<TokenLogprob> likeliest;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_LOGPROBS_H
