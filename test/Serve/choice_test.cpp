//===- choice_test.cpp - Stop strings, special tokens and reasoning -------===//

#include "test/Tokenizer/TokenizerTestUtil.h"
#include "tools/mtp-serve/api/Choice.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

// Ids below 256 are bytes; these are special tokens.
constexpr int32_t kEnd = 263, kStart = 265, kChannel = 266, kMessage = 267,
                  kTag = 268, kCallEnd = 269;

const Tokenizer &tokenizer() {
  static const LoadedTokenizer loaded = [] {
    std::string more = R"("special": false})";
    int32_t id = kStart;
    for (const char *name : {"<|start|>", "<|channel|>", "<|message|>",
                             "<|python_tag|>", "<|call|>"})
      more += R"(, {"id": )" + std::to_string(id++) + R"(, "content": ")" +
              name +
              R"(", "single_word": false, "lstrip": false, "rstrip": false,
                 "normalized": false, "special": true})";
    auto made = loadJson(byteLevelJson({{R"("special": false})", more}}));
    EXPECT_TRUE(made.isOk()) << made.status().toString();
    return std::move(*made);
  }();
  return *loaded;
}

ChoiceOptions optionsOf(ReasoningFormat reasoning,
                        std::vector<std::string> stops = {}) {
  ChoiceOptions options;
  options.tokenizer = &tokenizer();
  options.reasoning = reasoning;
  options.stops = std::move(stops);
  return options;
}

using Ids = std::vector<int32_t>;

/// Appends bytes and special tokens.
void append(Ids &) {}
template <typename... Rest>
void append(Ids &ids, std::string_view text, Rest... rest);
template <typename... Rest>
void append(Ids &ids, int32_t id, Rest... rest) {
  ids.push_back(id);
  append(ids, rest...);
}
template <typename... Rest>
void append(Ids &ids, std::string_view text, Rest... rest) {
  for (char byte : text)
    ids.push_back(uint8_t(byte));
  append(ids, rest...);
}
template <typename... Parts>
Ids tokens(Parts... parts) {
  Ids ids;
  append(ids, parts...);
  return ids;
}

/// Returns "reasoning | content" and the finish reason, which must not depend
/// on how the tokens are grouped.
std::string answer(const ChoiceOptions &options, const Ids &ids) {
  std::string first;
  for (size_t pieces = 1; pieces <= ids.size(); ++pieces) {
    Choice choice(options);
    for (size_t at = 0; at < ids.size(); at += pieces) {
      size_t size = std::min(pieces, ids.size() - at);
      EXPECT_TRUE(choice.take({ids.data() + at, size}).isOk());
    }
    choice.end(FinishReason::Length, {});
    std::string text = choice.pending().takeReasoning(SIZE_MAX) + " | " +
                       choice.pending().takeText(SIZE_MAX);
    if (choice.finishReason() == FinishReason::Stop)
      text += " (stop)";
    EXPECT_TRUE(pieces == 1 || text == first) << pieces << text;
    first = text;
  }
  return first;
}

} // namespace

// Headers are not text: a stop at "final" refers to the answer's text.
TEST(Choice, StopStringsDoNotSeeHeaders) {
  Ids ids = tokens(kChannel, "analysis", kMessage, "we", kEnd, kStart,
                   "assistant", kChannel, "final", kMessage, "a final b");
  EXPECT_EQ(answer(optionsOf(ReasoningFormat::Harmony), ids), "we | a final b");
  EXPECT_EQ(answer(optionsOf(ReasoningFormat::Harmony, {"final"}), ids),
            "we | a  (stop)");
  EXPECT_EQ(answer(optionsOf(ReasoningFormat::Harmony, {"assistant"}), ids),
            "we | a final b");
  // Stop strings do not extend from one message into the next.
  EXPECT_EQ(answer(optionsOf(ReasoningFormat::Harmony, {"wea"}), ids),
            "we | a final b");
  EXPECT_EQ(answer(optionsOf(ReasoningFormat::Harmony, {"e"}), ids),
            "w |  (stop)");
}

TEST(Choice, StopStringsSeeWhatWasThought) {
  ChoiceOptions options = optionsOf(ReasoningFormat::Think, {"b c", "d"});
  EXPECT_EQ(answer(options, tokens("<think>a b c</think>x")), "a  |  (stop)");
  EXPECT_EQ(answer(options, tokens("<think>a b </think>c d")),
            "a b  | c  (stop)");
  EXPECT_EQ(answer(options, tokens("<think>a b </think>b c")),
            "a b  |  (stop)");
  EXPECT_EQ(answer(options, tokens("<think>a b </think>b")), "a b  | b");
  // Text released at the end is searched, too.
  EXPECT_EQ(answer(optionsOf(ReasoningFormat::Think, {"</thi"}),
                   tokens("<think>a</thi")),
            "a |  (stop)");
}

TEST(Choice, SpecialTokensAreTextWhereTheyAreAskedFor) {
  for (ReasoningFormat format : {ReasoningFormat::None, ReasoningFormat::Think,
                                 ReasoningFormat::Harmony}) {
    bool isHarmony = format == ReasoningFormat::Harmony;
    Ids ids = tokens("a", kTag, "b");
    if (isHarmony)
      ids = tokens(kChannel, "final", kMessage, "a", kTag, "b");
    ChoiceOptions options = optionsOf(format);
    EXPECT_EQ(answer(options, ids), " | ab");
    options.skipsSpecial = false;
    EXPECT_EQ(answer(options, ids), " | a<|python_tag|>b");
    options.stops = {"python"};
    EXPECT_EQ(answer(options, ids), " | a<| (stop)");
  }
}

TEST(Choice, NothingIsSearchedBeforeMinTokens) {
  ChoiceOptions options = optionsOf(ReasoningFormat::Think, {"\xEF\xBF\xBD"});
  // Half a character that a special token ends.
  Ids ids = tokens("a", int32_t(0xC3), kTag, "b");
  EXPECT_EQ(answer(options, ids), " | a (stop)");
  options.minTokens = 1;
  EXPECT_EQ(answer(options, ids), " | a (stop)");
  options.minTokens = 2;
  EXPECT_EQ(answer(options, ids), " | a\xEF\xBF\xBD"
                                  "b");
  ids = tokens("a", int32_t(0xC3));
  EXPECT_EQ(answer(options, ids), " | a\xEF\xBF\xBD");
  options.minTokens = 1;
  EXPECT_EQ(answer(options, ids), " | a (stop)");
}

// The mark at the end counts for the reasoning.
TEST(Choice, CountsTokensOfReasoning) {
  for (const auto &[text, count] : std::vector<std::pair<std::string, size_t>>{
           {"<think>ab</think>cd", 10}, {"<think>ab", 2}, {"cd", 0}}) {
    Choice choice(optionsOf(ReasoningFormat::Think));
    EXPECT_TRUE(choice.take(tokens(std::string_view(text))).isOk());
    EXPECT_EQ(choice.reasoningTokens(), count) << text;
  }
}

namespace {
/// Returns "reasoning | content | calls" of an answer with the tool `f`, for
/// each number of tokens that arrive together.
std::string answerWithCalls(ToolFormat format, ReasoningFormat reasoning,
                            const Ids &ids) {
  ToolUse use;
  use.facts.format = format;
  auto set =
      ToolSet::read(R"([{"type": "function", "function": {"name": "f"}}])");
  EXPECT_TRUE(set.isOk());
  use.set = std::make_shared<const ToolSet>(*std::move(set));
  std::string first;
  for (size_t pieces = 1; pieces <= ids.size(); ++pieces) {
    ChoiceOptions options = optionsOf(reasoning);
    options.tools = &use;
    Choice choice(options);
    for (size_t at = 0; at < ids.size(); at += pieces)
      EXPECT_TRUE(
          choice.take({ids.data() + at, std::min(pieces, ids.size() - at)})
              .isOk());
    choice.end(FinishReason::Stop, {});
    std::string text = choice.pending().takeReasoning(SIZE_MAX) + " | ";
    std::string content = choice.pending().takeText(SIZE_MAX), calls;
    for (const AnswerBlock &block :
         blocksOf(content, choice.pending().pieces.take(SIZE_MAX)))
      (block.isCall ? calls : text) +=
          block.isCall ? " | " + block.name + block.text : block.text;
    text += calls;
    EXPECT_TRUE(pieces == 1 || text == first) << pieces << text;
    first = text;
  }
  return first;
}
} // namespace

// Marks of calls are special tokens in some models, whose text is dropped else.
TEST(Choice, FindsCallsAfterSpecialTokens) {
  std::string_view json = R"({"name": "f", "parameters": {"a": 1}})";
  EXPECT_EQ(answerWithCalls(ToolFormat::Llama3, ReasoningFormat::None,
                            tokens("So.", kTag, json, kEnd)),
            R"( | So. | f{"a": 1})");
  EXPECT_EQ(answerWithCalls(ToolFormat::Llama3, ReasoningFormat::Think,
                            tokens("<think>x", kTag, "</think>", kTag, json)),
            R"(x<|python_tag|> |  | f{"a": 1})");
  EXPECT_EQ(answerWithCalls(ToolFormat::Hermes, ReasoningFormat::None,
                            tokens("a", kTag, "b")),
            " | ab");
}

// The prompt has begun the first header. `<|call|>` usually ends the answer.
TEST(Choice, FindsCallsOfHarmony) {
  Ids first = tokens(kChannel, "analysis", kMessage, "hm", kEnd, kStart,
                     "assistant", kChannel, "commentary to=functions.f json",
                     kMessage, R"({"a": 1})");
  auto harmony = [](const Ids &ids) {
    return answerWithCalls(ToolFormat::Harmony, ReasoningFormat::Harmony, ids);
  };
  EXPECT_EQ(harmony(first), R"(hm |  | f{"a": 1})");
  Ids both = first;
  append(both, kCallEnd, kStart, "assistant to=functions.f", kChannel,
         "commentary", kMessage, "{}", kCallEnd, kStart, "assistant", kChannel,
         "final", kMessage, "ok");
  EXPECT_EQ(harmony(both), R"(hm | ok | f{"a": 1} | f{})");
  EXPECT_EQ(harmony(tokens(" to=functions.f", kChannel, "commentary", kMessage,
                           R"({"a": 1})", kCallEnd)),
            R"( |  | f{"a": 1})");
  // A call of another tool is content, with its header.
  EXPECT_EQ(harmony(tokens(kChannel, "commentary to=functions.g", kMessage,
                           "{}", kCallEnd)),
            " | <|start|>assistant<|channel|>commentary to=functions.g"
            "<|message|>{}<|call|>");
}
