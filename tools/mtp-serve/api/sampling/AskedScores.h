//===- AskedScores.h - Log-probabilities that a body asks for ---*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_SAMPLING_ASKEDSCORES_H
#define MTP_TOOLS_MTP_SERVE_API_SAMPLING_ASKEDSCORES_H

#include "mtp/logprobs.h"

#include <optional>

namespace mtp::serve {

/// The log-probabilities of a body.
struct AskedScores {
  /// Numbers of likeliest tokens; empty: no log-probabilities.
  std::optional<uint32_t> output, prompt;
  LogprobsMode mode = LogprobsMode::Raw;
  /// Whether the body has `logprobs`: true, and its `top_logprobs`.
  bool isOn = false;
  std::optional<uint32_t> top;
  /// Whether llama-server's form has probabilities, not their logarithms.
  bool showsShares = false;
  /// Whether tokens are written as "token_id:ID".
  bool namesIds = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_SAMPLING_ASKEDSCORES_H
