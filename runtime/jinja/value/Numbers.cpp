//===- Numbers.cpp - Converts and rounds numbers --------------------------===//

#include "runtime/jinja/value/Numbers.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Characters.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// Removes single underscores between digits. Returns nothing if there are
/// other underscores.
std::optional<std::string> withoutUnderscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits.push_back(text[i]);
      continue;
    }
    auto isDigit = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
             (c >= 'A' && c <= 'Z');
    };
    if (i == 0 || i + 1 == text.size() || !isDigit(text[i - 1]) ||
        !isDigit(text[i + 1]))
      return std::nullopt;
  }
  return digits;
}

bool takeSign(std::string_view &text) {
  bool isNegative = !text.empty() && text[0] == '-';
  if (isNegative || (!text.empty() && text[0] == '+'))
    text.remove_prefix(1);
  return isNegative;
}

struct ParsedInteger {
  bool isOne = false;
  bool fits = false;
  int64_t value = 0;
};

ParsedInteger parseInteger(std::string_view text, int64_t base) {
  text = stripRight(stripLeft(text));
  bool isNegative = takeSign(text);
  char mark = text.size() > 2 && text[0] == '0'
                  ? static_cast<char>(text[1] | 0x20)
                  : ' ';
  if ((mark == 'x' && base == 16) || (mark == 'o' && base == 8) ||
      (mark == 'b' && base == 2))
    text.remove_prefix(2);
  std::optional<std::string> digits = withoutUnderscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-' || (*digits)[0] == '+')
    return {};
  std::string number = (isNegative ? "-" : "") + *digits;
  ParsedInteger parsed;
  auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(),
                      parsed.value, static_cast<int>(base));
  parsed.isOne = end == number.data() + number.size();
  parsed.fits = error == std::errc();
  return parsed;
}

std::optional<double> parseReal(std::string_view text) {
  text = stripRight(stripLeft(text));
  bool isNegative = takeSign(text);
  std::string word = toLower(text);
  std::optional<double> value;
  if (word == "inf" || word == "infinity")
    value = HUGE_VAL;
  if (word == "nan")
    value = std::nan("");
  std::optional<std::string> digits = withoutUnderscores(text);
  if (!value && digits && !digits->empty() &&
      digits->find_first_not_of("0123456789.eE+-") == std::string::npos &&
      (*digits)[0] != '-' && (*digits)[0] != '+') {
    double parsed = 0;
    auto [end, error] = std::from_chars(
        digits->data(), digits->data() + digits->size(), parsed);
    if (end == digits->data() + digits->size() &&
        error != std::errc::invalid_argument)
      value = parseFloat(*digits);
  }
  if (value && isNegative)
    value = -*value;
  return value;
}

Result<Value> truncate(double real, const Value &otherwise) {
  if (!std::isfinite(real))
    return otherwise;
  if (std::fabs(real) >= 9.2e18)
    return resourceExhausted("expected an integer of 64 bits for 'int', got a "
                             "larger one");
  return Value(static_cast<int64_t>(real));
}

Result<Value> roundCommon(double real, int64_t precision) {
  if (!std::isfinite(real) || precision > 300)
    return Value(real);
  if (precision < -308)
    return Value(std::copysign(0.0, real));
  if (precision >= 0) {
    // Like Python, this rounds the exact decimal value half to even.
    char buffer[1024];
    int size = std::snprintf(buffer, sizeof(buffer), "%.*f",
                             static_cast<int>(precision), std::fabs(real));
    return Value(
        std::copysign(parseFloat({buffer, static_cast<size_t>(size)}), real));
  }
  double scale = std::pow(10.0, static_cast<double>(-precision));
  return Value(std::nearbyint(real / scale) * scale);
}

} // namespace

double jinja::parseFloat(std::string_view digits) {
  double value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc::result_out_of_range)
    return value;
  // The number is too large or too small. The sign of the exponent tells which.
  size_t mark = digits.find_first_of("eE");
  bool isSmall = mark != std::string_view::npos && mark + 1 < digits.size() &&
                 digits[mark + 1] == '-';
  return isSmall ? 0 : HUGE_VAL;
}

Result<Value> jinja::toInteger(const Value &value, Value otherwise,
                               int64_t base) {
  if (value.isInteger())
    return Value(value.integer());
  if (value.is(Kind::Float))
    return truncate(value.real(), otherwise);
  if (value.isUndefined())
    return expected("a value for 'int'", value);
  if (!value.isString())
    return otherwise;
  if (base < 2 || base > 36)
    return unimplemented(strCat("expected a base from 2 to 36, got ", base));
  ParsedInteger parsed = parseInteger(value.bytes(), base);
  if (parsed.isOne && !parsed.fits)
    return resourceExhausted("expected an integer of 64 bits for 'int', got a "
                             "larger one");
  if (parsed.isOne)
    return Value(parsed.value);
  std::optional<double> real = parseReal(value.bytes());
  return real ? truncate(*real, otherwise) : Result<Value>(otherwise);
}

Result<Value> jinja::toFloat(const Value &value, Value otherwise) {
  if (value.isNumber())
    return Value(value.real());
  if (value.isUndefined())
    return expected("a value for 'float'", value);
  if (!value.isString())
    return otherwise;
  std::optional<double> real = parseReal(value.bytes());
  return real ? Value(*real) : otherwise;
}

Result<Value> jinja::roundNumber(const Value &value, int64_t precision,
                                 std::string_view method) {
  if (method != "common" && method != "ceil" && method != "floor")
    return invalidArgument(
        strCat("expected a method common, ceil or floor, got '", method, "'"));
  if (!value.isNumber())
    return expected("a number to round", value);
  if (method == "common") {
    if (value.is(Kind::Float))
      return roundCommon(value.real(), precision);
    if (precision < 0)
      return unimplemented("expected a precision of at least 0 for an integer, "
                           "got less");
    return Value(value.integer());
  }
  double scale = std::pow(10.0, static_cast<double>(precision));
  double scaled = value.real() * scale;
  if (!std::isfinite(scaled) || scale == 0)
    return expected("a number to round", value);
  double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value(whole / scale);
}
