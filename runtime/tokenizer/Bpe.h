//===- Bpe.h - Byte-pair encoding of one word -------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_BPE_H
#define MTP_RUNTIME_TOKENIZER_BPE_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mtp {

namespace schema {
struct Tokenizer;
struct Merge;
} // namespace schema

/// The merge rules of a tokenizer. The tables must outlive the object.
/// Immutable; const methods are thread-safe.
class Bpe {
public:
  /// Memory of encode(), which the next word uses again. One thread at a time
  /// may use it.
  struct Scratch {
    struct Symbol {
      uint32_t id;
      uint32_t previous; ///< The indices of the remaining neighbours.
      uint32_t next;
      bool isMerged; ///< Whether the symbol was merged into its left neighbour.
    };
    struct Candidate {
      uint32_t rank;
      uint32_t position; ///< The position of the left symbol.
      uint32_t result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  /// Verifies the tables of a byte-level or character BPE. encode() relies on
  /// these checks.
  static Result<Bpe> create(const schema::Tokenizer &tables);

  /// Appends the ids of `word` in O(n log n). `word` must be well-formed UTF-8
  /// of less than 2^31 bytes. Fails with InvalidArgument if the vocabulary has
  /// no id for a part of the word and no unknown id.
  Status encode(std::string_view word, Scratch &scratch,
                std::vector<int32_t> &ids) const;

private:
  /// Returns the merge of two adjacent ids, or null.
  const schema::Merge *findMerge(uint32_t left, uint32_t right) const;
  int32_t findWholeWord(std::string_view word) const;
  uint32_t findCharacter(uint32_t codePoint) const;
  Status appendSymbols(std::string_view word, Scratch &scratch) const;
  void pushCandidate(uint32_t position, Scratch &scratch) const;
  void mergeSymbols(Scratch &scratch) const;

  const schema::Tokenizer *tables = nullptr;
  /// The merges of the left id i are from mergeBegin[i] to mergeBegin[i + 1],
  /// exclusive.
  std::vector<uint32_t> mergeBegin;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_BPE_H
