//===- regex_test.cpp - Regular expressions -------------------------------===//

#include "GrammarTestUtil.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

struct Sample {
  const char *pattern;
  std::vector<std::string> in, out;
};

const Sample kWhole[] = {
    {"", {""}, {"a"}},
    {"abc", {"abc"}, {"ab", "abcd", "xabc"}},
    {"a|bc|", {"a", "bc", ""}, {"ac", "b"}},
    {"a*b+c?", {"b", "aabbc"}, {"a", "c", "bcc"}},
    {"a{2}b{1,}c{0,2}", {"aab", "aabbcc"}, {"ab", "aabccc"}},
    {"a*?b+?c??d{1,2}?", {"bd", "aabbcdd"}, {"d"}},
    {"(ab)+|(?:c)(?P<n>d)(?<m>e)", {"abab", "cde"}, {"aba", "cd"}},
    {"[a-cx-]", {"a", "c", "x", "-"}, {"d", ""}},
    {"[^a-c]", {"d", "\n", "\u00e9"}, {"a", "dd"}},
    {"[\\]\\-\\d]", {"]", "-", "5"}, {"\\", "a"}},
    {"[a-\\d]", {"a", "-", "5"}, {"b"}},
    {".", {"a", "\u00e9", "\U0001F600"}, {"\n", "\r", "\u2028", ""}},
    {"\\d\\D\\w\\W\\s\\S", {"1a_- x", "9\u0660z \tz"}, {"aaa- x", "11_- x"}},
    {"\\n\\t\\x41\\u00e9\\u{1F600}\\ud83d\\ude00\\.",
     {"\n\tA\u00e9\U0001F600\U0001F600."},
     {""}},
    {"^a$|^(b|c)$", {"a", "b", "c"}, {"ab", ""}},
    {"(^a|b)c", {"ac", "bc"}, {"c"}},
    {"a{,2}", {"a{,2}"}, {"a", "aa"}},
    {"x{a}", {"x{a}"}, {"x"}},
    {"(a|b)*abb", {"abb", "babaabb"}, {"ab", "abba"}},
    {"([0-9]{1,3}\\.){3}[0-9]{1,3}", {"1.22.333.4"}, {"1.2.3", "1.2.3.4444"}},
};

} // namespace

TEST(Regex, MatchesWholeTexts) {
  for (const Sample &sample : kWhole) {
    for (const std::string &text : sample.in)
      EXPECT_TRUE(accepts(regexOf(sample.pattern), text))
          << sample.pattern << " " << text;
    for (const std::string &text : sample.out)
      EXPECT_FALSE(accepts(regexOf(sample.pattern), text))
          << sample.pattern << " " << text;
  }
}

TEST(Regex, SearchesInSchemas) {
  const Sample samples[] = {
      {"b", {"b", "abc"}, {"", "ac"}},
      {"^b", {"b", "bc"}, {"ab"}},
      {"b$", {"b", "ab"}, {"ba"}},
      {"^a|b$", {"ax", "xb"}, {"xa", "bx"}},
      {"^(a|b)$", {"a", "b"}, {"ab", "xa"}},
      {"^$", {""}, {"a"}},
      {"", {"", "anything"}, {}},
  };
  for (const Sample &sample : samples) {
    Source schema = schemaOf(std::string(R"({"type":"string","pattern":")") +
                             sample.pattern + "\"}");
    for (const std::string &text : sample.in)
      EXPECT_TRUE(accepts(schema, "\"" + text + "\""))
          << sample.pattern << " " << text;
    for (const std::string &text : sample.out)
      EXPECT_FALSE(accepts(schema, "\"" + text + "\""))
          << sample.pattern << " " << text;
  }
}

TEST(Regex, UnsupportedParts) {
  const std::pair<const char *, const char *> samples[] = {
      {"a(?=b)", "look-around"},
      {"(?!a)b", "look-around"},
      {"(?<=a)b", "look-around"},
      {"(?<!a)b", "look-around"},
      {"(a)\\1", "back-references"},
      {"\\k<n>", "back-references"},
      {"\\ba", "word boundaries"},
      {"\\p{L}", "Unicode properties"},
      {"(?i)a", "flags"},
      {"a^b", "anchor"},
      {"a$b", "anchor"},
      {"(^a)*", "anchors"},
  };
  for (auto [pattern, part] : samples) {
    Status status = failureOf(regexOf(pattern));
    EXPECT_EQ(status.code(), StatusCode::Unimplemented) << pattern;
    EXPECT_NE(status.message().find(part), std::string::npos)
        << pattern << ": " << status.message();
  }
}

TEST(Regex, MalformedPatterns) {
  for (const char *pattern :
       {"(", ")", "a)", "(a", "[a", "[]", "[z-a]", "*", "a**", "a{2,1}", "\\",
        "\\q", "\\x1", "\\u12", "\\ud800", "(?", "(?<n", "a{2}{3}", "a|*"})
    EXPECT_FALSE(failureOf(regexOf(pattern)).isOk()) << pattern;
  EXPECT_EQ(failureOf(regexOf("ab(c")).message(),
            "line 1, column 5: expected ')' at the end of a group, got the "
            "end");
}

TEST(Regex, NothingMatches) {
  EXPECT_EQ(failureOf(regexOf("[^\\d\\D]")).code(),
            StatusCode::InvalidArgument);
}

TEST(Regex, LimitsHold) {
  EXPECT_EQ(
      failureOf(regexOf(std::string(200, '(') + std::string(200, ')'))).code(),
      StatusCode::ResourceExhausted);
  EXPECT_EQ(failureOf(regexOf("((a{1000}){1000}){1000}")).code(),
            StatusCode::ResourceExhausted);
  // A subset construction of the whole pattern would have 2^40 states.
  auto matcher = matcherOf(regexOf("(a|b)*a(a|b){40}"));
  EXPECT_TRUE(matcher.tryAcceptBytes(std::string(50, 'a')));
  EXPECT_TRUE(matcher.isTerminated());
}

TEST(Choice, IsOneOfTheTexts) {
  Source source = choiceOf({"red", "green", "re", "\u00e9\""});
  for (const char *text : {"red", "green", "re", "\u00e9\""})
    EXPECT_TRUE(accepts(source, text)) << text;
  for (const char *text : {"", "r", "reds", "blue"})
    EXPECT_FALSE(accepts(source, text)) << text;
  EXPECT_EQ(failureOf(choiceOf({})).code(), StatusCode::InvalidArgument);
}
