//===- Json.h - Strict parsing of untrusted JSON ----------------*- C++ -*-===//
//
// The one place where the parser's limits are set and its errors worded.
// Private to the folders that read JSON: it pulls in the parser's header.
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

/// How a text is read.
enum class JsonDialect {
  /// As the format of safetensors has it: no key twice, at any level. Integers
  /// may have any length.
  Strict,
  /// As Python reads it: the last value of a key counts, and there are NaN and
  /// Infinity.
  Python,
};

/// A parsed document and the memory its values live in.
class StrictJson {
public:
  /// Parses JSON in UTF-8, nested at most `maxDepth` deep. Numbers beyond 64
  /// bits are as runtime/core/PythonJson.h has them.
  static Result<StrictJson> parse(std::string_view text, size_t maxDepth,
                                  JsonDialect dialect = JsonDialect::Strict);

  simdjson::dom::element root() const { return element; }

private:
  std::unique_ptr<simdjson::dom::parser> parser;
  simdjson::dom::element element;
};

/// The last value of a key, which counts in Python; nothing if there is none.
std::optional<simdjson::dom::element> findLast(simdjson::dom::object object,
                                               std::string_view key);

/// What a value is, for messages: "a string", "a number", "null", ...
const char *describe(simdjson::dom::element value);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_JSON_H
