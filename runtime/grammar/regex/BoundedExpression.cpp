//===- BoundedExpression.cpp - Expressions of bounded length --------------===//
//
// The product of an automaton over characters and a counter: a state of the
// builder is a state of the expression after a number of characters. Only
// states that can be reached are made.
//
//===----------------------------------------------------------------------===//

#include "runtime/grammar/regex/BoundedExpression.h"

#include <algorithm>
#include <map>

using namespace mtp::grammar;

namespace {

/// An automaton over characters, by Thompson's construction.
class CharacterAutomaton {
public:
  using State = uint32_t;
  struct Edge {
    const CodePoints *set;
    State target;
  };

  /// Stops once there are more than `limit` states.
  CharacterAutomaton(const Expression &expression, size_t limit)
      : limit(limit), start(addState()), end(addState()) {
    add(expression, start, end);
  }

  bool isFull() const { return edges.size() > limit; }

  const size_t limit;
  /// Edges by state.
  std::vector<std::vector<Edge>> edges;
  std::vector<std::vector<State>> empties;
  const State start, end;

private:
  State addState() {
    edges.emplace_back();
    empties.emplace_back();
    return static_cast<State>(edges.size() - 1);
  }

  void add(const Expression &expression, State from, State to);
  void addRepeat(const Expression &expression, State from, State to);
};

void CharacterAutomaton::add(const Expression &expression, State from,
                             State to) {
  const auto &parts = expression.parts;
  switch (expression.kind) {
  case Expression::Kind::Sequence:
    for (size_t i = 0; i < parts.size() && !isFull(); ++i) {
      State next = addState();
      add(parts[i], from, next);
      from = next;
    }
    empties[from].push_back(to);
    return;
  case Expression::Kind::Choice:
    for (const Expression &part : parts)
      add(part, from, to);
    return;
  case Expression::Kind::Characters:
    edges[from].push_back({&expression.characters, to});
    return;
  case Expression::Kind::Repeat:
    return addRepeat(expression, from, to);
  case Expression::Kind::Rule:
    return;
  }
}

void CharacterAutomaton::addRepeat(const Expression &expression, State from,
                                   State to) {
  const Expression &part = expression.parts[0];
  auto addOne = [&] {
    State next = addState();
    add(part, from, next);
    from = next;
  };
  for (uint32_t i = 0; i < expression.min && !isFull(); ++i)
    addOne();
  if (expression.max == Expression::kUnbounded) {
    State loop = addState();
    empties[from].push_back(loop);
    add(part, loop, loop);
    empties[loop].push_back(to);
    return;
  }
  empties[from].push_back(to);
  for (uint32_t i = expression.min; i < expression.max && !isFull(); ++i) {
    addOne();
    empties[from].push_back(to);
  }
}

} // namespace

void mtp::grammar::addBoundedExpression(AutomatonBuilder &builder,
                                        const Expression &expression,
                                        uint32_t min, uint32_t max,
                                        StateId from, StateId to,
                                        const CharacterWriter &write) {
  CharacterAutomaton automaton(expression, builder.maxStates());
  if (automaton.isFull())
    return builder.setFull();
  // Without an upper bound, counts above `min` are alike.
  bool isBounded = max != Expression::kUnbounded;
  uint32_t last = isBounded ? max : min;
  using Point = std::pair<uint32_t, CharacterAutomaton::State>;
  std::map<Point, StateId> states;
  std::vector<Point> work;
  auto stateOf = [&](uint32_t count, CharacterAutomaton::State state) {
    auto [entry, isNew] = states.try_emplace({count, state}, 0);
    if (isNew) {
      entry->second = builder.addState();
      work.emplace_back(count, state);
    }
    return entry->second;
  };
  builder.addEmpty(from, stateOf(0, automaton.start));
  while (!work.empty() && !builder.isFull()) {
    auto [count, state] = work.back();
    work.pop_back();
    StateId at = states[{count, state}];
    for (auto target : automaton.empties[state])
      builder.addEmpty(at, stateOf(count, target));
    if (state == automaton.end && count >= min)
      builder.addEmpty(at, to);
    if (isBounded && count == last)
      continue;
    for (auto edge : automaton.edges[state])
      write(at, *edge.set, stateOf(std::min(count + 1, last), edge.target));
  }
}
