//===- Perplexity.h - How well a model predicts given text ------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_PERPLEXITY_H
#define MTP_TOOLS_MTP_RUN_PERPLEXITY_H

#include "tools/mtp-run/Options.h"

#include <span>

namespace mtp {

/// The session options that scoring needs.
SessionOptions scoringOptions(SessionOptions options);

/// Sums over scored tokens.
struct TextScore {
  /// -ln of the probabilities that the model gave them.
  double loss = 0;
  uint64_t tokens = 0;
};

/// Scores every token but the first, each from those before it. The session is
/// idle, with scoringOptions(). One prompt at a time goes through the same
/// prefill as in generation; the prefix cache keeps that linear.
Result<TextScore> scoreText(Session &session, std::span<const int32_t> tokens);

/// Scores the prompts in windows and prints the perplexity.
Status printPerplexity(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PERPLEXITY_H
