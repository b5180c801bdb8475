//===- FormatSpec.cpp - Formats one value ---------------------------------===//

#include "runtime/jinja/value/FormatSpec.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Repr.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr int kMaxSize = 4096;

bool isOneOf(std::string_view set, char c) {
  return set.find(c) != std::string_view::npos;
}

Status badType(const Value &value, char type) {
  return invalidArgument(strCat("expected a format that goes with ",
                                describe(value), ", got '",
                                std::string_view(&type, 1), "'"));
}

std::string digitsOf(uint64_t magnitude, unsigned base, bool isUpper) {
  const char *symbols = isUpper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string digits;
  do {
    digits.push_back(symbols[magnitude % base]);
    magnitude /= base;
  } while (magnitude > 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// Inserts a comma before each group of three digits.
std::string group(std::string digits) {
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

std::string signOf(bool isNegative, char sign) {
  return isNegative ? "-" : sign == '-' ? "" : std::string(1, sign);
}

/// Pads a number. With the alignment '=' the padding is between sign and
/// digits.
std::string alignNumber(const std::string &sign, const std::string &digits,
                        const FormatSpec &spec) {
  size_t size = sign.size() + digits.size();
  if (spec.align != '=' || size >= static_cast<size_t>(spec.width))
    return alignText(sign + digits, spec, '>');
  std::string out = sign;
  for (size_t i = size; i < static_cast<size_t>(spec.width); ++i)
    out += spec.fill;
  return out + digits;
}

Result<std::string> formatInteger(const Value &value, const FormatSpec &spec) {
  int64_t integer = value.integer();
  unsigned base = spec.type == 'x' || spec.type == 'X' ? 16 : 10;
  if (spec.hasCommas && base == 16)
    return badType(value, spec.type);
  auto magnitude = static_cast<uint64_t>(integer);
  if (integer < 0)
    magnitude = 0 - magnitude;
  std::string digits = digitsOf(magnitude, base, spec.type == 'X');
  if (spec.hasCommas)
    digits = group(digits);
  return alignNumber(signOf(integer < 0, spec.sign), digits, spec);
}

std::string floatDigits(double magnitude, const FormatSpec &spec) {
  if (spec.type == 0 && spec.precision < 0)
    return floatRepr(magnitude);
  char type = spec.type == 0 ? 'g' : spec.type == '%' ? 'f' : spec.type;
  int precision = spec.precision < 0 ? 6 : spec.precision;
  char format[] = {'%', '.', '*', type, 0};
  std::string digits(static_cast<size_t>(precision) + 400, '\0');
  int size = std::snprintf(digits.data(), digits.size(), format, precision,
                           spec.type == '%' ? magnitude * 100 : magnitude);
  digits.resize(static_cast<size_t>(std::max(size, 0)));
  if (spec.type == 0 && std::isfinite(magnitude) &&
      digits.find_first_of(".e") == std::string::npos)
    digits += ".0";
  if (spec.type == '%')
    digits += "%";
  return digits;
}

Result<std::string> formatFloat(double real, const FormatSpec &spec) {
  std::string digits = floatDigits(std::fabs(real), spec);
  if (spec.hasCommas) {
    size_t whole =
        std::min(digits.find_first_not_of("0123456789"), digits.size());
    digits = group(digits.substr(0, whole)) + digits.substr(whole);
  }
  bool isNegative = std::signbit(real) && !std::isnan(real);
  return alignNumber(signOf(isNegative, spec.sign), digits, spec);
}

} // namespace

Result<int> jinja::scanSize(std::string_view text, size_t &pos) {
  int size = -1;
  while (pos < text.size() && text[pos] >= '0' && text[pos] <= '9') {
    size = std::max(size, 0) * 10 + (text[pos++] - '0');
    if (size > kMaxSize)
      return resourceExhausted(strCat("expected a width or precision of at "
                                      "most ",
                                      kMaxSize, ", got more"));
  }
  return size;
}

Result<FormatSpec> jinja::parseFormatSpec(std::string_view text) {
  FormatSpec spec;
  size_t pos = 0;
  size_t first = text.empty() ? 0 : utf8Length(text, 0);
  if (first > 0 && first < text.size() && isOneOf("<>^=", text[first])) {
    spec.fill = std::string(text.substr(0, first));
    spec.align = text[first];
    pos = first + 1;
  } else if (!text.empty() && isOneOf("<>^=", text[0])) {
    spec.align = text[pos++];
  }
  auto has = [&](std::string_view set) {
    return pos < text.size() && isOneOf(set, text[pos]);
  };
  if (has("+- "))
    spec.sign = text[pos++];
  if (has("0")) {
    if (!spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++pos;
  }
  MTP_ASSIGN_OR_RETURN(int width, scanSize(text, pos));
  spec.width = std::max(width, 0);
  spec.hasCommas = has(",");
  pos += spec.hasCommas;
  if (has(".")) {
    ++pos;
    MTP_ASSIGN_OR_RETURN(spec.precision, scanSize(text, pos));
    if (spec.precision < 0)
      return invalidArgument("expected a precision after '.', got none");
  }
  if (has("sdxXeEfFgG%"))
    spec.type = text[pos++];
  if (pos != text.size())
    return unimplemented(
        strCat("expected a supported format, got '", text, "'"));
  return spec;
}

std::string jinja::alignText(const std::string &text, const FormatSpec &spec,
                             char otherwise) {
  Value value(text);
  int64_t missing = spec.width - static_cast<int64_t>(value.text().length);
  if (missing <= 0)
    return text;
  char align = spec.align ? spec.align : otherwise;
  int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  std::string out;
  for (int64_t i = 0; i < left; ++i)
    out += spec.fill;
  out += text;
  for (int64_t i = left; i < missing; ++i)
    out += spec.fill;
  return out;
}

Result<std::string> jinja::formatValue(const Value &value,
                                       const FormatSpec &spec) {
  if (value.isNumber() &&
      !(value.is(Kind::Bool) && spec.type == 0 && spec.width == 0)) {
    if (isOneOf("eEfFgG%", spec.type) && spec.type)
      return formatFloat(value.real(), spec);
    if (spec.type == 's')
      return badType(value, 's');
    if (value.isInteger())
      return formatInteger(value, spec);
    if (spec.type)
      return badType(value, spec.type);
    return formatFloat(value.real(), spec);
  }
  if (spec.type && spec.type != 's')
    return badType(value, spec.type);
  if (spec.align == '=')
    return badType(value, '=');
  MTP_ASSIGN_OR_RETURN(std::string text, toText(value));
  if (spec.precision >= 0) {
    size_t end = 0;
    for (int i = 0; i < spec.precision && end < text.size(); ++i)
      end += utf8Length(text, end);
    text.resize(end);
  }
  return alignText(text, spec, '<');
}
