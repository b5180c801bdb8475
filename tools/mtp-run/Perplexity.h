//===- Perplexity.h - Perplexity of given text ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_RUN_PERPLEXITY_H
#define MTP_TOOLS_MTP_RUN_PERPLEXITY_H

#include "tools/mtp-run/Options.h"

namespace mtp {

/// The session options that scoring needs.
SessionOptions scoringOptions(SessionOptions options);

/// Scores the prompts in windows and prints the perplexity: every token but a
/// window's first, from those before it. The artifact's program "prompt_logits"
/// gives the logits of a chunk of rows at once; an artifact without one is
/// asked for one token at a time, with the same result.
Status printPerplexity(Session &session, const RunOptions &options);

} // namespace mtp

#endif // MTP_TOOLS_MTP_RUN_PERPLEXITY_H
