//===- bad_words_test.cpp - Token sequences that texts must not have ------===//

#include "runtime/exec/launch/BadWords.h"

#include <gtest/gtest.h>

using namespace mtp;

namespace {

constexpr uint32_t kVocab = 40;
using Tokens = std::vector<int32_t>;

/// Allows the even tokens, and fails at others.
class EvenMatcher final : public ConstraintMatcher {
public:
  Status accept(int32_t token) override {
    return token % 2 == 0 ? okStatus() : invalidArgument("an odd token");
  }
  Result<size_t> maskPath(std::span<const int32_t> drafts,
                          std::span<uint32_t> words) const override {
    for (size_t row = 0;; ++row) {
      words[2 * row] = 0x55555555;
      words[2 * row + 1] = 0x55;
      if (row == drafts.size() || drafts[row] % 2 != 0)
        return row + 1;
    }
  }
};

class Even final : public TokenConstraint {
public:
  uint32_t vocab() const override { return kVocab; }
  std::unique_ptr<ConstraintMatcher> begin() const override {
    return std::make_unique<EvenMatcher>();
  }
};

std::unique_ptr<ConstraintMatcher>
matcherOf(const std::shared_ptr<const TokenConstraint> &constraint,
          const Tokens &text) {
  std::unique_ptr<ConstraintMatcher> matcher = constraint->begin();
  for (int32_t token : text)
    EXPECT_TRUE(matcher->accept(token).isOk());
  return matcher;
}

/// Returns the tokens that are excluded in each row of a path.
std::vector<Tokens> excluded(const ConstraintMatcher &matcher,
                             const Tokens &drafts) {
  std::vector<uint32_t> words(2 * (drafts.size() + 1), 0xdeadbeef);
  Result<size_t> count = matcher.maskPath(drafts, words);
  EXPECT_TRUE(count.isOk());
  std::vector<Tokens> rows(*count);
  for (size_t row = 0; row < *count; ++row) {
    for (int32_t token = 0; token < int32_t(kVocab); ++token)
      if (!(words[2 * row + token / 32] >> (token % 32) & 1))
        rows[row].push_back(token);
    EXPECT_EQ(words[2 * row + 1] >> (kVocab % 32), 0u);
  }
  return rows;
}

} // namespace

TEST(BadWords, ExcludeTheLastTokenAfterTheOthers) {
  LogitRules rules;
  rules.badWords = {{7}, {1, 2}, {1, 2, 3}, {33, 39}};
  auto words = withoutBadWords(rules, kVocab, nullptr);
  ASSERT_TRUE(words);
  EXPECT_EQ(words->vocab(), kVocab);
  using Rows = std::vector<Tokens>;
  EXPECT_EQ(excluded(*matcherOf(words, {}), {}), Rows{{}});
  // Words of one token are biases.
  EXPECT_EQ(excluded(*matcherOf(words, {0, 1}), {}), (Rows{{2}}));
  EXPECT_EQ(excluded(*matcherOf(words, {9, 9, 33}), {}), (Rows{{39}}));
  // Each row sees its own path.
  EXPECT_EQ(excluded(*matcherOf(words, {}), {1, 4, 33, 0}),
            (Rows{{}, {2}, {}, {39}, {}}));
  // The rows end at a draft that is not allowed.
  EXPECT_EQ(excluded(*matcherOf(words, {5}), {1, 2, 3}), (Rows{{}, {2}}));
  EXPECT_EQ(excluded(*matcherOf(words, {5}), {-1, 3}), Rows{{}});
}

TEST(BadWords, MayBeginInTheOutputBefore) {
  LogitRules rules;
  rules.badWords = {{1, 2}, {3, 1, 5}};
  auto words = withoutBadWords(rules, kVocab, nullptr, Tokens{9, 3, 1});
  using Rows = std::vector<Tokens>;
  EXPECT_EQ(excluded(*matcherOf(words, {}), {4}), (Rows{{2, 5}, {}}));
  EXPECT_EQ(excluded(*matcherOf(words, {1}), {}), (Rows{{2}}));
}

TEST(BadWords, KeepTheTokensOfAGrammar) {
  LogitRules rules;
  rules.badWords = {{2, 4}, {2, 5}};
  auto words = withoutBadWords(rules, kVocab, std::make_shared<Even>());
  std::vector<Tokens> rows = excluded(*matcherOf(words, {2}), {6, 2});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].size(), kVocab / 2 + 1);
  EXPECT_EQ(rows[1].size(), kVocab / 2);
  EXPECT_EQ(rows[2].size(), kVocab / 2 + 1);
  EXPECT_FALSE(words->begin()->accept(3).isOk());
  // No text would be left.
  rules.badWords.clear();
  for (int32_t token = 0; token < int32_t(kVocab); ++token)
    rules.badWords.push_back({2, token});
  words = withoutBadWords(rules, kVocab, std::make_shared<Even>());
  EXPECT_EQ(excluded(*matcherOf(words, {2}), {})[0].size(), kVocab / 2);
}

TEST(BadWords, OfOneTokenNeedNoMasks) {
  LogitRules rules;
  rules.badWords = {{7}, {8}};
  EXPECT_FALSE(haveLongBadWords(rules));
  EXPECT_FALSE(withoutBadWords(rules, kVocab, nullptr));
  auto even = std::make_shared<Even>();
  EXPECT_EQ(withoutBadWords(rules, kVocab, even), even);
}
