//===- Operators.h - Arithmetic ---------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_OPERATORS_H
#define MTP_RUNTIME_JINJA_VALUE_OPERATORS_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// Evaluates `left op right`. `op` is one of + - * / // % **. An
/// integer result that needs more than 64 bits is an error.
Result<Value> applyBinary(std::string_view op, const Value &left,
                          const Value &right);

/// Evaluates `-value`.
Result<Value> negate(const Value &value);

/// Returns `text` with HTML's escapes of &, <, >, ' and ".
std::string escapeHtml(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_OPERATORS_H
