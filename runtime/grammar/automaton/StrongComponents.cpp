//===- StrongComponents.cpp - Cycles of a graph of states -----------------===//

#include "runtime/grammar/automaton/StrongComponents.h"

#include <algorithm>

using namespace mtp::grammar;

namespace {

constexpr uint32_t kNone = ~0u;

struct Visit {
  StateId state;
  uint32_t nextSuccessor;
};

class Search {
public:
  Search(const ListPerState<StateId> &successors, size_t numStates)
      : successors(successors), order(numStates, kNone), low(numStates),
        component(numStates, kNone) {}

  void run(StateId root) {
    if (order[root] != kNone)
      return;
    enter(root);
    while (!visits.empty()) {
      Visit &visit = visits.back();
      auto next = successors[visit.state];
      if (visit.nextSuccessor == next.size()) {
        leave();
        continue;
      }
      StateId state = visit.state, to = next[visit.nextSuccessor++];
      if (order[to] == kNone)
        enter(to);
      else if (component[to] == kNone)
        low[state] = std::min(low[state], order[to]);
    }
  }

  std::vector<uint32_t> take() { return std::move(component); }

private:
  void enter(StateId state) {
    order[state] = low[state] = numVisited++;
    open.push_back(state);
    visits.push_back({state, 0});
  }

  void leave() {
    StateId state = visits.back().state;
    visits.pop_back();
    if (!visits.empty()) {
      StateId parent = visits.back().state;
      low[parent] = std::min(low[parent], low[state]);
    }
    if (low[state] != order[state])
      return;
    while (true) {
      StateId member = open.back();
      open.pop_back();
      component[member] = numComponents;
      if (member == state)
        break;
    }
    ++numComponents;
  }

  const ListPerState<StateId> &successors;
  std::vector<uint32_t> order, low, component;
  std::vector<StateId> open;
  std::vector<Visit> visits;
  uint32_t numVisited = 0, numComponents = 0;
};

} // namespace

std::vector<uint32_t>
mtp::grammar::strongComponents(const ListPerState<StateId> &successors,
                               size_t numStates) {
  Search search(successors, numStates);
  for (StateId state = 0; state < numStates; ++state)
    search.run(state);
  return search.take();
}
