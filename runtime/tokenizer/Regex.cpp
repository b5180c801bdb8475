//===- Regex.cpp - Patterns of PCRE2 --------------------------------------===//

#include "runtime/tokenizer/Regex.h"

#include "runtime/utf8/Utf8.h"

#include <algorithm>
#include <string>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

using namespace mtp;

namespace {

constexpr size_t kMaxPatternBytes = 1 << 15;

// The window of the first try of a match in bytes, and the limit of its steps.
// A step may pass over all of these bytes. Nearly all matches of a
// pre-tokenizer are one word.
constexpr size_t kWindow = 1024;
constexpr uint32_t kFewSteps = 256;
// The work of a first try that fails.
constexpr uint64_t kVainWork = 4096;
// The limit of the work of the other matches in a text. A step costs 1, and so
// does each byte of a step. A sane pattern needs a few for each byte of a text.
constexpr uint64_t kBudget = 100'000'000;
constexpr uint64_t kBudgetPerByte = 256;
// Memory for each byte of a long match. Native code keeps two or three words
// for each character of a repeated group, and the interpreter keeps a frame.
constexpr size_t kJitStackStart = size_t(32) * 1024;
constexpr size_t kStackPerByte = 64, kHeapPerByte = 512;
constexpr size_t kLeastStack = size_t(8) << 20, kMostStack = size_t(256) << 20;
constexpr size_t kLeastHeap = size_t(64) << 20, kMostHeap = size_t(512) << 20;

std::string describeError(int error) {
  char buffer[128] = {};
  pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR *>(buffer),
                          sizeof(buffer));
  return buffer;
}

} // namespace

MatchScratch::MatchScratch(const std::atomic<bool> *isCancelled)
    : data(pcre2_match_data_create(1, nullptr)),
      context(pcre2_match_context_create(nullptr)),
      careful(pcre2_match_context_create(nullptr)), cancelled(isCancelled) {
  if (context)
    pcre2_set_match_limit(context, kFewSteps);
  if (careful) {
    // Steps are counted one by one.
    pcre2_set_match_limit(careful, UINT32_MAX);
    pcre2_set_callout(careful, step, this);
  }
}

MatchScratch::~MatchScratch() {
  pcre2_match_data_free(data);
  pcre2_match_context_free(context);
  pcre2_match_context_free(careful);
  pcre2_jit_stack_free(stack);
}

bool MatchScratch::charge(uint64_t work) {
  spent += work;
  return spent <= budget && !isCancelled();
}

int MatchScratch::step(pcre2_callout_block *block, void *scratch) {
  auto &self = *static_cast<MatchScratch *>(scratch);
  size_t from = std::exchange(self.place, block->current_position);
  size_t walked = from > self.place ? from - self.place : self.place - from;
  return self.charge(1 + walked) ? 0 : PCRE2_ERROR_CALLOUT;
}

void MatchScratch::grow(size_t bytes) {
  size_t wanted = std::clamp(kStackPerByte * bytes, kLeastStack, kMostStack);
  if (stackBytes < wanted) {
    pcre2_jit_stack_free(stack);
    // Unused pages take no memory.
    stack = pcre2_jit_stack_create(kJitStackStart, wanted, nullptr);
    stackBytes = stack ? wanted : 0;
    pcre2_jit_stack_assign(careful, nullptr, stack);
  }
  size_t heap = std::clamp(kHeapPerByte * bytes, kLeastHeap, kMostHeap);
  pcre2_set_heap_limit(careful, uint32_t(heap / 1024));
}

int MatchScratch::match(const pcre2_code *code, pcre2_match_context *within,
                        std::string_view subject, size_t pos,
                        uint32_t options) {
  return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(subject.data()),
                     subject.size(), pos, PCRE2_NO_UTF_CHECK | options, data,
                     within);
}

void Regex::Deleter::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return invalidArgument("expected a pattern of at most " +
                           std::to_string(kMaxPatternBytes) + " bytes, got " +
                           std::to_string(pattern.size()));
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto compileWith = [&](uint32_t options) {
    return CodePtr(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                 pattern.size(), kOptions | options, &error,
                                 &offset, nullptr));
  };
  Regex regex;
  regex.code = compileWith(0);
  if (regex.code)
    regex.careful = compileWith(PCRE2_ANCHORED | PCRE2_AUTO_CALLOUT);
  if (!regex.careful)
    return invalidArgument("expected a pattern, got '" + std::string(pattern) +
                           "': " + describeError(error) + " at byte " +
                           std::to_string(offset));
  // If native code is forbidden, the slower interpreter has the same results.
  (void)pcre2_jit_compile(regex.code.get(),
                          PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  (void)pcre2_jit_compile(regex.careful.get(), PCRE2_JIT_COMPLETE);
  return regex;
}

int Regex::findCarefully(std::string_view subject, size_t pos,
                         MatchScratch &scratch) const {
  auto matchOnce = [&](uint32_t options) {
    scratch.place = pos;
    return scratch.match(careful.get(), scratch.careful, subject, pos, options);
  };
  scratch.grow(subject.size());
  int rc = matchOnce(0);
  return rc == PCRE2_ERROR_JIT_STACKLIMIT ? matchOnce(PCRE2_NO_JIT) : rc;
}

/// Returns whether a failed match may succeed with more text or more steps.
static bool wantsMore(int rc) {
  return rc == PCRE2_ERROR_PARTIAL || rc == PCRE2_ERROR_MATCHLIMIT ||
         rc == PCRE2_ERROR_DEPTHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT ||
         rc == PCRE2_ERROR_JIT_STACKLIMIT;
}

int Regex::find(std::string_view subject, size_t &pos,
                MatchScratch &scratch) const {
  const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(scratch.data);
  for (;;) {
    size_t end = std::min(pos + kWindow, subject.size());
    // Bytes 10xxxxxx continue a character.
    while (end < subject.size() && (uint8_t(subject[end]) & 0xC0) == 0x80)
      ++end;
    bool isAll = end == subject.size();
    int rc = scratch.match(code.get(), scratch.context, subject.substr(0, end),
                           pos, isAll ? 0 : PCRE2_PARTIAL_HARD);
    // An empty match at the window's end did not see the text after the window.
    bool isIn = rc >= 0 && (isAll || bounds[0] < end);
    if (isIn || (isAll && rc == PCRE2_ERROR_NOMATCH))
      return rc;
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH) {
      pos = end;
      if (!scratch.charge(1))
        return PCRE2_ERROR_CALLOUT;
      continue;
    }
    if (!wantsMore(rc))
      return rc;
    if (rc == PCRE2_ERROR_PARTIAL)
      pos = std::clamp<size_t>(bounds[0], pos, end);
    if (!scratch.charge(kVainWork))
      return PCRE2_ERROR_CALLOUT;
    rc = findCarefully(subject, pos, scratch);
    if (rc != PCRE2_ERROR_NOMATCH || pos == subject.size())
      return rc;
    pos += utf8Length(subject, pos);
  }
}

Status Regex::failure(int rc, size_t place, const MatchScratch &scratch) {
  if (scratch.isCancelled())
    return unavailable("expected to match the whole text, was cancelled at "
                       "byte " +
                       std::to_string(place));
  if (rc == PCRE2_ERROR_CALLOUT)
    return resourceExhausted("expected patterns to match the text within " +
                             std::to_string(scratch.budget) +
                             " steps, got more at byte " +
                             std::to_string(place));
  return resourceExhausted("expected a pattern match within limits at byte " +
                           std::to_string(place) + ", got '" +
                           describeError(rc) + "'");
}

Status Regex::findAll(std::string_view text, TextSpan range,
                      MatchScratch &scratch,
                      std::vector<TextSpan> &matches) const {
  matches.clear();
  if (!scratch.data || !scratch.context || !scratch.careful)
    return resourceExhausted("expected memory for a pattern match");

  const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(scratch.data);
  scratch.budget =
      std::max(scratch.budget, kBudget + kBudgetPerByte * text.size());
  std::string_view subject = text.substr(range.begin, range.end - range.begin);
  for (size_t pos = 0; pos <= subject.size();) {
    int rc =
        scratch.charge(1) ? find(subject, pos, scratch) : PCRE2_ERROR_CALLOUT;
    if (rc == PCRE2_ERROR_NOMATCH)
      break;
    if (rc < 0)
      return failure(rc, range.begin + pos, scratch);
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
