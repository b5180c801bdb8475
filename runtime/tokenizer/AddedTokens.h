//===- AddedTokens.h - Tokens that stand in the text itself -----*- C++ -*-===//

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

/// A token that is found in a text before the model sees the rest of it.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool lstrip = false;     ///< Takes the white space before it along.
  bool rstrip = false;     ///< Takes the white space after it along.
  bool singleWord = false; ///< Not inside a longer word.
};

/// A part of a text: an added token, or text between them.
struct TextSegment {
  static constexpr int32_t kText = -1;

  TextSpan span;
  int32_t id = kText;
};

/// Finds added tokens, the leftmost first, and the longest where several start
/// at one place. Immutable; const methods are thread-safe.
class AddedTokens {
public:
  /// Fails with InvalidArgument on empty, over-long, ill-formed or duplicate
  /// contents.
  static Result<AddedTokens> create(std::vector<AddedToken> tokens);

  /// Cuts `text`, which must be well-formed UTF-8. Special tokens are text like
  /// any other unless `parseSpecial`. White space that a token takes along is
  /// searched for tokens all the same, so that segments may overlap there.
  ///
  /// No special token begins at one of the `literals`, ascending offsets of the
  /// text that `text` is a part of, from `offset` on.
  std::vector<TextSegment> split(std::string_view text, bool parseSpecial,
                                 std::span<const size_t> literals = {},
                                 size_t offset = 0) const;

private:
  const AddedToken *longestAt(std::string_view text) const;

  std::vector<AddedToken> sorted; ///< By content.
  std::array<bool, 256> mayStart{};
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_ADDEDTOKENS_H
