//===- RequestParser.h - Parse request bodies -------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_REQUESTPARSER_H
#define MTP_TOOLS_MTP_SERVE_API_REQUESTPARSER_H

#include "tools/mtp-serve/api/GenerationRequest.h"

namespace mtp::serve {

/// Reads untrusted JSON. A field that other servers have and this one does not
/// is an error that names it, unless its value changes nothing. An unknown
/// field goes to `ignored`, or is an error if the server is strict.
MaybeError parseCompletion(std::string_view body, const ModelFacts &facts,
                           GenerationRequest &request);
/// Reads a body of llama-server's /completion like parseCompletion().
MaybeError parseNative(std::string_view body, const ModelFacts &facts,
                       GenerationRequest &request);
/// Reads a body of /v1/chat/completions like parseCompletion(). Fails if the
/// model has no template.
MaybeError parseChat(std::string_view body, const ModelFacts &facts,
                     GenerationRequest &request);

/// Read bodies of Anthropic's /v1/messages (without a limit on tokens for
/// /v1/messages/count_tokens) and of OpenAI's /v1/responses like parseChat().
MaybeError parseMessages(std::string_view body, const ModelFacts &facts,
                         GenerationRequest &request);
MaybeError parseCountedMessages(std::string_view body, const ModelFacts &facts,
                                GenerationRequest &request);
MaybeError parseResponses(std::string_view body, const ModelFacts &facts,
                          GenerationRequest &request);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_REQUESTPARSER_H
