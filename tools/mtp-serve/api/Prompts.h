//===- Prompts.h - The sequences of a request -------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_PROMPTS_H
#define MTP_TOOLS_MTP_SERVE_API_PROMPTS_H

#include "tools/mtp-serve/api/GenerationRequest.h"

namespace mtp::serve {

/// A prompt as the model reads it.
struct PreparedPrompt {
  std::vector<int32_t> ids;
  /// The text, for `echo` and for conversations; else empty.
  std::string text;
};

/// Returns whether prompts are texts, which take time to encode.
bool hasTexts(const GenerationRequest &request);

/// Renders a conversation with the model's template.
MaybeError renderChat(const GenerationRequest &request, const ModelFacts &facts,
                      ChatPrompt &prompt);
/// Makes the prompt of a conversation, of any length. Ends early if another
/// thread sets `cancelled`, which may be null.
MaybeError encodeChat(const GenerationRequest &request, const ModelFacts &facts,
                      const std::atomic<bool> *cancelled,
                      PreparedPrompt &prompt);

/// Encodes the prompts and checks that they fit into the context together with
/// the output. Ends early if another thread sets `cancelled`.
MaybeError preparePrompts(const GenerationRequest &request,
                          const ModelFacts &facts,
                          std::vector<PreparedPrompt> &prompts,
                          const std::atomic<bool> *cancelled = nullptr);

/// Returns the session's request for answer `number` to a prompt. `seed` is the
/// seed of answer 0, used if the request has none.
Request sequenceOf(const GenerationRequest &request, const ModelFacts &facts,
                   const PreparedPrompt &prompt, uint32_t number,
                   uint64_t seed);

/// Turns the request for an answer's sequence into the request for the rest of
/// the sequence: the begun tokens follow the prompt, and limits shrink by their
/// number. Fails if there are more begun tokens than the answer may have.
MaybeError continueSequence(const Resumption &resumption, size_t index,
                            Request &sequence);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_PROMPTS_H
