//===- PatternParser.h - Parses regular expressions -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_REGEX_PATTERNPARSER_H
#define MTP_RUNTIME_GRAMMAR_REGEX_PATTERNPARSER_H

#include "runtime/grammar/automaton/Expression.h"
#include "runtime/grammar/core/SourceReader.h"

namespace mtp::grammar {

/// An alternative of a pattern. Anchors are at its ends only.
struct Alternative {
  bool isAtStart = false; ///< Begins with `^`.
  bool isAtEnd = false;   ///< Ends with `$`.
  Expression body;
};

/// Parses a pattern by recursive descent.
class PatternParser {
public:
  /// Both arguments must outlive the parser.
  PatternParser(std::string_view pattern, const Limits &limits)
      : reader(pattern), limits(limits) {}

  /// Returns the alternatives of the whole pattern. Fails as parsePattern()
  /// does.
  Result<std::vector<Alternative>> parse();

private:
  using Alternatives = std::vector<Alternative>;

  Result<Alternatives> parseChoice(uint32_t level);
  Result<Alternatives> parseSequence(uint32_t level);
  Result<Alternatives> parseTerm(uint32_t level);
  Result<Alternatives> parseGroup(uint32_t level);
  Result<Alternatives> parseQuantified(Alternatives term);
  Status skipGroupName();
  /// Reads `{m}`, `{m,}` or `{m,n}`, or nothing.
  bool takeCounts(uint32_t &min, uint32_t &max);
  Result<Alternatives> concatenate(const Alternatives &first,
                                   const Alternatives &second) const;

  SourceReader reader;
  const Limits &limits;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_REGEX_PATTERNPARSER_H
