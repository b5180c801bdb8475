//===- NumberRange.h - Numbers between two bounds ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_SCHEMA_NUMBERRANGE_H
#define MTP_RUNTIME_GRAMMAR_SCHEMA_NUMBERRANGE_H

#include "runtime/grammar/automaton/AutomatonBuilder.h"

#include <optional>

namespace mtp::grammar {

/// A bound of numbers.
struct NumberBound {
  /// The number in plain decimal digits, without exponent: "-1.5". A fraction
  /// must not end in 0.
  std::string text;
  bool isExclusive = false;
};

/// Adds the texts of all numbers from `least` to `most`, without exponents. A
/// missing bound restricts nothing. `hasFractions` allows fractions.
void addNumbers(AutomatonBuilder &builder, StateId from,
                const std::optional<NumberBound> &least,
                const std::optional<NumberBound> &most, bool hasFractions,
                StateId to);

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_SCHEMA_NUMBERRANGE_H
