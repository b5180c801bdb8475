//===- Json.h - Converts values to JSON -------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_JSON_H
#define MTP_RUNTIME_JINJA_VALUE_JSON_H

#include "runtime/jinja/value/Value.h"

#include <optional>

namespace mtp::jinja {

/// Parameters of Python's json.dumps().
struct JsonStyle {
  bool ensureAscii = false;
  bool sortKeys = false;
  std::optional<std::string> indent; ///< The indent of one level.
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};

/// Returns the JSON that Python's json.dumps() writes.
Result<std::string> toJson(const Value &value, const JsonStyle &style);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_JSON_H
