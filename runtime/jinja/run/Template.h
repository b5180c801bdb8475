//===- Template.h - Jinja to text -------------------------------*- C++ -*-===//
//
// Parses and renders the chat templates of Hugging Face models: the language is
// Jinja's as transformers sets it up (README.md).
//
// Nothing of a template or of what it is rendered with is trusted: nesting,
// steps, memory and output have limits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_RUN_TEMPLATE_H
#define MTP_RUNTIME_JINJA_RUN_TEMPLATE_H

#include "mtp/render_options.h"
#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// A parsed template. It never changes: any thread may render it.
class Template {
public:
  /// Fails with InvalidArgument for what is no template, or uses what is not
  /// supported; the message says line and column.
  static Result<Template> parse(std::string_view source);

  Template(Template &&) noexcept;
  Template &operator=(Template &&) noexcept;
  ~Template();

  /// Renders with the variables of `context`, a dict. Fails with
  /// InvalidArgument where Jinja raises, with ResourceExhausted beyond a limit.
  Result<std::string> render(const Value &context,
                             const RenderOptions &options = {}) const;

private:
  struct Tree;
  explicit Template(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> tree;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_TEMPLATE_H
