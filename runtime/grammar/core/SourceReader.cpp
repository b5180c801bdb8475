//===- SourceReader.cpp - Reads the characters of a source ----------------===//

#include "runtime/grammar/core/SourceReader.h"

#include "runtime/core/StrCat.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::grammar;

namespace {

constexpr uint32_t kLargest = (1u << 31) - 1;

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

} // namespace

bool SourceReader::take(std::string_view text) {
  if (!startsWith(text))
    return false;
  pos += text.size();
  return true;
}

uint32_t SourceReader::takeCharacter() {
  uint32_t character = decodeUtf8(source, pos);
  pos += utf8Length(source, pos);
  return character;
}

bool SourceReader::takeHex(uint32_t count, uint32_t &value) {
  if (source.size() - pos < count)
    return false;
  uint32_t read = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int digit = hexDigit(source[pos + i]);
    if (digit < 0)
      return false;
    read = read << 4 | static_cast<uint32_t>(digit);
  }
  pos += count;
  value = read;
  return true;
}

bool SourceReader::takeNumber(uint32_t &value) {
  size_t begin = pos;
  uint64_t read = 0;
  for (; peek() >= '0' && peek() <= '9'; ++pos)
    read = std::min<uint64_t>(read * 10 + (peek() - '0'), kLargest);
  value = static_cast<uint32_t>(read);
  return pos > begin;
}

std::string SourceReader::place() const {
  std::string_view before = source.substr(0, pos);
  size_t lineStart = before.rfind('\n') + 1;
  return strCat("line ", 1 + std::count(before.begin(), before.end(), '\n'),
                ", column ", pos - lineStart + 1);
}

std::string SourceReader::found() const {
  if (atEnd())
    return "the end";
  return strCat("'", source.substr(pos, utf8Length(source, pos)), "'");
}

Status SourceReader::expected(std::string_view expected) const {
  return invalidArgument(
      strCat(place(), ": expected ", expected, ", got ", found()));
}
