//===- Json.cpp - Strict parsing of untrusted JSON ------------------------===//

#include "compiler/Weights/Json.h"

#include "runtime/core/PythonJson.h"

#include <string>
#include <unordered_set>

namespace mtp {

namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

/// Fails if an object has a duplicate key. The parser limits the depth, and so
/// the recursion.
Status refuseDuplicateKeys(element value) {
  if (value.type() == element_type::ARRAY) {
    for (element item : simdjson::dom::array(value.get_array().value_unsafe()))
      MTP_RETURN_IF_ERROR(refuseDuplicateKeys(item));
    return okStatus();
  }
  if (value.type() != element_type::OBJECT)
    return okStatus();
  std::unordered_set<std::string_view> keys;
  for (auto field : simdjson::dom::object(value.get_object().value_unsafe())) {
    if (!keys.insert(field.key).second)
      return invalidArgument("duplicate key \"" + std::string(field.key) +
                             "\"");
    MTP_RETURN_IF_ERROR(refuseDuplicateKeys(field.value));
  }
  return okStatus();
}

} // namespace

Result<StrictJson> StrictJson::parse(std::string_view text, size_t maxDepth,
                                     JsonDialect dialect) {
  StrictJson document;
  document.parser = std::make_unique<simdjson::dom::parser>();
  // A capacity of the text's size keeps parse() from allocating again with the
  // default depth.
  auto parse = [&](std::string_view json) {
    simdjson::error_code error =
        document.parser->allocate(json.size() + 64, maxDepth);
    return error ? error
                 : document.parser->parse(json.data(), json.size())
                       .get(document.element);
  };
  simdjson::error_code error = parsePythonJson(
      text, parse, /*takesQuoted=*/dialect == JsonDialect::Python);
  if (error == simdjson::DEPTH_ERROR)
    return invalidArgument("expected JSON nested at most " +
                           std::to_string(maxDepth) + " deep");
  if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY)
    return resourceExhausted("not enough memory for the JSON text");
  if (error)
    return invalidArgument(std::string("expected valid JSON, got an error: ") +
                           simdjson::error_message(error));
  if (dialect == JsonDialect::Strict)
    MTP_RETURN_IF_ERROR(refuseDuplicateKeys(document.element));
  return document;
}

std::optional<element> findLast(simdjson::dom::object object,
                                std::string_view key) {
  std::optional<element> last;
  for (auto field : object)
    if (field.key == key)
      last = field.value;
  return last;
}

const char *describe(simdjson::dom::element value) {
  switch (value.type()) {
  case element_type::ARRAY:
    return "an array";
  case element_type::OBJECT:
    return "an object";
  case element_type::INT64:
  case element_type::UINT64:
    return "an integer";
  case element_type::DOUBLE:
    return "a fraction";
  case element_type::STRING:
    return "a string";
  case element_type::BOOL:
    return "a boolean";
  case element_type::NULL_VALUE:
    return "null";
  }
  return "an unknown value";
}

} // namespace mtp
