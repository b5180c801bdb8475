//===- Vocabulary.h - Pieces and merges on their way to tables --*- C++ -*-===//

#ifndef MTP_COMPILER_TOKENIZER_VOCABULARY_H
#define MTP_COMPILER_TOKENIZER_VOCABULARY_H

#include "compiler/Tokenizer/Json.h"
#include "runtime/core/Result.h"
#include "runtime/schema/mtp_tokenizer_generated.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mtp {

/// The pieces of a vocabulary file, as they are written there, and their ids.
class Vocabulary {
public:
  /// Reads {"piece": id, ...}; ids and pieces must be distinct, and may leave
  /// holes.
  static Result<Vocabulary> read(const JsonValue &object);

  std::optional<uint32_t> find(std::string_view piece) const;

  /// How many pieces there are, holes not counted.
  size_t size() const { return ids.size(); }

  /// Pieces by id, nothing for holes.
  const std::vector<std::optional<std::string>> &pieces() const { return byId; }

private:
  std::vector<std::optional<std::string>> byId;
  std::unordered_map<std::string, uint32_t> ids;
};

using MergePair = std::pair<std::string_view, std::string_view>;

/// Splits "left right"; nothing unless there is exactly one space inside.
std::optional<MergePair> splitMerge(std::string_view line);

/// Fills merges, sorted, from pairs in the order of their ranks; the kind must
/// be set. Of a pair that is there twice the last rank counts, as in Hugging
/// Face's tokenizers. `where` names the list in messages. Merges of a
/// byte-level model whose sides no bytes can make up never happen and are left
/// out.
Status setMerges(const Vocabulary &vocabulary,
                 const std::vector<MergePair> &pairs, const std::string &where,
                 schema::TokenizerT &tables);

/// Fills pieces, byte_ids and, on demand, whole_words of a byte-level model.
Status setByteLevelPieces(const Vocabulary &vocabulary, bool wholeWords,
                          std::vector<std::string> &pieces,
                          schema::TokenizerT &tables);

/// Makes room for an id in pieces and sets its text.
void setPiece(std::vector<std::string> &pieces, uint32_t id, std::string text);

/// Verifies and serialises tables whose pieces are still apart.
Result<std::string> finishTables(const std::vector<std::string> &pieces,
                                 schema::TokenizerT &tables);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_VOCABULARY_H
