//===- JsonTree.h - Parse untrusted JSON ------------------------*- C++ -*-===//
//
// The only code that runs the parser. It sets the parser's limits, reads the
// numbers that Python writes, and words errors. Private to files that read
// JSON, because it includes the parser's header.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JSON_JSONTREE_H
#define MTP_RUNTIME_JSON_JSONTREE_H

#include "runtime/core/Result.h"
#include "runtime/json/PythonJson.h"

#include <memory>
#include <simdjson.h>
#include <string_view>

namespace mtp {

struct JsonLimits {
  /// Bytes of a text, and levels of objects and arrays.
  size_t bytes = size_t(1) << 28;
  size_t depth = 64;
  /// Read numbers that no double holds as strings (PythonJson.h). Otherwise
  /// they are errors.
  bool takesQuoted = true;
};

/// A parsed text and the memory of its values. The text need not outlive the
/// parsing.
class JsonTree {
public:
  JsonTree() : parser(std::make_unique<simdjson::dom::parser>()) {}

  /// Parses JSON in UTF-8. Numbers beyond 64 bits follow PythonJson.h.
  static Result<JsonTree> of(std::string_view text,
                             const JsonLimits &limits = {});

  /// Parses another text in the same memory. Values of the text before become
  /// invalid.
  Status parse(std::string_view text, const JsonLimits &limits = {});

  simdjson::dom::element root() const { return element; }

  /// Returns the text of all doubles, in order, as views into the parsed text.
  /// Empty if the text has no number beyond 64 bits.
  const std::vector<std::string_view> &doubles() const { return texts; }

private:
  simdjson::error_code tryParse(std::string_view text, size_t depth);

  // On the heap, because values refer to the parser.
  std::unique_ptr<simdjson::dom::parser> parser;
  simdjson::dom::element element;
  std::vector<std::string_view> texts;
};

} // namespace mtp

#endif // MTP_RUNTIME_JSON_JSONTREE_H
