//===- BoundedExpression.h - Expressions of bounded length ------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_REGEX_BOUNDEDEXPRESSION_H
#define MTP_RUNTIME_GRAMMAR_REGEX_BOUNDEDEXPRESSION_H

#include "runtime/grammar/automaton/Expression.h"

namespace mtp::grammar {

/// Adds paths that match `expression` with `min` to `max` characters, both
/// included. `max` can be Expression::kUnbounded. The expression must call no
/// rules. Takes a stack as deep as the expression.
void addBoundedExpression(AutomatonBuilder &builder,
                          const Expression &expression, uint32_t min,
                          uint32_t max, StateId from, StateId to,
                          const CharacterWriter &write);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_REGEX_BOUNDEDEXPRESSION_H
