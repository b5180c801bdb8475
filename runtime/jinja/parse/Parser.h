//===- Parser.h - Tokens to a tree ------------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_PARSER_H
#define MTP_RUNTIME_JINJA_PARSE_PARSER_H

#include "runtime/core/Result.h"
#include "runtime/jinja/parse/Ast.h"

#include <string_view>

namespace mtp::jinja {

/// `blocks` are statements of `body`.
struct ParsedTemplate {
  Body body;
  Blocks blocks;
};

/// Parses a template. What is not in the language that is interpreted here is
/// an error with its line and column. `source` must be well-formed UTF-8.
Result<ParsedTemplate> parseTemplate(std::string_view source);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_PARSER_H
