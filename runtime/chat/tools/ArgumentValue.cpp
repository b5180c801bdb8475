//===- ArgumentValue.cpp - Arguments that are text ------------------------===//

#include "runtime/chat/tools/ArgumentValue.h"

#include "runtime/chat/tools/CallText.h"
#include "runtime/chat/tools/JsonScanner.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <set>

using namespace mtp;

/// Returns whether two texts are equal without regard to the case of letters.
static bool isWord(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
  });
}

static bool isNumber(std::string_view text) {
  return !text.empty() &&
         (text[0] == '-' || (text[0] >= '0' && text[0] <= '9')) &&
         JsonScanner::isValue(text);
}

/// Returns an object or array, in JSON or as Python's literal.
static std::optional<std::string> containerJson(std::string_view text) {
  return JsonScanner::isValue(text) ? std::string(text) : pythonToJson(text);
}

/// Returns the JSON of a text that is not a string by the schema's types.
static std::optional<std::string> typedJson(std::string_view text,
                                            const ValueTypes &types) {
  if ((types.null || !types.string) &&
      (isWord(text, "null") || isWord(text, "none")))
    return "null";
  if (types.boolean && (isWord(text, "true") || isWord(text, "false")))
    return isWord(text, "true") ? "true" : "false";
  if ((types.integer || types.number) && isNumber(text))
    return std::string(text);
  if ((types.object && text.starts_with('{')) ||
      (types.array && (text.starts_with('[') || text.starts_with('('))))
    return containerJson(text);
  return std::nullopt;
}

std::string mtp::argumentJson(std::string_view text, const ValueTypes &types,
                              bool isJsonByDefault) {
  std::string_view inner = trimmed(text);
  std::optional<std::string> json;
  if (types.isUnknown() && isJsonByDefault)
    json = containerJson(inner);
  else if (!types.isUnknown() && !types.isOnlyString())
    json = typedJson(inner, types);
  return json ? *json : jsonQuoted(text);
}

//===----------------------------------------------------------------------===//
// Python
//===----------------------------------------------------------------------===//

namespace {
/// Reads Python's literals.
class PythonReader {
public:
  explicit PythonReader(std::string_view text) : rest(trimmed(text)) {}

  bool readValue();
  bool readArguments();
  bool isAtEnd() const {
    return rest.find_first_not_of(kCallSpace) == rest.npos;
  }
  std::string take() { return std::move(json); }

private:
  static constexpr size_t kMostDepth = 64;

  void skipSpace();
  bool has(char c);
  bool readList(char end);
  bool readDict();
  bool readString();
  bool readEscape(std::string &text);
  bool readDigits(size_t digits, uint32_t &code);
  bool readHex(size_t digits, std::string &text);
  bool readWord();
  bool readKey();

  /// The keys of a call, of which each may come once.
  std::set<std::string_view> keys;
  std::string_view rest;
  std::string json;
  size_t depth = 0;
};
} // namespace

void PythonReader::skipSpace() {
  rest.remove_prefix(std::min(rest.find_first_not_of(kCallSpace), rest.size()));
}

/// Skips white space, and a byte if it is `c`.
bool PythonReader::has(char c) {
  skipSpace();
  if (!rest.starts_with(c))
    return false;
  rest.remove_prefix(1);
  return true;
}

bool PythonReader::readValue() {
  if (depth == kMostDepth)
    return false;
  ++depth;
  bool isRead = false;
  if (has('['))
    isRead = readList(']');
  else if (has('('))
    isRead = readList(')');
  else if (has('{'))
    isRead = readDict();
  else if (rest.starts_with('"') || rest.starts_with('\''))
    isRead = readString();
  else
    isRead = readWord();
  --depth;
  return isRead;
}

bool PythonReader::readList(char end) {
  json += '[';
  for (bool isFirst = true; !has(end); isFirst = false) {
    if (!isFirst) {
      if (!has(','))
        return false;
      if (has(end))
        break;
      json += ", ";
    }
    if (!readValue())
      return false;
  }
  json += ']';
  return true;
}

bool PythonReader::readDict() {
  json += '{';
  for (bool isFirst = true; !has('}'); isFirst = false) {
    if (!isFirst) {
      if (!has(','))
        return false;
      if (has('}'))
        break;
      json += ", ";
    }
    skipSpace();
    if (!(rest.starts_with('"') || rest.starts_with('\'')) || !readString() ||
        !has(':'))
      return false;
    json += ": ";
    if (!readValue())
      return false;
  }
  json += '}';
  return true;
}

/// Reads the digits of a number in base 16.
bool PythonReader::readDigits(size_t digits, uint32_t &code) {
  code = 0;
  for (size_t i = 0; i < digits; ++i) {
    char c = rest.empty() ? ' ' : rest.front();
    size_t digit = std::string_view("0123456789abcdef").find(char(c | 0x20));
    if (digit == std::string_view::npos || c == ' ')
      return false;
    code = code * 16 + uint32_t(digit);
    rest.remove_prefix(1);
  }
  return true;
}

/// Reads the digits of a character's number, and a second half as in JSON.
bool PythonReader::readHex(size_t digits, std::string &text) {
  uint32_t code = 0, low = 0;
  if (!readDigits(digits, code))
    return false;
  if (code >= 0xD800 && code < 0xDC00 && rest.starts_with("\\u")) {
    rest.remove_prefix(2);
    if (!readDigits(4, low) || low < 0xDC00 || low >= 0xE000)
      return false;
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return false;
  appendUtf8(text, code);
  return true;
}

bool PythonReader::readEscape(std::string &text) {
  if (rest.empty())
    return false;
  char c = rest.front();
  rest.remove_prefix(1);
  // Models write JSON's "\/" as well.
  constexpr std::string_view kFrom = "nrt\\'\"/abfv0";
  constexpr std::string_view kTo("\n\r\t\\'\"/\a\b\f\v\0", 12);
  if (size_t at = kFrom.find(c); at != kFrom.npos)
    text += kTo[at];
  else if (c == 'x' || c == 'u' || c == 'U')
    return readHex(c == 'x' ? 2 : c == 'u' ? 4 : 8, text);
  else if (c != '\n')
    (text += '\\') += c;
  return true;
}

bool PythonReader::readString() {
  char quote = rest.front();
  rest.remove_prefix(1);
  std::string text;
  for (;;) {
    size_t end = rest.find_first_of(quote == '"' ? "\"\\" : "'\\");
    if (end == rest.npos)
      return false;
    text += rest.substr(0, end);
    char c = rest[end];
    rest.remove_prefix(end + 1);
    if (c == quote)
      break;
    if (!readEscape(text))
      return false;
  }
  json += jsonQuoted(text);
  return true;
}

bool PythonReader::readWord() {
  size_t end = rest.find_first_of(" \t\r\n,]})");
  std::string_view word = rest.substr(0, end);
  rest.remove_prefix(word.size());
  if (word == "True" || word == "true")
    json += "true";
  else if (word == "False" || word == "false")
    json += "false";
  else if (word == "None" || word == "null")
    json += "null";
  else if (isNumber(word))
    json += word;
  else
    return false;
  return true;
}

/// Reads the name of a keyword argument.
bool PythonReader::readKey() {
  size_t end = rest.find_first_of("=,()[]{}'\" \t\r\n");
  if (end == 0 || end == rest.npos || !keys.insert(rest.substr(0, end)).second)
    return false;
  json += jsonQuoted(rest.substr(0, end));
  rest.remove_prefix(end);
  return has('=');
}

bool PythonReader::readArguments() {
  json += '{';
  for (bool isFirst = true; !isAtEnd(); isFirst = false) {
    if (!isFirst) {
      if (!has(','))
        return false;
      if (isAtEnd())
        break;
      json += ", ";
    }
    skipSpace();
    if (!readKey())
      return false;
    json += ": ";
    if (!readValue())
      return false;
  }
  json += '}';
  return true;
}

std::optional<std::string> mtp::pythonToJson(std::string_view text) {
  PythonReader reader(text);
  if (!reader.readValue() || !reader.isAtEnd())
    return std::nullopt;
  return reader.take();
}

std::optional<std::string> mtp::pythonArgumentsToJson(std::string_view text) {
  PythonReader reader(text);
  if (!reader.readArguments())
    return std::nullopt;
  return reader.take();
}
