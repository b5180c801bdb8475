//===- JsonFields.cpp - Read the fields of a JSON object ------------------===//

#include "tools/mtp-serve/api/JsonFields.h"
#include "runtime/core/StrCat.h"

#include <algorithm>
#include <charconv>
#include <cmath>

using namespace mtp;
using namespace mtp::serve;
using simdjson::dom::element_type;

MaybeError JsonBody::parse(std::string_view text) {
  if (Status status = tree.parse(text); !status.isOk())
    return wrongField("", std::string(status.message()));
  if (tree.root().get(root))
    return wrongField(
        "", strCat("expected a JSON object, got ", describe(tree.root())));
  return std::nullopt;
}

/// Returns the shortest text that is read as the number.
static std::string numberText(double number) {
  char text[32];
  auto end = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, end.ptr);
}

/// Returns whether `element` is a number with a point or an exponent that is
/// whole, at least `least` and below `end`.
static bool getWholeReal(const JsonElement &element, double least, double end,
                         double &value) {
  return !element.get(value) && value == std::trunc(value) && value >= least &&
         value < end;
}

bool serve::getWhole(const JsonElement &element, int64_t &value) {
  double real = 0;
  if (!element.get(value))
    return true;
  if (!element.is_double() || !getWholeReal(element, -0x1p63, 0x1p63, real))
    return false;
  value = int64_t(real);
  return true;
}

bool serve::getWhole(const JsonElement &element, uint64_t &value) {
  double real = 0;
  if (!element.get(value))
    return true;
  if (!element.is_double() || !getWholeReal(element, 0, 0x1p64, real))
    return false;
  value = uint64_t(real);
  return true;
}

std::string serve::describe(const JsonElement &element) {
  switch (element.type()) {
  case element_type::ARRAY:
    return "an array";
  case element_type::OBJECT:
    return "an object";
  case element_type::STRING:
    return "a string";
  case element_type::BOOL:
    return bool(element.get_bool().value_unsafe()) ? "true" : "false";
  case element_type::NULL_VALUE:
    return "null";
  case element_type::INT64:
    return std::to_string(element.get_int64().value_unsafe());
  case element_type::UINT64:
    return std::to_string(element.get_uint64().value_unsafe());
  case element_type::DOUBLE:
    return numberText(element.get_double().value_unsafe());
  }
  return "another thing";
}

ApiError serve::expected(std::string_view field, std::string_view what,
                         const JsonElement &element) {
  return wrongField(std::string(field),
                    strCat("expected '", field, "' to be ", what, ", got ",
                           describe(element)));
}

MaybeError serve::readFlag(std::string_view field, const JsonElement &element,
                           bool &value) {
  if (element.get(value))
    return expected(field, "true or false", element);
  return std::nullopt;
}

MaybeError serve::readText(std::string_view field, const JsonElement &element,
                           std::string &value) {
  std::string_view text;
  if (element.get(text))
    return expected(field, "a string", element);
  value = text;
  return std::nullopt;
}

MaybeError serve::readNumber(std::string_view field, const JsonElement &element,
                             double least, double most, float &value) {
  double number = 0;
  // This rejects NaN as well.
  if (element.get(number) || !(number >= least && number <= most))
    return expected(
        field,
        strCat("a number of ", numberText(least), " to ", numberText(most)),
        element);
  value = float(number);
  return std::nullopt;
}

MaybeError serve::readInteger(std::string_view field,
                              const JsonElement &element, int64_t least,
                              int64_t most, int64_t &value) {
  int64_t number = 0;
  if (!getWhole(element, number) || number < least || number > most)
    return expected(field, strCat("a whole number of ", least, " to ", most),
                    element);
  value = number;
  return std::nullopt;
}

MaybeError serve::readIds(std::string_view field, const JsonElement &element,
                          int64_t most, std::vector<int32_t> &value) {
  simdjson::dom::array array;
  if (element.get(array))
    return expected(field, "an array of token ids", element);
  for (JsonElement item : array) {
    int64_t id = 0;
    if (!getWhole(item, id) || id < 0 || id > most)
      return wrongField(std::string(field),
                        strCat("expected token ids of '", field,
                               "' to be whole numbers of 0 to ", most, ", got ",
                               describe(item)));
    value.push_back(int32_t(id));
  }
  return std::nullopt;
}
