//===- PythonJson.cpp - Python's extensions of JSON -----------------------===//

#include "runtime/json/PythonJson.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace mtp {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Returns the end of the string that begins at `begin`.
size_t stringEnd(std::string_view json, size_t begin) {
  size_t at = begin + 1;
  while (at < json.size() && json[at] != '"')
    at += json[at] == '\\' ? 2 : 1;
  return at + 1 < json.size() ? at + 1 : json.size();
}

/// Returns the number at `at` if JSON does not have it (NaN, Infinity); empty
/// if there is none.
std::string_view nonFiniteAt(std::string_view json, size_t at) {
  for (std::string_view word : {"NaN", "-Infinity", "Infinity"})
    if (json.substr(at, word.size()) == word)
      return word;
  return {};
}

/// The parts of a JSON number.
struct Number {
  std::string_view text;
  size_t leading = 0;   ///< Digits before the point, without a single 0.
  int64_t exponent = 0; ///< Clamped: larger exponents have the same effect.
  bool isInteger = true;
};

/// Skips digits and returns their end.
size_t skipDigits(std::string_view json, size_t at) {
  while (at < json.size() && isDigit(json[at]))
    ++at;
  return at;
}

/// Returns the number at `at`; its text is empty if there is none.
Number numberAt(std::string_view json, size_t at) {
  constexpr int64_t kFar = int64_t(1) << 32;
  Number number;
  size_t begin = at + (json[at] == '-'), end = skipDigits(json, begin);
  if (end == begin || (json[begin] == '0' && end > begin + 1))
    return number;
  number.leading = json[begin] == '0' ? 0 : end - begin;
  if (end + 1 < json.size() && json[end] == '.' && isDigit(json[end + 1])) {
    number.isInteger = false;
    end = skipDigits(json, end + 1);
  }
  if (end < json.size() && (json[end] == 'e' || json[end] == 'E')) {
    size_t sign = end + 1;
    bool isNegative = sign < json.size() && json[sign] == '-';
    size_t digits =
        sign + (sign < json.size() && (isNegative || json[sign] == '+'));
    size_t last = skipDigits(json, digits);
    if (last > digits) {
      number.isInteger = false;
      for (char c : json.substr(digits, last - digits))
        number.exponent = std::min(kFar, 10 * number.exponent + (c - '0'));
      number.exponent *= isNegative ? -1 : 1;
      end = last;
    }
  }
  number.text = json.substr(at, end - at);
  return number;
}

template <typename T>
bool fits(std::string_view text) {
  T value{};
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc();
}

/// Whether a number is too large for a double. A number that is too small
/// becomes 0.
bool isBeyondDouble(const Number &number) {
  return number.exponent + int64_t(number.leading) > 0 &&
         !fits<double>(number.text);
}

/// Appends a number that a 64-bit parser can read in place of `number`.
void appendNumber(const Number &number, PlainJson &plain) {
  if (isBeyondDouble(number)) {
    plain.text.append("\"").append(number.text).append("\"");
    plain.hasQuoted = true;
    return;
  }
  plain.text.append(number.text);
  bool isWide = number.isInteger && !fits<int64_t>(number.text) &&
                !fits<uint64_t>(number.text);
  if (isWide)
    plain.text.append("e0");
  if (isWide || !number.isInteger)
    plain.doubles.push_back(number.text);
}

} // namespace

PlainJson plainNumbers(std::string_view json) {
  PlainJson plain;
  plain.text.reserve(json.size());
  for (size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      size_t end = stringEnd(json, at);
      plain.text.append(json, at, end - at);
      at = end;
      continue;
    }
    std::string_view word = nonFiniteAt(json, at);
    Number number;
    if (word.empty() && (json[at] == '-' || isDigit(json[at])))
      number = numberAt(json, at);
    if (!word.empty())
      plain.text.append("\"").append(word).append("\"");
    else if (!number.text.empty())
      appendNumber(number, plain);
    else
      plain.text.push_back(json[at]);
    plain.hasQuoted |= !word.empty();
    at += std::max<size_t>({1, word.size(), number.text.size()});
  }
  return plain;
}

} // namespace mtp
