//===- Messages.h - Messages of a conversation ------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_API_MESSAGES_H
#define MTP_TOOLS_MTP_SERVE_API_MESSAGES_H

#include "runtime/json/JsonWriter.h"
#include "tools/mtp-serve/api/JsonFields.h"
#include "tools/mtp-serve/api/tools/ToolUse.h"

#include <string>

namespace mtp::serve {

/// The last message, for answers that continue it.
struct LastMessage {
  /// The content as a text.
  std::string text;
  /// Whether it is the assistant's and has no tool calls.
  bool isAnswer = false;
};

/// Writes messages as transformers passes them to a template: without fields
/// that are null, with contents as text, and with tool calls in the template's
/// form. Reports the first message that is not valid.
MaybeError writeMessages(const simdjson::dom::array &messages,
                         const CallForm &form, JsonWriter &json,
                         LastMessage &last);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_MESSAGES_H
