//===- AutomatonBuilder.h - Makes automata ----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_AUTOMATON_AUTOMATONBUILDER_H
#define MTP_RUNTIME_GRAMMAR_AUTOMATON_AUTOMATONBUILDER_H

#include "runtime/core/Result.h"
#include "runtime/grammar/automaton/Automaton.h"
#include "runtime/grammar/automaton/CodePoints.h"
#include "runtime/grammar/core/Limits.h"

#include <string>
#include <string_view>

namespace mtp::grammar {

/// Collects rules, states and edges. The builder drops states and edges beyond
/// its limits, and finish() then fails. Callers whose loops are long ask
/// isFull().
class AutomatonBuilder {
public:
  explicit AutomatonBuilder(const Limits &limits);

  /// Adds a rule without edges. Errors contain its name.
  RuleId addRule(std::string name);
  /// Return the first and the last state of a rule. The end must get no edges.
  StateId startOf(RuleId rule) const { return rules[rule].start; }
  StateId endOf(RuleId rule) const { return rules[rule].end; }

  StateId addState();
  void addEmpty(StateId from, StateId to);
  void addBytes(StateId from, uint8_t first, uint8_t last, StateId to);
  void addCall(StateId from, RuleId rule, StateId to);

  /// Adds a path that reads `bytes`.
  void addText(StateId from, std::string_view bytes, StateId to);
  /// Adds paths that read the UTF-8 of one character of the set.
  void addCharacter(StateId from, const CodePoints &characters, StateId to);

  /// Whether a limit is exceeded.
  bool isFull() const { return full; }
  /// Makes finish() fail as if a limit was exceeded.
  void setFull() { full = true; }
  /// Returns the largest number of states.
  uint32_t maxStates() const { return limits.states; }

  /// Makes the automaton that accepts the texts of `root`.
  ///
  /// Removes edges into states from which no end can be reached. Fails with
  /// ResourceExhausted if the builder is full, and with InvalidArgument if the
  /// root matches no text or a rule is left recursive.
  Result<Automaton> finish(RuleId root) &&;

private:
  struct Rule {
    std::string name;
    StateId start, end;
  };
  struct Empty {
    StateId from, to;
  };
  struct Bytes {
    StateId from;
    ByteEdge edge;
  };
  struct Call {
    StateId from;
    RuleId rule;
    StateId to;
  };

  bool canAddEdge();
  /// Returns the states from which the end of their rule can be reached. With
  /// `readsBytes` false, only paths that read nothing count.
  std::vector<bool> findStatesThatEnd(bool readsBytes) const;
  Status checkLeftRecursion() const;
  void removeEdgesInto(const std::vector<bool> &kept);

  Limits limits;
  bool full = false;
  uint32_t numStates = 0;
  std::vector<Rule> rules;
  std::vector<Empty> empties;
  std::vector<Bytes> byteEdges;
  std::vector<Call> calls;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_AUTOMATON_AUTOMATONBUILDER_H
