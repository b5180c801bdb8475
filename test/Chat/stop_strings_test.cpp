//===- stop_strings_test.cpp - Stop strings -------------------------------===//

#include "runtime/chat/StopStrings.h"

#include <gtest/gtest.h>
#include <random>

using namespace mtp;

namespace {

struct Cut {
  std::string text;
  bool stopped = false;
  bool operator==(const Cut &) const = default;
};

/// Cuts the text in pieces of `size` bytes.
Cut cut(const std::vector<std::string> &strings, std::string_view text,
        size_t size) {
  StopStrings stops(strings);
  Cut result;
  for (size_t at = 0; at < text.size(); at += size)
    result.text += stops.append(text.substr(at, size));
  if (!stops.stopped())
    result.text += stops.finish();
  result.stopped = stops.stopped();
  return result;
}

/// Computes the cut by checking every prefix of the text.
Cut expectedCut(const std::vector<std::string> &strings,
                std::string_view text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string &string : strings)
      if (text.substr(0, end).ends_with(string))
        longest = std::max(longest, string.size());
    if (longest > 0)
      return {std::string(text.substr(0, end - longest)), true};
  }
  return {std::string(text), false};
}

} // namespace

TEST(StopStrings, HoldsBackWhatMayBegin) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.append("one E"), "one ");
  EXPECT_EQ(stops.append("N"), "");
  EXPECT_EQ(stops.append("E"), "EN");
  EXPECT_EQ(stops.append("N"), "");
  EXPECT_FALSE(stops.stopped());
  EXPECT_EQ(stops.append("D and more"), "");
  EXPECT_TRUE(stops.stopped());
  EXPECT_EQ(stops.append("more"), "");
}

TEST(StopStrings, GivesTheRestAtTheEnd) {
  StopStrings stops({"\n\n"});
  EXPECT_EQ(stops.append("a\n"), "a");
  EXPECT_EQ(stops.append(""), "");
  EXPECT_EQ(stops.finish(), "\n");
  EXPECT_FALSE(stops.stopped());
}

TEST(StopStrings, KeepsCharactersWhole) {
  // Both begin with C3: only whole characters are held back.
  StopStrings stops({"é!"});
  EXPECT_EQ(stops.append("aè"), "aè");
  EXPECT_EQ(stops.append("é"), "");
  EXPECT_EQ(stops.append("?"), "é?");
  EXPECT_EQ(stops.append("é!"), "");
  EXPECT_TRUE(stops.stopped());
}

TEST(StopStrings, FirstToEndThenLongest) {
  EXPECT_EQ(cut({"abcd", "bc"}, "xabcdx", 6), (Cut{"xa", true}));
  EXPECT_EQ(cut({"bc", "abc"}, "xabcx", 1), (Cut{"x", true}));
  EXPECT_EQ(cut({"aab"}, "aaab", 1), (Cut{"a", true}));
  EXPECT_EQ(cut({}, "aaab", 2), (Cut{"aaab", false}));
}

TEST(StopStrings, PiecesDoNotMatter) {
  std::mt19937 random(1);
  auto word = [&](size_t most) {
    std::string text(1 + random() % most, 'a');
    for (char &c : text)
      c = char('a' + random() % 2);
    return text;
  };
  size_t stopped = 0;
  for (int turn = 0; turn < 2000; ++turn) {
    std::vector<std::string> strings;
    for (size_t i = random() % 3; i < 3; ++i)
      strings.push_back(word(6));
    std::string text = word(24);
    Cut expected = expectedCut(strings, text);
    stopped += expected.stopped;
    for (size_t size : {1, 2, 3, 24})
      EXPECT_EQ(cut(strings, text, size).text, expected.text) << text;
    EXPECT_EQ(cut(strings, text, 2).stopped, expected.stopped) << text;
  }
  EXPECT_GT(stopped, 500u);
  EXPECT_LT(stopped, 2000u);
}
