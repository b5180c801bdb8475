//===- BadWords.cpp - Token sequences that texts must not have ------------===//

#include "runtime/exec/launch/BadWords.h"

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
  BadWordsMatcher(const BadWords &of, std::unique_ptr<ConstraintMatcher> inner,
                  std::vector<int32_t> text)
      : of(of), inner(std::move(inner)), text(std::move(text)) {}

  Status accept(int32_t token) override {
    if (inner)
      MTP_RETURN_IF_ERROR(inner->accept(token));
    text.push_back(token);
    if (text.size() >= of.longest)
      text.erase(text.begin());
    return okStatus();
  }

  Status mask(std::span<uint32_t> words) override;
  std::unique_ptr<ConstraintMatcher> fork() const override {
    return std::make_unique<BadWordsMatcher>(
        of, inner ? inner->fork() : nullptr, text);
  }
  /// The session proposes only tokens that have their bit, so bad words need no
  /// check.
  std::vector<int32_t> forced(size_t most) override {
    return inner ? inner->forced(most) : std::vector<int32_t>();
  }

private:
  void excludeWords(std::span<uint32_t> mask) const;

  const BadWords &of;
  std::unique_ptr<ConstraintMatcher> inner;
  /// The last tokens of the output: one less than the longest word has.
  std::vector<int32_t> text;
};

} // namespace

std::unique_ptr<ConstraintMatcher> BadWords::begin() const {
  return std::make_unique<BadWordsMatcher>(
      *this, inner ? inner->begin() : nullptr, begun);
}

static uint32_t bitOf(int32_t token) { return 1u << (token % 32); }

/// Removes the tokens that complete a word after the text from a mask, unless
/// the mask would be empty.
void BadWordsMatcher::excludeWords(std::span<uint32_t> mask) const {
  std::vector<int32_t> removed;
  for (const std::vector<int32_t> &word : of.words) {
    size_t before = word.size() - 1;
    uint32_t &bits = mask[size_t(word.back()) / 32];
    if (before <= text.size() && (bits & bitOf(word.back())) != 0 &&
        std::equal(word.begin(), word.end() - 1, text.end() - before)) {
      bits &= ~bitOf(word.back());
      removed.push_back(word.back());
    }
  }
  if (std::ranges::all_of(mask, [](uint32_t bits) { return bits == 0; }))
    for (int32_t token : removed)
      mask[size_t(token) / 32] |= bitOf(token);
}

Status BadWordsMatcher::mask(std::span<uint32_t> words) {
  if (inner) {
    MTP_RETURN_IF_ERROR(inner->mask(words));
  } else {
    std::ranges::fill(words, ~0u);
    if (of.tokens % 32 != 0)
      words.back() = (1u << (of.tokens % 32)) - 1;
  }
  excludeWords(words);
  return okStatus();
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
