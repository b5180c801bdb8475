//===- CharacterClass.cpp - Classes and escapes of patterns ---------------===//

#include "runtime/grammar/regex/CharacterClass.h"

#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::grammar;

namespace {

// ECMAScript's classes.
const CodePoints &digits() {
  static const CodePoints set = {{'0', '9'}};
  return set;
}
const CodePoints &wordCharacters() {
  static const CodePoints set = {
      {'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}
const CodePoints &spaces() {
  static const CodePoints set = {
      {0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680},
      {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
      {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
  return set;
}

/// The letters of escapes for control characters, and the characters.
constexpr std::string_view kNames = "nrtfv", kControls = "\n\r\t\f\v";

CodePoints one(uint32_t character) { return {{character, character}}; }

Result<CodePoints> character(const SourceReader &reader, uint32_t value) {
  if (value > CodePoints::kLast || (value >= 0xD800 && value <= 0xDFFF))
    return invalidArgument(strCat(reader.place(),
                                  ": expected a Unicode character, got code "
                                  "point ",
                                  value));
  return one(value);
}

/// Reads the digits after `\x` or `\u`.
Result<CodePoints> parseHex(SourceReader &reader, char kind) {
  uint32_t value = 0;
  if (kind == 'x')
    return reader.takeHex(2, value)
               ? character(reader, value)
               : reader.expected("2 hexadecimal digits after '\\x'");
  if (reader.take("{")) {
    uint32_t digit = 0, count = 0;
    for (; count < 6 && reader.takeHex(1, digit); ++count)
      value = value << 4 | digit;
    return count > 0 && reader.take("}")
               ? character(reader, value)
               : reader.expected("1 to 6 hexadecimal digits and '}'");
  }
  if (!reader.takeHex(4, value))
    return reader.expected("4 hexadecimal digits after '\\u'");
  // Two escapes can be one character.
  uint32_t low = 0;
  size_t position = reader.position();
  if (value >= 0xD800 && value <= 0xDBFF) {
    if (reader.take("\\u") && reader.takeHex(4, low) && low >= 0xDC00 &&
        low <= 0xDFFF)
      value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
    else
      reader.setPosition(position);
  }
  return character(reader, value);
}

Status unsupported(const SourceReader &reader, std::string_view what) {
  return unimplemented(strCat(reader.place(),
                              ": expected a regular expression without ", what,
                              ", which are not supported"));
}

} // namespace

CodePoints mtp::grammar::dotCharacters() {
  CodePoints ends = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return ends.complement();
}

Result<CodePoints> mtp::grammar::parseEscape(SourceReader &reader,
                                             bool &isClass) {
  isClass = false;
  if (reader.atEnd())
    return reader.expected("a character after '\\'");
  char kind = reader.peek();
  if (kind == 'b' || kind == 'B')
    return unsupported(reader, "word boundaries");
  if ((kind >= '1' && kind <= '9') || kind == 'k')
    return unsupported(reader, "back-references");
  if (kind == 'p' || kind == 'P')
    return unsupported(reader, "Unicode properties");
  uint32_t c = reader.takeCharacter();
  isClass = c < 0x80 &&
            std::string_view("dDwWsS").find(char(c)) != std::string_view::npos;
  switch (c) {
  case 'd':
    return digits();
  case 'D':
    return digits().complement();
  case 'w':
    return wordCharacters();
  case 'W':
    return wordCharacters().complement();
  case 's':
    return spaces();
  case 'S':
    return spaces().complement();
  case '0':
    return one(0);
  case 'x':
  case 'u':
    return parseHex(reader, static_cast<char>(c));
  default:
    if (size_t named = kNames.find(char(c)); c < 0x80 && named != kNames.npos)
      return one(static_cast<uint8_t>(kControls[named]));
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      return invalidArgument(strCat(reader.place(),
                                    ": expected a known escape, got '\\",
                                    std::string(1, char(c)), "'"));
    return one(c);
  }
}

Result<CodePoints> mtp::grammar::parseClass(SourceReader &reader) {
  bool isNegated = reader.take("^");
  // ECMAScript and Python read `[]` differently.
  if (reader.peek() == ']')
    return reader.expected("a character in a class");
  CodePoints set;
  auto next = [&](bool &isClass) -> Result<CodePoints> {
    isClass = false;
    if (reader.atEnd())
      return reader.expected("']' at the end of a class");
    // In a class \b is a backspace.
    if (reader.take("\\b"))
      return one('\b');
    if (reader.take("\\"))
      return parseEscape(reader, isClass);
    return one(reader.takeCharacter());
  };
  while (!reader.take("]")) {
    bool isClass;
    MTP_ASSIGN_OR_RETURN(CodePoints first, next(isClass));
    if (isClass || reader.peek() != '-' || reader.startsWith("-]")) {
      set.add(first);
      continue;
    }
    size_t dash = reader.position();
    reader.take("-");
    MTP_ASSIGN_OR_RETURN(CodePoints last, next(isClass));
    if (isClass) {
      // The dash is a character: [a-\d].
      reader.setPosition(dash);
      set.add(first);
      set.add(one(reader.takeCharacter()));
      continue;
    }
    uint32_t from = first.ranges()[0].first, to = last.ranges()[0].first;
    if (to < from)
      return reader.expected("ascending ranges in a class");
    set.add(from, to);
  }
  return isNegated ? set.complement() : set;
}
