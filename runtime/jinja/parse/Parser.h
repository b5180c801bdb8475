//===- Parser.h - Parses statements -----------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_PARSER_H
#define MTP_RUNTIME_JINJA_PARSE_PARSER_H

#include "runtime/core/Result.h"
#include "runtime/jinja/parse/Ast.h"

#include <string_view>

namespace mtp::jinja {

/// A template as a tree. `blocks` points into `body`.
struct ParsedTemplate {
  Body body;
  Blocks blocks;
};

/// Parses a template. An unsupported construct is an error with line and
/// column. `source` must be well-formed UTF-8.
Result<ParsedTemplate> parseTemplate(std::string_view source);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_PARSER_H
