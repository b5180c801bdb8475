//===- NumberRange.cpp - Numbers between two bounds -----------------------===//
//
// Digits are compared with the digits of both bounds from left to right. A
// state knows its position, and for each bound whether all digits so far are
// equal to the bound's. Numbers of each length of the whole part have states of
// their own; the number of states is about the square of the digits.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/schema/NumberRange.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace mtp::grammar;

namespace {

/// A bound of magnitudes, i.e. without a sign.
struct Magnitude {
  std::string whole = "0", fraction;
  bool isExclusive = false;
};

Magnitude magnitudeOf(const NumberBound &bound) {
  std::string text = bound.text;
  if (text.starts_with('-'))
    text.erase(0, 1);
  size_t point = std::min(text.find('.'), text.size());
  Magnitude magnitude;
  magnitude.whole = text.substr(0, point);
  magnitude.fraction = text.substr(std::min(point + 1, text.size()));
  magnitude.isExclusive = bound.isExclusive;
  return magnitude;
}

/// Adds the magnitudes of one length of the whole part.
class LengthRange {
public:
  /// A bound of another length is missing.
  LengthRange(AutomatonBuilder &builder, size_t length, const Magnitude *low,
              const Magnitude *high, bool hasFractions, StateId to)
      : builder(builder), length(length), low(low), high(high),
        hasFractions(hasFractions), to(to) {}

  void add(StateId from) {
    addWhole(from, 0, {low != nullptr, high != nullptr});
  }

private:
  /// Whether all digits so far equal the digits of a bound.
  struct Tight {
    bool low, high;
  };

  void addWhole(StateId from, size_t pos, Tight tight) {
    if (pos == length) {
      addEnd(from, 0, tight);
      if (!hasFractions)
        return;
      StateId digits = builder.addState();
      builder.addBytes(from, '.', '.', digits);
      addFraction(digits, 0, tight);
      return;
    }
    char first = pos == 0 && length > 1 ? '1' : '0';
    addDigits(first, tight.low ? low->whole[pos] : first,
              tight.high ? high->whole[pos] : '9', tight,
              [&](char a, char b, Tight next) {
                StateId state = builder.addState();
                builder.addBytes(from, a, b, state);
                addWhole(state, pos + 1, next);
              });
  }

  /// Adds one or more digits of the fraction after `pos` digits.
  void addFraction(StateId from, size_t pos, Tight tight) {
    // Past the digits of both bounds all positions are alike.
    size_t longest = std::max(tight.low ? low->fraction.size() : 0,
                              tight.high ? high->fraction.size() : 0);
    auto digitOf = [&](const Magnitude *bound) {
      return pos < bound->fraction.size() ? bound->fraction[pos] : '0';
    };
    addDigits(
        '0', tight.low ? digitOf(low) : '0', tight.high ? digitOf(high) : '9',
        tight, [&](char a, char b, Tight next) {
          size_t after = std::min(pos + 1, longest + 1);
          auto [entry, isNew] =
              states.try_emplace(std::tuple(next.low || next.high ? after : 0,
                                            next.low, next.high),
                                 0);
          if (isNew)
            entry->second = builder.addState();
          StateId state = entry->second;
          builder.addBytes(from, a, b, state);
          if (!isNew)
            return;
          addEnd(state, after, next);
          addFraction(state, after, next);
        });
  }

  /// Calls `add` for ranges of digits from `least` to `most` that leave a bound
  /// or stay at it.
  template <typename Add>
  void addDigits(char first, char least, char most, Tight tight, Add add) {
    least = std::max(first, least);
    if (tight.low && tight.high && least == most)
      return add(least, most, Tight{true, true});
    if (least > most)
      return;
    if (tight.low) {
      add(least, least, Tight{true, tight.high && least == most});
      ++least;
    }
    if (tight.high && least <= most) {
      add(most, most, Tight{false, true});
      --most;
    }
    if (least <= most)
      add(least, most, Tight{false, false});
  }

  /// Lets the number end after `pos` digits of the fraction.
  void addEnd(StateId state, size_t pos, Tight tight) {
    bool isBelow = tight.low && pos < low->fraction.size();
    bool isAtLow = tight.low && !isBelow;
    bool isAtHigh = tight.high && pos >= high->fraction.size();
    if (!isBelow && !(isAtLow && low->isExclusive) &&
        !(isAtHigh && high->isExclusive))
      builder.addEmpty(state, to);
  }

  AutomatonBuilder &builder;
  size_t length;
  const Magnitude *low, *high;
  bool hasFractions;
  StateId to;
  /// States inside the fraction: position, and which bounds it equals.
  std::map<std::tuple<size_t, bool, bool>, StateId> states;
};

/// Adds magnitudes from `low` to `high`, or without upper bound.
void addMagnitudes(AutomatonBuilder &builder, StateId from,
                   const Magnitude &low, const Magnitude *high,
                   bool hasFractions, StateId to) {
  size_t shortest = low.whole.size();
  size_t longest = high ? high->whole.size() : shortest;
  for (size_t length = shortest; length <= longest; ++length)
    LengthRange(builder, length, length == shortest ? &low : nullptr,
                high && length == longest ? high : nullptr, hasFractions, to)
        .add(from);
  if (high)
    return;
  // Any number of more digits.
  StateId state = builder.addState();
  builder.addBytes(from, '1', '9', state);
  for (size_t i = 0; i < shortest; ++i) {
    StateId next = builder.addState();
    builder.addBytes(state, '0', '9', next);
    state = next;
  }
  builder.addBytes(state, '0', '9', state);
  builder.addEmpty(state, to);
  if (!hasFractions)
    return;
  StateId point = builder.addState(), digits = builder.addState();
  builder.addBytes(state, '.', '.', point);
  builder.addBytes(point, '0', '9', digits);
  builder.addBytes(digits, '0', '9', digits);
  builder.addEmpty(digits, to);
}

bool isNegative(const NumberBound &bound) { return bound.text[0] == '-'; }

} // namespace

void mtp::grammar::addNumbers(AutomatonBuilder &builder, StateId from,
                              const std::optional<NumberBound> &least,
                              const std::optional<NumberBound> &most,
                              bool hasFractions, StateId to) {
  Magnitude zero, low, high;
  if (least)
    low = magnitudeOf(*least);
  if (most)
    high = magnitudeOf(*most);
  if (!most || !isNegative(*most))
    addMagnitudes(builder, from, least && !isNegative(*least) ? low : zero,
                  most ? &high : nullptr, hasFractions, to);
  if (least && !isNegative(*least))
    return;
  // -0 is 0, which has no sign here.
  zero.isExclusive = true;
  StateId negative = builder.addState();
  builder.addBytes(from, '-', '-', negative);
  addMagnitudes(builder, negative, most && isNegative(*most) ? high : zero,
                least ? &low : nullptr, hasFractions, to);
}
