//===- TextRequest.h - Tokenize and detokenize requests ---------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_TEXTREQUEST_H
#define MTP_TOOLS_MTP_SERVE_API_TEXTREQUEST_H

#include "tools/mtp-serve/api/ApiError.h"
#include "tools/mtp-serve/api/Http.h"
#include "tools/mtp-serve/api/ModelFacts.h"

#include <atomic>
#include <string_view>

namespace mtp::serve {

/// Answers a body of /tokenize: {"prompt": text} or {"messages": [...]} as in
/// vLLM, or {"content": text} as in llama.cpp. Ends early if another thread
/// sets `cancelled`; so does answerDetokenize().
MaybeError answerTokenize(std::string_view body, const ModelFacts &facts,
                          const std::atomic<bool> &cancelled, HttpReply &reply);

/// Answers a body of /detokenize: {"tokens": [id, ...]}.
MaybeError answerDetokenize(std::string_view body, const ModelFacts &facts,
                            const std::atomic<bool> &cancelled,
                            HttpReply &reply);

/// Answers a body of /apply-template, a chat's: the rendered prompt.
MaybeError answerTemplate(std::string_view body, const ModelFacts &facts,
                          const std::atomic<bool> &cancelled, HttpReply &reply);

/// Answers a body of Anthropic's /v1/messages/count_tokens.
MaybeError answerCount(std::string_view body, const ModelFacts &facts,
                       const std::atomic<bool> &cancelled, HttpReply &reply);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_TEXTREQUEST_H
