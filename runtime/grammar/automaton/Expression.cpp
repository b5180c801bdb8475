//===- Expression.cpp - Expressions of grammars and patterns --------------===//
//
// Thompson's construction (1968), with edges that call rules. No edge of a part
// leads into its first state or leaves its last state, unless both are equal.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/automaton/Expression.h"

using namespace mtp::grammar;

Expression Expression::ofCharacters(CodePoints characters) {
  Expression expression;
  expression.kind = Kind::Characters;
  expression.characters = std::move(characters);
  return expression;
}

Expression Expression::ofRule(RuleId rule) {
  Expression expression;
  expression.kind = Kind::Rule;
  expression.rule = rule;
  return expression;
}

Expression Expression::repeat(Expression part, uint32_t min, uint32_t max) {
  Expression expression;
  expression.kind = Kind::Repeat;
  expression.parts.push_back(std::move(part));
  expression.min = min;
  expression.max = max;
  return expression;
}

void mtp::grammar::addRepeat(
    AutomatonBuilder &builder, uint32_t min, uint32_t max, StateId from,
    StateId to, const std::function<void(StateId, StateId)> &addPart) {
  for (uint32_t i = 0; i < min && !builder.isFull(); ++i) {
    bool isLast = i + 1 == max;
    StateId next = isLast ? to : builder.addState();
    addPart(from, next);
    if (isLast)
      return;
    from = next;
  }
  if (max == Expression::kUnbounded) {
    StateId loop = builder.addState();
    builder.addEmpty(from, loop);
    addPart(loop, loop);
    builder.addEmpty(loop, to);
    return;
  }
  builder.addEmpty(from, to);
  for (uint32_t i = min; i < max && !builder.isFull(); ++i) {
    StateId next = i + 1 == max ? to : builder.addState();
    addPart(from, next);
    if (next != to)
      builder.addEmpty(next, to);
    from = next;
  }
}

void mtp::grammar::addExpression(AutomatonBuilder &builder,
                                 const Expression &expression, StateId from,
                                 StateId to, const CharacterWriter &write) {
  const auto &parts = expression.parts;
  switch (expression.kind) {
  case Expression::Kind::Sequence:
    if (parts.empty())
      builder.addEmpty(from, to);
    for (size_t i = 0; i < parts.size() && !builder.isFull(); ++i) {
      StateId next = i + 1 == parts.size() ? to : builder.addState();
      addExpression(builder, parts[i], from, next, write);
      from = next;
    }
    return;
  case Expression::Kind::Choice:
    for (const Expression &part : parts)
      addExpression(builder, part, from, to, write);
    return;
  case Expression::Kind::Characters:
    return write(from, expression.characters, to);
  case Expression::Kind::Repeat:
    return addRepeat(builder, expression.min, expression.max, from, to,
                     [&](StateId first, StateId last) {
                       addExpression(builder, parts[0], first, last, write);
                     });
  case Expression::Kind::Rule:
    return builder.addCall(from, expression.rule, to);
  }
}

void mtp::grammar::addExpression(AutomatonBuilder &builder,
                                 const Expression &expression, StateId from,
                                 StateId to) {
  addExpression(builder, expression, from, to,
                [&](StateId first, const CodePoints &set, StateId last) {
                  builder.addCharacter(first, set, last);
                });
}
