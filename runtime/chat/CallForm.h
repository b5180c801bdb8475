//===- CallForm.h - Messages with tool calls in templates -------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_CALLFORM_H
#define MTP_RUNTIME_CHAT_CALLFORM_H

#include "runtime/chat/ChatTemplate.h"

namespace mtp {

/// The form in which a template reads an assistant's message with calls, in a
/// request for ChatTemplate. Most templates read arguments as an object and a
/// content that is a text.
struct CallForm {
  /// Whether arguments are a text with JSON.
  bool hasTextArguments = false;
  /// Whether the content must be null.
  bool hasNullContent = false;
};

/// Renders a message with a call in each form, and returns the first form that
/// shows the call. The default form if none does.
CallForm findCallForm(const ChatTemplate &chat);

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_CALLFORM_H
