//===- Automaton.h - A byte-level pushdown automaton ------------*- C++ -*-===//
//
// A recursive transition network (Woods, 1970) over bytes. Each rule of a
// grammar is a nondeterministic finite automaton. Its edges read a byte, read
// nothing, or call a rule: the automaton pushes the edge's target as the return
// address, runs the rule from its start to its end, and pops the address.
//
// Every state can reach the end of its rule. No rule can call itself before it
// reads a byte (left recursion). So the places that a text leads to can be
// computed without loops, and each of them begins a text of the language.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_AUTOMATON_AUTOMATON_H
#define MTP_RUNTIME_GRAMMAR_AUTOMATON_AUTOMATON_H

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace mtp::grammar {

using StateId = uint32_t;
using RuleId = uint32_t;

/// Reads a byte from `first` to `last`.
struct ByteEdge {
  uint8_t first = 0;
  uint8_t last = 0;
  StateId target = 0;
};

/// Runs a rule from `start`, and continues at `target`.
struct CallEdge {
  StateId start = 0;
  StateId target = 0;
};

/// Lists of values, one list per state, in one array.
template <typename T>
struct ListPerState {
  std::vector<uint32_t> begins;
  std::vector<T> values;

  std::span<const T> operator[](StateId state) const {
    return {values.data() + begins[state], values.data() + begins[state + 1]};
  }
};

/// An automaton, made by AutomatonBuilder. Immutable.
struct Automaton {
  ListPerState<ByteEdge> byteEdges;
  ListPerState<CallEdge> callEdges;
  ListPerState<StateId> emptyEdges;
  /// Whether a state is the end of its rule. Such a state has no edges.
  std::vector<bool> isEnd;
  /// The start of the root rule.
  StateId start = 0;
  /// Bytes of one class have edges to the same states everywhere.
  std::array<uint8_t, 256> classOfByte{};
  uint32_t numClasses = 0;
  /// The least byte of each class.
  std::vector<uint8_t> byteOfClass;

  size_t numStates() const { return isEnd.size(); }
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_AUTOMATON_AUTOMATON_H
