//===- GrammarFields.h - Fields that ask for structured output --*- C++ -*-===//
//
// OpenAI, vLLM, SGLang and llama-server have different fields for one thing: a
// grammar for the answer. All become one description.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TOOLS_MTP_SERVE_API_GRAMMAR_GRAMMARFIELDS_H
#define MTP_TOOLS_MTP_SERVE_API_GRAMMAR_GRAMMARFIELDS_H

#include "runtime/grammar/Compile.h"
#include "tools/mtp-serve/api/JsonFields.h"

namespace mtp::serve {

/// The grammar that a request asks for.
struct GrammarRequest {
  grammar::Source source;
  /// The field that errors of compile() concern, e.g.
  /// "response_format.json_schema.schema".
  std::string field;
  /// JSON without white space between tokens (`disable_any_whitespace`).
  bool isCompact = false;
};

/// Whether a field of this name describes a grammar.
bool isGrammarField(std::string_view name);

/// Reads all fields of a body that describe a grammar: `response_format`,
/// `structured_outputs`, `guided_*`, `grammar`, `json_schema`, `regex` and
/// `ebnf`. `request` stays empty if none is set; null, `{}` and the format
/// `text` set nothing. Does not compile the grammar.
///
/// Returns a 400 that names the field if a value has a wrong type, or if two
/// fields are set.
MaybeError readGrammarFields(const simdjson::dom::object &body,
                             std::optional<GrammarRequest> &request);

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_API_GRAMMAR_GRAMMARFIELDS_H
