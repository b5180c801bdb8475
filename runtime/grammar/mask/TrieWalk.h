//===- TrieWalk.h - Tokens that a frontier allows ---------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MASK_TRIEWALK_H
#define MTP_RUNTIME_GRAMMAR_MASK_TRIEWALK_H

#include "runtime/grammar/machine/Machine.h"
#include "runtime/grammar/mask/TokenTrie.h"

namespace mtp::grammar {

/// A node of a trie at which the frame below is needed: the text of the node
/// leads to `frontier`, which exits. The nodes below are not walked yet.
struct Escape {
  uint32_t node = 0;
  FrontierId frontier = kDeadFrontier;
};

/// Knowledge of the frames below the start of a walk.
enum class Below : uint8_t {
  Unknown, ///< Exits become escapes.
  Nothing, ///< The text may end there, and nothing follows.
};

/// Walks a trie and a machine together, and sets the bits of tokens that the
/// machine can read. Takes one table look-up per node in most cases.
class TrieWalk {
public:
  /// `bits` needs a word more than a mask: the bit of TokenTrie::noToken() is
  /// set, too. Frames above `maxFrames` are not opened. All arguments must
  /// outlive the walk. The walk ends early once the machine is larger than
  /// `maxBytes`.
  TrieWalk(Machine &machine, const TokenTrie &trie, Below below,
           uint32_t maxFrames, size_t maxBytes, std::vector<uint32_t> &bits,
           std::vector<Escape> &escapes);

  /// Adds a frame under the start, above those before.
  void addFrame(StateId address);
  /// Walks all nodes from `frontier`.
  void walkAll(FrontierId frontier);
  /// Walks the nodes below `node` from the result of a merge or step.
  void walkBelow(uint32_t node, Step step);

  /// Returns the largest number of frames that were open at once.
  uint32_t mostFrames() const { return highest; }
  /// Whether the walk ended early. Its results are then incomplete.
  bool isIncomplete() const { return incomplete; }

private:
  /// A frame that the walk knows; 0 is the bottom.
  struct Frame {
    StateId address;
    uint32_t below, height;
  };
  struct At {
    FrontierId frontier;
    uint32_t frame;
  };

  enum class Outcome : uint8_t { Dead, Escaped, Inside };

  void walk(uint32_t begin, uint32_t end);
  /// Enters a node by a step that opens frames or exits. Returns false if the
  /// nodes below are not walked now.
  bool enter(uint32_t node, At from);
  /// Opens and leaves frames after a step. Adds the escape of `node`.
  Outcome settle(uint32_t node, At &at, Step step);
  /// Returns false if there are too many frames.
  bool open(At &at, Step step);

  Machine &machine;
  const TokenTrie &trie;
  const Below below;
  const uint32_t maxFrames;
  const size_t maxBytes;
  std::vector<uint32_t> &bits;
  std::vector<Escape> &escapes;
  std::vector<Frame> frames;
  /// The place of each depth on the way to the current node.
  std::vector<At> path;
  uint32_t base = 0, highest = 0;
  bool incomplete = false;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MASK_TRIEWALK_H
