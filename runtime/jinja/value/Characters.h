//===- Characters.h - Classes and cases of characters -----------*- C++ -*-===//
//
// The results are those of Python's str. All text is well-formed UTF-8.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_VALUE_CHARACTERS_H
#define MTP_RUNTIME_JINJA_VALUE_CHARACTERS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp::jinja {

bool isSpace(uint32_t codePoint);
/// Returns whether repr() leaves the character as it is.
bool isPrintable(uint32_t codePoint);
bool startsName(uint32_t codePoint);
bool continuesName(uint32_t codePoint);
/// Returns whether `\w` of Python's patterns matches the character.
bool isWordCharacter(uint32_t codePoint);

std::string toUpper(std::string_view text);
std::string toLower(std::string_view text);
std::string toTitle(std::string_view text);
std::string capitalize(std::string_view text);

/// Return whether the text has cased letters and all of them have that case.
bool isLowerText(std::string_view text);
bool isUpperText(std::string_view text);

/// Return the text without the white space at one end.
std::string_view stripLeft(std::string_view text);
std::string_view stripRight(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_CHARACTERS_H
