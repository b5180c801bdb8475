//===- Literals.cpp - Number and string literals --------------------------===//

#include "runtime/jinja/parse/Literals.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Numbers.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <charconv>

using namespace mtp;
using namespace mtp::jinja;

namespace {

constexpr size_t npos = std::string_view::npos;

int digitOf(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : 99;
}

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Returns the end of the decimal digits from `at` on. Single underscores may
/// be between them.
size_t scanDigits(std::string_view text, size_t at) {
  size_t end = at;
  while (true) {
    size_t next = end;
    if (end > at && next < text.size() && text[next] == '_')
      ++next;
    if (next >= text.size() || !isDigit(text[next]))
      return end;
    end = next + 1;
  }
}

std::string withoutUnderscores(std::string_view text) {
  std::string digits;
  for (char c : text)
    if (c != '_')
      digits.push_back(c);
  return digits;
}

size_t scanFloat(std::string_view text) {
  size_t whole = scanDigits(text, 0);
  if (whole == 0)
    return 0;
  size_t end = whole;
  bool hasPoint = false;
  if (end < text.size() && text[end] == '.') {
    size_t fraction = scanDigits(text, end + 1);
    if (fraction > end + 1) {
      end = fraction;
      hasPoint = true;
    }
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-'))
      ++digits;
    size_t exponent = scanDigits(text, digits);
    if (exponent > digits)
      return exponent;
  }
  return hasPoint ? end : 0;
}

/// Replaces the escapes of a string.
class Unescaper {
public:
  explicit Unescaper(std::string_view text) : text(text) {}

  Result<std::string> run();

private:
  Status escape();
  Status hex(size_t digits);
  bool simple(char c);

  std::string_view text;
  size_t pos = 0;
  std::string out;
};

bool Unescaper::simple(char c) {
  constexpr std::string_view kFrom = "\\'\"abfnrtv";
  constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
  size_t index = kFrom.find(c);
  if (index == npos)
    return false;
  out.push_back(kTo[index]);
  return true;
}

Status Unescaper::hex(size_t digits) {
  uint32_t codePoint = 0;
  for (size_t i = 0; i < digits; ++i, ++pos) {
    if (pos >= text.size() || digitOf(text[pos]) >= 16)
      return invalidArgument(strCat("expected ", digits,
                                    " hexadecimal digits in an escape of a "
                                    "string, got fewer"));
    codePoint = codePoint << 4 | static_cast<uint32_t>(digitOf(text[pos]));
  }
  if (codePoint > 0x10FFFF || (codePoint >= 0xD800 && codePoint < 0xE000))
    return invalidArgument("expected an escape of a character in a string, got "
                           "one of a surrogate or beyond U+10FFFF");
  appendUtf8(out, codePoint);
  return okStatus();
}

Status Unescaper::escape() {
  if (pos >= text.size())
    return invalidArgument("expected a character after '\\', got the end of "
                           "the string");
  char c = text[pos];
  if (isDigit(c) || c == 'N' || static_cast<uint8_t>(c) >= 0x80) {
    std::string_view escape = text.substr(pos, utf8Length(text, pos));
    return unimplemented(strCat("expected a supported escape in a string, got "
                                "'\\",
                                escape, "'"));
  }
  ++pos;
  if (c == 'x')
    return hex(2);
  if (c == 'u')
    return hex(4);
  if (c == 'U')
    return hex(8);
  if (c == '\n' || simple(c))
    return okStatus();
  out.push_back('\\');
  out.push_back(c);
  return okStatus();
}

Result<std::string> Unescaper::run() {
  while (pos < text.size()) {
    if (text[pos] != '\\') {
      out.push_back(text[pos++]);
      continue;
    }
    ++pos;
    MTP_RETURN_IF_ERROR(escape());
  }
  return std::move(out);
}

} // namespace

Literal jinja::scanNumber(std::string_view text, bool mayBeFloat) {
  Literal literal;
  if (text.empty() || !isDigit(text[0]))
    return literal;
  size_t size = mayBeFloat ? scanFloat(text) : 0;
  literal.isFloat = size > 0;
  // Only zeros follow a zero: "01" is two numbers.
  constexpr std::string_view kZeros = "0_";
  literal.size = literal.isFloat ? size : scanDigits(text, 0);
  if (!literal.isFloat && text[0] == '0')
    literal.size = std::min(text.find_first_not_of(kZeros), literal.size);
  std::string digits = withoutUnderscores(text.substr(0, literal.size));
  if (literal.isFloat) {
    literal.real = parseFloat(digits);
    return literal;
  }
  bool hasBase = digits == "0" && text.size() > 2 &&
                 std::string_view("box").find(char(text[1] | 0x20)) != npos &&
                 digitOf(text[2]) < 16;
  if (hasBase) {
    literal.isDecimal = false;
    return literal;
  }
  const char *end = digits.data() + digits.size();
  literal.isOk =
      std::from_chars(digits.data(), end, literal.integer).ec == std::errc();
  return literal;
}

Result<std::string> jinja::unescape(std::string_view text) {
  return Unescaper(text).run();
}
