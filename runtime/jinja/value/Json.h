//===- Json.h - Values to JSON ----------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_VALUE_JSON_H
#define MTP_RUNTIME_JINJA_VALUE_JSON_H

#include "runtime/jinja/value/Value.h"

#include <optional>

namespace mtp::jinja {

/// What Python's json.dumps() is told.
struct JsonStyle {
  bool ensureAscii = false;
  bool sortKeys = false;
  std::optional<std::string> indent; ///< Of one level.
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};

/// Python's json.dumps().
Result<std::string> toJson(const Value &value, const JsonStyle &style);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_JSON_H
