//===- Perplexity.h - Perplexity of given text ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_PERPLEXITY_H
#define MTP_TOOLS_MTP_RUN_PERPLEXITY_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// Returns the session options that scoring needs.
SessionOptions scoringOptions(SessionOptions options);

/// Scores the prompts in windows and prints the perplexity. Every token except
/// a window's first is scored given the tokens before it in the window. The
/// artifact's function "prompt_logits" computes the logits of a chunk of rows
/// at once. Without it one request per token gives the same result. With a
/// reference, prints the mean Kullback-Leibler divergence from it as well.
Status printPerplexity(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PERPLEXITY_H
