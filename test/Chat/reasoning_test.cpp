//===- reasoning_test.cpp - Reasoning apart from the answer ---------------===//

#include "runtime/chat/ReasoningSplitter.h"

#include <gtest/gtest.h>

using namespace mtp;

namespace {

/// Returns "reasoning | content" of an answer in pieces of `bytes` bytes. Text
/// between \1 and \2 is a special token.
std::string split(ReasoningFormat format, std::string_view prompt,
                  std::string_view answer, size_t bytes) {
  ReasoningSplitter splitter(format, prompt);
  AnswerPart all;
  auto add = [&](const AnswerPart &part) {
    all.reasoning += part.reasoning;
    all.content += part.content;
  };
  while (!answer.empty()) {
    if (answer[0] == '\1') {
      size_t end = answer.find('\2');
      add(splitter.appendSpecial(answer.substr(1, end - 1)));
      answer.remove_prefix(end + 1);
      continue;
    }
    size_t length = std::min({bytes, answer.find('\1'), answer.size()});
    add(splitter.append(answer.substr(0, length)));
    answer.remove_prefix(length);
  }
  add(splitter.finish());
  return all.reasoning + " | " + all.content;
}

/// Returns "reasoning | content", which must not depend on the size of the
/// pieces.
std::string split(ReasoningFormat format, std::string_view prompt,
                  std::string_view answer) {
  std::string whole = split(format, prompt, answer, answer.size());
  for (size_t bytes = 1; bytes < answer.size(); ++bytes)
    EXPECT_EQ(split(format, prompt, answer, bytes), whole) << bytes;
  return whole;
}

} // namespace

TEST(Reasoning, isSplitWhereTheModelOpensIt) {
  auto think = [](std::string_view answer) {
    return split(ReasoningFormat::Think, "<|im_start|>assistant\n", answer);
  };
  EXPECT_EQ(think("<think>\nwell\n\nso\n</think>\n\nYes.\n"),
            "well\n\nso | Yes.\n");
  EXPECT_EQ(think("\n<think>a</think>b"), "a | b");
  EXPECT_EQ(think("<think>\n\n</think>\n\nb"), " | b");
  EXPECT_EQ(think("<think>a</thinkx</think></think>"), "a</thinkx | </think>");
  EXPECT_EQ(think("<think>cut off</thi"), "cut off</thi | ");
  EXPECT_EQ(think("<think>cut\n"), "cut | ");
}

TEST(Reasoning, isTextInAnAnswer) {
  auto think = [](std::string_view answer) {
    return split(ReasoningFormat::Think, "assistant", answer);
  };
  EXPECT_EQ(think("The tag <think> opens, </think> closes."),
            " | The tag <think> opens, </think> closes.");
  EXPECT_EQ(think("  \n x"), " |   \n x");
  EXPECT_EQ(think("<thi"), " | <thi");
  EXPECT_EQ(think("<thing>"), " | <thing>");
  EXPECT_EQ(think(""), " | ");
  EXPECT_EQ(split(ReasoningFormat::None, "<think>", "<think>a</think>b"),
            " | <think>a</think>b");
}

TEST(Reasoning, isSplitWhereThePromptOpensIt) {
  EXPECT_EQ(
      split(ReasoningFormat::Think, "<|Assistant|><think>\n", "a\n</think>\nb"),
      "a | b");
  EXPECT_EQ(
      split(ReasoningFormat::Think, "<think>\n\n</think>\n\n", "\n<think>b"),
      " | <think>b");
  EXPECT_EQ(
      split(ReasoningFormat::SeedThink, "", "<seed:think>a</seed:think>b"),
      "a | b");
  EXPECT_EQ(
      split(ReasoningFormat::Bracket, "", "\1[THINK]\2a\1[/THINK]\2b\1</s>\2c"),
      "a | bc");
}

TEST(Reasoning, isSplitOnChannels) {
  EXPECT_EQ(split(ReasoningFormat::Channel, "<|turn>model\n",
                  "\1<|channel>\2thought\nwell\n\1<channel|>\2Yes"),
            "well | Yes");
  EXPECT_EQ(split(ReasoningFormat::Harmony, "<|start|>assistant",
                  "\1<|channel|>\2analysis\1<|message|>\2Hm <|end|>.\1<|end|>\2"
                  "\1<|start|>\2assistant\1<|channel|>\2final\1<|message|>\2"
                  "Yes\n"),
            "Hm <|end|>. | Yes\n");
  EXPECT_EQ(split(ReasoningFormat::Harmony, "<|start|>assistant",
                  "\1<|channel|>\2commentary\1<|message|>\2One moment."
                  "\1<|end|>\2\1<|start|>\2assistant to=functions.f"
                  "\1<|channel|>\2commentary json\1<|message|>\2{}"),
            " | One moment.{}");
  EXPECT_EQ(split(ReasoningFormat::Harmony, "", "plain"), " | plain");
}

TEST(Reasoning, holdsBackNoMoreThanAMark) {
  ReasoningSplitter splitter(ReasoningFormat::Think, "<think>");
  EXPECT_EQ(splitter.append("abc</th").reasoning, "abc");
  EXPECT_EQ(splitter.append("e").reasoning, "</the");
  EXPECT_EQ(splitter.append("x\n\n").reasoning, "x");
  EXPECT_EQ(splitter.append("y</think>z").reasoning, "\n\ny");
  EXPECT_EQ(splitter.append("<").content, "<");
}

TEST(Reasoning, isFoundByTheTemplate) {
  EXPECT_EQ(detectReasoningFormat("{{ x }}"), ReasoningFormat::Think);
  EXPECT_EQ(detectReasoningFormat("a <seed:think> b"),
            ReasoningFormat::SeedThink);
  EXPECT_EQ(detectReasoningFormat("'<|channel|>analysis<|message|>' + x"),
            ReasoningFormat::Harmony);
  EXPECT_EQ(detectReasoningFormat("'<|channel>thought\\n'"),
            ReasoningFormat::Channel);
  for (std::string_view name : reasoningFormatNames())
    EXPECT_TRUE(findReasoningFormat(name).has_value()) << name;
  EXPECT_EQ(findReasoningFormat("none"), ReasoningFormat::None);
  EXPECT_EQ(findReasoningFormat("thinks"), std::nullopt);
}
