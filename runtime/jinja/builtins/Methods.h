//===- Methods.h - Methods of values ----------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_BUILTINS_METHODS_H
#define MTP_RUNTIME_JINJA_BUILTINS_METHODS_H

#include "runtime/jinja/value/Arguments.h"

namespace mtp::jinja {

/// Evaluates `self.name(arguments)`.
Result<Value> callMethod(const Value &self, const std::string &name,
                         const Arguments &arguments);

/// Evaluates a method of a string.
Result<Value> callTextMethod(const Value &self, const std::string &name,
                             const Arguments &arguments);

/// Implements Python's strip(), lstrip() and rstrip(). `where` is 'b' for both
/// ends, 'l' or 'r'.
Result<Value> stripText(const Value &self, const Value &characters, char where);

/// Implements Python's splitlines().
std::vector<std::string> splitLines(std::string_view text, bool keepEnds);

/// Implements Python's replace(). A negative `count` replaces all occurrences.
Result<Value> replaceText(const Text &self, std::string_view from,
                          std::string_view to, int64_t count);

/// Implements Python's center().
Result<Value> centerText(const Text &self, int64_t width);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_BUILTINS_METHODS_H
