//===- Operators.h - Arithmetic ---------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_OPERATORS_H
#define MTP_RUNTIME_JINJA_VALUE_OPERATORS_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// `left op right`, op one of + - * / // % **. Integers have 64 bits: what
/// does not fit is an error.
Result<Value> applyBinary(std::string_view op, const Value &left,
                          const Value &right);

/// `-value`.
Result<Value> negate(const Value &value);

/// `text`, with &, <, >, ' and " as HTML has them.
std::string escapeHtml(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_OPERATORS_H
