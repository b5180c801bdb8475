//===- Literals.cpp - Numbers and strings in a template -------------------===//

#include "runtime/jinja/parse/Literals.h"

#include "runtime/core/StrCat.h"
#include "runtime/jinja/value/Numbers.h"
#include "runtime/utf8/Utf8.h"

#include <charconv>
#include <cstdio>

using namespace mtp;
using namespace mtp::jinja;

namespace {

int digitOf(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : 99;
}

/// Digits of a base with single underscores between them: where they end.
size_t scanDigits(std::string_view text, size_t at, int base,
                  bool mayStartWithUnderscore) {
  size_t end = at;
  bool isFirst = !mayStartWithUnderscore;
  while (true) {
    size_t next = end;
    if (!isFirst && next < text.size() && text[next] == '_')
      ++next;
    if (next >= text.size() || digitOf(text[next]) >= base)
      return end;
    end = next + 1;
    isFirst = false;
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
  size_t whole = scanDigits(text, 0, 10, false);
  if (whole == 0)
    return 0;
  size_t end = whole;
  bool hasPoint = false;
  if (end < text.size() && text[end] == '.') {
    size_t fraction = scanDigits(text, end + 1, 10, false);
    if (fraction > end + 1) {
      end = fraction;
      hasPoint = true;
    }
  }
  if (end < text.size() && (text[end] | 0x20) == 'e') {
    size_t digits = end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-'))
      ++digits;
    size_t exponent = scanDigits(text, digits, 10, false);
    if (exponent > digits)
      return exponent;
  }
  return hasPoint ? end : 0;
}

void readInteger(std::string_view text, int base, Literal &literal) {
  std::string digits = withoutUnderscores(text);
  auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), literal.integer, base);
  literal.isOk = error == std::errc() && end == digits.data() + digits.size();
}

/// The escape that starts at `at`, which is behind the backslash.
class Unescaper {
public:
  explicit Unescaper(std::string_view text) : text(text) {}

  Result<std::string> run();

private:
  Status escape();
  Status hex(size_t digits);
  bool simple(char c);
  void octal();

  std::string_view text;
  size_t pos = 0;
  std::string out;
};

bool Unescaper::simple(char c) {
  constexpr std::string_view kFrom = "\\'\"abfnrtv";
  constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
  size_t index = kFrom.find(c);
  if (index == std::string_view::npos)
    return false;
  out.push_back(kTo[index]);
  return true;
}

void Unescaper::octal() {
  uint32_t codePoint = 0;
  for (int i = 0; i < 3 && pos < text.size() && digitOf(text[pos]) < 8; ++i)
    codePoint = codePoint * 8 + static_cast<uint32_t>(digitOf(text[pos++]));
  appendUtf8(out, codePoint);
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
  if (c >= '0' && c <= '7') {
    octal();
    return okStatus();
  }
  if (static_cast<uint8_t>(c) >= 0x80) {
    // Jinja has Python read "\xe9" for it, with the backslash before that.
    uint32_t codePoint = decodeUtf8(text, pos);
    pos += utf8Length(text, pos);
    char buffer[16];
    std::snprintf(buffer, sizeof(buffer),
                  codePoint < 0x100     ? "\\x%02x"
                  : codePoint < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                  codePoint);
    out.append(buffer);
    return okStatus();
  }
  ++pos;
  if (c == 'x')
    return hex(2);
  if (c == 'u')
    return hex(4);
  if (c == 'U')
    return hex(8);
  if (c == 'N')
    return unimplemented("expected an escape other than '\\N', got '\\N'");
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
  if (text.empty() || digitOf(text[0]) >= 10)
    return literal;
  if (size_t size = mayBeFloat ? scanFloat(text) : 0) {
    literal.size = size;
    literal.isFloat = true;
    literal.real = parseFloat(withoutUnderscores(text.substr(0, size)));
    return literal;
  }
  char mark = text.size() > 1 && text[0] == '0'
                  ? static_cast<char>(text[1] | 0x20)
                  : ' ';
  int base = mark == 'b' ? 2 : mark == 'o' ? 8 : mark == 'x' ? 16 : 10;
  if (base != 10) {
    size_t end = scanDigits(text, 2, base, true);
    if (end > 2) {
      literal.size = end;
      readInteger(text.substr(2, end - 2), base, literal);
      return literal;
    }
  }
  // A zero is followed by zeros only: "01" is two numbers.
  literal.size = scanDigits(text, 0, text[0] == '0' ? 1 : 10, false);
  readInteger(text.substr(0, literal.size), 10, literal);
  return literal;
}

Result<std::string> jinja::unescape(std::string_view text) {
  return Unescaper(text).run();
}
