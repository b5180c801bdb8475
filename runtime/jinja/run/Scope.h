//===- Scope.h - Variables that a statement sees ----------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_RUN_SCOPE_H
#define MTP_RUNTIME_JINJA_RUN_SCOPE_H

#include "runtime/jinja/value/Value.h"

#include <map>

namespace mtp::jinja {

/// The variables of a loop's body, a macro or the template, and the scope
/// around it.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> parent) : parent(std::move(parent)) {}

  std::map<std::string, Value, std::less<>> names;
  std::shared_ptr<Scope> parent;
};

using ScopePtr = std::shared_ptr<Scope>;

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_RUN_SCOPE_H
