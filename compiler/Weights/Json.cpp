//===- Json.cpp - Strict parsing of untrusted JSON ------------------------===//

#include "compiler/Weights/Json.h"

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

Result<JsonTree> parseJson(std::string_view text, size_t maxDepth,
                           JsonDialect dialect) {
  bool isStrict = dialect == JsonDialect::Strict;
  MTP_ASSIGN_OR_RETURN(
      JsonTree tree,
      JsonTree::of(text, {.depth = maxDepth, .takesQuoted = !isStrict}));
  if (isStrict)
    MTP_RETURN_IF_ERROR(refuseDuplicateKeys(tree.root()));
  return tree;
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
