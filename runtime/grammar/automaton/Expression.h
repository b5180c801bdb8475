//===- Expression.h - Expressions of grammars and patterns ------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_AUTOMATON_EXPRESSION_H
#define MTP_RUNTIME_GRAMMAR_AUTOMATON_EXPRESSION_H

#include "runtime/grammar/automaton/AutomatonBuilder.h"

#include <functional>

namespace mtp::grammar {

/// An expression over characters. A default-constructed expression matches the
/// empty text.
struct Expression {
  enum class Kind : uint8_t { Sequence, Choice, Characters, Repeat, Rule };
  static constexpr uint32_t kUnbounded = ~0u;

  Kind kind = Kind::Sequence;
  /// The parts of a sequence or choice, or the repeated expression.
  std::vector<Expression> parts;
  /// The characters of `Characters`, which matches one of them.
  CodePoints characters;
  /// The rule of `Rule`.
  RuleId rule = 0;
  /// The counts of `Repeat`, both included.
  uint32_t min = 0, max = 0;

  static Expression ofCharacters(CodePoints characters);
  static Expression ofRule(RuleId rule);
  static Expression repeat(Expression part, uint32_t min, uint32_t max);
};

/// Adds paths from one state to another for a character of a set.
using CharacterWriter =
    std::function<void(StateId from, const CodePoints &, StateId to)>;

/// Adds paths that match `expression`. `write` decides how characters become
/// bytes. Takes a stack as deep as the expression.
void addExpression(AutomatonBuilder &builder, const Expression &expression,
                   StateId from, StateId to, const CharacterWriter &write);

/// Adds paths that match `expression` in UTF-8.
void addExpression(AutomatonBuilder &builder, const Expression &expression,
                   StateId from, StateId to);

/// Adds the paths that `addPart` makes, `min` to `max` times in a row.
void addRepeat(AutomatonBuilder &builder, uint32_t min, uint32_t max,
               StateId from, StateId to,
               const std::function<void(StateId from, StateId to)> &addPart);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_AUTOMATON_EXPRESSION_H
