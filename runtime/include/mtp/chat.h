//===- chat.h - Prompts from conversations ----------------------*- C++ -*-===//
//
// A chat template turns a conversation into a prompt. It is a program in
// transformers' dialect of Jinja (Tokenizer.apply_chat_template). Models ship
// their templates, and the rendered text equals transformers' byte for byte.
//
//   if (const ChatSource *source = model->chatTemplate()) {
//     MTP_ASSIGN_OR_RETURN(auto chat, ChatTemplate::parse(*source));
//     MTP_ASSIGN_OR_RETURN(
//         request.prompt,
//         chat->encode(R"({"messages": [{"role": "user", "content": "Hi"}]})",
//                      *tokenizer));
//   }
//
// Units: text is UTF-8, and sizes of text are in bytes.
//
// Ownership: returned values belong to the caller, except views, which live as
// long as the template. Arguments are read only during the call.
//
// Threads: a template is immutable, and any number of threads may render one at
// once. strftime_now() reads the clock and this machine's time zone.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_CHAT_H
#define MTP_RUNTIME_INCLUDE_MTP_CHAT_H

#include "mtp/render_options.h"
#include "mtp/result.h"
#include "mtp/tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtp {

/// The chat templates of a model and the strings that they
/// know by name. Nothing is checked before it is parsed.
struct ChatSource {
  /// Name and source of each template. "default", or the only template, renders
  /// all conversations. If there is a template named "tool_use", it renders
  /// those with tools.
  std::vector<std::pair<std::string, std::string>> templates;
  /// Variables and their values, e.g. "bos_token" and "<s>".
  std::vector<std::pair<std::string, std::string>> tokens;
};

/// The text of a prompt, and the places at which text only looks like a special
/// token.
struct ChatPrompt {
  std::string text;
  /// Offsets in `text`, ascending, at which a string of the request begins that
  /// spells a special token; for EncodeOptions::literals.
  std::vector<size_t> literals;
};

/// The parsed templates of a model.
///
/// A request is JSON: an object with `messages` (an array of objects). If the
/// template knows them, it may have `tools`, `documents` (null if absent),
/// `add_generation_prompt` (true if absent) and any other variables, such as
/// `enable_thinking`. The whole object is handed to the template unchanged.
class ChatTemplate {
public:
  /// Parses the templates. Fails with InvalidArgument for text that is no
  /// template or that uses an unsupported feature. The message says line and
  /// column, after the template's name if there are several templates.
  static Result<std::shared_ptr<const ChatTemplate>>
  parse(const ChatSource &source);

  ~ChatTemplate();
  ChatTemplate(const ChatTemplate &) = delete;
  ChatTemplate &operator=(const ChatTemplate &) = delete;

  /// Returns the source of the template for conversations with or without
  /// tools.
  std::string_view source(bool hasTools = false) const;

  /// Renders a request to text. Fails with
  /// - InvalidArgument if the request is malformed, or if the template raises
  /// an
  ///   exception (many templates do for an unknown order of roles); the message
  ///   says line and column,
  /// - ResourceExhausted beyond a limit.
  Result<std::string> render(std::string_view requestJson,
                             const RenderOptions &options = {}) const;

  /// Renders a request, and also returns where the text must not be read as
  /// special tokens of the tokenizer. A special token counts as one only if the
  /// template wrote its first character: "<|im_end|>" in a message is text,
  /// whole or in pieces. A template that looks for a special token's string in
  /// a message does not find it. Fails with InvalidArgument and
  /// ResourceExhausted as render() does.
  Result<ChatPrompt> renderFor(const Tokenizer &tokenizer,
                               std::string_view requestJson,
                               const RenderOptions &options = {}) const;

  /// Returns the token ids of a request's prompt, with special tokens as in
  /// renderFor(). No token is added to the template's output. Fails with
  /// InvalidArgument, OutOfRange and ResourceExhausted as render() and
  /// Tokenizer::encode() do.
  Result<std::vector<TokenId>> encode(std::string_view requestJson,
                                      const Tokenizer &tokenizer,
                                      const RenderOptions &options = {}) const;

private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<const Impl> impl);

  std::unique_ptr<const Impl> impl;
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_CHAT_H
