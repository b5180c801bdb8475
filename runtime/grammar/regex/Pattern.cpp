//===- Pattern.cpp - Compiles regular expressions -------------------------===//

#include "runtime/grammar/regex/Pattern.h"

#include "runtime/grammar/regex/PatternParser.h"

using namespace mtp;
using namespace mtp::grammar;

namespace {

Expression anyText() {
  return Expression::repeat(Expression::ofCharacters(CodePoints::all()), 0,
                            Expression::kUnbounded);
}

} // namespace

Result<Expression> mtp::grammar::parsePattern(std::string_view pattern,
                                              MatchMode mode,
                                              const Limits &limits) {
  MTP_ASSIGN_OR_RETURN(auto alternatives,
                       PatternParser(pattern, limits).parse());
  Expression choice;
  choice.kind = Expression::Kind::Choice;
  for (Alternative &alternative : alternatives) {
    Expression text;
    if (mode == MatchMode::Search && !alternative.isAtStart)
      text.parts.push_back(anyText());
    text.parts.push_back(std::move(alternative.body));
    if (mode == MatchMode::Search && !alternative.isAtEnd)
      text.parts.push_back(anyText());
    choice.parts.push_back(std::move(text));
  }
  return choice;
}
