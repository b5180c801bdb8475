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

/// The merge rules of a tokenizer, over its tables, which must outlive this.
/// Immutable; const methods are thread-safe.
class Bpe {
public:
  /// Memory that encode() works in, to be used again for the next word. Not for
  /// two threads at a time.
  struct Scratch {
    struct Symbol {
      uint32_t id;
      uint32_t previous; ///< Index of the neighbours still there.
      uint32_t next;
      bool isMerged; ///< Into its left neighbour.
    };
    struct Candidate {
      uint32_t rank;
      uint32_t position; ///< Of the left symbol.
      uint32_t result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
  };

  /// Verifies the tables of a byte-level or character BPE: all that encode()
  /// reads of them holds afterwards.
  static Result<Bpe> create(const schema::Tokenizer &tables);

  /// Appends the ids of `word`, which must be well-formed UTF-8 of less than
  /// 2^31 bytes, in O(n log n). Fails with InvalidArgument when the vocabulary
  /// has no id for a part of it, not even an unknown one.
  Status encode(std::string_view word, Scratch &scratch,
                std::vector<int32_t> &ids) const;

private:
  /// The merge of two adjacent ids, or null.
  const schema::Merge *findMerge(uint32_t left, uint32_t right) const;
  int32_t findWholeWord(std::string_view word) const;
  uint32_t findCharacter(uint32_t codePoint) const;
  Status appendSymbols(std::string_view word, Scratch &scratch) const;
  void pushCandidate(uint32_t position, Scratch &scratch) const;
  void mergeSymbols(Scratch &scratch) const;

  const schema::Tokenizer *tables = nullptr;
  /// Merges of left id i are those from mergeBegin[i] up to mergeBegin[i + 1].
  std::vector<uint32_t> mergeBegin;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_BPE_H
