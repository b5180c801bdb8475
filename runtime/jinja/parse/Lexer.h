//===- Lexer.h - A template's source to tokens ------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_LEXER_H
#define MTP_RUNTIME_JINJA_PARSE_LEXER_H

#include "runtime/core/Result.h"
#include "runtime/jinja/parse/Token.h"

#include <string_view>
#include <vector>

namespace mtp::jinja {

/// Tokens, the last one an End. White space is treated as Jinja does with
/// trim_blocks and lstrip_blocks on, which is how transformers compiles.
/// `source` must be well-formed UTF-8.
Result<std::vector<Token>> tokenize(std::string_view source);

/// "`message` at line L, column C".
Status failAt(Position position, std::string message);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_LEXER_H
