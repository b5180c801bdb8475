//===- BadWords.cpp - Token sequences that texts must not have ------------===//

#include "runtime/exec/launch/BadWords.h"
#include "runtime/schema/LogitRules.h"

#include <algorithm>
#include <vector>

using namespace mtp;

namespace {

using Words = std::vector<std::vector<int32_t>>;

class BadWords final : public TokenConstraint {
public:
  BadWords(Words words, uint32_t vocab,
           std::shared_ptr<const TokenConstraint> inner,
           std::span<const int32_t> begun)
      : words(std::move(words)), tokens(vocab), inner(std::move(inner)) {
    for (const std::vector<int32_t> &word : this->words)
      longest = std::max(longest, word.size());
    begun = begun.last(std::min(begun.size(), longest - 1));
    this->begun.assign(begun.begin(), begun.end());
  }

  uint32_t vocab() const override { return tokens; }
  std::unique_ptr<ConstraintMatcher> begin() const override;

private:
  friend class BadWordsMatcher;

  Words words;
  size_t longest = 0;
  uint32_t tokens;
  /// Null: all tokens are allowed.
  std::shared_ptr<const TokenConstraint> inner;
  /// The last tokens of the output before the text.
  std::vector<int32_t> begun;
};

/// The session keeps the constraint alive.
class BadWordsMatcher final : public ConstraintMatcher {
public:
  explicit BadWordsMatcher(const BadWords &of) : of(of), text(of.begun) {
    if (of.inner)
      inner = of.inner->begin();
  }

  Status accept(int32_t token) override {
    if (inner)
      MTP_RETURN_IF_ERROR(inner->accept(token));
    text.push_back(token);
    if (text.size() >= of.longest)
      text.erase(text.begin());
    return okStatus();
  }

  Result<size_t> maskPath(std::span<const int32_t> drafts,
                          std::span<uint32_t> words) const override;

private:
  void excludeWords(std::span<const int32_t> path,
                    std::span<uint32_t> row) const;

  const BadWords &of;
  std::unique_ptr<ConstraintMatcher> inner;
  /// The last tokens of the output: one less than the longest word has.
  std::vector<int32_t> text;
};

} // namespace

std::unique_ptr<ConstraintMatcher> BadWords::begin() const {
  return std::make_unique<BadWordsMatcher>(*this);
}

static uint32_t bitOf(int32_t token) { return 1u << (token % 32); }

/// Removes the tokens that complete a word after `path` from a row, unless the
/// row would be empty.
void BadWordsMatcher::excludeWords(std::span<const int32_t> path,
                                   std::span<uint32_t> row) const {
  std::vector<int32_t> removed;
  for (const std::vector<int32_t> &word : of.words) {
    size_t before = word.size() - 1;
    uint32_t &bits = row[size_t(word.back()) / 32];
    if (before <= path.size() && (bits & bitOf(word.back())) != 0 &&
        std::equal(word.begin(), word.end() - 1, path.end() - before)) {
      bits &= ~bitOf(word.back());
      removed.push_back(word.back());
    }
  }
  if (std::ranges::all_of(row, [](uint32_t bits) { return bits == 0; }))
    for (int32_t token : removed)
      row[size_t(token) / 32] |= bitOf(token);
}

Result<size_t> BadWordsMatcher::maskPath(std::span<const int32_t> drafts,
                                         std::span<uint32_t> words) const {
  size_t width = maskWords(of.tokens), count = drafts.size() + 1;
  if (inner) {
    MTP_ASSIGN_OR_RETURN(count, inner->maskPath(drafts, words));
  } else {
    std::ranges::fill(words.first(count * width), ~0u);
    for (size_t row = 0; of.tokens % 32 != 0 && row < count; ++row)
      words[row * width + width - 1] = (1u << (of.tokens % 32)) - 1;
  }
  std::vector<int32_t> path = text;
  for (size_t i = 0; i < count; ++i) {
    std::span<uint32_t> row = words.subspan(i * width, width);
    excludeWords(path, row);
    if (i == drafts.size())
      break;
    int32_t draft = drafts[i];
    if (draft < 0 || uint32_t(draft) >= of.tokens ||
        (row[size_t(draft) / 32] & bitOf(draft)) == 0)
      return i + 1;
    path.push_back(draft);
  }
  return count;
}

bool mtp::haveLongBadWords(const LogitRules &rules) {
  return std::ranges::any_of(rules.badWords,
                             [](const auto &word) { return word.size() > 1; });
}

std::shared_ptr<const TokenConstraint>
mtp::withoutBadWords(const LogitRules &rules, uint32_t vocab,
                     std::shared_ptr<const TokenConstraint> inner,
                     std::span<const int32_t> begun) {
  Words words;
  std::ranges::copy_if(rules.badWords, std::back_inserter(words),
                       [](const auto &word) { return word.size() > 1; });
  if (words.empty())
    return inner;
  return std::make_shared<BadWords>(std::move(words), vocab, std::move(inner),
                                    begun);
}
