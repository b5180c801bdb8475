//===- Token.h - The words of a template ------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_TOKEN_H
#define MTP_RUNTIME_JINJA_PARSE_TOKEN_H

#include <cstdint>
#include <string>

namespace mtp::jinja {

/// Where something stands in the source, both counted from 1; the column in
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
  /// The name, operator or text; of a string what it stands for.
  std::string text;
  Position position;
  int64_t integer = 0;
  double real = 0;
};

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_TOKEN_H
