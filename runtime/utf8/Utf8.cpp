//===- Utf8.cpp - Checks and repairs UTF-8 --------------------------------===//

#include "runtime/utf8/Utf8.h"

#include <cstring>

using namespace mtp;

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The first byte of a character limits the bytes after it: table 3-7 of the
/// Unicode standard. Only the bounds of the second byte depend on the first
/// byte.
struct Lead {
  uint8_t length; ///< 0 if no character starts with this byte.
  uint8_t low;
  uint8_t high;
};

Lead classifyLead(uint8_t byte) {
  if (byte < 0x80)
    return {1, 0, 0};
  if (byte < 0xC2)
    return {0, 0, 0};
  if (byte < 0xE0)
    return {2, 0x80, 0xBF};
  if (byte < 0xF0)
    return {3, uint8_t(byte == 0xE0 ? 0xA0 : 0x80),
            uint8_t(byte == 0xED ? 0x9F : 0xBF)};
  if (byte < 0xF5)
    return {4, uint8_t(byte == 0xF0 ? 0x90 : 0x80),
            uint8_t(byte == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

/// Returns the end of leading ASCII. The search takes eight bytes at a time.
size_t skipAscii(std::string_view text, size_t pos) {
  for (; pos + 8 <= text.size(); pos += 8) {
    uint64_t block;
    std::memcpy(&block, text.data() + pos, 8);
    if (block & 0x8080808080808080u)
      break;
  }
  while (pos < text.size() && static_cast<uint8_t>(text[pos]) < 0x80)
    ++pos;
  return pos;
}

} // namespace

size_t mtp::findInvalidUtf8(std::string_view text) {
  auto byteAt = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  size_t pos = skipAscii(text, 0);
  while (pos < text.size()) {
    Lead lead = classifyLead(byteAt(pos));
    if (lead.length == 0 || text.size() - pos < lead.length)
      return pos;
    if (byteAt(pos + 1) < lead.low || byteAt(pos + 1) > lead.high)
      return pos;
    for (size_t i = 2; i < lead.length; ++i)
      if ((byteAt(pos + i) & 0xC0) != 0x80)
        return pos;
    pos = skipAscii(text, pos + lead.length);
  }
  return pos;
}

uint32_t mtp::decodeUtf8(std::string_view text, size_t pos) {
  size_t length = utf8Length(text, pos);
  uint32_t codePoint = static_cast<uint8_t>(text[pos]);
  if (length == 1)
    return codePoint;
  codePoint &= 0x7Fu >> length;
  for (size_t i = 1; i < length; ++i)
    codePoint = codePoint << 6 | (static_cast<uint8_t>(text[pos + i]) & 0x3Fu);
  return codePoint;
}

void mtp::appendUtf8(std::string &text, uint32_t codePoint) {
  auto tail = [&](int shift) {
    text.push_back(static_cast<char>(0x80 | (codePoint >> shift & 0x3F)));
  };
  if (codePoint < 0x80) {
    text.push_back(static_cast<char>(codePoint));
  } else if (codePoint < 0x800) {
    text.push_back(static_cast<char>(0xC0 | codePoint >> 6));
    tail(0);
  } else if (codePoint < 0x10000) {
    text.push_back(static_cast<char>(0xE0 | codePoint >> 12));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<char>(0xF0 | codePoint >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

void Utf8Assembler::append(std::string_view bytes, std::string &text) {
  for (char byte : bytes)
    appendByte(static_cast<uint8_t>(byte), text);
}

void Utf8Assembler::appendByte(uint8_t byte, std::string &text) {
  if (heldCount > 0) {
    if (byte >= low && byte <= high) {
      held[heldCount++] = static_cast<char>(byte);
      low = 0x80;
      high = 0xBF;
      if (heldCount == wanted) {
        text.append(held, heldCount);
        heldCount = 0;
      }
      return;
    }
    // The held part is ill-formed. This byte may start a character.
    finish(text);
  }
  Lead lead = classifyLead(byte);
  if (lead.length == 0) {
    text.append(kReplacement);
  } else if (lead.length == 1) {
    text.push_back(static_cast<char>(byte));
  } else {
    held[0] = static_cast<char>(byte);
    heldCount = 1;
    wanted = lead.length;
    low = lead.low;
    high = lead.high;
  }
}

void Utf8Assembler::finish(std::string &text) {
  if (heldCount > 0)
    text.append(kReplacement);
  heldCount = 0;
}
