//===- StackPool.cpp - Stacks with shared tails ---------------------------===//

#include "runtime/grammar/machine/StackPool.h"

using namespace mtp::grammar;

StackId StackPool::push(StackId stack, StateId top) {
  uint64_t key = (uint64_t(stack) << 32) | top;
  auto [entry, isNew] = ids.try_emplace(key, StackId(nodes.size()));
  if (isNew) {
    const Node &below = nodes[stack];
    nodes.push_back({top, stack == kEmptyStack ? top : below.bottom, stack,
                     below.height + 1});
  }
  return entry->second;
}

std::vector<StateId> StackPool::addresses(StackId stack) const {
  std::vector<StateId> list;
  for (; stack != kEmptyStack; stack = below(stack))
    list.push_back(top(stack));
  return list;
}

StackId StackPool::fromAddresses(const std::vector<StateId> &addresses) {
  StackId stack = kEmptyStack;
  for (size_t i = addresses.size(); i-- > 0;)
    stack = push(stack, addresses[i]);
  return stack;
}

StackId StackPool::withBottom(StackId stack, StateId bottom) {
  if (stack == kEmptyStack)
    return push(kEmptyStack, bottom);
  std::vector<StateId> list = addresses(stack);
  list.push_back(bottom);
  return fromAddresses(list);
}

StackId StackPool::withoutBottom(StackId stack) {
  if (height(stack) == 1)
    return kEmptyStack;
  std::vector<StateId> list = addresses(stack);
  list.pop_back();
  return fromAddresses(list);
}
