//===- StopStrings.h - Stop strings -----------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_STOPSTRINGS_H
#define MTP_RUNTIME_CHAT_STOPSTRINGS_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// Cuts a text that comes in pieces before the first of several stop strings.
/// If the end of a piece may begin a stop string, it is held back until further
/// text decides. The cut depends only on the text, not on its pieces. Of
/// strings that end at different bytes, the one that ends first counts; of
/// strings that end at one byte, the longest.
///
/// If pieces and strings are well-formed UTF-8, the results are as well.
class StopStrings {
public:
  /// No element of `strings` may be empty. `keepsStop`: the text ends with the
  /// stop string.
  explicit StopStrings(std::vector<std::string> strings = {},
                       bool keepsStop = false);

  /// Returns the text that is certain after `piece`. Returns nothing more once
  /// stopped().
  std::string append(std::string_view piece);

  /// Returns the text that was held back, if the text ends here.
  std::string finish();

  /// Returns the bytes at the end of the text so far that append() has not
  /// returned: those that are held back, or that a stop string has cut off.
  size_t unshownBytes() const { return hasStopped ? cutBytes : held.size(); }

  bool stopped() const { return hasStopped; }
  /// Returns the stop string that was found; empty before that.
  const std::string &found() const { return stop; }

private:
  /// One string, and the length of its prefix with which the text ends (Knuth,
  /// Morris, Pratt).
  struct Matcher {
    std::string string;
    /// For each prefix, the length of its longest proper prefix that is also
    /// its suffix.
    std::vector<size_t> fallback;
    size_t matched = 0;

    void take(char byte);
  };

  std::vector<Matcher> matchers;
  std::string held, stop;
  /// Bytes that were cut off the last piece and those before.
  size_t cutBytes = 0;
  bool keepsStop;
  bool hasStopped = false;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_STOPSTRINGS_H
