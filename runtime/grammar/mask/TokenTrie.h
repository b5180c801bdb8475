//===- TokenTrie.h - Tokens by their bytes ----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MASK_TOKENTRIE_H
#define MTP_RUNTIME_GRAMMAR_MASK_TOKENTRIE_H

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace mtp::grammar {

/// A token with its bytes, which must not be empty.
struct TokenBytes {
  std::string_view bytes;
  uint32_t id = 0;
};

/// A trie in preorder: the nodes below a node are the nodes up to its `skip`.
/// So a walk reads memory in order. Immutable.
class TokenTrie {
public:
  struct Node {
    /// The node after the nodes below.
    uint32_t skip = 0;
    /// A token that ends here, or noToken().
    uint32_t token = 0;
    /// The number of bytes up to the node.
    uint16_t depth = 0;
    uint8_t byte = 0;
  };
  static constexpr uint16_t kMaxDepth = 0xFFFF;

  TokenTrie() = default;
  /// `tokens` must be in ascending order of bytes, and no longer than
  /// kMaxDepth. `noToken` is an id for nodes at which no token ends.
  TokenTrie(std::span<const TokenBytes> tokens, uint32_t noToken);

  /// Returns all nodes. Those of depth 1 have no common parent.
  std::span<const Node> nodes() const { return preorder; }
  /// Returns the bytes of the longest token.
  uint32_t depth() const { return longest; }
  uint32_t noToken() const { return none; }

  /// Tokens with equal bytes. The trie contains `first` only.
  struct Twin {
    uint32_t first = 0, other = 0;
  };
  std::span<const Twin> twins() const { return equalTokens; }

private:
  std::vector<Node> preorder;
  std::vector<Twin> equalTokens;
  uint32_t longest = 0;
  uint32_t none = 0;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MASK_TOKENTRIE_H
