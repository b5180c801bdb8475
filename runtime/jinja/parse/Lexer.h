//===- Lexer.h - Converts source to tokens ----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_LEXER_H
#define MTP_RUNTIME_JINJA_PARSE_LEXER_H

#include "runtime/core/Result.h"
#include "runtime/jinja/parse/Token.h"

#include <string_view>
#include <vector>

namespace mtp::jinja {

/// Returns tokens. The last one is an End. White space is treated as by Jinja
/// with trim_blocks and lstrip_blocks, which transformers sets. `source` must
/// be well-formed UTF-8.
Result<std::vector<Token>> tokenize(std::string_view source);

/// Returns the error "`message` at line L, column C".
Status failAt(Position position, std::string_view message);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_LEXER_H
