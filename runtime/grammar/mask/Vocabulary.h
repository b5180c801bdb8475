//===- Vocabulary.h - The bytes of all tokens -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_GRAMMAR_MASK_VOCABULARY_H
#define MTP_RUNTIME_GRAMMAR_MASK_VOCABULARY_H

#include "runtime/core/Result.h"
#include "runtime/grammar/mask/TokenTrie.h"

#include <memory>
#include <string>

namespace mtp::grammar {

/// Tokens of plain text that have at most `length` characters (TextSlice.h).
struct Slice {
  uint32_t length = 0;
  /// A bit per token, in words of 32.
  std::vector<uint32_t> tokens;
  /// All other tokens.
  TokenTrie others;
};

/// The tokens that grammars can allow. Immutable; any number of threads and
/// grammars may share one.
class Vocabulary {
public:
  static constexpr size_t kMaxTokens = size_t(1) << 22;

  /// Makes a vocabulary. `pieces` has the bytes of each token by its id. A
  /// token without bytes is never allowed; pass special tokens so. `endTokens`
  /// end a text; their bytes do not matter. Copies its arguments.
  ///
  /// Fails with OutOfRange if there are more than kMaxTokens pieces, if a piece
  /// is longer than TokenTrie::kMaxDepth, or if an end token has no piece.
  static Result<std::shared_ptr<const Vocabulary>>
  create(std::span<const std::string_view> pieces,
         std::span<const int32_t> endTokens);

  size_t size() const { return pieces.size(); }
  /// Returns the number of 32-bit words of a mask.
  size_t maskWords() const { return (pieces.size() + 31) / 32; }
  /// Returns the bytes of a token, which must be below size(). They are empty
  /// for end tokens.
  std::string_view piece(uint32_t token) const { return pieces[token]; }
  bool isEnd(uint32_t token) const {
    return (endBits[token / 32] >> (token % 32)) & 1;
  }
  /// Returns a mask of the end tokens.
  std::span<const uint32_t> endMask() const { return endBits; }

  const TokenTrie &trie() const { return allTokens; }
  /// Returns slices, the largest first. The first one has any length.
  std::span<const Slice> slices() const { return allSlices; }

  /// Returns the longest token that `text` begins with, or size() if there is
  /// none.
  uint32_t longestToken(std::string_view text) const;
  /// Whether a token begins with `text` and is longer.
  bool couldBeLonger(std::string_view text) const;

private:
  Vocabulary() = default;
  /// Visits the nodes of the trie on the way that `text` takes.
  template <typename Visit>
  void follow(std::string_view text, Visit visit) const;
  void addSlice(std::span<const TokenBytes> sorted, uint32_t length);

  std::vector<std::string> pieces;
  std::vector<uint32_t> endBits;
  TokenTrie allTokens;
  std::vector<Slice> allSlices;
};

} // namespace mtp::grammar

#endif // MTP_RUNTIME_GRAMMAR_MASK_VOCABULARY_H
