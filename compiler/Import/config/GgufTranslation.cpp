//===- GgufTranslation.cpp - From metadata to a config --------------------===//

#include "compiler/Import/config/GgufTranslation.h"

#include <charconv>
#include <cmath>

namespace mtp::importer {

void JsonWriter::add(std::string_view key, std::string_view value) {
  text += (text.empty() ? "\"" : ", \"") + std::string(key) +
          "\": " + std::string(value);
}

void JsonWriter::add(std::string_view key, int64_t value) {
  add(key, std::string_view(std::to_string(value)));
}

void JsonWriter::add(std::string_view key, double value) {
  char digits[32];
  char *end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  // to_chars() writes "nan" and "inf", which are no JSON.
  add(key, std::isfinite(value) ? std::string_view(digits, end) : "NaN");
}

void JsonWriter::addFlag(std::string_view key, bool value) {
  add(key, std::string_view(value ? "true" : "false"));
}

void JsonWriter::addText(std::string_view key, std::string_view value) {
  add(key, std::string_view("\"" + std::string(value) + "\""));
}

const GgufTensor *GgufTranslation::findTensor(std::string_view name,
                                              const GgufPart **where) const {
  for (const GgufPart &part : parts)
    for (const GgufTensor &tensor : part.header.tensors)
      if (tensor.name == name) {
        if (where)
          *where = &part;
        return &tensor;
      }
  return nullptr;
}

void GgufTranslation::fail(const std::string &key,
                           const std::string &expected) {
  if (!failure.isOk())
    return;
  const GgufValue *value = header.find(key);
  std::string got = value ? value->describe() : "nothing";
  if (std::optional<double> number =
          value && !value->isArray() ? this->number(key) : std::nullopt)
    got = std::to_string(*number);
  failure = invalidArgument("key \"" + key + "\": expected " + expected +
                            ", got " + got);
}

std::optional<int64_t> GgufTranslation::integer(const std::string &key) {
  const GgufValue *value = header.find(key);
  if (!value)
    return std::nullopt;
  std::optional<std::vector<int64_t>> numbers;
  if (value->size() <= kMostLayerValues)
    numbers = value->integers();
  if (!numbers || numbers->empty()) {
    fail(key, "an integer");
    return std::nullopt;
  }
  if (!std::ranges::all_of(
          *numbers, [&](int64_t other) { return other == numbers->front(); })) {
    fail(key, "equal numbers for all layers");
    return std::nullopt;
  }
  return numbers->front();
}

std::optional<double> GgufTranslation::number(const std::string &key) {
  const GgufValue *value = header.find(key);
  if (!value)
    return std::nullopt;
  std::optional<std::vector<double>> numbers;
  if (!value->isArray())
    numbers = value->numbers();
  if (!numbers) {
    if (failure.isOk())
      failure = invalidArgument("key \"" + key + "\": expected a number, got " +
                                value->describe());
    return std::nullopt;
  }
  return numbers->front();
}

std::optional<bool> GgufTranslation::flag(const std::string &key) {
  const GgufValue *value = header.find(key);
  if (!value)
    return std::nullopt;
  auto flags = value->isArray() ? std::nullopt : value->flags();
  if (!flags) {
    fail(key, "a boolean");
    return std::nullopt;
  }
  return flags->front();
}

int64_t GgufTranslation::required(const std::string &key) {
  std::optional<int64_t> value = integer(key);
  if (!value)
    fail(key, "an integer");
  return value.value_or(1);
}

void GgufTranslation::expect(const std::string &key, double neutral) {
  if (std::optional<double> value = number(key))
    if (*value != neutral)
      fail(key, "no value but " + std::to_string(neutral) + " in this family");
}

void GgufTranslation::addIntegers(std::string_view key,
                                  const std::string &from) {
  const GgufValue *value = header.find(from);
  std::optional<std::vector<int64_t>> numbers;
  if (value && value->size() <= kMostLayerValues)
    numbers = value->integers();
  if (!numbers)
    return fail(from, "an array of integers");
  std::string list;
  for (int64_t number : *numbers)
    list += (list.empty() ? "" : ", ") + std::to_string(number);
  config.add(key, std::string_view("[" + list + "]"));
}

} // namespace mtp::importer
