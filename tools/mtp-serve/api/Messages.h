//===- Messages.h - Messages of a conversation ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_MESSAGES_H
#define MTP_TOOLS_MTP_SERVE_API_MESSAGES_H

#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/JsonFields.h"

namespace mtp::serve {

/// Writes messages as transformers passes them to a template: without fields
/// that are null, with contents as text, and with arguments of tool calls as
/// objects. Reports the first message that is not valid.
MaybeError writeMessages(const simdjson::dom::array &messages,
                         JsonWriter &json);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_MESSAGES_H
