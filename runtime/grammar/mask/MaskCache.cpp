//===- MaskCache.cpp - Token masks of frontiers ---------------------------===//

#include "runtime/grammar/mask/MaskCache.h"

#include "runtime/grammar/mask/TextSlice.h"

#include <algorithm>

using namespace mtp::grammar;

namespace {

/// A walk in the cache knows no stack, so it opens any number of frames.
constexpr uint32_t kAnyFrames = ~0u;

} // namespace

MaskCache::MaskCache(Machine &machine, const Vocabulary &vocabulary,
                     const Limits &limits)
    : machine(machine), vocabulary(vocabulary), limits(limits) {}

std::span<const uint32_t> MaskCache::find(FrontierId frontier,
                                          const FrameNode *frames) {
  uint32_t height = frames ? frames->height : 0;
  const FrameNode *below = frames;
  MaskIndex index = rootOf(frontier);
  while (index != kNone && !masks[index].escapes.empty()) {
    index = childOf(index, below ? below->address : kNothing);
    if (!below)
      break;
    below = below->below.get();
  }
  if (index == kNone)
    return {};
  // The tokens of the mask may open more frames than the stack may have.
  if (height + masks[index].mostFrames > limits.depth)
    return walkDirectly(frontier, frames);
  return wordsOf(masks[index].bits);
}

MaskCache::MaskIndex MaskCache::rootOf(FrontierId frontier) {
  if (frontier < roots.size() && roots[frontier] != kNone)
    return roots[frontier];
  uint32_t most = vocabulary.slices()[1].length;
  uint32_t allowed = allowedPlainLength(machine, frontier, most);
  auto slices = vocabulary.slices();
  auto slice = std::find_if(slices.begin(), slices.end(), [&](const Slice &s) {
    return s.length <= allowed;
  });
  Mask mask;
  mask.trie = &vocabulary.trie();
  mask.bits.assign(vocabulary.maskWords(), 0);
  if (slice != slices.end()) {
    mask.trie = &slice->others;
    mask.bits = slice->tokens;
  }
  // The word of TokenTrie::noToken().
  mask.bits.push_back(0);
  TrieWalk walk(machine, *mask.trie, Below::Unknown, kAnyFrames,
                limits.cacheBytes, mask.bits, mask.escapes);
  walk.walkAll(frontier);
  if (walk.isIncomplete() || isFull())
    return kNone;
  mask.mostFrames = walk.mostFrames();
  addTwins(mask);
  if (roots.size() <= frontier)
    roots.resize(size_t(frontier) + 1, kNone);
  return roots[frontier] = add(std::move(mask));
}

MaskCache::MaskIndex MaskCache::childOf(MaskIndex parent, StateId address) {
  uint64_t key = (uint64_t(parent) << 32) | address;
  auto known = children.find(key);
  if (known != children.end())
    return known->second;
  Mask mask;
  mask.bits = masks[parent].bits;
  mask.trie = masks[parent].trie;
  bool isBottom = address == kNothing;
  TrieWalk walk(machine, *mask.trie, isBottom ? Below::Nothing : Below::Unknown,
                kAnyFrames, limits.cacheBytes, mask.bits, mask.escapes);
  for (Escape escape : masks[parent].escapes)
    walk.walkBelow(escape.node, isBottom
                                    ? Step{escape.frontier, {}}
                                    : machine.merge(escape.frontier, address));
  if (walk.isIncomplete() || isFull())
    return kNone;
  mask.mostFrames = std::max(masks[parent].mostFrames, walk.mostFrames());
  addTwins(mask);
  MaskIndex index = add(std::move(mask));
  children.emplace(key, index);
  return index;
}

std::span<const uint32_t> MaskCache::walkDirectly(FrontierId frontier,
                                                  const FrameNode *frames) {
  Mask mask;
  mask.trie = &vocabulary.trie();
  mask.bits.assign(vocabulary.maskWords() + 1, 0);
  TrieWalk walk(machine, *mask.trie, Below::Nothing, limits.depth,
                limits.cacheBytes, mask.bits, mask.escapes);
  std::vector<StateId> addresses;
  for (; frames; frames = frames->below.get())
    addresses.push_back(frames->address);
  for (size_t i = addresses.size(); i-- > 0;)
    walk.addFrame(addresses[i]);
  walk.walkAll(frontier);
  if (walk.isIncomplete())
    return {};
  addTwins(mask);
  direct = std::move(mask.bits);
  return wordsOf(direct);
}

MaskCache::MaskIndex MaskCache::add(Mask mask) {
  masks.push_back(std::move(mask));
  return static_cast<MaskIndex>(masks.size() - 1);
}

std::span<const uint32_t>
MaskCache::wordsOf(const std::vector<uint32_t> &bits) const {
  return std::span(bits).first(vocabulary.maskWords());
}

void MaskCache::addTwins(Mask &mask) const {
  for (TokenTrie::Twin twin : mask.trie->twins())
    if (mask.bits[twin.first / 32] >> (twin.first % 32) & 1)
      mask.bits[twin.other / 32] |= 1u << (twin.other % 32);
}

bool MaskCache::isFull() const { return bytes() > limits.cacheBytes; }

size_t MaskCache::bytes() const {
  size_t perMask = (vocabulary.maskWords() + 1) * sizeof(uint32_t) + 128;
  return machine.bytes() + masks.size() * perMask + children.size() * 64 +
         roots.size() * sizeof(MaskIndex);
}
