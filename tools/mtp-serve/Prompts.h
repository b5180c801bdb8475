//===- Prompts.h - The sequences of a request -------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_PROMPTS_H
#define MTP_TOOLS_MTP_SERVE_PROMPTS_H

#include "tools/mtp-serve/GenerationRequest.h"

namespace mtp::serve {

/// A prompt as the model reads it.
struct PreparedPrompt {
  std::vector<int32_t> ids;
  /// For `echo`, and of a conversation; else empty.
  std::string text;
};

/// Whether prompts are texts, which take a while to encode.
bool hasTexts(const GenerationRequest &request);

/// Encodes the prompts and checks that they fit into the context together with
/// what is to be generated. It ends early where another thread sets
/// `cancelled`.
MaybeError preparePrompts(const GenerationRequest &request,
                          const ModelFacts &facts,
                          std::vector<PreparedPrompt> &prompts,
                          const std::atomic<bool> *cancelled = nullptr);

/// What the session is to run for answer `number` to a prompt. `seed` is that
/// of answer 0; where the request has none it is any.
Request sequenceOf(const GenerationRequest &request, const ModelFacts &facts,
                   const PreparedPrompt &prompt, uint32_t number,
                   uint64_t seed);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_PROMPTS_H
