//===- Characters.cpp - Classes and cases of characters -------------------===//

#include "runtime/jinja/value/Characters.h"

#include "runtime/utf8/UnicodeForms.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <utf8proc.h>
#include <vector>

using namespace mtp;
using namespace mtp::jinja;

namespace {

utf8proc_category_t categoryOf(uint32_t codePoint) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(codePoint));
}

bool isLetter(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

struct Span {
  uint32_t first, last;
};

template <size_t n>
bool isIn(const Span (&spans)[n], uint32_t codePoint) {
  return std::ranges::any_of(spans, [&](const Span &span) {
    return codePoint >= span.first && codePoint <= span.last;
  });
}

/// Returns Unicode's property Lowercase: category Ll or Other_Lowercase.
bool isLowercase(uint32_t codePoint) {
  constexpr Span kOther[] = {
      {0xAA, 0xAA},       {0xBA, 0xBA},       {0x2B0, 0x2B8},
      {0x2C0, 0x2C1},     {0x2E0, 0x2E4},     {0x345, 0x345},
      {0x37A, 0x37A},     {0x1D2C, 0x1D6A},   {0x1D78, 0x1D78},
      {0x1D9B, 0x1DBF},   {0x2071, 0x2071},   {0x207F, 0x207F},
      {0x2090, 0x209C},   {0x2170, 0x217F},   {0x24D0, 0x24E9},
      {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
      {0xA7F8, 0xA7F9},   {0xAB5C, 0xAB5F},   {0x10780, 0x10780},
      {0x10783, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}};
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_LL ||
         isIn(kOther, codePoint);
}

/// Returns Unicode's property Uppercase: category Lu or Other_Uppercase.
bool isUppercase(uint32_t codePoint) {
  constexpr Span kOther[] = {{0x2160, 0x216F},
                             {0x24B6, 0x24CF},
                             {0x1F130, 0x1F149},
                             {0x1F150, 0x1F169},
                             {0x1F170, 0x1F189}};
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_LU ||
         isIn(kOther, codePoint);
}

bool isCased(uint32_t codePoint) {
  return isLowercase(codePoint) || isUppercase(codePoint) ||
         categoryOf(codePoint) == UTF8PROC_CATEGORY_LT;
}

/// Returns whether the case of a neighbour does not depend on the character.
bool isCaseIgnorable(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
         category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
         category == UTF8PROC_CATEGORY_SK || codePoint == '\'' ||
         codePoint == '.' || codePoint == ':' || codePoint == 0xB7 ||
         codePoint == 0x2019;
}

std::vector<uint32_t> decode(std::string_view text) {
  std::vector<uint32_t> codePoints;
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos))
    codePoints.push_back(decodeUtf8(text, pos));
  return codePoints;
}

uint32_t simpleUpper(uint32_t codePoint) {
  return static_cast<uint32_t>(
      utf8proc_toupper(static_cast<utf8proc_int32_t>(codePoint)));
}

/// Returns the full case folding of a character. For a character that is not
/// upper case, the folding has several characters exactly if its full upper
/// case has several.
std::vector<uint32_t> foldOf(uint32_t codePoint) {
  utf8proc_int32_t folded[4];
  int boundary = 0;
  utf8proc_ssize_t size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(codePoint), folded,
                              4, UTF8PROC_CASEFOLD, &boundary);
  return std::vector<uint32_t>(folded,
                               folded + std::clamp<int64_t>(size, 0, 4));
}

void appendUpper(std::string &out, uint32_t codePoint) {
  std::vector<uint32_t> fold = foldOf(codePoint);
  if (fold.size() < 2 || isUppercase(codePoint))
    return appendUtf8(out, simpleUpper(codePoint));
  for (uint32_t part : fold)
    appendUtf8(out, simpleUpper(part));
}

void appendTitle(std::string &out, uint32_t codePoint) {
  auto title = static_cast<uint32_t>(
      utf8proc_totitle(static_cast<utf8proc_int32_t>(codePoint)));
  std::vector<uint32_t> fold = foldOf(codePoint);
  if (fold.size() < 2 || isUppercase(codePoint) ||
      categoryOf(title) == UTF8PROC_CATEGORY_LT)
    return appendUtf8(out, title);
  // The first letter is upper case. An iota after it becomes a mark below it.
  constexpr uint32_t kIota = 0x3B9, kIotaBelow = 0x345;
  bool isAfterLetter = false;
  for (uint32_t part : fold) {
    appendUtf8(out, !isAfterLetter  ? simpleUpper(part)
                    : part == kIota ? kIotaBelow
                                    : part);
    isAfterLetter |= isCased(part) && !isCaseIgnorable(part);
  }
}

/// Returns whether a sigma ends a word. Its lower case has a form for that.
bool isFinalSigma(const std::vector<uint32_t> &text, size_t at) {
  size_t before = at;
  while (before > 0 && isCaseIgnorable(text[before - 1]))
    --before;
  if (before == 0 || !isCased(text[before - 1]))
    return false;
  size_t after = at + 1;
  while (after < text.size() && isCaseIgnorable(text[after]))
    ++after;
  return after == text.size() || !isCased(text[after]);
}

void appendLower(std::string &out, const std::vector<uint32_t> &text,
                 size_t at) {
  if (text[at] == 0x3A3)
    return appendUtf8(out, isFinalSigma(text, at) ? 0x3C2 : 0x3C3);
  std::string character;
  appendUtf8(character, text[at]);
  appendLowercase(character, out);
}

bool allCased(std::string_view text, bool (*test)(uint32_t)) {
  bool isAny = false;
  for (uint32_t codePoint : decode(text)) {
    if (isCased(codePoint) && !test(codePoint))
      return false;
    isAny |= isCased(codePoint);
  }
  return isAny;
}

} // namespace

bool jinja::isSpace(uint32_t codePoint) {
  return (codePoint >= 9 && codePoint <= 13) ||
         (codePoint >= 28 && codePoint <= 32) || codePoint == 0x85 ||
         codePoint == 0xA0 || codePoint == 0x1680 ||
         (codePoint >= 0x2000 && codePoint <= 0x200A) || codePoint == 0x2028 ||
         codePoint == 0x2029 || codePoint == 0x202F || codePoint == 0x205F ||
         codePoint == 0x3000;
}

bool jinja::isPrintable(uint32_t codePoint) {
  switch (categoryOf(codePoint)) {
  case UTF8PROC_CATEGORY_CN:
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return false;
  case UTF8PROC_CATEGORY_ZS:
    return codePoint == ' ';
  default:
    return true;
  }
}

bool jinja::startsName(uint32_t codePoint) {
  return codePoint == '_' || isLetter(codePoint) ||
         categoryOf(codePoint) == UTF8PROC_CATEGORY_NL;
}

bool jinja::continuesName(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return startsName(codePoint) || category == UTF8PROC_CATEGORY_ND ||
         category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_PC;
}

bool jinja::isWordCharacter(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return codePoint == '_' || isLetter(codePoint) ||
         category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

std::string jinja::toUpper(std::string_view text) {
  std::string out;
  for (uint32_t codePoint : decode(text))
    appendUpper(out, codePoint);
  return out;
}

std::string jinja::toLower(std::string_view text) {
  std::vector<uint32_t> codePoints = decode(text);
  std::string out;
  for (size_t i = 0; i < codePoints.size(); ++i)
    appendLower(out, codePoints, i);
  return out;
}

std::string jinja::capitalize(std::string_view text) {
  std::vector<uint32_t> codePoints = decode(text);
  std::string out;
  for (size_t i = 0; i < codePoints.size(); ++i)
    i == 0 ? appendTitle(out, codePoints[i]) : appendLower(out, codePoints, i);
  return out;
}

std::string jinja::toTitle(std::string_view text) {
  std::vector<uint32_t> codePoints = decode(text);
  std::string out;
  bool isAfterLetter = false;
  for (size_t i = 0; i < codePoints.size(); ++i) {
    isAfterLetter ? appendLower(out, codePoints, i)
                  : appendTitle(out, codePoints[i]);
    isAfterLetter = isCased(codePoints[i]);
  }
  return out;
}

bool jinja::isLowerText(std::string_view text) {
  return allCased(text, isLowercase);
}

bool jinja::isUpperText(std::string_view text) {
  return allCased(text, isUppercase);
}

std::string_view jinja::stripLeft(std::string_view text) {
  while (!text.empty() && isSpace(decodeUtf8(text, 0)))
    text.remove_prefix(utf8Length(text, 0));
  return text;
}

std::string_view jinja::stripRight(std::string_view text) {
  while (!text.empty()) {
    size_t pos = text.size() - 1;
    while (pos > 0 && (text[pos] & 0xC0) == 0x80)
      --pos;
    if (!isSpace(decodeUtf8(text, pos)))
      break;
    text = text.substr(0, pos);
  }
  return text;
}
