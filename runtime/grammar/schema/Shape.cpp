//===- Shape.cpp - What one case of a schema allows -----------------------===//

#include "runtime/grammar/schema/Shape.h"

#include <algorithm>
#include <cmath>

using namespace mtp::grammar;

uint64_t mtp::grammar::characterCount(std::string_view text) {
  return static_cast<uint64_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

uint8_t mtp::grammar::typeOf(JsonElement value) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
  case Type::ARRAY:
    return kArray;
  case Type::OBJECT:
    return kObject;
  case Type::INT64:
  case Type::UINT64:
    return kInteger;
  case Type::DOUBLE: {
    double number = 0;
    (void)value.get(number);
    return number == std::trunc(number) ? kInteger : kFraction;
  }
  case Type::STRING:
    return kString;
  case Type::BOOL:
    return kBoolean;
  default:
    return kNull;
  }
}

namespace {

bool areNumbersEqual(JsonElement a, JsonElement b) {
  int64_t x = 0, y = 0;
  if (!a.get(x) && !b.get(y))
    return x == y;
  double u = 0, v = 0;
  return !a.get(u) && !b.get(v) && u == v;
}

bool areArraysEqual(JsonElement left, JsonElement right) {
  JsonArray a, b;
  return !left.get(a) && !right.get(b) &&
         std::equal(a.begin(), a.end(), b.begin(), b.end(), areEqual);
}

bool areObjectsEqual(JsonElement left, JsonElement right) {
  JsonObject a, b;
  if (left.get(a) || right.get(b) || a.size() != b.size())
    return false;
  return std::all_of(a.begin(), a.end(), [&](auto field) {
    JsonElement other;
    return !b.at_key(field.key).get(other) && areEqual(field.value, other);
  });
}

} // namespace

bool mtp::grammar::areEqual(JsonElement a, JsonElement b) {
  uint8_t type = typeOf(a);
  if (type != typeOf(b))
    return false;
  switch (type) {
  case kInteger:
  case kFraction:
    return areNumbersEqual(a, b);
  case kString:
    return textOf(a) == textOf(b);
  case kBoolean:
    return truthOf(a) == truthOf(b);
  case kObject:
    return areObjectsEqual(a, b);
  case kArray:
    return areArraysEqual(a, b);
  default:
    return true;
  }
}

bool mtp::grammar::hasShape(const Shape &shape, JsonElement value) {
  uint8_t type = typeOf(value);
  if (!(shape.types & type))
    return false;
  if (type == kString) {
    uint64_t length = characterCount(textOf(value));
    return shape.minLength <= length && length <= shape.maxLength;
  }
  int64_t integer = 0;
  if (type == kInteger && !value.get(integer))
    return shape.minimum <= integer && integer <= shape.maximum;
  double number = 0;
  if ((type & kNumber) && !value.get(number))
    return (shape.isLeastExclusive ? shape.least < number
                                   : shape.least <= number) &&
           (shape.isMostExclusive ? number < shape.most : number <= shape.most);
  JsonArray array;
  if (!value.get(array))
    return shape.minItems <= array.size() && array.size() <= shape.maxItems;
  return true;
}
