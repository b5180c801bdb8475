//===- JsonReader.cpp - Converts JSON to values ---------------------------===//

#include "runtime/jinja/value/JsonReader.h"

#include "runtime/json/JsonTree.h"

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr size_t kMaxBytes = size_t(1) << 26;
constexpr size_t kMaxDepth = 150;

/// Converts parsed JSON to values.
class Converter {
public:
  /// `doubles` has the texts of all doubles in order. It is empty if all
  /// integers have 64 bits.
  explicit Converter(std::vector<std::string_view> doubles)
      : doubles(std::move(doubles)) {}

  Result<Value> convert(simdjson::dom::element element);

private:
  Result<Value> convertArray(simdjson::dom::array array);
  Result<Value> convertObject(simdjson::dom::object object);
  Value convertDouble(double real);

  std::vector<std::string_view> doubles;
  size_t next = 0;
};

Result<Value> Converter::convertArray(simdjson::dom::array array) {
  Items items;
  for (simdjson::dom::element child : array) {
    MTP_ASSIGN_OR_RETURN(Value item, convert(child));
    items.push_back(std::move(item));
  }
  return makeList(std::move(items));
}

Result<Value> Converter::convertObject(simdjson::dom::object object) {
  DictBuilder builder;
  for (auto [key, child] : object) {
    MTP_ASSIGN_OR_RETURN(Value item, convert(child));
    MTP_RETURN_IF_ERROR(builder.add(Value(std::string(key)), std::move(item)));
  }
  return std::move(builder).build();
}

Value Converter::convertDouble(double real) {
  if (next == doubles.size())
    return Value(real);
  std::string_view text = doubles[next++];
  if (text.find_first_of(".eE") != text.npos)
    return Value(real);
  return Value::wideInteger(std::string(text), real);
}

Result<Value> Converter::convert(simdjson::dom::element element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
  case element_type::NULL_VALUE:
    return Value();
  case element_type::STRING:
    return makeText(std::string(element.get_string().value_unsafe()));
  case element_type::BOOL:
    return Value(bool(element.get_bool().value_unsafe()));
  case element_type::ARRAY:
    return convertArray(element.get_array().value_unsafe());
  case element_type::OBJECT:
    return convertObject(element.get_object().value_unsafe());
  case element_type::DOUBLE:
    return convertDouble(element.get_double().value_unsafe());
  case element_type::INT64:
    return Value(int64_t(element.get_int64().value_unsafe()));
  case element_type::UINT64:
    break;
  }
  uint64_t integer = element.get_uint64().value_unsafe();
  return Value::wideInteger(std::to_string(integer), double(integer));
}

} // namespace

Result<Value> mtp::readTemplateJson(std::string_view text) {
  MTP_ASSIGN_OR_RETURN(JsonTree tree,
                       JsonTree::of(text, {.bytes = kMaxBytes,
                                           .depth = kMaxDepth,
                                           .takesQuoted = false}));
  return Converter(tree.doubles()).convert(tree.root());
}
