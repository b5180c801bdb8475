//===- Regex.cpp - A compiled pattern -------------------------------------===//

#include "runtime/text/Regex.h"

#include "runtime/text/Utf8.h"

#include <string>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

using namespace mtp;

namespace {

constexpr size_t kMaxPatternBytes = 1 << 15;

// Steps that a match may take. A sane pattern needs a few per byte of the
// longest run of like characters. PCRE2 does not tell the steps taken, so a
// match starts with a low limit, and every higher one that it needs is charged
// in full to a budget for the whole text: a million matches just below a single
// high limit would take hours.
constexpr uint32_t kFirstLimit = 1 << 12;
constexpr uint32_t kLimitGrowth = 16;
constexpr uint32_t kLastLimit =
    kFirstLimit * kLimitGrowth * kLimitGrowth * kLimitGrowth;
constexpr uint64_t kBudget = 100'000'000;
constexpr uint64_t kBudgetPerByte = 256;
constexpr uint32_t kHeapLimitKiB = 64 * 1024;
constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackMax = 8 * 1024 * 1024;

std::string describeError(int error) {
  char buffer[128] = {};
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR *>(buffer),
                          sizeof(buffer));
  return buffer;
}

} // namespace

MatchScratch::MatchScratch()
    : data(pcre2_match_data_create(1, nullptr)),
      context(pcre2_match_context_create(nullptr)) {
  if (context)
    pcre2_set_heap_limit(context, kHeapLimitKiB);
}

MatchScratch::~MatchScratch() {
  pcre2_match_data_free(data);
  pcre2_match_context_free(context);
  pcre2_jit_stack_free(stack);
}

/// PCRE2's return code for the first match at or after `pos`.
int MatchScratch::match(const pcre2_code *code, std::string_view subject,
                        size_t pos, uint64_t budget) {
  int rc = matchWithin(kFirstLimit, code, subject, pos);
  for (uint32_t limit = kFirstLimit;
       rc == PCRE2_ERROR_MATCHLIMIT && limit < kLastLimit;) {
    limit *= kLimitGrowth;
    if (spent + limit > budget)
      break;
    spent += limit;
    rc = matchWithin(limit, code, subject, pos);
  }
  return rc;
}

int MatchScratch::matchWithin(uint32_t limit, const pcre2_code *code,
                              std::string_view subject, size_t pos) {
  auto matchOnce = [&](uint32_t options) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(subject.data()),
                       subject.size(), pos, PCRE2_NO_UTF_CHECK | options, data,
                       context);
  };
  pcre2_set_match_limit(context, limit);
  int rc = matchOnce(0);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT && !stack) {
    // Rarely needed, for the default is 32 KiB of the thread's own stack.
    stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr);
    if (stack)
      pcre2_jit_stack_assign(context, nullptr, stack);
    rc = matchOnce(0);
  }
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
    rc = matchOnce(PCRE2_NO_JIT);
  return rc;
}

void Regex::Deleter::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return invalidArgument("expected a pattern of at most " +
                           std::to_string(kMaxPatternBytes) + " bytes, got " +
                           std::to_string(pattern.size()));
  int error = 0;
  PCRE2_SIZE offset = 0;
  Regex regex;
  regex.code.reset(pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
      nullptr));
  if (!regex.code)
    return invalidArgument("expected a pattern, got '" + std::string(pattern) +
                           "': " + describeError(error) + " at byte " +
                           std::to_string(offset));
  // Where native code is forbidden the interpreter does the same, slower.
  (void)pcre2_jit_compile(regex.code.get(), PCRE2_JIT_COMPLETE);
  return regex;
}

Status Regex::findAll(std::string_view text, TextSpan range,
                      MatchScratch &scratch,
                      std::vector<TextSpan> &matches) const {
  matches.clear();
  if (!scratch.data || !scratch.context)
    return resourceExhausted("expected memory for a pattern match");

  const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(scratch.data);
  uint64_t budget = kBudget + kBudgetPerByte * text.size();
  std::string_view subject = text.substr(range.begin, range.end - range.begin);
  for (size_t pos = 0; pos <= subject.size();) {
    int rc = scratch.match(code.get(), subject, pos, budget);
    if (rc == PCRE2_ERROR_NOMATCH)
      break;
    if (rc < 0)
      return resourceExhausted(
          "expected a pattern match within limits at byte " +
          std::to_string(range.begin + pos) + ", got '" + describeError(rc) +
          "'");
    size_t begin = bounds[0], end = bounds[1];
    if (begin < pos || end < begin)
      return invalidArgument("expected a match at or after byte " +
                             std::to_string(pos) + ", got one at " +
                             std::to_string(begin));
    TextSpan match{range.begin + begin, range.begin + end};
    if (begin != end || matches.empty() || matches.back().end != match.begin)
      matches.push_back(match);
    pos = end;
    if (begin == end) {
      if (pos == subject.size())
        break;
      pos += utf8Length(subject, pos);
    }
  }
  return okStatus();
}
