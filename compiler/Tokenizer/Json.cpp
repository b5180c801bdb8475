//===- Json.cpp - JSON with positions in errors ---------------------------===//

#include "compiler/Tokenizer/Json.h"

#include <algorithm>
#include <unordered_map>

using namespace mtp;

namespace {

constexpr size_t kMaxQuoted = 60;

std::string describe(simdjson::dom::element element) {
  switch (element.type()) {
  case simdjson::dom::element_type::ARRAY:
    return "an array";
  case simdjson::dom::element_type::OBJECT:
    return "an object";
  case simdjson::dom::element_type::NULL_VALUE:
    return "null";
  default:
    break;
  }
  std::string text = simdjson::minify(element);
  if (text.size() > kMaxQuoted) {
    text.resize(kMaxQuoted);
    while (!text.empty() && (text.back() & 0x80))
      text.pop_back();
    text += "...";
  }
  return text;
}

} // namespace

Status JsonValue::expected(const std::string &what) const {
  // In a message the key comes after the expectation: "file: ... at key".
  size_t colon = path.find(':');
  std::string file = path.substr(0, colon);
  std::string key = path.substr(std::min(path.size(), colon + 1));
  std::string where = key.empty() ? "" : " at" + key;
  return invalidArgument(file + ": expected " + what + where + ", got " +
                         describe(element));
}

JsonValue JsonValue::child(simdjson::dom::element element,
                           std::string_view key) const {
  bool isTop = path.back() == ':';
  return JsonValue(element, path + (isTop ? " " : ".") + std::string(key));
}

Result<std::string_view> JsonValue::asString() const {
  std::string_view value;
  if (element.get(value))
    return expected("a string");
  return value;
}

Result<bool> JsonValue::asBool() const {
  bool value;
  if (element.get(value))
    return expected("a boolean");
  return value;
}

Result<uint32_t> JsonValue::asUint32() const {
  uint64_t value;
  if (element.get(value) || value > UINT32_MAX)
    return expected("a number from 0 to 4294967295");
  return static_cast<uint32_t>(value);
}

Result<double> JsonValue::asNumber() const {
  double value;
  if (element.get(value))
    return expected("a number");
  return value;
}

Result<std::vector<JsonValue>> JsonValue::asArray() const {
  simdjson::dom::array array;
  if (element.get(array))
    return expected("an array");
  std::vector<JsonValue> values;
  for (simdjson::dom::element value : array)
    values.emplace_back(value,
                        path + "[" + std::to_string(values.size()) + "]");
  return values;
}

Result<std::vector<std::pair<std::string_view, JsonValue>>>
JsonValue::asObject() const {
  simdjson::dom::object object;
  if (element.get(object))
    return expected("an object");
  std::vector<std::pair<std::string_view, JsonValue>> members;
  std::unordered_map<std::string_view, size_t> places;
  for (auto member : object) {
    JsonValue value = child(member.value, member.key);
    auto [place, isNew] = places.emplace(member.key, members.size());
    if (isNew)
      members.emplace_back(member.key, std::move(value));
    else
      members[place->second].second = std::move(value);
  }
  return members;
}

Status
JsonValue::expectKeys(std::initializer_list<std::string_view> keys) const {
  MTP_ASSIGN_OR_RETURN(auto members, asObject());
  for (const auto &[key, value] : members)
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return value.expected("no such key");
  return okStatus();
}

Result<JsonValue> JsonValue::member(std::string_view key) const {
  simdjson::dom::object object;
  if (element.get(object))
    return expected("an object");
  if (std::optional<JsonValue> value = last(key))
    return *value;
  return expected("a key '" + std::string(key) + "'");
}

std::optional<JsonValue> JsonValue::last(std::string_view key) const {
  simdjson::dom::object object;
  if (element.get(object))
    return std::nullopt;
  std::optional<simdjson::dom::element> value;
  for (auto member : object)
    if (member.key == key)
      value = member.value;
  return value ? std::optional(child(*value, key)) : std::nullopt;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  std::optional<JsonValue> value = last(key);
  return value && value->isNull() ? std::nullopt : value;
}

Result<bool> JsonValue::boolOr(std::string_view key, bool otherwise) const {
  std::optional<JsonValue> value = find(key);
  return value ? value->asBool() : Result<bool>(otherwise);
}

Result<std::string_view> JsonValue::stringOr(std::string_view key,
                                             std::string_view otherwise) const {
  std::optional<JsonValue> value = find(key);
  return value ? value->asString() : Result<std::string_view>(otherwise);
}

Result<JsonDocument> JsonDocument::parse(std::string name,
                                         std::string_view text) {
  Result<JsonTree> tree = JsonTree::of(text);
  if (!tree)
    return tree.status().withContext(name);
  return JsonDocument(std::move(name), std::move(*tree));
}
