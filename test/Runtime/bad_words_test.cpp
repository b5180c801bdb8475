//===- bad_words_test.cpp - Token sequences that texts must not have ------===//

#include "runtime/exec/launch/BadWords.h"

#include <algorithm>
#include <array>
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
  Status mask(std::span<uint32_t> words) override {
    words[0] = 0x55555555;
    words[1] = 0x55;
    return okStatus();
  }
  std::unique_ptr<ConstraintMatcher> fork() const override {
    return std::make_unique<EvenMatcher>(*this);
  }
  std::vector<int32_t> forced(size_t most) override { return Tokens(most, 4); }
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

/// Returns the tokens that are excluded in each row of a path. The rows end at
/// a draft that is excluded.
std::vector<Tokens> excluded(const ConstraintMatcher &matcher,
                             const Tokens &drafts) {
  std::unique_ptr<ConstraintMatcher> path = matcher.fork();
  std::vector<Tokens> rows;
  for (size_t row = 0;; ++row) {
    std::array<uint32_t, 2> words = {0xdeadbeef, 0xdeadbeef};
    EXPECT_TRUE(path->mask(words).isOk());
    Tokens &tokens = rows.emplace_back();
    for (int32_t token = 0; token < int32_t(kVocab); ++token)
      if (!(words[size_t(token) / 32] >> (token % 32) & 1))
        tokens.push_back(token);
    EXPECT_EQ(words[1] >> (kVocab % 32), 0u);
    if (row == drafts.size() || std::ranges::count(tokens, drafts[row]) > 0)
      return rows;
    EXPECT_TRUE(path->accept(drafts[row]).isOk());
  }
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
  EXPECT_EQ(excluded(*matcherOf(words, {5}), {1, 2, 3}), (Rows{{}, {2}}));
}

TEST(BadWords, FollowEachPathOnItsOwn) {
  LogitRules rules;
  rules.badWords = {{1, 2}, {3, 1, 5}};
  for (bool isEven : {false, true}) {
    auto words = withoutBadWords(rules, kVocab,
                                 isEven ? std::make_shared<Even>() : nullptr);
    std::unique_ptr<ConstraintMatcher> matcher = matcherOf(words, {});
    std::unique_ptr<ConstraintMatcher> path = matcher->fork();
    EXPECT_TRUE(path->accept(8).isOk());
    EXPECT_EQ(path->accept(3).isOk(), !isEven);
    EXPECT_EQ(path->forced(2), isEven ? Tokens({4, 4}) : Tokens());
  }
  auto words = withoutBadWords(rules, kVocab, nullptr);
  std::unique_ptr<ConstraintMatcher> matcher = matcherOf(words, {3});
  std::unique_ptr<ConstraintMatcher> path = matcher->fork();
  EXPECT_TRUE(path->accept(1).isOk());
  EXPECT_TRUE(matcher->accept(9).isOk());
  using Rows = std::vector<Tokens>;
  EXPECT_EQ(excluded(*path, {}), (Rows{{2, 5}}));
  EXPECT_EQ(excluded(*matcher, {1}), (Rows{{}, {2}}));
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
