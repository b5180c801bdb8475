//===- Json.h - Strict parsing of untrusted JSON ----------------*- C++ -*-===//
//
// The only code that sets the parser's limits and words its errors. Private to
// the folders that read JSON, because it includes the parser's header.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_JSON_H
#define MTP_COMPILER_WEIGHTS_JSON_H

#include "runtime/core/Result.h"

#include <memory>
#include <optional>
#include <simdjson.h>
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

/// A parsed document and the memory of its values.
class StrictJson {
public:
  /// Parses JSON in UTF-8 with at most `maxDepth` levels. Numbers beyond 64
  /// bits follow runtime/core/PythonJson.h.
  static Result<StrictJson> parse(std::string_view text, size_t maxDepth,
                                  JsonDialect dialect = JsonDialect::Strict);

  simdjson::dom::element root() const { return element; }

private:
  std::unique_ptr<simdjson::dom::parser> parser;
  simdjson::dom::element element;
};

/// Returns the last value of a key, which counts in Python, if there is one.
std::optional<simdjson::dom::element> findLast(simdjson::dom::object object,
                                               std::string_view key);

/// Returns the kind of a value for messages: "a string", "a number", "null",
/// ...
const char *describe(simdjson::dom::element value);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_JSON_H
