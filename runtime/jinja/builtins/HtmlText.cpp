//===- HtmlText.cpp - Text that HTML means --------------------------------===//

#include "runtime/jinja/builtins/HtmlText.h"

#include "runtime/jinja/value/Characters.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

using namespace mtp;
using namespace mtp::jinja;

namespace {

/// Code points that browsers read for the numbers 0x80 to 0x9F of Windows-1252.
constexpr uint16_t kWindows[32] = {
    0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021,
    0x2C6,  0x2030, 0x160,  0x2039, 0x152,  0x8D,   0x17D,  0x8F,
    0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};

constexpr size_t kMostName = 32;

struct Entity {
  std::string_view name;
  std::string text;
};

std::vector<Entity> readEntities() {
  std::vector<Entity> all;
  for (std::string_view rest = kHtmlEntities; !rest.empty();) {
    std::string_view entry = rest.substr(0, rest.find(' '));
    rest.remove_prefix(entry.size() + 1);
    size_t equals = entry.find('=');
    Entity entity{entry.substr(0, equals), ""};
    uint32_t codePoint = 0;
    for (char c : entry.substr(equals + 1)) {
      if (c == ',') {
        appendUtf8(entity.text, codePoint);
        codePoint = 0;
        continue;
      }
      codePoint = codePoint * 16 + uint32_t(c <= '9' ? c - '0' : c - 'A' + 10);
    }
    appendUtf8(entity.text, codePoint);
    all.push_back(std::move(entity));
  }
  return all;
}

const std::string *findEntity(std::string_view name) {
  static const std::vector<Entity> all = readEntities();
  auto found = std::ranges::lower_bound(all, name, {}, &Entity::name);
  return found != all.end() && found->name == name ? &found->text : nullptr;
}

/// No character, or one for the use of programs alone.
bool isNothing(uint32_t number) {
  return (number >= 1 && number <= 8) || number == 0xB ||
         (number >= 0xE && number <= 0x1F) ||
         (number >= 0x7F && number <= 0x9F) ||
         (number >= 0xFDD0 && number <= 0xFDEF) || (number & 0xFFFE) == 0xFFFE;
}

std::string characterOf(uint32_t number) {
  std::string text;
  if (number >= 0x80 && number <= 0x9F)
    appendUtf8(text, kWindows[number - 0x80]);
  else if (number == 0 || (number >= 0xD800 && number <= 0xDFFF) ||
           number > 0x10FFFF)
    appendUtf8(text, 0xFFFD);
  else if (!isNothing(number))
    appendUtf8(text, number);
  return text;
}

std::optional<uint32_t> digitOf(char c, uint32_t base) {
  uint32_t digit = 16;
  if (c >= '0' && c <= '9')
    digit = uint32_t(c - '0');
  else if (c >= 'a' && c <= 'f')
    digit = uint32_t(c - 'a' + 10);
  else if (c >= 'A' && c <= 'F')
    digit = uint32_t(c - 'A' + 10);
  return digit < base ? std::optional(digit) : std::nullopt;
}

/// Appends what "#38;" and the like behind an '&' mean; returns their bytes,
/// none where there is no number.
size_t appendNumber(std::string_view text, std::string &out) {
  size_t at = 1;
  uint32_t base = 10;
  if (at < text.size() && (text[at] == 'x' || text[at] == 'X')) {
    base = 16;
    ++at;
  }
  size_t first = at;
  uint32_t number = 0;
  for (; at < text.size(); ++at) {
    std::optional<uint32_t> digit = digitOf(text[at], base);
    if (!digit)
      break;
    number = std::min(number * base + *digit, uint32_t(0x110000));
  }
  if (at == first)
    return 0;
  out += characterOf(number);
  return at < text.size() && text[at] == ';' ? at + 1 : at;
}

/// Appends the characters of a name; for an unknown name, the characters of its
/// longest known prefix.
size_t appendName(std::string_view text, std::string &out) {
  constexpr std::string_view kEnds = "\t\n\f <&#;";
  size_t end = 0;
  for (size_t count = 0; end < text.size() && count < kMostName &&
                         kEnds.find(text[end]) == kEnds.npos;
       ++count)
    end += utf8Length(text, end);
  if (end == 0)
    return 0;
  if (end < text.size() && text[end] == ';')
    ++end;
  for (size_t size = end; size >= 2; --size)
    if (const std::string *known = findEntity(text.substr(0, size))) {
      out += *known;
      out += text.substr(size, end - size);
      return end;
    }
  // A whole name of one character is none.
  out += '&';
  out += text.substr(0, end);
  return end;
}

/// The text without comments, as markupsafe 3 removes them: what a removed
/// comment has joined may be the begin of another one. From the first comment
/// without an end on the text stays.
std::string withoutComments(std::string_view text) {
  constexpr std::string_view kOpen = "<!--", kClose = "-->";
  std::string out;
  while (!text.empty()) {
    out += text.front();
    text.remove_prefix(1);
    if (!out.ends_with(kOpen))
      continue;
    // The end may begin with the dashes of the begin.
    size_t end = text.starts_with(">")    ? 1
                 : text.starts_with("->") ? 2
                                          : text.find(kClose);
    if (end == text.npos)
      return out.append(text);
    out.resize(out.size() - kOpen.size());
    bool isOwn = text.starts_with(">") || text.starts_with("->");
    text.remove_prefix(isOwn ? end : end + kClose.size());
  }
  return out;
}

/// The text without comments and tags; from the first tag without an end on it
/// stays.
std::string withoutTags(std::string_view whole) {
  std::string kept = withoutComments(whole), out;
  std::string_view text = kept;
  for (;;) {
    size_t start = text.find('<');
    size_t end = start == text.npos ? start : text.find('>', start);
    if (end == text.npos)
      return out.append(text);
    out.append(text.substr(0, start));
    text.remove_prefix(end + 1);
  }
}

/// Words with single spaces between them.
std::string withSingleSpaces(std::string_view text) {
  std::string out;
  bool isBehindSpace = false;
  for (size_t at = 0, size; at < text.size(); at += size) {
    size = utf8Length(text, at);
    if (isSpace(decodeUtf8(text, at))) {
      isBehindSpace = !out.empty();
      continue;
    }
    if (std::exchange(isBehindSpace, false))
      out += ' ';
    out += text.substr(at, size);
  }
  return out;
}

} // namespace

std::string jinja::unescapeHtml(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t mark = std::min(text.find('&'), text.size());
    out.append(text.substr(0, mark));
    text.remove_prefix(mark);
    if (text.empty())
      break;
    text.remove_prefix(1);
    bool isNumber = !text.empty() && text[0] == '#';
    size_t taken = isNumber ? appendNumber(text, out) : appendName(text, out);
    if (taken == 0)
      out += '&';
    text.remove_prefix(taken);
  }
  return out;
}

std::string jinja::stripTags(std::string_view text) {
  return unescapeHtml(withSingleSpaces(withoutTags(text)));
}
