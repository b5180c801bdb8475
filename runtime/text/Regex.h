//===- Regex.h - A compiled pattern -----------------------------*- C++ -*-===//
//
// PCRE2 with Unicode properties, compiled to native code where the machine
// allows it. Look-ahead is needed (`\s+(?!\S)`), so a linear-time engine is not
// an option; the steps of every match are limited instead.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_TEXT_REGEX_H
#define MTP_RUNTIME_TEXT_REGEX_H

#include "runtime/core/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

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
  MatchScratch();
  ~MatchScratch();
  MatchScratch(const MatchScratch &) = delete;
  MatchScratch &operator=(const MatchScratch &) = delete;

private:
  friend class Regex;
  int match(const pcre2_real_code_8 *code, std::string_view subject, size_t pos,
            uint64_t budget);
  int matchWithin(uint32_t limit, const pcre2_real_code_8 *code,
                  std::string_view subject, size_t pos);

  pcre2_real_match_data_8 *data;
  pcre2_real_match_context_8 *context;
  pcre2_real_jit_stack_8 *stack = nullptr;
  uint64_t spent = 0;
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
  /// Fails with ResourceExhausted when a match takes too many steps; `matches`
  /// is unspecified then.
  Status findAll(std::string_view text, TextSpan range, MatchScratch &scratch,
                 std::vector<TextSpan> &matches) const;

private:
  struct Deleter {
    void operator()(pcre2_real_code_8 *code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Deleter> code;
};

} // namespace mtp

#endif // MTP_RUNTIME_TEXT_REGEX_H
