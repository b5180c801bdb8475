//===- StopStrings.h - Stop strings -----------------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_STOPSTRINGS_H
#define MTP_TOOLS_MTP_SERVE_STOPSTRINGS_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mtp::serve {

/// Cuts a text that comes in pieces before the first of some strings in it. A
/// piece's end that such a string may begin with is held back until more text
/// says whether it does. The cut depends on the text alone, not on its pieces:
/// of strings that end at different bytes the one that ends first counts, of
/// those that end at one byte the longest.
///
/// Pieces and strings that are well-formed UTF-8 give well-formed pieces.
class StopStrings {
public:
  /// None of `strings` may be empty.
  explicit StopStrings(std::vector<std::string> strings = {});

  /// The text that `piece` makes sure. Nothing more once stopped().
  std::string append(std::string_view piece);

  /// What was held back, where the text ends here.
  std::string finish();

  bool stopped() const { return hasStopped; }

private:
  /// One string, and how much of it the text ends with (Knuth, Morris, Pratt).
  struct Matcher {
    std::string string;
    /// Of each prefix the longest proper one that it ends with.
    std::vector<size_t> fallback;
    size_t matched = 0;

    void take(char byte);
  };

  std::vector<Matcher> matchers;
  std::string held;
  bool hasStopped = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_STOPSTRINGS_H
