//===- Regex.h - Patterns of PCRE2 ------------------------------*- C++ -*-===//
//
// Patterns of PCRE2 with Unicode properties, compiled to native code if the
// machine allows it. Patterns need look-ahead (`\s+(?!\S)`), so an engine of
// linear time is not possible. The work of all matches in a text is limited
// instead.
//
// PCRE2 counts few of its steps and reports none. So a match is first tried on
// a short window of the text with few steps, which bounds the work. A match
// that needs more text or steps runs again with code that reports each step.
// Each report charges the work and can stop the match.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TOKENIZER_REGEX_H
#define MTP_RUNTIME_TOKENIZER_REGEX_H

#include "runtime/core/Result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

struct pcre2_callout_block_8;
struct pcre2_real_code_8;
struct pcre2_real_jit_stack_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace mtp {

/// Bytes [begin, end) of a text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const TextSpan &) const = default;
};

/// The memory of matching and the account of its steps. A text to be tokenized
/// has one for all patterns. One thread at a time may use it.
class MatchScratch {
public:
  /// Matching ends soon after another thread sets `isCancelled`. The pointer
  /// may be null and must outlive the object.
  explicit MatchScratch(const std::atomic<bool> *isCancelled = nullptr);
  ~MatchScratch();
  MatchScratch(const MatchScratch &) = delete;
  MatchScratch &operator=(const MatchScratch &) = delete;

  /// Returns whether another thread has cancelled the matching.
  bool isCancelled() const {
    return cancelled && cancelled->load(std::memory_order_relaxed);
  }

private:
  friend class Regex;
  /// Runs one match and returns PCRE2's return code.
  int match(const pcre2_real_code_8 *code, pcre2_real_match_context_8 *within,
            std::string_view subject, size_t pos, uint32_t options);
  /// Allocates memory for matches of the subject's size.
  void grow(size_t bytes);
  /// Charges work. Returns false if the text has used up its work.
  bool charge(uint64_t work);
  static int step(pcre2_callout_block_8 *block, void *scratch);

  pcre2_real_match_data_8 *data;
  /// Match contexts: for a window of the text, and for matches that report
  /// steps.
  pcre2_real_match_context_8 *context, *careful;
  pcre2_real_jit_stack_8 *stack = nullptr;
  size_t stackBytes = 0;
  const std::atomic<bool> *cancelled;
  uint64_t spent = 0, budget = 0;
  /// The position of the last step.
  size_t place = 0;
};

/// A pattern. Immutable; const methods are thread-safe.
class Regex {
public:
  /// Compiles a pattern. Fails with InvalidArgument if `pattern` is not a PCRE2
  /// pattern.
  static Result<Regex> compile(std::string_view pattern);

  /// Sets `matches` to all matches in `range` of `text`, from left to right and
  /// disjoint. An empty match right after another match does not count.
  /// Assertions see nothing outside `range`.
  ///
  /// `text` must be well-formed UTF-8, and the range must not cut its
  /// characters. Fails with ResourceExhausted if the matches take too many
  /// steps, and with Unavailable if the scratch is cancelled. `matches` is then
  /// unspecified.
  Status findAll(std::string_view text, TextSpan range, MatchScratch &scratch,
                 std::vector<TextSpan> &matches) const;

private:
  struct Deleter {
    void operator()(pcre2_real_code_8 *code) const;
  };
  using CodePtr = std::unique_ptr<pcre2_real_code_8, Deleter>;
  /// Finds the first match from `pos` on. Returns PCRE2's return code; the
  /// scratch has the bounds. Moves `pos` to a position before which no match
  /// begins.
  int find(std::string_view subject, size_t &pos, MatchScratch &scratch) const;
  int findCarefully(std::string_view subject, size_t pos,
                    MatchScratch &scratch) const;
  /// Returns the status of a return code that is neither a match nor `no
  /// match`.
  static Status failure(int rc, size_t place, const MatchScratch &scratch);

  /// The pattern, and the anchored pattern, which reports each step.
  CodePtr code, careful;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_REGEX_H
