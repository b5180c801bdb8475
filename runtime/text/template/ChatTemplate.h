//===- ChatTemplate.h - Messages to a prompt --------------------*- C++ -*-===//
//
// Parses and renders the chat templates of Hugging Face models: the language is
// Jinja's as transformers sets it up (README.md).
//
// Nothing of a template or of what it is rendered with is trusted: nesting,
// steps, memory and output have limits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TEXT_TEMPLATE_CHATTEMPLATE_H
#define MTP_RUNTIME_TEXT_TEMPLATE_CHATTEMPLATE_H

#include "runtime/text/template/Value.h"

#include <ctime>
#include <optional>

namespace mtp {

struct RenderOptions {
  /// What strftime_now() takes for now; this machine's local time if absent.
  std::optional<std::tm> now;
  /// Nodes that may be evaluated, and work like it.
  uint64_t maxSteps = 10'000'000;
  /// Bytes of all values that are made on the way.
  uint64_t maxMadeBytes = uint64_t(1) << 30;
  uint64_t maxOutputBytes = uint64_t(1) << 25;
};

/// A parsed template. It never changes: any thread may render it.
class ChatTemplate {
public:
  /// The longest source.
  static constexpr size_t kMaxSourceBytes = size_t(1) << 20;

  /// Fails with InvalidArgument for what is no template, or uses what is not
  /// supported; the message says line and column.
  static Result<ChatTemplate> parse(std::string_view source);

  ChatTemplate(ChatTemplate &&) noexcept;
  ChatTemplate &operator=(ChatTemplate &&) noexcept;
  ~ChatTemplate();

  /// Renders with the variables of `context`, a dict. Fails with
  /// InvalidArgument where Jinja raises, with ResourceExhausted beyond a limit.
  Result<std::string> render(const jinja::Value &context,
                             const RenderOptions &options = {}) const;

private:
  struct Tree;
  explicit ChatTemplate(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> tree;
};

} // namespace mtp

#endif // MTP_RUNTIME_TEXT_TEMPLATE_CHATTEMPLATE_H
