//===- Vocabulary.h - Pieces and merges for the tables ----------*- C++ -*-===//

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

/// The pieces of a vocabulary file, as written there, and their ids.
class Vocabulary {
public:
  /// Reads {"piece": id, ...}. Ids and pieces must be distinct; ids may have
  /// gaps.
  static Result<Vocabulary> read(const JsonValue &object);

  std::optional<uint32_t> find(std::string_view piece) const;

  /// Returns the number of pieces, without gaps.
  size_t size() const { return ids.size(); }

  /// Returns the pieces by id, with no value for a gap.
  const std::vector<std::optional<std::string>> &pieces() const { return byId; }

private:
  std::vector<std::optional<std::string>> byId;
  std::unordered_map<std::string, uint32_t> ids;
};

using MergePair = std::pair<std::string_view, std::string_view>;

/// Splits "left right". Returns nothing unless there is exactly one space
/// inside.
std::optional<MergePair> splitMerge(std::string_view line);

/// Sets the sorted merges from pairs in the order of their ranks. The kind must
/// be set. The last rank of a duplicate pair counts, as in Hugging Face's
/// tokenizers. `where` names the list in messages. Merges of a byte-level model
/// with a side that no bytes can form are left out, because they never apply.
Status setMerges(const Vocabulary &vocabulary,
                 const std::vector<MergePair> &pairs, const std::string &where,
                 schema::TokenizerT &tables);

/// Sets pieces, byte_ids and, if `wholeWords`, whole_words of a byte-level
/// model.
Status setByteLevelPieces(const Vocabulary &vocabulary, bool wholeWords,
                          std::vector<std::string> &pieces,
                          schema::TokenizerT &tables);

/// Grows `pieces` if needed and sets the text of an id.
void setPiece(std::vector<std::string> &pieces, uint32_t id, std::string text);

/// Verifies and serialises tables whose pieces are in a separate list.
Result<std::string> finishTables(const std::vector<std::string> &pieces,
                                 schema::TokenizerT &tables);

} // namespace mtp

#endif // MTP_COMPILER_TOKENIZER_VOCABULARY_H
