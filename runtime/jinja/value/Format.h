//===- Format.h - Python's two ways to format -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_FORMAT_H
#define MTP_RUNTIME_JINJA_VALUE_FORMAT_H

#include "runtime/jinja/value/Arguments.h"

namespace mtp::jinja {

/// Evaluates `format % values`. `values` is a tuple, a dict or one value.
Result<Value> formatPercent(const Value &format, const Value &values);

/// Evaluates `format.format(arguments)`.
Result<Value> formatBraces(const std::string &format,
                           const Arguments &arguments);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_FORMAT_H
