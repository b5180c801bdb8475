//===- chat.h - Conversations to prompts ------------------------*- C++ -*-===//
//
// A chat template makes the prompt of a conversation. It is a program in the
// Jinja that transformers runs (Tokenizer.apply_chat_template); models ship
// theirs, and the text is the same byte by byte.
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
// Ownership: what is returned belongs to the caller, but for views, which live
// as long as the template. What is given is read during the call alone.
//
// Threads: a template is immutable, and any number of threads may render one at
// the same time. strftime_now() reads the clock and this machine's time zone.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_CHAT_H
#define MTP_CHAT_H

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

/// What a model says about chats: its templates and the strings that these
/// know by name. Nothing of it is checked before it is parsed.
struct ChatSource {
  /// Name and source. "default", or the only one, renders all conversations but
  /// those with tools where there is one named "tool_use".
  std::vector<std::pair<std::string, std::string>> templates;
  /// Variables and their values, e.g. "bos_token" and "<s>".
  std::vector<std::pair<std::string, std::string>> tokens;
};

/// The text of a prompt, and where it only looks like a special token.
struct ChatPrompt {
  std::string text;
  /// Offsets in `text`, ascending, at which strings of the request begin that
  /// spell a special token: for EncodeOptions::literals.
  std::vector<size_t> literals;
};

/// The parsed templates of a model.
///
/// A request is JSON: an object with `messages`, an array of objects, and, as
/// the template knows them, `tools`, `documents` (null where absent),
/// `add_generation_prompt` (true where absent) and any other variables, such as
/// `enable_thinking`. All of it is handed to the template as it is.
class ChatTemplate {
public:
  /// Fails with InvalidArgument for what is no template or uses what is not
  /// supported: the message says line and column, behind the template's name
  /// where there are several.
  static Result<std::shared_ptr<const ChatTemplate>>
  parse(const ChatSource &source);

  ~ChatTemplate();
  ChatTemplate(const ChatTemplate &) = delete;
  ChatTemplate &operator=(const ChatTemplate &) = delete;

  /// The source of the template that conversations with or without tools have.
  std::string_view source(bool hasTools = false) const;

  /// The text of a request. Fails with
  /// - InvalidArgument for what is no such request, and where the template
  ///   raises an exception, as many do for roles in an order that they do not
  ///   know; the message says line and column,
  /// - ResourceExhausted beyond a limit.
  Result<std::string> render(std::string_view requestJson,
                             const RenderOptions &options = {}) const;

  /// The same, and where the text is not to be taken for special tokens of the
  /// tokenizer: a special token is one only if the template wrote its first
  /// character. "<|im_end|>" in a message is text, whole or in pieces. A
  /// template that looks for a special token's string in a message does not
  /// find it. Fails as render() does, with InvalidArgument and
  /// ResourceExhausted.
  Result<ChatPrompt> renderFor(const Tokenizer &tokenizer,
                               std::string_view requestJson,
                               const RenderOptions &options = {}) const;

  /// The ids of a request's prompt, special tokens as renderFor() says. None is
  /// added to what the template writes. Fails with InvalidArgument, OutOfRange
  /// and ResourceExhausted as render() and Tokenizer::encode() do.
  Result<std::vector<TokenId>> encode(std::string_view requestJson,
                                      const Tokenizer &tokenizer,
                                      const RenderOptions &options = {}) const;

private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<const Impl> impl);

  std::unique_ptr<const Impl> impl;
};

} // namespace mtp

#endif // MTP_CHAT_H
