//===- GbnfParser.cpp - Parses llama.cpp's grammars -----------------------===//

#include "runtime/grammar/gbnf/GbnfParser.h"

#include "runtime/core/StrCat.h"

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Quantifiers of one item. Each adds a level to its expression.
constexpr uint32_t kMaxQuantifiers = 8;

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_';
}

} // namespace

const GbnfRule *GbnfParser::find(const std::string &name) const {
  auto entry = byName.find(name);
  return entry == byName.end() ? nullptr : &allRules[entry->second];
}

GbnfRule &GbnfParser::ruleOf(const std::string &name) {
  auto [entry, isNew] = byName.try_emplace(name, allRules.size());
  if (isNew)
    allRules.push_back(
        {name, builder.addRule(name), std::nullopt, reader.place()});
  return allRules[entry->second];
}

void GbnfParser::skipSpace(bool newlines) {
  while (true) {
    char c = reader.peek();
    if (c == '#')
      while (!reader.atEnd() && reader.peek() != '\n' && reader.peek() != '\r')
        reader.takeCharacter();
    else if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r')))
      reader.takeCharacter();
    else
      return;
  }
}

std::string GbnfParser::takeName() {
  std::string name;
  for (; isNameCharacter(reader.peek()); reader.takeCharacter())
    name.push_back(reader.peek());
  return name;
}

Status GbnfParser::parse() {
  skipSpace(true);
  while (!reader.atEnd()) {
    MTP_RETURN_IF_ERROR(parseRule());
    skipSpace(true);
  }
  return okStatus();
}

Status GbnfParser::parseRule() {
  std::string place = reader.place(), name = takeName();
  if (name.empty())
    return reader.expected("the name of a rule");
  ruleOf(name);
  skipSpace(false);
  if (!reader.take("::="))
    return reader.expected(strCat("'::=' after rule name '", name, "'"));
  skipSpace(true);
  MTP_ASSIGN_OR_RETURN(Expression body, parseChoice(0));
  if (!reader.atEnd() && reader.peek() != '\n' && reader.peek() != '\r')
    return reader.expected("the end of the rule or an item of it");
  GbnfRule &rule = ruleOf(name);
  if (rule.body)
    return invalidArgument(strCat(place, ": expected one definition of rule '",
                                  name, "', got a second one"));
  rule.body = std::move(body);
  return okStatus();
}

Result<Expression> GbnfParser::parseChoice(uint32_t level) {
  if (level > limits.nesting)
    return resourceExhausted(strCat(reader.place(), ": expected at most ",
                                    limits.nesting,
                                    " levels of groups, got more"));
  Expression choice;
  choice.kind = Expression::Kind::Choice;
  do {
    skipSpace(true);
    MTP_ASSIGN_OR_RETURN(Expression part, parseSequence(level));
    choice.parts.push_back(std::move(part));
  } while (reader.take("|"));
  return choice;
}

Result<Expression> GbnfParser::parseSequence(uint32_t level) {
  Expression sequence;
  while (true) {
    char c = reader.peek();
    if (reader.atEnd() || c == '|' || c == ')' || c == '\n' || c == '\r')
      return sequence;
    MTP_ASSIGN_OR_RETURN(Expression item, parseItem(level));
    MTP_ASSIGN_OR_RETURN(item, parseQuantified(std::move(item), level));
    sequence.parts.push_back(std::move(item));
  }
}

Result<Expression> GbnfParser::parseItem(uint32_t level) {
  char c = reader.peek();
  Result<Expression> item = Expression();
  if (c == '"') {
    item = parseText();
  } else if (c == '[') {
    item = parseClass();
  } else if (c == '(') {
    item = parseGroup(level);
  } else if (reader.take(".")) {
    item = Expression::ofCharacters(CodePoints::all());
  } else if (isNameCharacter(c)) {
    std::string name = takeName();
    item = Expression::ofRule(ruleOf(name).id);
  } else if (c == '<' || c == '!') {
    return unimplemented(strCat(
        reader.place(), ": expected text, got a token: tokens in grammars are "
                        "not supported"));
  } else {
    return reader.expected("a text, class, group or rule name");
  }
  if (item.isOk())
    skipSpace(level > 0);
  return item;
}

Result<Expression> GbnfParser::parseGroup(uint32_t level) {
  std::string place = reader.place();
  reader.take("(");
  MTP_ASSIGN_OR_RETURN(Expression group, parseChoice(level + 1));
  if (!reader.take(")"))
    return reader.expected(strCat("')' for the group of ", place));
  return group;
}

Result<Expression> GbnfParser::parseText() {
  reader.take("\"");
  Expression text;
  while (!reader.take("\"")) {
    if (reader.atEnd())
      return reader.expected("'\"' at the end of a text");
    MTP_ASSIGN_OR_RETURN(uint32_t c, parseCharacter());
    text.parts.push_back(Expression::ofCharacters({{c, c}}));
  }
  return text;
}

Result<Expression> GbnfParser::parseClass() {
  std::string place = reader.place();
  reader.take("[");
  bool isNegated = reader.take("^");
  CodePoints characters;
  while (!reader.take("]")) {
    if (reader.atEnd())
      return reader.expected("']' at the end of a class");
    MTP_ASSIGN_OR_RETURN(uint32_t first, parseCharacter());
    uint32_t last = first;
    if (reader.peek() == '-' && !reader.startsWith("-]")) {
      reader.take("-");
      if (reader.atEnd())
        return reader.expected("']' at the end of a class");
      MTP_ASSIGN_OR_RETURN(last, parseCharacter());
    }
    if (last < first)
      return invalidArgument(strCat(
          place,
          ": expected ascending ranges in a class, got a descending one"));
    characters.add(first, last);
  }
  return Expression::ofCharacters(isNegated ? characters.complement()
                                            : characters);
}

Result<uint32_t> GbnfParser::parseCharacter() {
  if (!reader.take("\\"))
    return reader.takeCharacter();
  char kind = reader.peek();
  uint32_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  uint32_t value = 0;
  if (digits > 0) {
    reader.takeCharacter();
    if (!reader.takeHex(digits, value))
      return reader.expected(strCat(digits, " hexadecimal digits"));
    if (value > CodePoints::kLast || (value >= 0xD800 && value <= 0xDFFF))
      return invalidArgument(strCat(reader.place(),
                                    ": expected a Unicode character, got code "
                                    "point ",
                                    value));
    return value;
  }
  constexpr std::string_view kNames = "ntr\\\"[]", kValues = "\n\t\r\\\"[]";
  size_t index = reader.atEnd() ? kNames.npos : kNames.find(kind);
  if (index == kNames.npos)
    return reader.expected("one of n t r x u U \\ \" [ ] after '\\'");
  reader.takeCharacter();
  return static_cast<uint8_t>(kValues[index]);
}

Result<Expression> GbnfParser::parseQuantified(Expression item,
                                               uint32_t level) {
  // A quantifier may follow another: (a?)* is a?*.
  for (uint32_t count = 0;; ++count) {
    uint32_t min = 0, max = Expression::kUnbounded;
    if (reader.take("+"))
      min = 1;
    else if (reader.take("?"))
      max = 1;
    else if (reader.take("{"))
      MTP_RETURN_IF_ERROR(parseCounts(min, max));
    else if (!reader.take("*"))
      return item;
    if (count == kMaxQuantifiers)
      return reader.expected("fewer quantifiers in a row");
    item = Expression::repeat(std::move(item), min, max);
    skipSpace(level > 0);
  }
}

Status GbnfParser::parseCounts(uint32_t &min, uint32_t &max) {
  skipSpace(false);
  bool hasMin = reader.takeNumber(min);
  skipSpace(false);
  max = min;
  if (reader.take(",")) {
    skipSpace(false);
    bool hasMax = reader.takeNumber(max);
    if (!hasMax)
      max = Expression::kUnbounded;
    if (!hasMin && !hasMax)
      return reader.expected("a count in '{}'");
  } else if (!hasMin) {
    return reader.expected("a count in '{}'");
  }
  skipSpace(false);
  if (!reader.take("}"))
    return reader.expected("'}' after the counts");
  if (max < min)
    return invalidArgument(strCat(reader.place(),
                                  ": expected counts {min,max} with min <= "
                                  "max, got {",
                                  min, ",", max, "}"));
  return okStatus();
}
