//===- StackPool.h - Stacks with shared tails -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MACHINE_STACKPOOL_H
#define MTP_RUNTIME_GRAMMAR_MACHINE_STACKPOOL_H

#include "runtime/grammar/automaton/Automaton.h"

#include <unordered_map>

namespace mtp::grammar {

/// A stack of return addresses in a pool. Equal stacks have equal ids.
using StackId = uint32_t;
constexpr StackId kEmptyStack = 0;

/// Immutable stacks. Each is a top on another stack.
class StackPool {
public:
  StackPool() : nodes(1) {}

  StackId push(StackId stack, StateId top);
  /// Return a stack's parts. The stack must not be empty.
  StateId top(StackId stack) const { return nodes[stack].top; }
  StackId below(StackId stack) const { return nodes[stack].below; }
  StateId bottom(StackId stack) const { return nodes[stack].bottom; }
  uint32_t height(StackId stack) const { return nodes[stack].height; }

  /// Return the stack with another address below its bottom, and the stack
  /// without its bottom.
  StackId withBottom(StackId stack, StateId bottom);
  StackId withoutBottom(StackId stack);
  /// Returns the addresses from top to bottom.
  std::vector<StateId> addresses(StackId stack) const;
  /// Returns the stack of addresses from top to bottom.
  StackId fromAddresses(const std::vector<StateId> &addresses);

  size_t bytes() const { return nodes.size() * 64; }

private:
  struct Node {
    StateId top = 0, bottom = 0;
    StackId below = kEmptyStack;
    uint32_t height = 0;
  };

  std::vector<Node> nodes;
  std::unordered_map<uint64_t, StackId> ids;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MACHINE_STACKPOOL_H
