//===- PatternParser.cpp - Parses regular expressions ---------------------===//

#include "runtime/grammar/regex/PatternParser.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/regex/CharacterClass.h"

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// The largest number of alternatives that groups with anchors expand to.
constexpr size_t kMaxAlternatives = 256;

bool isEmpty(const Expression &expression) {
  return expression.kind == Expression::Kind::Sequence &&
         expression.parts.empty();
}

bool hasAnchors(const std::vector<Alternative> &alternatives) {
  for (const Alternative &alternative : alternatives)
    if (alternative.isAtStart || alternative.isAtEnd)
      return true;
  return false;
}

/// Returns the alternatives as one expression. They must have no anchors.
Expression choiceOf(std::vector<Alternative> alternatives) {
  if (alternatives.size() == 1)
    return std::move(alternatives[0].body);
  Expression choice;
  choice.kind = Expression::Kind::Choice;
  for (Alternative &alternative : alternatives)
    choice.parts.push_back(std::move(alternative.body));
  return choice;
}

std::vector<Alternative> termOf(Expression expression) {
  std::vector<Alternative> term(1);
  term[0].body = std::move(expression);
  return term;
}

} // namespace

Result<std::vector<Alternative>> PatternParser::parse() {
  MTP_ASSIGN_OR_RETURN(Alternatives alternatives, parseChoice(0));
  if (!reader.atEnd())
    return reader.expected("the end of the pattern");
  return alternatives;
}

Result<PatternParser::Alternatives> PatternParser::parseChoice(uint32_t level) {
  if (level > limits.nesting)
    return resourceExhausted(strCat(reader.place(), ": expected at most ",
                                    limits.nesting,
                                    " levels of groups, got more"));
  Alternatives all;
  do {
    MTP_ASSIGN_OR_RETURN(Alternatives some, parseSequence(level));
    all.insert(all.end(), std::make_move_iterator(some.begin()),
               std::make_move_iterator(some.end()));
  } while (reader.take("|"));
  // Without anchors, a choice stays one alternative.
  return hasAnchors(all) ? std::move(all) : termOf(choiceOf(std::move(all)));
}

Result<PatternParser::Alternatives>
PatternParser::parseSequence(uint32_t level) {
  Alternatives sequence(1);
  while (!reader.atEnd() && reader.peek() != '|' && reader.peek() != ')') {
    MTP_ASSIGN_OR_RETURN(Alternatives term, parseTerm(level));
    MTP_ASSIGN_OR_RETURN(sequence, concatenate(sequence, term));
  }
  return sequence;
}

Result<PatternParser::Alternatives>
PatternParser::concatenate(const Alternatives &first,
                           const Alternatives &second) const {
  if (first.size() * second.size() > kMaxAlternatives)
    return resourceExhausted(strCat(reader.place(), ": expected at most ",
                                    kMaxAlternatives,
                                    " alternatives with anchors, got more"));
  Alternatives joined;
  for (const Alternative &a : first)
    for (const Alternative &b : second) {
      bool isStartInside = b.isAtStart && !isEmpty(a.body);
      bool isEndInside = a.isAtEnd && !(isEmpty(b.body) && !b.isAtStart);
      if (isStartInside || isEndInside)
        return unimplemented(strCat(
            reader.place(), ": expected '^' at the start and '$' at the end of "
                            "an alternative, got an anchor in the middle"));
      Alternative both = a;
      both.isAtStart |= b.isAtStart;
      both.isAtEnd |= b.isAtEnd;
      if (!isEmpty(b.body)) {
        if (both.body.kind != Expression::Kind::Sequence) {
          Expression sequence;
          sequence.parts.push_back(std::move(both.body));
          both.body = std::move(sequence);
        }
        both.body.parts.push_back(b.body);
      }
      joined.push_back(std::move(both));
    }
  return joined;
}

Result<PatternParser::Alternatives> PatternParser::parseTerm(uint32_t level) {
  if (reader.take("^")) {
    Alternatives anchor(1);
    anchor[0].isAtStart = true;
    return anchor;
  }
  if (reader.take("$")) {
    Alternatives anchor(1);
    anchor[0].isAtEnd = true;
    return anchor;
  }
  if (reader.take("(")) {
    MTP_ASSIGN_OR_RETURN(Alternatives group, parseGroup(level));
    return parseQuantified(std::move(group));
  }
  Result<CodePoints> set = CodePoints();
  bool isClass;
  char c = reader.peek();
  if (reader.take("["))
    set = parseClass(reader);
  else if (reader.take("."))
    set = dotCharacters();
  else if (reader.take("\\"))
    set = parseEscape(reader, isClass);
  else if (c == '*' || c == '+' || c == '?')
    return reader.expected("an expression before a quantifier");
  else {
    uint32_t character = reader.takeCharacter();
    set = CodePoints({{character, character}});
  }
  if (!set.isOk())
    return set.status();
  return parseQuantified(termOf(Expression::ofCharacters(*set)));
}

Result<PatternParser::Alternatives> PatternParser::parseGroup(uint32_t level) {
  if (reader.take("?")) {
    if (reader.startsWith("=") || reader.startsWith("!") ||
        reader.startsWith("<=") || reader.startsWith("<!"))
      return unimplemented(strCat(reader.place(),
                                  ": expected a regular expression without "
                                  "look-around, which is not supported"));
    if (!reader.take(":"))
      MTP_RETURN_IF_ERROR(skipGroupName());
  }
  MTP_ASSIGN_OR_RETURN(Alternatives group, parseChoice(level + 1));
  if (!reader.take(")"))
    return reader.expected("')' at the end of a group");
  return group;
}

Status PatternParser::skipGroupName() {
  bool isNamed = reader.take("P<") || reader.take("<");
  if (!isNamed)
    return unimplemented(strCat(
        reader.place(), ": expected ':' or a name '<...>' after '(?', got ",
        reader.found(), ": flags and conditions are not supported"));
  while (!reader.take(">")) {
    if (reader.atEnd())
      return reader.expected("'>' at the end of a group's name");
    reader.takeCharacter();
  }
  return okStatus();
}

bool PatternParser::takeCounts(uint32_t &min, uint32_t &max) {
  size_t begin = reader.position();
  if (reader.take("{") && reader.takeNumber(min)) {
    max = min;
    if (reader.take(",") && !reader.takeNumber(max))
      max = Expression::kUnbounded;
    if (reader.take("}"))
      return true;
  }
  reader.setPosition(begin);
  return false;
}

Result<PatternParser::Alternatives>
PatternParser::parseQuantified(Alternatives term) {
  uint32_t min = 0, max = Expression::kUnbounded;
  if (reader.take("+"))
    min = 1;
  else if (reader.take("?"))
    max = 1;
  else if (!reader.take("*") && !takeCounts(min, max))
    return term;
  if (max < min)
    return reader.expected("counts {min,max} with min <= max before");
  // A lazy quantifier matches the same texts.
  reader.take("?");
  char c = reader.peek();
  uint32_t ignored;
  size_t position = reader.position();
  if (c == '*' || c == '+' || c == '?' || takeCounts(ignored, ignored)) {
    reader.setPosition(position);
    return reader.expected("one quantifier per expression");
  }
  if (hasAnchors(term))
    return unimplemented(strCat(
        reader.place(), ": expected no quantifier on a group with anchors"));
  return termOf(Expression::repeat(choiceOf(std::move(term)), min, max));
}
