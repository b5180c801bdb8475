//===- matcher_test.cpp - Masks, drafts and limits ------------------------===//

#include "GrammarTestUtil.h"

#include <gtest/gtest.h>
#include <thread>

using namespace mtp;
using namespace mtp::grammar;
using namespace mtp::test;

namespace {

/// Tokens that cross the ends of strings, members, rules and characters.
const std::vector<std::string> kTokens = {"a",
                                          "ab",
                                          "abc",
                                          "\"a",
                                          "\"a\"",
                                          "\":",
                                          "\": \"",
                                          "\", \"",
                                          "{\"",
                                          "\"}",
                                          "\"}]",
                                          "}}",
                                          "]]",
                                          "[[",
                                          "[[[",
                                          "],[",
                                          "1,",
                                          "12",
                                          "-1",
                                          "1.5e3",
                                          "true",
                                          "null,",
                                          "\\\"",
                                          "\\u00",
                                          "\xC3",
                                          "\xA9",
                                          "\xC3\xA9",
                                          "\u00e9\"",
                                          "\U0001F600",
                                          "\xF0\x9F",
                                          "\n\n",
                                          "   ",
                                          " \n",
                                          "(",
                                          "((a",
                                          "a))",
                                          "))",
                                          "name",
                                          "\"name\"",
                                          "\"name\": ",
                                          "abcabcabcabcabcabc",
                                          "the quick brown fox jumps over",
                                          "hello",
                                          "ab",
                                          "\x1F",
                                          "\x7F",
                                          "{}",
                                          "[]",
                                          "{\"a\":[",
                                          "]}",
                                          "\"]",
                                          "\",",
                                          "0",
                                          "00",
                                          "e",
                                          "+",
                                          ".5"};

const std::vector<Source> &sources() {
  static const std::vector<Source> list = {
      {Source::Kind::JsonObject, "", {}},
      schemaOf("true"),
      schemaOf(R"({"type":"object","properties":{"name":{"type":"string"},
        "a":{"type":"array","items":{"$ref":"#"}}},
        "additionalProperties":false})"),
      schemaOf(R"({"type":"array","items":{"type":"string","maxLength":12}})"),
      schemaOf(R"({"type":"object","properties":{"name":{"type":"integer"}},
        "required":["name","ab"]})"),
      regexOf("(a|b)*abb"),
      regexOf("[^\\n]*"),
      regexOf("[a-z]{1,20}( [a-z]+)*"),
      gbnfOf("root ::= \"(\" root \")\" | \"a\" root | \"\""),
      gbnfOf("root ::= e\ne ::= t | t \"+\" e\n"
             "t ::= \"a\" | \"a\" t | \"(\" e \")\""),
      gbnfOf("root ::= \"\\\"\" char* \"\\\"\"\n"
             "char ::= [^\"\\\\\\x00-\\x1f] | \"\\\\\" [\"u] | \"abc\""),
      choiceOf({"a", "abc", "name", "((a"}),
  };
  return list;
}

/// A random walk: each step compares the mask with the tokens that accept()
/// takes. Ends at a place without tokens.
void walk(Matcher matcher, const Vocabulary &vocabulary, std::mt19937 &random,
          int steps) {
  for (int i = 0; i < steps; ++i) {
    std::vector<int32_t> allowed = allowedTokens(matcher, vocabulary);
    ASSERT_EQ(allowed, triedTokens(matcher, vocabulary)) << "step " << i;
    std::erase(allowed, kEnd);
    if (allowed.empty())
      return;
    // Longer tokens half of the time, as models prefer them.
    std::vector<int32_t> longer = allowed;
    std::erase_if(longer, [](int32_t token) { return token < kFirstMore; });
    const auto &from = random() % 2 && !longer.empty() ? longer : allowed;
    ASSERT_TRUE(matcher.accept(from[random() % from.size()]).isOk());
  }
}

} // namespace

TEST(Matcher, MasksHaveTheTokensThatAcceptTakes) {
  auto vocabulary = byteVocabulary(kTokens);
  std::mt19937 random(1);
  for (const Source &source : sources()) {
    Matcher start = matcherOf(source, {}, vocabulary);
    for (int i = 0; i < 12; ++i)
      walk(start, *vocabulary, random, 25);
    ASSERT_FALSE(testing::Test::HasFailure()) << source.text;
  }
}

TEST(Matcher, MasksDoNotDependOnTheCache) {
  // The cache is too small for more than a few masks, so it begins anew often.
  auto vocabulary = byteVocabulary(kTokens);
  Limits small;
  small.cacheBytes = 200000;
  std::mt19937 random(2);
  for (const Source &source : sources()) {
    Matcher one = matcherOf(source, {}, vocabulary);
    Matcher other = matcherOf(source, small, vocabulary);
    for (int i = 0; i < 60; ++i) {
      std::vector<int32_t> allowed = allowedTokens(one, *vocabulary);
      ASSERT_EQ(allowed, allowedTokens(other, *vocabulary)) << source.text;
      ASSERT_EQ(one.isTerminated(), other.isTerminated());
      std::erase(allowed, kEnd);
      if (allowed.empty())
        break;
      int32_t token = allowed[random() % allowed.size()];
      ASSERT_TRUE(one.tryAccept(token));
      ASSERT_TRUE(other.tryAccept(token));
      if (i % 7 == 6) {
        ASSERT_TRUE(one.rollback(5).isOk());
        ASSERT_TRUE(other.rollback(5).isOk());
      }
    }
  }
}

TEST(Matcher, RollbackRestoresEachPosition) {
  auto vocabulary = byteVocabulary(kTokens);
  std::mt19937 random(3);
  for (const Source &source : sources()) {
    Matcher matcher = matcherOf(source, {}, vocabulary);
    std::vector<std::vector<int32_t>> masks;
    while (masks.size() < 30) {
      std::vector<int32_t> allowed = allowedTokens(matcher, *vocabulary);
      if (allowed.empty() || matcher.isEnded())
        break;
      ASSERT_TRUE(matcher.tryAccept(allowed[random() % allowed.size()]));
      masks.push_back(std::move(allowed));
    }
    Matcher copy = matcher;
    ASSERT_TRUE(copy.rollback(masks.size()).isOk());
    EXPECT_EQ(allowedTokens(copy, *vocabulary), masks[0]) << source.text;
    for (; !masks.empty(); masks.pop_back()) {
      ASSERT_TRUE(matcher.rollback(1).isOk());
      EXPECT_EQ(allowedTokens(matcher, *vocabulary), masks.back());
    }
  }
}

TEST(Matcher, RollbackHasALimit) {
  Limits limits;
  limits.rollback = 3;
  Matcher matcher = matcherOf(regexOf("a*"), limits);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(matcher.tryAccept('a'));
  EXPECT_EQ(matcher.canRollback(), 3u);
  EXPECT_EQ(matcher.rollback(4).code(), StatusCode::OutOfRange);
  EXPECT_TRUE(matcher.rollback(3).isOk());
  EXPECT_EQ(matcher.rollback(1).code(), StatusCode::OutOfRange);
}

TEST(Matcher, ARefusedTokenHasNoEffect) {
  Matcher matcher = matcherOf(regexOf("ab"));
  EXPECT_FALSE(matcher.tryAccept('b'));
  for (int32_t token : {-1, 1 << 20, int32_t(kNoBytes), int32_t(kEnd)})
    EXPECT_EQ(matcher.accept(token).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(matcher.canRollback(), 0u);
  EXPECT_TRUE(matcher.tryAccept('a'));
  EXPECT_TRUE(matcher.tryAccept('b'));
}

TEST(Matcher, EndTokensNeedACompleteText) {
  auto vocabulary = byteVocabulary();
  Matcher matcher = matcherOf(regexOf("ab?"), {}, vocabulary);
  EXPECT_FALSE(matcher.isTerminated());
  EXPECT_EQ(allowedTokens(matcher, *vocabulary), (std::vector<int32_t>{'a'}));
  ASSERT_TRUE(matcher.tryAccept('a'));
  EXPECT_TRUE(matcher.isTerminated());
  EXPECT_EQ(allowedTokens(matcher, *vocabulary),
            (std::vector<int32_t>{'b', kEnd}));
  ASSERT_TRUE(matcher.tryAccept(kEnd));
  EXPECT_TRUE(matcher.isEnded());
  EXPECT_FALSE(matcher.tryAccept('b'));
  EXPECT_EQ(allowedTokens(matcher, *vocabulary), (std::vector<int32_t>{kEnd}));
  ASSERT_TRUE(matcher.rollback(1).isOk());
  EXPECT_FALSE(matcher.isEnded());
  EXPECT_TRUE(matcher.tryAccept('b'));
}

TEST(Matcher, CopiesAreIndependent) {
  auto vocabulary = byteVocabulary(kTokens);
  Matcher parent =
      matcherOf(gbnfOf("root ::= \"(\" root \")\" | \"a\""), {}, vocabulary);
  ASSERT_TRUE(parent.tryAcceptBytes("(("));
  Matcher left = parent, right = parent;
  ASSERT_TRUE(left.tryAcceptBytes("a))"));
  ASSERT_TRUE(right.tryAcceptBytes("(((a"));
  EXPECT_TRUE(left.isTerminated());
  EXPECT_FALSE(right.isTerminated());
  EXPECT_EQ(allowedTokens(parent, *vocabulary),
            triedTokens(parent, *vocabulary));
}

TEST(Matcher, MasksAlongADraftChain) {
  auto vocabulary = byteVocabulary(kTokens);
  size_t width = vocabulary->maskWords();
  Matcher matcher = matcherOf(sources()[0], {}, vocabulary);
  ASSERT_TRUE(matcher.tryAcceptBytes("{\"a\""));
  const std::vector<int32_t> drafts = {':', '[', '1', ']', '}', kEnd};
  std::vector<uint32_t> words((drafts.size() + 1) * width);
  auto rows = matcher.maskPath(drafts, words);
  ASSERT_TRUE(rows.isOk());
  EXPECT_EQ(*rows, drafts.size() + 1);
  Matcher copy = matcher;
  for (size_t row = 0; row < *rows; ++row) {
    std::vector<uint32_t> expected(width);
    ASSERT_TRUE(copy.mask(expected).isOk());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           words.begin() + std::ptrdiff_t(row * width)));
    if (row < drafts.size())
      ASSERT_TRUE(copy.tryAccept(drafts[row]));
  }
  // The third draft is refused.
  rows = matcher.maskPath(std::vector<int32_t>{':', '1', 'x', '2'}, words);
  ASSERT_TRUE(rows.isOk());
  EXPECT_EQ(*rows, 3u);
  EXPECT_EQ(matcher.canRollback(), 1u);
  EXPECT_TRUE(matcher.tryAccept(':'));
}

TEST(Matcher, MasksHaveTheSizeOfTheVocabulary) {
  Matcher matcher = matcherOf(regexOf("a"));
  std::vector<uint32_t> words(byteVocabulary()->maskWords() + 1);
  EXPECT_EQ(matcher.mask(words).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(matcher.maskPath(std::array{int32_t('a')}, words).status().code(),
            StatusCode::InvalidArgument);
}

TEST(Matcher, DepthIsLimited) {
  auto vocabulary = byteVocabulary(kTokens);
  Limits limits;
  limits.depth = 5;
  Matcher matcher =
      matcherOf(gbnfOf("root ::= \"(\" root \")\" | \"a\" | \"[\" root \"]\""),
                limits, vocabulary);
  int depth = 0;
  while (matcher.tryAcceptBytes("(")) {
    ++depth;
    // Tokens that would open too many frames are not in the mask.
    EXPECT_EQ(allowedTokens(matcher, *vocabulary),
              triedTokens(matcher, *vocabulary))
        << depth;
    ASSERT_LT(depth, 10);
  }
  EXPECT_GE(depth, 4);
  EXPECT_TRUE(matcher.tryAcceptBytes("a" + std::string(depth, ')')));
  EXPECT_TRUE(matcher.isTerminated());
}

TEST(Matcher, AnAmbiguousGrammarIsRefusedNotEndless) {
  Limits limits;
  limits.places = 200;
  // The number of places is the number of ways to divide the text.
  Matcher matcher =
      matcherOf(gbnfOf("root ::= a a a a a a \"b\"\na ::= \"(\" a \")\" | x*\n"
                       "x ::= \"a\" | \"aa\" | \"aaa\""),
                limits);
  int count = 0;
  while (count < 1000 && matcher.tryAccept('a'))
    ++count;
  EXPECT_GT(count, 0);
  Limits tiny;
  tiny.cacheBytes = 100;
  Matcher other = matcherOf(regexOf("a*"), tiny);
  std::vector<uint32_t> words(byteVocabulary()->maskWords());
  EXPECT_EQ(other.mask(words).code(), StatusCode::ResourceExhausted);
}

TEST(Matcher, ForcedContinuations) {
  auto vocabulary = byteVocabulary(
      {"{\"", "name", "\":", "na", "\"name", "{\"name\":", "\": \""});
  Source source = schemaOf(R"({"type":"object","properties":{
    "name":{"const":"x"}},"required":["name"],"additionalProperties":false})");
  Limits compact;
  compact.whitespace = 0;
  Matcher matcher = matcherOf(source, compact, vocabulary);
  EXPECT_EQ(matcher.forcedBytes(100), R"({"name":"x"})");
  EXPECT_EQ(matcher.forcedBytes(3), R"({"n)");
  EXPECT_EQ(matcher.forcedTokens(10),
            (std::vector<int32_t>{kFirstMore + 5, '"', 'x', '"', '}'}));
  EXPECT_EQ(matcher.forcedTokens(2),
            (std::vector<int32_t>{kFirstMore + 5, '"'}));
  for (int32_t token : matcher.forcedTokens(10))
    EXPECT_TRUE(matcher.tryAccept(token));
  EXPECT_TRUE(matcher.isTerminated());
  EXPECT_TRUE(matcher.forcedTokens(10).empty());

  // "}" has longer tokens, but nothing can follow it here.
  auto closing = byteVocabulary({"}}", "ab", "abc"});
  EXPECT_EQ(matcherOf(regexOf("a\\}"), {}, closing).forcedTokens(10),
            (std::vector<int32_t>{'a', '}'}));

  // "na" could become "name", so it is not proposed.
  Matcher open = matcherOf(regexOf("xna[a-z]*"), {}, vocabulary);
  EXPECT_EQ(open.forcedBytes(100), "xna");
  EXPECT_EQ(open.forcedTokens(10), (std::vector<int32_t>{'x'}));
}

TEST(Matcher, ThreadsShareAGrammar) {
  auto vocabulary = byteVocabulary(kTokens);
  Limits small;
  small.cacheBytes = 60000;
  auto grammar = compile(sources()[0], small);
  ASSERT_TRUE(grammar.isOk());
  auto shared = std::make_shared<TokenGrammar>(*grammar, vocabulary);
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (unsigned id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      std::mt19937 random(id);
      for (int run = 0; run < 10; ++run) {
        Matcher matcher(shared);
        std::vector<uint32_t> words(vocabulary->maskWords());
        for (int i = 0; i < 30; ++i) {
          failures += !matcher.mask(words).isOk();
          auto token = static_cast<int32_t>(random() % vocabulary->size());
          bool isAllowed = words[token / 32] >> (token % 32) & 1;
          failures += matcher.tryAccept(token) != isAllowed;
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failures, 0);
}

TEST(Vocabulary, RefusesWhatIsOutOfRange) {
  std::vector<std::string_view> pieces = {"a", "b"};
  EXPECT_EQ(Vocabulary::create(pieces, std::array{2}).status().code(),
            StatusCode::OutOfRange);
  EXPECT_EQ(Vocabulary::create(pieces, std::array{-1}).status().code(),
            StatusCode::OutOfRange);
  std::string longest(70000, 'a');
  pieces.emplace_back(longest);
  EXPECT_EQ(Vocabulary::create(pieces, {}).status().code(),
            StatusCode::OutOfRange);
}

TEST(Vocabulary, LongestToken) {
  auto vocabulary = byteVocabulary({"ab", "abcd"});
  EXPECT_EQ(vocabulary->longestToken("abc"), uint32_t(kFirstMore));
  EXPECT_EQ(vocabulary->longestToken("abcdef"), uint32_t(kFirstMore + 1));
  EXPECT_EQ(vocabulary->longestToken(""), vocabulary->size());
  EXPECT_TRUE(vocabulary->couldBeLonger("abc"));
  EXPECT_FALSE(vocabulary->couldBeLonger("abcd"));
  EXPECT_FALSE(vocabulary->couldBeLonger("abce"));
}
