//===- ChatFiles.h - A model's chat templates -------------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_CHATFILES_H
#define MTP_COMPILER_TOKENIZER_CHATFILES_H

#include "runtime/chat/ChatTemplate.h"

#include <string>

namespace mtp {

/// The chat templates beside a tokenizer, in its folder or in that of its file,
/// and the strings that they know by name; no template where there is none.
/// As in transformers, the first of these wins:
/// - chat_template.jinja, with additional_chat_templates/NAME.jinja,
/// - `chat_template` of tokenizer_config.json: a text, or a list of named ones,
/// - `chat_template` of chat_template.json, a processor's.
/// The strings are the special tokens (bos_token and the like) of
/// tokenizer_config.json, or else of special_tokens_map.json.
///
/// Files are untrusted. Fails with Unavailable when one cannot be read, and
/// with InvalidArgument when it is not what it should be, or larger than
/// runtime/schema/ChatLimits.h says. Templates are not parsed.
Result<ChatSource> readChatFiles(const std::string &tokenizer);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_CHATFILES_H
