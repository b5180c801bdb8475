//===- Utf8.h - Checks and repairs UTF-8 ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_UTF8_UTF8_H
#define MTP_RUNTIME_UTF8_UTF8_H

#include "mtp/utf8.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mtp {

/// Returns the offset of the first byte that is not part of well-formed UTF-8,
/// or text.size(). Overlong forms, surrogates and characters above U+10FFFF are
/// not well-formed.
size_t findInvalidUtf8(std::string_view text);

inline bool isValidUtf8(std::string_view text) {
  return findInvalidUtf8(text) == text.size();
}

/// Returns the number of bytes of the character at `pos`, in well-formed UTF-8.
inline size_t utf8Length(std::string_view text, size_t pos) {
  auto lead = static_cast<uint8_t>(text[pos]);
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/// Returns the character at `pos`, in well-formed UTF-8.
uint32_t decodeUtf8(std::string_view text, size_t pos);

/// Appends a character below 0x110000 that is not a surrogate.
void appendUtf8(std::string &text, uint32_t codePoint);

} // namespace mtp

#endif // MTP_RUNTIME_UTF8_UTF8_H
