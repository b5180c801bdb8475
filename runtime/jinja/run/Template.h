//===- Template.h - Parses and renders Jinja --------------------*- C++ -*-===//
//
// Parses and renders templates. The language is Jinja with the settings of
// transformers (README.md).
//
// Template and variables are untrusted: nesting, steps, memory and output have
// limits.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_RUN_TEMPLATE_H
#define MTP_RUNTIME_JINJA_RUN_TEMPLATE_H

#include "mtp/render_options.h"
#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// A parsed template. It is immutable, so any thread may render it.
class Template {
public:
  /// Parses a template. Fails with InvalidArgument for invalid source and for
  /// an unsupported construct. The message has line and column.
  static Result<Template> parse(std::string_view source);

  Template(Template &&) noexcept;
  Template &operator=(Template &&) noexcept;
  ~Template();

  /// Renders the template with the variables of `context`, a dict. Fails with
  /// InvalidArgument if Jinja raises an exception, with Unimplemented for an
  /// unsupported feature, and with ResourceExhausted beyond a limit.
  Result<std::string> render(const Value &context,
                             const RenderOptions &options = {}) const;

private:
  struct Tree;
  explicit Template(std::unique_ptr<Tree> tree);

  std::unique_ptr<Tree> tree;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_TEMPLATE_H
