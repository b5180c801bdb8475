//===- Characters.h - What Python knows of characters -----------*- C++ -*-===//
//
// All text is well-formed UTF-8.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_VALUE_CHARACTERS_H
#define MTP_RUNTIME_JINJA_VALUE_CHARACTERS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::jinja {

bool isSpace(uint32_t codePoint);
/// Whether repr() leaves it as it is.
bool isPrintable(uint32_t codePoint);
bool startsName(uint32_t codePoint);
bool continuesName(uint32_t codePoint);
/// A `\w` of Python's patterns.
bool isWordCharacter(uint32_t codePoint);

std::string toUpper(std::string_view text);
std::string toLower(std::string_view text);
std::string toTitle(std::string_view text);
std::string swapCase(std::string_view text);
std::string capitalize(std::string_view text);

/// What `text.method()` says, for str's methods isalpha, isdigit and so on;
/// nothing for another name.
std::optional<bool> testCharacters(std::string_view method,
                                   std::string_view text);

/// Without the white space at one end.
std::string_view stripLeft(std::string_view text);
std::string_view stripRight(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_CHARACTERS_H
