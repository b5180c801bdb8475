//===- Json.h - JSON with positions in errors -------------------*- C++ -*-===//
//
// A view of a parsed document that knows its own path. Each check is one line,
// and each message names file and key: "tokenizer.json: expected a string at
// model.unk_token, got a number".
//
//===----------------------------------------------------------------------===//

#ifndef MTP_COMPILER_TOKENIZER_JSON_H
#define MTP_COMPILER_TOKENIZER_JSON_H

#include "runtime/json/JsonTree.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtp {

/// A value in a JsonDocument. The document must outlive it.
class JsonValue {
public:
  JsonValue(simdjson::dom::element element, std::string path)
      : element(element), path(std::move(path)) {}

  bool isNull() const { return element.is_null(); }
  bool isString() const { return element.is_string(); }
  bool isArray() const { return element.is_array(); }
  bool isObject() const { return element.is_object(); }

  Result<std::string_view> asString() const;
  Result<bool> asBool() const;
  Result<uint32_t> asUint32() const;
  Result<double> asNumber() const;
  Result<std::vector<JsonValue>> asArray() const;

  /// Returns all members. The last value of a duplicate key counts, as in
  /// Python and in Hugging Face's tokenizers.
  Result<std::vector<std::pair<std::string_view, JsonValue>>> asObject() const;

  /// Fails unless this is an object with no keys other than `keys`, because
  /// unknown settings must not be ignored.
  Status expectKeys(std::initializer_list<std::string_view> keys) const;

  /// Returns the member with this key; fails if there is none.
  Result<JsonValue> member(std::string_view key) const;

  /// Returns the member with this key unless it is absent or null.
  std::optional<JsonValue> find(std::string_view key) const;

  /// Return a member, or a default if it is absent or null.
  Result<bool> boolOr(std::string_view key, bool otherwise) const;
  Result<std::string_view> stringOr(std::string_view key,
                                    std::string_view otherwise) const;

  /// Returns the error "`file`: expected `what` at `path`, got <this value>".
  Status expected(const std::string &what) const;

private:
  JsonValue child(simdjson::dom::element element, std::string_view key) const;
  /// Returns the last member with this key, which may be null.
  std::optional<JsonValue> last(std::string_view key) const;

  simdjson::dom::element element;
  std::string path; ///< For example "tokenizer.json: model.vocab".
};

/// Parsed JSON from an untrusted source, with limited nesting.
class JsonDocument {
public:
  /// Parses JSON. `name` is the file's name in messages. The text need not
  /// outlive the call. Numbers are read as in Python
  /// (runtime/json/PythonJson.h).
  static Result<JsonDocument> parse(std::string name, std::string_view text);

  JsonValue root() const { return JsonValue(tree.root(), name + ":"); }

private:
  JsonDocument(std::string name, JsonTree tree)
      : name(std::move(name)), tree(std::move(tree)) {}

  std::string name;
  JsonTree tree;
};

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_JSON_H
