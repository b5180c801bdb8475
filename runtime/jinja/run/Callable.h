//===- Callable.h - Macros and the names they see ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_RUN_CALLABLE_H
#define MTP_RUNTIME_JINJA_RUN_CALLABLE_H

#include "runtime/jinja/parse/Ast.h"

#include <map>

namespace mtp::jinja {

/// The names of a loop's body, a macro or the template, and those around it.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> parent) : parent(std::move(parent)) {}

  std::map<std::string, Value, std::less<>> names;
  std::shared_ptr<Scope> parent;
};

using ScopePtr = std::shared_ptr<Scope>;

/// A macro with what it saw where it was defined. It lives as long as the
/// rendering, which outlives no template.
struct Macro {
  const MacroNode *node;
  ScopePtr closure;
};

/// The value of `self`.
struct SelfReference {
  const Blocks *blocks;
};

/// `self.name`.
struct BlockReference {
  const Blocks::value_type *block;
};

/// "<Macro 'name'>".
std::string describeMacro(const Macro &macro);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_CALLABLE_H
