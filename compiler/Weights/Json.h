//===- Json.h - Strict parsing of untrusted JSON ----------------*- C++ -*-===//
//
// Adds the dialects of checkpoints to JsonTree. Private to folders that read
// JSON, because it includes the parser's header.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_JSON_H
#define MTP_COMPILER_WEIGHTS_JSON_H

#include "runtime/json/JsonTree.h"

#include <optional>
#include <string_view>

namespace mtp {

/// The dialect of a text.
enum class JsonDialect {
  /// JSON of the safetensors format: no duplicate key at any level. Integers
  /// may have any length.
  Strict,
  /// JSON as Python reads it: the last value of a key counts, and NaN and
  /// Infinity are allowed.
  Python,
};

/// Parses JSON in UTF-8 with at most `maxDepth` levels. Numbers beyond 64 bits
/// follow runtime/json/PythonJson.h.
Result<JsonTree> parseJson(std::string_view text, size_t maxDepth,
                           JsonDialect dialect = JsonDialect::Strict);

/// Returns the last value of a key, which counts in Python, if there is one.
std::optional<simdjson::dom::element> findLast(simdjson::dom::object object,
                                               std::string_view key);

/// Returns the kind of a value for messages: "a string", "a number", "null",
/// ...
const char *describe(simdjson::dom::element value);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_JSON_H
