//===- gbnf_test.cpp - llama.cpp's grammars -------------------------------===//

#include "GrammarTestUtil.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

struct Sample {
  const char *grammar;
  std::vector<std::string> in, out;
};

void check(const Sample &sample) {
  for (const std::string &text : sample.in)
    EXPECT_TRUE(accepts(gbnfOf(sample.grammar), text)) << sample.grammar << "\n"
                                                       << text;
  for (const std::string &text : sample.out)
    EXPECT_FALSE(accepts(gbnfOf(sample.grammar), text))
        << sample.grammar << "\n"
        << text;
}

std::string errorOf(const char *grammar) {
  return std::string(failureOf(gbnfOf(grammar)).message());
}

} // namespace

TEST(Gbnf, Items) {
  check({R"(root ::= "a\"\\\n\x41\u00e9\U0001F600")",
         {"a\"\\\nA\u00e9\U0001F600"},
         {"a", ""}});
  check({R"(root ::= [a-c\]] [^a\n] .)",
         {"abx", "]\u00e9\U0001F600"},
         {"aax", "d", "ab", "abxx", "a\nx"}});
  check({R"(root ::= [a-])", {"a", "-"}, {"b"}});
  check({R"(root ::= "ab"* "c"+ "d"?)",
         {"c", "ababccd"},
         {"", "abd", "acd", "cdd"}});
  check({R"(root ::= "a"{2} "b"{1,} "c"{0,2} "d"{,1})",
         {"aab", "aabbbcc", "aabcd"},
         {"ab", "aa", "aabccc", "aabdd"}});
}

TEST(Gbnf, RulesAndLayout) {
  check({"# a comment\nroot  ::= (\n  sum | # first\n  \"x\" )\n"
         "sum ::= digit (\"+\" digit)*\ndigit ::=\n [0-9]\n",
         {"x", "1", "1+2+3"},
         {"+", "1+", "x1"}});
  check({"root ::= a |\n b\na ::= \"a\"\r\nb ::= \"b\"", {"a", "b"}, {"ab"}});
  // Alternatives can be empty.
  check({"root ::= \"a\" | ", {"a", ""}, {"aa"}});
}

TEST(Gbnf, Recursion) {
  check({R"g(root ::= "(" root ")" | "x")g",
         {"x", "((x))"},
         {"((x)", "(x))", ""}});
  // Right recursion needs no stack: the text is deeper than any limit.
  grammar::Limits limits;
  limits.depth = 8;
  auto matcher = matcherOf(gbnfOf(R"(root ::= "a" root | "b")"), limits);
  EXPECT_TRUE(matcher.tryAcceptBytes(std::string(1000, 'a')));
  EXPECT_TRUE(matcher.tryAcceptBytes("b"));
  EXPECT_TRUE(matcher.isTerminated());
}

TEST(Gbnf, AmbiguousGrammars) {
  check({R"g(root ::= e
e ::= t | t "+" e
t ::= "a" | "a" t | "(" e ")")g",
         {"aa+a", "(a+aa)+a"},
         {"a+", "(a"}});
  check({R"(root ::= "a" root "a" | "b" root "b" | "")",
         {"", "abba", "aabbaa"},
         {"aab", "abab"}});
}

TEST(Gbnf, Errors) {
  EXPECT_EQ(errorOf(""), "expected a rule 'root', got none");
  EXPECT_EQ(errorOf("a ::= \"x\""), "expected a rule 'root', got none");
  EXPECT_EQ(errorOf("root ::= other"),
            "line 1, column 15: expected a definition of rule 'other', got "
            "none");
  EXPECT_EQ(errorOf("root = \"x\""),
            "line 1, column 6: expected '::=' after rule name 'root', got "
            "'='");
  EXPECT_EQ(errorOf("root ::= \"x"),
            "line 1, column 12: expected '\"' at the end of a text, got the "
            "end");
  EXPECT_EQ(errorOf("root ::= \"x\"\nroot ::= \"y\""),
            "line 2, column 1: expected one definition of rule 'root', got a "
            "second one");
  for (const char *text :
       {"root ::= (\"x\"", "root ::= [a", "root ::= [z-a]", "root ::= \"\\q\"",
        "root ::= \"\\x1\"", "root ::= \"\\ud800\"", "root ::= \"a\"{",
        "root ::= \"a\"{3,1}", "root ::= \"a\"{,}", "root ::= *", "::= \"a\"",
        "root ::= \"a\" )"})
    EXPECT_EQ(failureOf(gbnfOf(text)).code(), StatusCode::InvalidArgument)
        << text;
  EXPECT_EQ(failureOf(gbnfOf("root ::= <think>")).code(),
            StatusCode::Unimplemented);
  EXPECT_EQ(failureOf(gbnfOf("root ::= \"\xFF\"")).code(),
            StatusCode::InvalidArgument);
}

TEST(Gbnf, LeftRecursionIsRefused) {
  for (const char *text :
       {"root ::= root \"a\" | \"b\"", "root ::= x\nx ::= root | \"a\"",
        "root ::= e root \"a\" | \"b\"\ne ::= \"c\"?",
        "root ::= (root)* \"a\""}) {
    Status status = failureOf(gbnfOf(text));
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << text;
    EXPECT_NE(status.message().find("left recursion"), std::string::npos)
        << status.message();
  }
}

TEST(Gbnf, Limits) {
  grammar::Limits limits;
  std::string groups =
      "root ::= " + std::string(100, '(') + "\"a\"" + std::string(100, ')');
  EXPECT_EQ(failureOf(gbnfOf(groups)).code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(failureOf(gbnfOf("root ::= \"a\"{1000000000}")).code(),
            StatusCode::ResourceExhausted);
  EXPECT_EQ(
      failureOf(gbnfOf("root ::= ((((\"a\"{999}){999}){999}){999})")).code(),
      StatusCode::ResourceExhausted);
  EXPECT_EQ(failureOf(gbnfOf("root ::= ((((\"\"{999999}){999999}){999999})"
                             "{999999}){999999}"))
                .code(),
            StatusCode::ResourceExhausted);
  limits.sourceBytes = 10;
  EXPECT_EQ(failureOf(gbnfOf("root ::= \"aaa\""), limits).code(),
            StatusCode::ResourceExhausted);
}
