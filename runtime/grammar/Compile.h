//===- Compile.h - Sources of grammars --------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_COMPILE_H
#define MTP_RUNTIME_GRAMMAR_COMPILE_H

#include "runtime/core/Result.h"
#include "runtime/grammar/automaton/AutomatonBuilder.h"
#include "runtime/grammar/matcher/Grammar.h"
#include "runtime/grammar/schema/JsonStyle.h"

#include <memory>
#include <string>

namespace mtp::grammar {

/// A description of a set of texts.
struct Source {
  enum class Kind : uint8_t {
    JsonObject, ///< Any JSON object.
    JsonSchema, ///< `text` is a JSON Schema.
    Regex,      ///< `text` is a regular expression of whole texts.
    Gbnf,       ///< `text` is a grammar of llama.cpp.
    Choice,     ///< One of `choices`.
  };
  Kind kind = Kind::JsonObject;
  std::string text;
  std::vector<std::string> choices;
};

/// Compiles a source. Thread-safe; takes time in proportion to the limits.
///
/// Fails with InvalidArgument if the source is malformed, is not well-formed
/// UTF-8 or allows no text, with Unimplemented if it needs something that is
/// not supported, and with ResourceExhausted at a limit. Messages name the
/// place: a line and column, or the path of a keyword.
Result<std::shared_ptr<const Grammar>> compile(const Source &source,
                                               const Limits &limits = {});

/// Adds the rule of a source to a builder that has other rules, too. JSON is
/// written in a style. Fails as compile() does.
Result<RuleId> addSource(const Source &source, AutomatonBuilder &builder,
                         const Limits &limits, const JsonStyle &style = {});

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_COMPILE_H
