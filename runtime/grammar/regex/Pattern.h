//===- Pattern.h - Reads regular expressions --------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_REGEX_PATTERN_H
#define MTP_RUNTIME_GRAMMAR_REGEX_PATTERN_H

#include "runtime/grammar/automaton/Expression.h"

namespace mtp::grammar {

/// The texts that a pattern accepts.
enum class MatchMode : uint8_t {
  Whole,  ///< The pattern matches the whole text.
  Search, ///< The pattern matches somewhere, as JSON Schema defines it.
};

/// Parses a regular expression of the subset that the README describes.
///
/// `pattern` must be well-formed UTF-8. Fails with InvalidArgument if it is
/// malformed, with Unimplemented if it needs more than the subset, and with
/// ResourceExhausted at a limit.
Result<Expression> parsePattern(std::string_view pattern, MatchMode mode,
                                const Limits &limits);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_REGEX_PATTERN_H
