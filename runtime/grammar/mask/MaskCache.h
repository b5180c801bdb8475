//===- MaskCache.h - Token masks of frontiers -------------------*- C++ -*-===//
//
// The mask of a frontier depends on the frames below it only through tokens
// that leave its frame. So masks form a tree. The root of a frontier has all
// tokens that need no frame, and its escapes: nodes of the trie at which the
// frame below is needed. A child belongs to an address of that frame: it
// continues the escapes there. A mask without escapes holds in each context.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_GRAMMAR_MASK_MASKCACHE_H
#define MTP_RUNTIME_GRAMMAR_MASK_MASKCACHE_H

#include "runtime/grammar/mask/TrieWalk.h"
#include "runtime/grammar/mask/Vocabulary.h"

namespace mtp::grammar {

/// Frames on a stack, shared by the matchers that opened them. Immutable.
struct FrameNode {
  StateId address = 0;
  uint32_t height = 1;
  std::shared_ptr<const FrameNode> below;
};
using FrameStack = std::shared_ptr<const FrameNode>;

/// Masks of a machine's frontiers, made on first use. One thread at a time may
/// use a cache.
class MaskCache {
public:
  /// All arguments must outlive the cache.
  MaskCache(Machine &machine, const Vocabulary &vocabulary,
            const Limits &limits);

  /// Returns the mask of the tokens that continue a text, without end tokens.
  /// It is valid until the next call. Returns an empty span if the cache has
  /// grown beyond its limit; a new cache may succeed.
  std::span<const uint32_t> find(FrontierId frontier, const FrameNode *frames);

  size_t bytes() const;

private:
  struct Mask {
    std::vector<uint32_t> bits;
    std::vector<Escape> escapes;
    const TokenTrie *trie = nullptr;
    /// The largest number of frames that the tokens of the mask open.
    uint32_t mostFrames = 0;
  };
  using MaskIndex = uint32_t;
  static constexpr MaskIndex kNone = ~0u;
  /// The address of a child whose frontier has no frame below.
  static constexpr StateId kNothing = ~0u;

  MaskIndex rootOf(FrontierId frontier);
  MaskIndex childOf(MaskIndex parent, StateId address);
  std::span<const uint32_t> walkDirectly(FrontierId frontier,
                                         const FrameNode *frames);
  MaskIndex add(Mask mask);
  std::span<const uint32_t> wordsOf(const std::vector<uint32_t> &bits) const;
  void addTwins(Mask &mask) const;
  bool isFull() const;

  Machine &machine;
  const Vocabulary &vocabulary;
  const Limits limits;
  std::vector<Mask> masks;
  std::vector<MaskIndex> roots;
  std::unordered_map<uint64_t, MaskIndex> children;
  std::vector<uint32_t> direct;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MASK_MASKCACHE_H
