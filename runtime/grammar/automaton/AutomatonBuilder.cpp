//===- AutomatonBuilder.cpp - Makes automata ------------------------------===//

#include "runtime/grammar/automaton/AutomatonBuilder.h"

#include "runtime/core/StrCat.h"
#include "runtime/grammar/automaton/StrongComponents.h"
#include "runtime/grammar/automaton/Utf8Ranges.h"

#include <algorithm>
#include <bitset>

using namespace mtp;
using namespace mtp::grammar;

namespace {

/// Sorts values into lists by `stateOf`. The order within a list is kept.
template <typename T, typename From, typename StateOf, typename ValueOf>
ListPerState<T> listsOf(size_t numStates, const std::vector<From> &edges,
                        StateOf stateOf, ValueOf valueOf) {
  ListPerState<T> lists;
  lists.begins.assign(numStates + 1, 0);
  for (const From &edge : edges)
    ++lists.begins[stateOf(edge) + 1];
  for (size_t i = 1; i <= numStates; ++i)
    lists.begins[i] += lists.begins[i - 1];
  std::vector<uint32_t> next(lists.begins.begin(), lists.begins.end() - 1);
  lists.values.resize(edges.size());
  for (const From &edge : edges)
    lists.values[next[stateOf(edge)]++] = valueOf(edge);
  return lists;
}

/// Sets the byte classes: a new class begins at each end of a range.
void setClasses(Automaton &automaton) {
  std::bitset<257> begins;
  for (const ByteEdge &edge : automaton.byteEdges.values) {
    begins.set(edge.first);
    begins.set(size_t(edge.last) + 1);
  }
  begins.set(0);
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (begins[byte])
      automaton.byteOfClass.push_back(static_cast<uint8_t>(byte));
    automaton.classOfByte[byte] =
        static_cast<uint8_t>(automaton.byteOfClass.size() - 1);
  }
  automaton.numClasses = static_cast<uint32_t>(automaton.byteOfClass.size());
}

} // namespace

AutomatonBuilder::AutomatonBuilder(const Limits &limits) : limits(limits) {}

RuleId AutomatonBuilder::addRule(std::string name) {
  StateId start = addState(), end = addState();
  rules.push_back({std::move(name), start, end});
  return static_cast<RuleId>(rules.size() - 1);
}

StateId AutomatonBuilder::addState() {
  if (numStates < limits.states)
    return numStates++;
  full = true;
  return 0;
}

bool AutomatonBuilder::canAddEdge() {
  if (empties.size() + byteEdges.size() + calls.size() >= limits.edges)
    full = true;
  return !full;
}

void AutomatonBuilder::addEmpty(StateId from, StateId to) {
  if (canAddEdge())
    empties.push_back({from, to});
}

void AutomatonBuilder::addBytes(StateId from, uint8_t first, uint8_t last,
                                StateId to) {
  if (canAddEdge())
    byteEdges.push_back({from, {first, last, to}});
}

void AutomatonBuilder::addCall(StateId from, RuleId rule, StateId to) {
  if (canAddEdge())
    calls.push_back({from, rule, to});
}

void AutomatonBuilder::addText(StateId from, std::string_view bytes,
                               StateId to) {
  if (bytes.empty())
    return addEmpty(from, to);
  for (size_t i = 0; i < bytes.size() && !full; ++i) {
    StateId next = i + 1 == bytes.size() ? to : addState();
    auto byte = static_cast<uint8_t>(bytes[i]);
    addBytes(from, byte, byte, next);
    from = next;
  }
}

void AutomatonBuilder::addCharacter(StateId from, const CodePoints &characters,
                                    StateId to) {
  // States before one, two and three bytes from 80 to BF that end a character.
  StateId shared[3];
  bool isMade[3] = {};
  auto beforeTrailing = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      if (isMade[i])
        continue;
      isMade[i] = true;
      shared[i] = addState();
      addBytes(shared[i], 0x80, 0xBF, i == 0 ? to : shared[i - 1]);
    }
    return count == 0 ? to : shared[count - 1];
  };
  for (const ByteSequence &sequence : utf8Sequences(characters)) {
    uint32_t trailing = 0;
    while (trailing + 1 < sequence.size) {
      ByteRange range = sequence.ranges[sequence.size - 1 - trailing];
      if (range.first != 0x80 || range.last != 0xBF)
        break;
      ++trailing;
    }
    StateId state = from, joined = beforeTrailing(trailing);
    for (uint32_t i = 0; i + trailing < sequence.size && !full; ++i) {
      bool isLast = i + trailing + 1 == sequence.size;
      StateId next = isLast ? joined : addState();
      addBytes(state, sequence.ranges[i].first, sequence.ranges[i].last, next);
      state = next;
    }
  }
}

std::vector<bool> AutomatonBuilder::findStatesThatEnd(bool readsBytes) const {
  // Edges by target, and calls by the start of their rule. A call counts once
  // both its rule and its target count.
  std::vector<Empty> edges = empties;
  if (readsBytes)
    for (const Bytes &bytes : byteEdges)
      edges.push_back({bytes.from, bytes.edge.target});
  auto into = listsOf<StateId>(
      numStates, edges, [](auto &e) { return e.to; },
      [](auto &e) { return e.from; });
  auto self = [](const Call &call) { return call; };
  auto callsInto =
      listsOf<Call>(numStates, calls, [](auto &c) { return c.to; }, self);
  auto callsOf = listsOf<Call>(
      numStates, calls, [&](auto &c) { return startOf(c.rule); }, self);

  std::vector<bool> ends(numStates);
  std::vector<StateId> work;
  auto mark = [&](StateId state) {
    if (!ends[state]) {
      ends[state] = true;
      work.push_back(state);
    }
  };
  for (const Rule &rule : rules)
    mark(rule.end);
  while (!work.empty()) {
    StateId state = work.back();
    work.pop_back();
    for (StateId from : into[state])
      mark(from);
    for (const Call &call : callsInto[state])
      if (ends[startOf(call.rule)])
        mark(call.from);
    for (const Call &call : callsOf[state])
      if (ends[call.to])
        mark(call.from);
  }
  return ends;
}

void AutomatonBuilder::removeEdgesInto(const std::vector<bool> &kept) {
  std::erase_if(empties, [&](auto &e) { return !kept[e.to]; });
  std::erase_if(byteEdges, [&](auto &e) { return !kept[e.edge.target]; });
  std::erase_if(calls,
                [&](auto &c) { return !kept[c.to] || !kept[startOf(c.rule)]; });
}

Status AutomatonBuilder::checkLeftRecursion() const {
  // A rule is left recursive if a call lies on a cycle of steps that read
  // nothing: empty edges, calls, and calls of rules that match the empty text.
  std::vector<bool> isNullable = findStatesThatEnd(/*readsBytes=*/false);
  std::vector<Empty> steps = empties;
  for (const Call &call : calls) {
    steps.push_back({call.from, startOf(call.rule)});
    if (isNullable[startOf(call.rule)])
      steps.push_back({call.from, call.to});
  }
  auto lists = listsOf<StateId>(
      numStates, steps, [](auto &s) { return s.from; },
      [](auto &s) { return s.to; });
  std::vector<uint32_t> component = strongComponents(lists, numStates);
  for (const Call &call : calls)
    if (component[call.from] == component[startOf(call.rule)])
      return invalidArgument(strCat(
          "expected each rule to read a character before it refers to itself, "
          "got left recursion in '",
          rules[call.rule].name, "'"));
  return okStatus();
}

Result<Automaton> AutomatonBuilder::finish(RuleId root) && {
  if (full)
    return resourceExhausted(strCat("expected a grammar of at most ",
                                    limits.states, " states and ", limits.edges,
                                    " edges, got more: shorten it or lower its "
                                    "counts of repetitions"));
  std::vector<bool> kept = findStatesThatEnd(/*readsBytes=*/true);
  if (!kept[startOf(root)])
    return invalidArgument(strCat(
        "expected rule '", rules[root].name,
        "' to match a text of finite length, got one that matches none"));
  removeEdgesInto(kept);
  MTP_RETURN_IF_ERROR(checkLeftRecursion());

  Automaton automaton;
  automaton.byteEdges = listsOf<ByteEdge>(
      numStates, byteEdges, [](auto &e) { return e.from; },
      [](auto &e) { return e.edge; });
  automaton.callEdges = listsOf<CallEdge>(
      numStates, calls, [](auto &c) { return c.from; },
      [&](auto &c) { return CallEdge{startOf(c.rule), c.to}; });
  automaton.emptyEdges = listsOf<StateId>(
      numStates, empties, [](auto &e) { return e.from; },
      [](auto &e) { return e.to; });
  automaton.isEnd.assign(numStates, false);
  for (const Rule &rule : rules)
    automaton.isEnd[rule.end] = true;
  automaton.start = startOf(root);
  setClasses(automaton);
  return automaton;
}
