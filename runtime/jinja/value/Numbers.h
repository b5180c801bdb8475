//===- Numbers.h - Converts and rounds numbers ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_NUMBERS_H
#define MTP_RUNTIME_JINJA_VALUE_NUMBERS_H

#include "runtime/jinja/value/Value.h"

namespace mtp::jinja {

/// Returns the double of decimal digits with an optional point and exponent.
double parseFloat(std::string_view digits);

/// Evaluates Jinja's filter `int`. Returns `otherwise` if the value is not a
/// number.
Result<Value> toInteger(const Value &value, Value otherwise, int64_t base);

/// Evaluates Jinja's filter `float`.
Result<Value> toFloat(const Value &value, Value otherwise);

/// Evaluates Jinja's filter `round`; the method is common, ceil or floor.
Result<Value> roundNumber(const Value &value, int64_t precision,
                          std::string_view method);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_NUMBERS_H
