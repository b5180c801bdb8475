//===- utf8.h - UTF-8 from bytes that come in pieces ------------*- C++ -*-===//
//
// Ownership: `text` belongs to the caller, and `bytes` are read only during the
// call.
//
// Threads: for one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_UTF8_H
#define MTP_RUNTIME_INCLUDE_MTP_UTF8_H

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp {

/// Makes well-formed UTF-8 from bytes that come in pieces. The bytes of an
/// incomplete character, at most 3, are held back. Every maximal ill-formed
/// part becomes one U+FFFD, as the Unicode standard recommends and as web
/// browsers do.
class Utf8Assembler {
public:
  /// Appends to `text` all characters that `bytes` complete.
  void append(std::string_view bytes, std::string &text);

  /// Appends U+FFFD if a character is incomplete, and starts anew.
  void finish(std::string &text);

private:
  void appendByte(uint8_t byte, std::string &text);

  char held[4] = {};
  uint8_t heldCount = 0;
  uint8_t wanted = 0;  ///< Bytes of the held character when it is complete.
  uint8_t low = 0x80;  ///< Smallest byte that may come next.
  uint8_t high = 0xBF; ///< Largest byte that may come next.
};

} // namespace mtp

#endif // MTP_RUNTIME_INCLUDE_MTP_UTF8_H
