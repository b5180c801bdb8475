//===- Json.h - Strict parsing of untrusted JSON ----------------*- C++ -*-===//
//
// The one place where the parser's limits are set and its errors worded.
// Private to the folders that read JSON: it pulls in the parser's header.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_WEIGHTS_JSON_H
#define MTP_COMPILER_WEIGHTS_JSON_H

#include "runtime/core/Result.h"

#include <simdjson.h>
#include <string_view>

namespace mtp {

/// A parsed document and the memory its values live in.
class StrictJson {
public:
  /// Parses strict JSON in UTF-8, nested at most `maxDepth` deep. An object
  /// with the same key twice is refused at any level.
  static Result<StrictJson> parse(std::string_view text, size_t maxDepth);

  simdjson::dom::element root() const { return element; }

private:
  std::unique_ptr<simdjson::dom::parser> parser;
  simdjson::dom::element element;
};

/// What a value is, for messages: "a string", "a number", "null", ...
const char *describe(simdjson::dom::element value);

} // namespace mtp

#endif // MTP_COMPILER_WEIGHTS_JSON_H
