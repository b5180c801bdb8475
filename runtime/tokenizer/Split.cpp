//===- Split.cpp - Divides text at matches --------------------------------===//
//
// The five behaviours equal the ones of Hugging Face's tokenizers: an empty
// match counts as a match when neighbours are merged.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/Split.h"

#include "runtime/schema/mtp_tokenizer_generated.h"

#include <algorithm>

using namespace mtp;
using schema::SplitBehavior;

namespace {

struct Part {
  TextSpan span;
  bool isMatch;
};

/// Returns the whole range as alternating text and matches.
std::vector<Part> partsOf(TextSpan range, const std::vector<TextSpan> &matches,
                          bool invert) {
  std::vector<Part> parts;
  parts.reserve(2 * matches.size() + 1);
  size_t pos = range.begin;
  for (TextSpan match : matches) {
    if (pos != match.begin)
      parts.push_back({{pos, match.begin}, invert});
    parts.push_back({match, !invert});
    pos = match.end;
  }
  if (pos != range.end)
    parts.push_back({{pos, range.end}, invert});
  return parts;
}

void mergeWithNext(std::vector<Part> &parts) {
  std::vector<Part> merged;
  bool previousMatch = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->isMatch && !previousMatch && !merged.empty())
      merged.back().span.begin = part->span.begin;
    else
      merged.push_back(*part);
    previousMatch = part->isMatch;
  }
  std::reverse(merged.begin(), merged.end());
  parts = std::move(merged);
}

/// Merges a part into its predecessor if `joins(isMatch, previousMatch)`.
template <typename Predicate>
void mergeWithPrevious(std::vector<Part> &parts, Predicate joins) {
  std::vector<Part> merged;
  bool previousMatch = false;
  for (const Part &part : parts) {
    if (joins(part.isMatch, previousMatch) && !merged.empty())
      merged.back().span.end = part.span.end;
    else
      merged.push_back(part);
    previousMatch = part.isMatch;
  }
  parts = std::move(merged);
}

} // namespace

void mtp::splitAt(TextSpan range, const std::vector<TextSpan> &matches,
                  SplitBehavior behavior, bool invert,
                  std::vector<TextSpan> &pieces) {
  std::vector<Part> parts = partsOf(range, matches, invert);
  switch (behavior) {
  case SplitBehavior::Isolated:
  case SplitBehavior::Removed:
    break;
  case SplitBehavior::MergedWithPrevious:
    mergeWithPrevious(parts, [](bool isMatch, bool previousMatch) {
      return isMatch && !previousMatch;
    });
    break;
  case SplitBehavior::MergedWithNext:
    mergeWithNext(parts);
    break;
  case SplitBehavior::Contiguous:
    mergeWithPrevious(parts, [](bool isMatch, bool previousMatch) {
      return isMatch == previousMatch;
    });
    break;
  }
  for (const Part &part : parts) {
    bool removed = behavior == SplitBehavior::Removed && part.isMatch;
    if (!removed && !part.span.empty())
      pieces.push_back(part.span);
  }
}
