//===- Turns.h - Conversations of other APIs --------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_TURNS_H
#define MTP_TOOLS_MTP_SERVE_API_TURNS_H

#include "tools/mtp-serve/api/FieldReaders.h"

namespace mtp::serve {

/// The fields of Anthropic's /v1/messages and of OpenAI's /v1/responses, beside
/// samplingFields() and conversationFields().
std::span<const Field> messagesFields();
std::span<const Field> responsesFields();

/// Makes the conversation of a request from its instructions and turns.
void joinTurns(GenerationRequest &request);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_TURNS_H
