//===- Token.h - Tokens of a template ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_TOKEN_H
#define MTP_RUNTIME_JINJA_PARSE_TOKEN_H

#include <cstdint>
#include <string>

namespace mtp::jinja {

/// A position in the source. Both numbers start at 1, and the column counts
/// code points.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

enum class TokenKind : uint8_t {
  Data,          ///< Text between the tags.
  VariableBegin, ///< {{
  VariableEnd,
  BlockBegin, ///< {%
  BlockEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  /// The name, operator or text, or the value of a string.
  std::string text;
  Position position;
  int64_t integer = 0;
  double real = 0;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_TOKEN_H
