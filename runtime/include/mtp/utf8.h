//===- utf8.h - UTF-8 from bytes that come in pieces ------------*- C++ -*-===//
//
// Ownership: `text` belongs to the caller, and `bytes` are read during the call
// alone.
//
// Threads: for one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_UTF8_H
#define MTP_UTF8_H

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp {

/// Makes well-formed UTF-8 from bytes that come in pieces. A character whose
/// bytes are not all there yet is held back, at most 3 bytes; every maximal
/// ill-formed part becomes one U+FFFD, as the Unicode standard recommends and
/// as web browsers do.
class Utf8Assembler {
public:
  /// Appends to `text` all that `bytes` make sure.
  void append(std::string_view bytes, std::string &text);

  /// Appends U+FFFD if a character is left incomplete, and starts anew.
  void finish(std::string &text);

private:
  void appendByte(uint8_t byte, std::string &text);

  char held[4] = {};
  uint8_t heldCount = 0;
  uint8_t wanted = 0;  ///< Bytes of the held character when it is complete.
  uint8_t low = 0x80;  ///< Least byte that may come next.
  uint8_t high = 0xBF; ///< Greatest byte that may come next.
};

} // namespace mtp

#endif // MTP_UTF8_H
