//===- logit_rules.h - Rules that change logits -----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_LOGIT_RULES_H
#define MTP_RUNTIME_INCLUDE_MTP_LOGIT_RULES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mtp {

/// A number that is added to the logit of a token.
struct TokenBias {
  /// Below the vocabulary's size.
  int32_t token = 0;
  /// Finite, or -infinity: the token is never picked.
  float bias = 0;
};

/// Rules that change logits before a token is picked, in this order: end tokens
/// (Request::minTokens), bad words, allowed tokens and bias, then penalties.
/// Each row sees the tokens before it, so the output is the same at every k.
///
/// If the rules and Request::constraint leave no token at a position, the
/// sequence ends with FinishReason::Failed and the error InvalidArgument, which
/// names the rules. Session::add() returns that error if the rules alone leave
/// no first token.
struct LogitRules {
  /// Above 0. The logit of each token of the prompt and the output is divided
  /// by it if positive, else multiplied. One: off.
  float repetitionPenalty = 1;
  /// From -2 to 2. Subtracted from the logit of each token of the output.
  float presencePenalty = 0;
  /// From -2 to 2. Subtracted for each occurrence of the token in the output.
  float frequencyPenalty = 0;
  /// Whether tokens of the prompt count as output for the presence and
  /// frequency penalty, as in llama.cpp.
  bool countsPrompt = false;
  /// Each token may occur several times; its numbers are added, and the sum
  /// must be finite or -infinity.
  std::vector<TokenBias> bias;
  /// Tokens that may be picked, each below the vocabulary's size. Empty: all.
  std::vector<int32_t> allowedTokens;
  /// Number of the prompt's last tokens that count as output, because
  /// another session has begun the sequence.
  uint32_t begunTokens = 0;
  /// Words that the output must not have, none empty, with at most
  /// kMostBadTokens tokens in all. The last token of a word is not picked after
  /// the other tokens of the word, which must be output, too. Words of several
  /// tokens have the cost and the limits of Request::constraint, and may occur
  /// if no other token is allowed.
  std::vector<std::vector<int32_t>> badWords;

  static constexpr size_t kMostBadTokens = 16384;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_LOGIT_RULES_H
