//===- AddedTokens.h - Tokens found before encoding -------------*- C++ -*-===//

#ifndef MTP_RUNTIME_TOKENIZER_ADDEDTOKENS_H
#define MTP_RUNTIME_TOKENIZER_ADDEDTOKENS_H

#include "runtime/core/Result.h"
#include "runtime/tokenizer/Regex.h"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// A token that is found in a text before the model encodes the rest.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool lstrip = false;     ///< Includes the white space before it.
  bool rstrip = false;     ///< Includes the white space after it.
  bool singleWord = false; ///< Does not match inside a longer word.
};

/// A part of a text: an added token, or text between two.
struct TextSegment {
  static constexpr int32_t kText = -1;

  TextSpan span;
  int32_t id = kText;
};

/// Finds added tokens: the leftmost first, and the longest of several at one
/// place. Immutable; const methods are thread-safe.
class AddedTokens {
public:
  /// Fails with InvalidArgument on empty, over-long, ill-formed or duplicate
  /// contents.
  static Result<AddedTokens> create(std::vector<AddedToken> tokens);

  /// Divides `text`, which must be well-formed UTF-8. Without `parseSpecial`
  /// special tokens are ordinary text. White space that a token includes is
  /// also searched for tokens, so segments may overlap there.
  ///
  /// No special token begins at one of the `literals`. These are ascending
  /// offsets of the whole text, in which `text` begins at `offset`.
  std::vector<TextSegment> split(std::string_view text, bool parseSpecial,
                                 std::span<const size_t> literals = {},
                                 size_t offset = 0) const;

private:
  const AddedToken *longestAt(std::string_view text) const;

  std::vector<AddedToken> sorted; ///< Sorted by content.
  std::array<bool, 256> mayStart{};
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_ADDEDTOKENS_H
