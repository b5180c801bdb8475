//===- Characters.cpp - What Python knows of characters -------------------===//
//
// The tables say what utf8proc does not: upper cases of several characters,
// and digits and numerals outside of the categories of numbers.
//
//===----------------------------------------------------------------------===//

#include "runtime/jinja/value/Characters.h"

#include "runtime/utf8/UnicodeForms.h"
#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <iterator>
#include <utf8proc.h>

using namespace mtp;
using namespace mtp::jinja;

namespace {

struct Uppercase {
  uint32_t codePoint;
  uint32_t upper[3];
};

constexpr Uppercase kLongUppercases[] = {{0xDF, {0x53, 0x53}},
                                         {0x149, {0x2BC, 0x4E}},
                                         {0x1F0, {0x4A, 0x30C}},
                                         {0x390, {0x399, 0x308, 0x301}},
                                         {0x3B0, {0x3A5, 0x308, 0x301}},
                                         {0x587, {0x535, 0x552}},
                                         {0x1E96, {0x48, 0x331}},
                                         {0x1E97, {0x54, 0x308}},
                                         {0x1E98, {0x57, 0x30A}},
                                         {0x1E99, {0x59, 0x30A}},
                                         {0x1E9A, {0x41, 0x2BE}},
                                         {0x1F50, {0x3A5, 0x313}},
                                         {0x1F52, {0x3A5, 0x313, 0x300}},
                                         {0x1F54, {0x3A5, 0x313, 0x301}},
                                         {0x1F56, {0x3A5, 0x313, 0x342}},
                                         {0x1F80, {0x1F08, 0x399}},
                                         {0x1F81, {0x1F09, 0x399}},
                                         {0x1F82, {0x1F0A, 0x399}},
                                         {0x1F83, {0x1F0B, 0x399}},
                                         {0x1F84, {0x1F0C, 0x399}},
                                         {0x1F85, {0x1F0D, 0x399}},
                                         {0x1F86, {0x1F0E, 0x399}},
                                         {0x1F87, {0x1F0F, 0x399}},
                                         {0x1F88, {0x1F08, 0x399}},
                                         {0x1F89, {0x1F09, 0x399}},
                                         {0x1F8A, {0x1F0A, 0x399}},
                                         {0x1F8B, {0x1F0B, 0x399}},
                                         {0x1F8C, {0x1F0C, 0x399}},
                                         {0x1F8D, {0x1F0D, 0x399}},
                                         {0x1F8E, {0x1F0E, 0x399}},
                                         {0x1F8F, {0x1F0F, 0x399}},
                                         {0x1F90, {0x1F28, 0x399}},
                                         {0x1F91, {0x1F29, 0x399}},
                                         {0x1F92, {0x1F2A, 0x399}},
                                         {0x1F93, {0x1F2B, 0x399}},
                                         {0x1F94, {0x1F2C, 0x399}},
                                         {0x1F95, {0x1F2D, 0x399}},
                                         {0x1F96, {0x1F2E, 0x399}},
                                         {0x1F97, {0x1F2F, 0x399}},
                                         {0x1F98, {0x1F28, 0x399}},
                                         {0x1F99, {0x1F29, 0x399}},
                                         {0x1F9A, {0x1F2A, 0x399}},
                                         {0x1F9B, {0x1F2B, 0x399}},
                                         {0x1F9C, {0x1F2C, 0x399}},
                                         {0x1F9D, {0x1F2D, 0x399}},
                                         {0x1F9E, {0x1F2E, 0x399}},
                                         {0x1F9F, {0x1F2F, 0x399}},
                                         {0x1FA0, {0x1F68, 0x399}},
                                         {0x1FA1, {0x1F69, 0x399}},
                                         {0x1FA2, {0x1F6A, 0x399}},
                                         {0x1FA3, {0x1F6B, 0x399}},
                                         {0x1FA4, {0x1F6C, 0x399}},
                                         {0x1FA5, {0x1F6D, 0x399}},
                                         {0x1FA6, {0x1F6E, 0x399}},
                                         {0x1FA7, {0x1F6F, 0x399}},
                                         {0x1FA8, {0x1F68, 0x399}},
                                         {0x1FA9, {0x1F69, 0x399}},
                                         {0x1FAA, {0x1F6A, 0x399}},
                                         {0x1FAB, {0x1F6B, 0x399}},
                                         {0x1FAC, {0x1F6C, 0x399}},
                                         {0x1FAD, {0x1F6D, 0x399}},
                                         {0x1FAE, {0x1F6E, 0x399}},
                                         {0x1FAF, {0x1F6F, 0x399}},
                                         {0x1FB2, {0x1FBA, 0x399}},
                                         {0x1FB3, {0x391, 0x399}},
                                         {0x1FB4, {0x386, 0x399}},
                                         {0x1FB6, {0x391, 0x342}},
                                         {0x1FB7, {0x391, 0x342, 0x399}},
                                         {0x1FBC, {0x391, 0x399}},
                                         {0x1FC2, {0x1FCA, 0x399}},
                                         {0x1FC3, {0x397, 0x399}},
                                         {0x1FC4, {0x389, 0x399}},
                                         {0x1FC6, {0x397, 0x342}},
                                         {0x1FC7, {0x397, 0x342, 0x399}},
                                         {0x1FCC, {0x397, 0x399}},
                                         {0x1FD2, {0x399, 0x308, 0x300}},
                                         {0x1FD3, {0x399, 0x308, 0x301}},
                                         {0x1FD6, {0x399, 0x342}},
                                         {0x1FD7, {0x399, 0x308, 0x342}},
                                         {0x1FE2, {0x3A5, 0x308, 0x300}},
                                         {0x1FE3, {0x3A5, 0x308, 0x301}},
                                         {0x1FE4, {0x3A1, 0x313}},
                                         {0x1FE6, {0x3A5, 0x342}},
                                         {0x1FE7, {0x3A5, 0x308, 0x342}},
                                         {0x1FF2, {0x1FFA, 0x399}},
                                         {0x1FF3, {0x3A9, 0x399}},
                                         {0x1FF4, {0x38F, 0x399}},
                                         {0x1FF6, {0x3A9, 0x342}},
                                         {0x1FF7, {0x3A9, 0x342, 0x399}},
                                         {0x1FFC, {0x3A9, 0x399}},
                                         {0xFB00, {0x46, 0x46}},
                                         {0xFB01, {0x46, 0x49}},
                                         {0xFB02, {0x46, 0x4C}},
                                         {0xFB03, {0x46, 0x46, 0x49}},
                                         {0xFB04, {0x46, 0x46, 0x4C}},
                                         {0xFB05, {0x53, 0x54}},
                                         {0xFB06, {0x53, 0x54}},
                                         {0xFB13, {0x544, 0x546}},
                                         {0xFB14, {0x544, 0x535}},
                                         {0xFB15, {0x544, 0x53B}},
                                         {0xFB16, {0x54E, 0x546}},
                                         {0xFB17, {0x544, 0x53D}}};

struct Span {
  uint32_t first, last;
};

/// Digits that are no decimals, such as superscripts.
constexpr Span kDigits[] = {
    {0xB2, 0xB3},       {0xB9, 0xB9},       {0x1369, 0x1371},
    {0x19DA, 0x19DA},   {0x2070, 0x2070},   {0x2074, 0x2079},
    {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},
    {0x2488, 0x2490},   {0x24EA, 0x24EA},   {0x24F5, 0x24FD},
    {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
    {0x278A, 0x2792},   {0x10A40, 0x10A43}, {0x10E60, 0x10E68},
    {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};

/// Letters that stand for numbers.
constexpr Span kNumerals[] = {
    {0x3405, 0x3405},   {0x3483, 0x3483},   {0x382A, 0x382A},
    {0x3B4D, 0x3B4D},   {0x4E00, 0x4E00},   {0x4E03, 0x4E03},
    {0x4E07, 0x4E07},   {0x4E09, 0x4E09},   {0x4E5D, 0x4E5D},
    {0x4E8C, 0x4E8C},   {0x4E94, 0x4E94},   {0x4E96, 0x4E96},
    {0x4EBF, 0x4EC0},   {0x4EDF, 0x4EDF},   {0x4EE8, 0x4EE8},
    {0x4F0D, 0x4F0D},   {0x4F70, 0x4F70},   {0x5104, 0x5104},
    {0x5146, 0x5146},   {0x5169, 0x5169},   {0x516B, 0x516B},
    {0x516D, 0x516D},   {0x5341, 0x5341},   {0x5343, 0x5345},
    {0x534C, 0x534C},   {0x53C1, 0x53C4},   {0x56DB, 0x56DB},
    {0x58F1, 0x58F1},   {0x58F9, 0x58F9},   {0x5E7A, 0x5E7A},
    {0x5EFE, 0x5EFF},   {0x5F0C, 0x5F0E},   {0x5F10, 0x5F10},
    {0x62FE, 0x62FE},   {0x634C, 0x634C},   {0x67D2, 0x67D2},
    {0x6F06, 0x6F06},   {0x7396, 0x7396},   {0x767E, 0x767E},
    {0x8086, 0x8086},   {0x842C, 0x842C},   {0x8CAE, 0x8CAE},
    {0x8CB3, 0x8CB3},   {0x8D30, 0x8D30},   {0x9621, 0x9621},
    {0x9646, 0x9646},   {0x964C, 0x964C},   {0x9678, 0x9678},
    {0x96F6, 0x96F6},   {0xF96B, 0xF96B},   {0xF973, 0xF973},
    {0xF978, 0xF978},   {0xF9B2, 0xF9B2},   {0xF9D1, 0xF9D1},
    {0xF9D3, 0xF9D3},   {0xF9FD, 0xF9FD},   {0x20001, 0x20001},
    {0x20064, 0x20064}, {0x200E2, 0x200E2}, {0x20121, 0x20121},
    {0x2092A, 0x2092A}, {0x20983, 0x20983}, {0x2098C, 0x2098C},
    {0x2099C, 0x2099C}, {0x20AEA, 0x20AEA}, {0x20AFD, 0x20AFD},
    {0x20B19, 0x20B19}, {0x22390, 0x22390}, {0x22998, 0x22998},
    {0x23B1B, 0x23B1B}, {0x2626D, 0x2626D}, {0x2F890, 0x2F890}};

template <size_t n>
bool isIn(const Span (&spans)[n], uint32_t codePoint) {
  auto it = std::upper_bound(
      std::begin(spans), std::end(spans), codePoint,
      [](uint32_t value, const Span &span) { return value < span.first; });
  return it != std::begin(spans) && codePoint <= std::prev(it)->last;
}

utf8proc_category_t categoryOf(uint32_t codePoint) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(codePoint));
}

bool isDecimal(uint32_t codePoint) {
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_ND;
}

bool isNumeric(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO || isIn(kNumerals, codePoint);
}

bool isLetter(uint32_t codePoint) {
  utf8proc_category_t category = categoryOf(codePoint);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isLowercase(uint32_t codePoint) {
  constexpr Span kOther[] = {{0xAA, 0xAA},    {0xBA, 0xBA},   {0x2B0, 0x2B8},
                             {0x2C0, 0x2C1},  {0x2E0, 0x2E4}, {0x2170, 0x217F},
                             {0x24D0, 0x24E9}};
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_LL ||
         isIn(kOther, codePoint);
}

bool isUppercase(uint32_t codePoint) {
  constexpr Span kOther[] = {{0x2160, 0x216F},
                             {0x24B6, 0x24CF},
                             {0x1F130, 0x1F149},
                             {0x1F150, 0x1F169},
                             {0x1F170, 0x1F189}};
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_LU ||
         isIn(kOther, codePoint);
}

bool isTitlecase(uint32_t codePoint) {
  return categoryOf(codePoint) == UTF8PROC_CATEGORY_LT;
}

bool isCased(uint32_t codePoint) {
  return isLowercase(codePoint) || isUppercase(codePoint) ||
         isTitlecase(codePoint);
}

/// Whether casing looks through it for the letters beside it.
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

/// A sigma that ends a word has a form of its own.
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

void appendUpper(std::string &out, uint32_t codePoint) {
  auto it = std::lower_bound(
      std::begin(kLongUppercases), std::end(kLongUppercases), codePoint,
      [](const Uppercase &entry, uint32_t c) { return entry.codePoint < c; });
  if (it == std::end(kLongUppercases) || it->codePoint != codePoint)
    return appendUtf8(out, static_cast<uint32_t>(utf8proc_toupper(
                               static_cast<utf8proc_int32_t>(codePoint))));
  for (uint32_t part : it->upper)
    if (part != 0)
      appendUtf8(out, part);
}

void appendTitle(std::string &out, uint32_t codePoint) {
  if (codePoint == 0xDF) {
    out.append("Ss");
    return;
  }
  // Ligatures of letters: the first one alone is large.
  if (codePoint >= 0xFB00 && codePoint <= 0xFB17) {
    std::string upper;
    appendUpper(upper, codePoint);
    size_t first = utf8Length(upper, 0);
    out.append(upper, 0, first);
    return appendLowercase(std::string_view(upper).substr(first), out);
  }
  auto title = static_cast<uint32_t>(
      utf8proc_totitle(static_cast<utf8proc_int32_t>(codePoint)));
  if (title != codePoint)
    return appendUtf8(out, title);
  appendUpper(out, codePoint);
}

void appendLower(std::string &out, const std::vector<uint32_t> &text,
                 size_t at) {
  if (text[at] == 0x3A3)
    return appendUtf8(out, isFinalSigma(text, at) ? 0x3C2 : 0x3C3);
  std::string character;
  appendUtf8(character, text[at]);
  appendLowercase(character, out);
}

template <typename Test>
bool all(std::string_view text, Test test) {
  for (size_t pos = 0; pos < text.size(); pos += utf8Length(text, pos))
    if (!test(decodeUtf8(text, pos)))
      return false;
  return !text.empty();
}

bool isTitle(std::string_view text) {
  bool wasCased = false, isAny = false;
  for (uint32_t codePoint : decode(text)) {
    bool isLarge = isUppercase(codePoint) || isTitlecase(codePoint);
    if (isLarge ? wasCased : isLowercase(codePoint) && !wasCased)
      return false;
    wasCased = isCased(codePoint);
    isAny |= wasCased;
  }
  return isAny;
}

/// Whether no cased letter fails the test and there is one.
template <typename Test>
bool allCased(std::string_view text, Test test) {
  bool isAny = false;
  for (uint32_t codePoint : decode(text)) {
    if (!isCased(codePoint))
      continue;
    if (!test(codePoint))
      return false;
    isAny = true;
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
  return codePoint == '_' || isLetter(codePoint) || isNumeric(codePoint);
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
  bool wasCased = false;
  for (size_t i = 0; i < codePoints.size(); ++i) {
    wasCased ? appendLower(out, codePoints, i)
             : appendTitle(out, codePoints[i]);
    wasCased = isCased(codePoints[i]);
  }
  return out;
}

std::string jinja::swapCase(std::string_view text) {
  std::vector<uint32_t> codePoints = decode(text);
  std::string out;
  for (size_t i = 0; i < codePoints.size(); ++i)
    if (isUppercase(codePoints[i]))
      appendLower(out, codePoints, i);
    else if (isLowercase(codePoints[i]))
      appendUpper(out, codePoints[i]);
    else
      appendUtf8(out, codePoints[i]);
  return out;
}

std::optional<bool> jinja::testCharacters(std::string_view method,
                                          std::string_view text) {
  if (method == "isalpha")
    return all(text, isLetter);
  if (method == "isdecimal")
    return all(text, isDecimal);
  if (method == "isdigit")
    return all(text,
               [](uint32_t c) { return isDecimal(c) || isIn(kDigits, c); });
  if (method == "isnumeric")
    return all(text, isNumeric);
  if (method == "isalnum")
    return all(text, [](uint32_t c) { return isLetter(c) || isNumeric(c); });
  if (method == "isspace")
    return all(text, isSpace);
  if (method == "isascii")
    return text.empty() || all(text, [](uint32_t c) { return c < 0x80; });
  if (method == "isprintable")
    return text.empty() || all(text, isPrintable);
  if (method == "islower")
    return allCased(text, isLowercase);
  if (method == "isupper")
    return allCased(text, isUppercase);
  if (method == "istitle")
    return isTitle(text);
  if (method == "isidentifier")
    return !text.empty() && startsName(decodeUtf8(text, 0)) &&
           all(text, continuesName);
  return std::nullopt;
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
