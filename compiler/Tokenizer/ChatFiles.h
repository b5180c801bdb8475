//===- ChatFiles.h - A model's chat templates -------------------*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_CHATFILES_H
#define MTP_COMPILER_TOKENIZER_CHATFILES_H

#include "runtime/chat/ChatTemplate.h"

#include <string>

namespace mtp {

/// Reads the chat templates beside a tokenizer, in its folder or in the folder
/// of its file, and the strings that templates refer to by name. There may be
/// no template. As in transformers, the first of these sources is used:
/// - chat_template.jinja, with additional_chat_templates/NAME.jinja,
/// - `chat_template` of tokenizer_config.json: a text, or a list of named ones,
/// - `chat_template` of chat_template.json, a processor's file.
///
/// A GGUF file has `tokenizer.chat_template` and its named variants.
///
/// The strings are the special tokens (bos_token and others) of
/// tokenizer_config.json, or else of special_tokens_map.json.
///
/// Files are untrusted. Fails with Unavailable if a file cannot be read, and
/// with InvalidArgument if it is malformed or exceeds the limits of
/// runtime/schema/ChatLimits.h. Templates are not parsed.
Result<ChatSource> readChatFiles(const std::string &tokenizer);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_CHATFILES_H
