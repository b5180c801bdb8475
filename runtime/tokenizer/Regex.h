//===- Regex.h - A compiled pattern -----------------------------*- C++ -*-===//
//
// PCRE2 with Unicode properties, compiled to native code where the machine
// allows it. Look-ahead is needed (`\s+(?!\S)`), so a linear-time engine is not
// an option; the work of all matches in a text is limited instead.
//
// PCRE2 counts few of the steps that it takes and tells none of them. So a
// match is first tried on the next bytes of the text alone, within few steps,
// which bounds it. A match that wants more of the text or more steps runs once
// more, by code that reports every step and so can be charged and stopped.
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

/// Bytes [begin, end) of some text.
struct TextSpan {
  size_t begin = 0;
  size_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const TextSpan &) const = default;
};

/// The memory that matching works in and the account of its steps: one per text
/// to be tokenized, for any number of patterns. Not for two threads at a time.
class MatchScratch {
public:
  /// Matching ends soon after another thread has set `isCancelled`, which may
  /// be null and must outlive this.
  explicit MatchScratch(const std::atomic<bool> *isCancelled = nullptr);
  ~MatchScratch();
  MatchScratch(const MatchScratch &) = delete;
  MatchScratch &operator=(const MatchScratch &) = delete;

  /// Whether it is of no use to go on.
  bool isCancelled() const {
    return cancelled && cancelled->load(std::memory_order_relaxed);
  }

private:
  friend class Regex;
  /// PCRE2's return code of one match.
  int match(const pcre2_real_code_8 *code, pcre2_real_match_context_8 *within,
            std::string_view subject, size_t pos, uint32_t options);
  /// Gives the subject's matches memory of its size.
  void grow(size_t bytes);
  /// Charges work; false where the text has had what it may have.
  bool charge(uint64_t work);
  static int step(pcre2_callout_block_8 *block, void *scratch);

  pcre2_real_match_data_8 *data;
  /// Match contexts: for a part of the text, and for matches that report steps.
  pcre2_real_match_context_8 *context, *careful;
  pcre2_real_jit_stack_8 *stack = nullptr;
  size_t stackBytes = 0;
  const std::atomic<bool> *cancelled;
  uint64_t spent = 0, budget = 0;
  /// Place of the last step.
  size_t place = 0;
};

/// An immutable pattern; const methods are thread-safe.
class Regex {
public:
  /// Fails with InvalidArgument when `pattern` is no PCRE2 pattern.
  static Result<Regex> compile(std::string_view pattern);

  /// Sets `matches` to all matches within `range` of `text`, left to right and
  /// disjoint. An empty match right after another match does not count.
  /// Look-behind and look-ahead see nothing outside of `range`.
  ///
  /// `text` must be well-formed UTF-8 and the range not cut its characters.
  /// Fails with ResourceExhausted when the matches take too many steps, and
  /// with Unavailable where the scratch is cancelled; `matches` is unspecified
  /// then.
  Status findAll(std::string_view text, TextSpan range, MatchScratch &scratch,
                 std::vector<TextSpan> &matches) const;

private:
  struct Deleter {
    void operator()(pcre2_real_code_8 *code) const;
  };
  using CodePtr = std::unique_ptr<pcre2_real_code_8, Deleter>;
  /// The first match from `pos` on: PCRE2's return code, the bounds in the
  /// scratch. `pos` moves to where no match begins before.
  int find(std::string_view subject, size_t &pos, MatchScratch &scratch) const;
  int findCarefully(std::string_view subject, size_t pos,
                    MatchScratch &scratch) const;
  /// Makes the status of a return code that is neither a match nor `no match`.
  static Status failure(int rc, size_t place, const MatchScratch &scratch);

  /// The pattern, and the same at one place alone, with a call for each step.
  CodePtr code, careful;
};

} // namespace mtp

#endif // MTP_RUNTIME_TOKENIZER_REGEX_H
