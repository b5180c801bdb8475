//===- ConfigFields.cpp - Typed access to a config's keys -----------------===//

#include "compiler/Import/config/ConfigFields.h"

#include <cmath>

namespace mtp::importer {

namespace {

using simdjson::dom::element;

std::string range(int64_t least, int64_t most) {
  return "an integer of " + std::to_string(least) + " to " +
         std::to_string(most);
}

/// Returns a value as written in the file, cut to a readable length.
std::string show(element value) {
  constexpr size_t kMaxShown = 60;
  std::string text = simdjson::minify(value);
  return text.size() <= kMaxShown ? text : text.substr(0, kMaxShown) + "...";
}

std::optional<int64_t> asInteger(element value, int64_t least, int64_t most) {
  int64_t number;
  if (value.get_int64().get(number) || number < least || number > most)
    return std::nullopt;
  return number;
}

} // namespace

std::optional<element> ConfigFields::find(std::string_view key) const {
  std::optional<element> value = findLast(object, key);
  return value && value->is_null() ? std::nullopt : value;
}

bool ConfigFields::has(std::string_view key) const {
  return find(key).has_value();
}

bool ConfigFields::isNull(std::string_view key) const {
  std::optional<element> value = findLast(object, key);
  return value && value->is_null();
}

bool ConfigFields::isEmptyOr(std::string_view key, double neutral) const {
  std::optional<element> value = find(key);
  if (!value)
    return true;
  bool flag;
  double number;
  simdjson::dom::array items;
  simdjson::dom::object fields;
  if (!value->get_bool().get(flag))
    return !flag;
  if (!value->get_double().get(number))
    return number == neutral;
  if (!value->get_array().get(items))
    return items.size() == 0;
  return !value->get_object().get(fields) && fields.size() == 0;
}

void ConfigFields::failAs(std::string_view key, const Status &status) {
  if (failure.isOk())
    failure =
        status.withContext("config key \"" + context + std::string(key) + "\"");
}

void ConfigFields::fail(std::string_view key, const std::string &expected) {
  // Only the first failure counts, and values may be long.
  if (failure.isOk())
    failAs(key,
           invalidArgument("expected " + expected + ", got " + shown(key)));
}

std::string ConfigFields::shown(std::string_view key) const {
  std::optional<element> value = find(key);
  return value ? show(*value) : "nothing";
}

void ConfigFields::failMissing(std::string_view key) {
  failAs(key, notFound("expected a value, got none"));
}

int64_t ConfigFields::integer(std::string_view key, int64_t least,
                              int64_t most) {
  if (!has(key))
    failMissing(key);
  return integerOr(key, least, most, least);
}

int64_t ConfigFields::integerOr(std::string_view key, int64_t least,
                                int64_t most, int64_t absent) {
  std::optional<element> value = find(key);
  if (!value && absent >= least && absent <= most)
    return absent;
  if (!value) {
    failAs(key, outOfRange("expected " + range(least, most) +
                           ", got nothing, for which the default is " +
                           std::to_string(absent)));
    return least;
  }
  if (std::optional<int64_t> number = asInteger(*value, least, most))
    return *number;
  fail(key, range(least, most));
  return least;
}

std::optional<double> ConfigFields::readNumber(std::string_view key) {
  std::optional<element> value = find(key);
  double number;
  if (!value || value->get_double().get(number) || !std::isfinite(number))
    return std::nullopt;
  return number;
}

double ConfigFields::positive(std::string_view key) {
  if (!has(key))
    failMissing(key);
  return positiveOr(key, 1.0);
}

double ConfigFields::positiveOr(std::string_view key, double absent) {
  if (!has(key))
    return absent;
  std::optional<double> number = readNumber(key);
  if (number && *number > 0.0)
    return *number;
  fail(key, "a number greater than 0");
  return 1.0;
}

double ConfigFields::numberOr(std::string_view key, double absent) {
  if (!has(key))
    return absent;
  if (std::optional<double> number = readNumber(key))
    return *number;
  fail(key, "a number");
  return absent;
}

bool ConfigFields::flagOr(std::string_view key, bool absent) {
  std::optional<element> value = find(key);
  bool flag = absent;
  if (value && value->get_bool().get(flag))
    fail(key, "true or false");
  return flag;
}

std::string ConfigFields::text(std::string_view key) {
  if (!has(key))
    failMissing(key);
  return textOr(key, "");
}

std::string ConfigFields::textOr(std::string_view key,
                                 std::string_view absent) {
  std::optional<element> value = find(key);
  std::string_view text = absent;
  if (value && value->get_string().get(text))
    fail(key, "a string");
  return std::string(text);
}

std::vector<int64_t> ConfigFields::integers(std::string_view key, int64_t least,
                                            int64_t most) {
  std::optional<element> value = find(key);
  std::vector<int64_t> numbers;
  if (!value)
    return numbers;
  simdjson::dom::array items;
  if (value->get_array().get(items)) {
    if (std::optional<int64_t> number = asInteger(*value, least, most))
      return {*number};
    fail(key, range(least, most) + " or an array of them");
    return numbers;
  }
  for (element item : items) {
    std::optional<int64_t> number = asInteger(item, least, most);
    if (!number) {
      fail(key, "an array with " + range(least, most) + " in every place");
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::string> ConfigFields::texts(std::string_view key) {
  std::optional<element> value = find(key);
  std::vector<std::string> texts;
  if (!value)
    return texts;
  simdjson::dom::array items;
  if (value->get_array().get(items)) {
    fail(key, "an array of strings");
    return texts;
  }
  for (element item : items) {
    std::string_view text;
    if (item.get_string().get(text)) {
      fail(key, "an array of strings");
      return {};
    }
    texts.emplace_back(text);
  }
  return texts;
}

std::optional<ConfigFields> ConfigFields::child(std::string_view key) {
  std::optional<element> value = find(key);
  if (!value)
    return std::nullopt;
  simdjson::dom::object fields;
  if (value->get_object().get(fields)) {
    fail(key, "an object");
    return std::nullopt;
  }
  return ConfigFields(fields, context + std::string(key) + ".");
}

std::vector<ConfigFields> ConfigFields::children(std::string_view key) {
  std::optional<element> value = find(key);
  std::vector<ConfigFields> children;
  if (!value)
    return children;
  simdjson::dom::array items;
  if (value->get_array().get(items)) {
    fail(key, "an array of objects");
    return children;
  }
  for (element item : items) {
    simdjson::dom::object fields;
    if (item.get_object().get(fields)) {
      fail(key, "an array of objects");
      return {};
    }
    children.emplace_back(fields, context + std::string(key) + "[" +
                                      std::to_string(children.size()) + "].");
  }
  return children;
}

void ConfigFields::expectFlag(std::string_view key, bool value) {
  if (flagOr(key, value) != value)
    fail(key, value ? "true" : "false");
}

void ConfigFields::expectText(std::string_view key, std::string_view value) {
  if (has(key) && textOr(key, "") != value)
    fail(key, "\"" + std::string(value) + "\"");
}

} // namespace mtp::importer
