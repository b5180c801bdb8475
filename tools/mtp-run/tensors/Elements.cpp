//===- Elements.cpp - Tensor elements as numbers --------------------------===//

#include "tools/mtp-run/tensors/Elements.h"
#include "runtime/core/StrCat.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mtp;

bool mtp::isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 ||
         type == ElementType::F16 || type == ElementType::BF16;
}

//===----------------------------------------------------------------------===//
// Narrow floats
//===----------------------------------------------------------------------===//

static float bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

static uint16_t floatToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float f16ToFloat(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31)
    return fraction ? std::numeric_limits<float>::quiet_NaN()
                    : sign * std::numeric_limits<float>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(float(fraction), -24);
  return sign * std::ldexp(float(fraction + 1024), exponent - 25);
}

static uint16_t floatToF16(float value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  float magnitude = std::fabs(value);
  if (std::isnan(value))
    return uint16_t(sign | 0x7e00);
  if (magnitude >= 65520.0f)
    return uint16_t(sign | 0x7c00);
  // Units of the last place; rint rounds to nearest even.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent, -13);
  uint32_t units = uint32_t(std::rint(std::ldexp(magnitude, 11 - exponent)));
  // 1024 more units carry into the exponent by themselves.
  return uint16_t(sign | (uint32_t(exponent + 13) * 1024 + units));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T>
static T load(const Tensor &tensor, uint64_t index) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double mtp::elementAt(const Tensor &tensor, uint64_t index) {
  switch (tensor.type.element) {
  case ElementType::F32:
    return load<float>(tensor, index);
  case ElementType::F64:
    return load<double>(tensor, index);
  case ElementType::F16:
    return f16ToFloat(load<uint16_t>(tensor, index));
  case ElementType::BF16:
    return bf16ToFloat(load<uint16_t>(tensor, index));
  case ElementType::I8:
    return load<int8_t>(tensor, index);
  case ElementType::U8:
  case ElementType::Bool:
    return load<uint8_t>(tensor, index);
  case ElementType::I16:
    return load<int16_t>(tensor, index);
  case ElementType::I32:
    return load<int32_t>(tensor, index);
  case ElementType::I64:
    return double(load<int64_t>(tensor, index));
  }
  return 0;
}

template <typename T>
static std::string numberText(T value) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end.ptr);
}

std::string mtp::elementText(const Tensor &tensor, uint64_t index) {
  double value = elementAt(tensor, index);
  if (tensor.type.element == ElementType::Bool)
    return value != 0 ? "true" : "false";
  if (tensor.type.element == ElementType::I64)
    return numberText(load<int64_t>(tensor, index));
  if (tensor.type.element == ElementType::F64)
    return numberText(value);
  return isFloat(tensor.type.element) ? numberText(float(value))
                                      : numberText(int64_t(value));
}

template <typename T>
static void append(Tensor &tensor, T value) {
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&value);
  tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof(T));
}

template <typename T>
static bool parse(std::string_view text, T &value) {
  if (text.size() > 1 && text[0] == '+')
    text.remove_prefix(1);
  auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

template <typename T>
static bool appendInteger(Tensor &tensor, std::string_view text) {
  T value = 0;
  if (!parse(text, value))
    return false;
  append(tensor, value);
  return true;
}

static bool appendParsed(Tensor &tensor, std::string_view text) {
  float narrow = 0;
  double wide = 0;
  switch (tensor.type.element) {
  case ElementType::F32:
    return parse(text, narrow) && (append(tensor, narrow), true);
  case ElementType::F64:
    return parse(text, wide) && (append(tensor, wide), true);
  case ElementType::F16:
    return parse(text, narrow) && (append(tensor, floatToF16(narrow)), true);
  case ElementType::BF16:
    return parse(text, narrow) && (append(tensor, floatToBf16(narrow)), true);
  case ElementType::I8:
    return appendInteger<int8_t>(tensor, text);
  case ElementType::U8:
    return appendInteger<uint8_t>(tensor, text);
  case ElementType::I16:
    return appendInteger<int16_t>(tensor, text);
  case ElementType::I32:
    return appendInteger<int32_t>(tensor, text);
  case ElementType::I64:
    return appendInteger<int64_t>(tensor, text);
  case ElementType::Bool:
    if (text == "true" || text == "1")
      return append(tensor, uint8_t(1)), true;
    return (text == "false" || text == "0") &&
           (append(tensor, uint8_t(0)), true);
  }
  return false;
}

Status mtp::appendElement(Tensor &tensor, std::string_view text) {
  if (appendParsed(tensor, text))
    return okStatus();
  TensorType scalar{tensor.type.element, {}};
  return invalidArgument(strCat("expected a number of type ", toString(scalar),
                                ", got '", text, "'"));
}
