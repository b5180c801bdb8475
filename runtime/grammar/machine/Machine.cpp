//===- Machine.cpp - A lazily determinised pushdown automaton -------------===//

#include "runtime/grammar/machine/Machine.h"

#include <algorithm>

using namespace mtp::grammar;

Machine::Machine(const Automaton &automaton, const Limits &limits)
    : automaton(automaton), limits(limits),
      steps(automaton.numClasses, kDeadFrontier) {}

void Machine::close() {
  seen.clear();
  closed.clear();
  isExiting = false;
  while (!work.empty()) {
    Place place = work.back();
    work.pop_back();
    if (stacks.height(place.stack) > limits.depth || !seen.insert(place))
      continue;
    // The limit holds for all places, also for places that read no byte.
    if (seen.size() > limits.places) {
      work.clear();
      closed.clear();
      isExiting = false;
      return;
    }
    auto [state, stack] = place;
    if (automaton.isEnd[state]) {
      if (stack == kEmptyStack)
        isExiting = true;
      else
        add({stacks.top(stack), stacks.below(stack)});
      continue;
    }
    if (!automaton.byteEdges[state].empty())
      closed.push_back(place);
    for (StateId target : automaton.emptyEdges[state])
      add({target, stack});
    for (CallEdge call : automaton.callEdges[state]) {
      // A call at the end of its rule needs no address of its own.
      bool isTail = automaton.isEnd[call.target];
      add({call.start, isTail ? stack : stacks.push(stack, call.target)});
    }
  }
}

uint32_t Machine::openFrames() {
  uint32_t count = 0;
  auto shareBottom = [&] {
    if (isExiting || closed.empty() || closed[0].stack == kEmptyStack)
      return false;
    StateId bottom = stacks.bottom(closed[0].stack);
    return std::all_of(closed.begin(), closed.end(), [&](Place place) {
      return place.stack != kEmptyStack && stacks.bottom(place.stack) == bottom;
    });
  };
  for (; shareBottom(); ++count) {
    opened.push_back(stacks.bottom(closed[0].stack));
    for (Place &place : closed)
      place.stack = stacks.withoutBottom(place.stack);
  }
  return count;
}

FrontierId Machine::intern(bool exits) {
  std::sort(closed.begin(), closed.end());
  bool isNew;
  FrontierId id = frontiers.intern(closed, exits, isNew);
  if (isNew)
    steps.resize(steps.size() + automaton.numClasses, kUnknown);
  return id;
}

Machine::StoredStep Machine::finish() {
  close();
  auto first = static_cast<uint32_t>(opened.size());
  uint32_t count = openFrames();
  return {intern(isExiting), first, count};
}

Step Machine::start() {
  add({automaton.start, kEmptyStack});
  return read(finish());
}

Step Machine::step(FrontierId from, uint8_t byte) {
  size_t index =
      size_t(from) * automaton.numClasses + automaton.classOfByte[byte];
  uint32_t known = steps[index];
  if (known < kComplex)
    return {known, {}};
  if (known != kUnknown)
    return read(complexSteps[known - kComplex]);
  for (Place place : frontiers.places(from))
    for (ByteEdge edge : automaton.byteEdges[place.state])
      if (edge.first <= byte && byte <= edge.last)
        add({edge.target, place.stack});
  StoredStep made = finish();
  if (made.numOpened == 0 && !exits(made.frontier)) {
    steps[index] = made.frontier;
  } else {
    steps[index] = kComplex + static_cast<uint32_t>(complexSteps.size());
    complexSteps.push_back(made);
  }
  return read(made);
}

Step Machine::merge(FrontierId from, StateId address) {
  uint64_t key = (uint64_t(from) << 32) | address;
  auto known = merges.find(key);
  if (known != merges.end())
    return read(known->second);
  for (Place place : frontiers.places(from))
    add({place.state, stacks.withBottom(place.stack, address)});
  add({address, kEmptyStack});
  StoredStep made = finish();
  merges.emplace(key, made);
  return read(made);
}

FrontierId Machine::import(const Machine &from, FrontierId frontier) {
  closed.clear();
  for (Place place : from.frontiers.places(frontier))
    closed.push_back({place.state, stacks.fromAddresses(
                                       from.stacks.addresses(place.stack))});
  return intern(from.exits(frontier));
}

size_t Machine::bytes() const {
  return steps.size() * sizeof(uint32_t) +
         complexSteps.size() * sizeof(StoredStep) + merges.size() * 64 +
         opened.size() * sizeof(StateId) + stacks.bytes() + frontiers.bytes();
}
