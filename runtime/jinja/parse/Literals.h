//===- Literals.h - Number and string literals ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_LITERALS_H
#define MTP_RUNTIME_JINJA_PARSE_LITERALS_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace mtp::jinja {

struct Literal {
  size_t size = 0; ///< The size in bytes; 0 if there is no number.
  bool isFloat = false;
  bool isOk = true;      ///< Whether the number fits in 64 bits.
  bool isDecimal = true; ///< False for 0x1F, 0o17 and 0b1.
  int64_t integer = 0;
  double real = 0;
};

/// Reads the number at the start of `text`.
Literal scanNumber(std::string_view text, bool mayBeFloat);

/// Returns the string of a literal without its quotes. Escapes are Python's.
Result<std::string> unescape(std::string_view text);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_LITERALS_H
