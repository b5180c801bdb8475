//===- TrieWalk.cpp - Tokens that a frontier allows -----------------------===//

#include "runtime/grammar/mask/TrieWalk.h"

#include <algorithm>

using namespace mtp::grammar;

TrieWalk::TrieWalk(Machine &machine, const TokenTrie &trie, Below below,
                   uint32_t maxFrames, size_t maxBytes,
                   std::vector<uint32_t> &bits, std::vector<Escape> &escapes)
    : machine(machine), trie(trie), below(below), maxFrames(maxFrames),
      maxBytes(maxBytes), bits(bits), escapes(escapes), frames(1),
      path(size_t(trie.depth()) + 1) {}

void TrieWalk::addFrame(StateId address) {
  frames.push_back({address, base, frames[base].height + 1});
  base = static_cast<uint32_t>(frames.size() - 1);
}

void TrieWalk::walkAll(FrontierId frontier) {
  path[0] = {frontier, base};
  walk(0, static_cast<uint32_t>(trie.nodes().size()));
}

void TrieWalk::walkBelow(uint32_t node, Step step) {
  const auto &at = trie.nodes()[node];
  At place = {kDeadFrontier, base};
  if (settle(node, place, step) != Outcome::Inside)
    return;
  path[at.depth] = place;
  walk(node + 1, at.skip);
}

void TrieWalk::walk(uint32_t begin, uint32_t end) {
  const TokenTrie::Node *nodes = trie.nodes().data();
  const uint8_t *classes = machine.classes();
  for (uint32_t i = begin; i < end && !incomplete;) {
    const TokenTrie::Node &node = nodes[i];
    At from = path[node.depth - 1];
    uint32_t next = machine.stepsOf(from.frontier)[classes[node.byte]];
    if (next == kDeadFrontier) {
      i = node.skip;
      continue;
    }
    if (next < Machine::kComplex)
      path[node.depth] = {next, from.frame};
    else if (!enter(i, from)) {
      i = node.skip;
      continue;
    }
    bits[node.token / 32] |= 1u << (node.token % 32);
    ++i;
  }
}

bool TrieWalk::enter(uint32_t index, At from) {
  const TokenTrie::Node &node = trie.nodes()[index];
  Step step = machine.step(from.frontier, node.byte);
  if (machine.bytes() > maxBytes)
    incomplete = true;
  At at = from;
  Outcome outcome = settle(index, at, step);
  if (outcome == Outcome::Dead)
    return false;
  bits[node.token / 32] |= 1u << (node.token % 32);
  path[node.depth] = at;
  return outcome == Outcome::Inside;
}

bool TrieWalk::open(At &at, Step step) {
  at.frontier = step.frontier;
  for (StateId address : step.opened) {
    uint32_t height = frames[at.frame].height + 1;
    if (height > maxFrames)
      return false;
    highest = std::max(highest, height);
    frames.push_back({address, at.frame, height});
    at.frame = static_cast<uint32_t>(frames.size() - 1);
  }
  return true;
}

TrieWalk::Outcome TrieWalk::settle(uint32_t node, At &at, Step step) {
  if (step.frontier == kDeadFrontier || !open(at, step))
    return Outcome::Dead;
  while (machine.exits(at.frontier)) {
    if (at.frame == 0) {
      if (below == Below::Nothing)
        return Outcome::Inside;
      escapes.push_back({node, at.frontier});
      return Outcome::Escaped;
    }
    Frame frame = frames[at.frame];
    at.frame = frame.below;
    if (!open(at, machine.merge(at.frontier, frame.address)))
      return Outcome::Dead;
  }
  return Outcome::Inside;
}
