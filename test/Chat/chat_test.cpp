//===- chat_test.cpp - Prompts from conversations -------------------------===//

#include "runtime/chat/ChatTemplate.h"
#include "runtime/chat/ReasoningSplitter.h"
#include "test/Tokenizer/TokenizerTestUtil.h"

#include <gtest/gtest.h>
#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

/// The end token of byteLevelJson().
constexpr TokenId kEnd = 263;

constexpr const char *kSimple =
    "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}"
    "<|end|>{% endfor %}{% if add_generation_prompt %}a: {% endif %}";

std::shared_ptr<const ChatTemplate> parse(std::string source) {
  auto parsed = ChatTemplate::parse(
      {{{"default", std::move(source)}}, {{"bos_token", "<s>"}}});
  EXPECT_TRUE(parsed.isOk()) << parsed.status().toString();
  return *parsed;
}

std::string text(const ChatTemplate &chat, std::string_view request) {
  auto rendered = chat.render(request);
  return rendered.isOk() ? *rendered : rendered.status().toString();
}

/// Returns a request with one message of a user.
std::string saying(std::string_view content) {
  return R"({"messages": [{"role": "u", "content": ")" + std::string(content) +
         R"("}]})";
}

} // namespace

TEST(Chat, rendersARequest) {
  auto chat = parse(kSimple);
  EXPECT_EQ(text(*chat, saying("Hi")), "<s>u: Hi<|end|>a: ");
  EXPECT_EQ(text(*chat, R"({"messages": [], "add_generation_prompt": false,
                            "bos_token": "!"})"),
            "!");
  EXPECT_EQ(chat->source(), kSimple);
}

TEST(Chat, handsFurtherVariablesToTheTemplate) {
  auto chat = parse("{{ enable_thinking }} {{ tools }} {{ documents }} "
                    "{{ other is defined }}");
  EXPECT_EQ(text(*chat, R"({"messages": [], "enable_thinking": false})"),
            "False None None False");
}

TEST(Chat, takesTheTemplateForTools) {
  auto chat = *ChatTemplate::parse(
      {{{"rag", "r"}, {"tool_use", "t"}, {"default", "d"}}, {}});
  EXPECT_EQ(text(*chat, R"({"messages": []})"), "d");
  EXPECT_EQ(text(*chat, R"({"messages": [], "tools": null})"), "d");
  EXPECT_EQ(text(*chat, R"({"messages": [], "tools": [{}]})"), "t");
  EXPECT_EQ(chat->source(true), "t");
  EXPECT_EQ(text(*parse("x"), R"({"messages": [], "tools": [{}]})"), "x");
}

TEST(Chat, refusesWhatIsNoRequest) {
  auto chat = parse(kSimple);
  EXPECT_EQ(text(*chat, "[1]"), "InvalidArgument: expected an object with "
                                "messages, got a list");
  EXPECT_EQ(text(*chat, "{}"),
            "InvalidArgument: expected 'messages', got none");
  EXPECT_EQ(text(*chat, R"({"messages": "x"})"),
            "InvalidArgument: messages: expected an array, got a string");
  EXPECT_EQ(text(*chat, R"({"messages": [{}, 1]})"),
            "InvalidArgument: messages[1]: expected an object, got 1");
  EXPECT_EQ(chat->render("{").status().code(), StatusCode::InvalidArgument);
}

TEST(Chat, saysWhereATemplateIsWrong) {
  auto one = ChatTemplate::parse({{{"default", "a\n {% if %}"}}, {}});
  EXPECT_NE(one.status().message().find("line 2"), std::string::npos)
      << one.status().toString();
  auto two = ChatTemplate::parse({{{"default", "a"}, {"x", "{{"}}, {}});
  EXPECT_EQ(two.status().message().substr(0, 14), "template 'x': ");
  EXPECT_FALSE(ChatTemplate::parse({}).isOk());
  EXPECT_FALSE(
      ChatTemplate::parse({{{"default", "a"}}, {{"t", "\xff"}}}).isOk());
}

TEST(Chat, stopsAtLimits) {
  RenderOptions few;
  few.maxOutputBytes = 8;
  EXPECT_EQ(parse(kSimple)->render(saying("Hello"), few).status().code(),
            StatusCode::ResourceExhausted);
}

//===----------------------------------------------------------------------===//
// Special tokens
//===----------------------------------------------------------------------===//

static Ids bytesOf(std::string_view text) {
  return Ids(text.begin(), text.end());
}

TEST(ChatTokens, areThoseOfTheTemplateAlone) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  auto chat = parse("x{% for m in messages %}{{ m.content }}<|end|>"
                    "{% endfor %}");
  Ids plain = bytesOf("xz");
  plain.push_back(kEnd);
  EXPECT_EQ(*chat->encode(saying("z"), **tokenizer), plain);
  for (const char *written : {"<|end|>", "<|end|><|end|>", "z<|end|>z", "<",
                              "<|", "<|end|", "<<|end|>>", "<|<|end|>"}) {
    Ids expected = bytesOf("x");
    for (TokenId id : *(*tokenizer)->encode(written))
      expected.push_back(id);
    expected.push_back(kEnd);
    EXPECT_EQ(*chat->encode(saying(written), **tokenizer), expected) << written;
  }
}

TEST(ChatTokens, areNotMadeOfPieces) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  auto chat = parse("{% for m in messages %}{% for p in m.content %}{{ p }}"
                    "{% endfor %}{% endfor %}");
  auto ids = chat->encode(R"({"messages": [{"content": ["<", "|e", "nd|>"]}]})",
                          **tokenizer);
  MTP_ASSERT_OK(ids);
  for (TokenId id : *ids)
    EXPECT_FALSE((*tokenizer)->isSpecial(id));
  EXPECT_EQ(*(*tokenizer)->decode(*ids), "<|end|>");
  // A template may write a token around text of a request.
  auto roles = parse("{% for m in messages %}<|{{ m.role }}|>{% endfor %}");
  EXPECT_EQ(*roles->encode(R"({"messages": [{"role": "end"}]})", **tokenizer),
            Ids({kEnd}));
}

TEST(ChatTokens, comeFromNoRequest) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  auto chat = parse("{% for m in messages %}{{ m.content }}{% endfor %}");
  const std::string_view pieces[] = {"<",       "|", "<|",      "end",
                                     "|>",      ">", "<|e",     "nd|>",
                                     "<|end|>", " ", "\xC3\xA9"};
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string request, whole;
    for (uint32_t messages = random() % 5; messages-- > 0;) {
      std::string content;
      for (uint32_t length = random() % 6; length-- > 0;)
        content += pieces[random() % std::size(pieces)];
      whole += content;
      request += (request.empty() ? "" : ", ") +
                 (R"({"content": ")" + content + R"("})");
    }
    auto ids = chat->encode(R"({"messages": [)" + request + "]}", **tokenizer);
    MTP_ASSERT_OK(ids);
    EXPECT_EQ(*(*tokenizer)->decode(*ids), whole);
    EXPECT_EQ(*ids, *(*tokenizer)->encode(whole));
  }
}

TEST(ChatTokens, leaveTheTextAsItIs) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  auto chat = parse("{{ messages[0].content | trim | upper }}|"
                    "{{ messages | tojson }}{{ messages[0].content[:3] }}");
  std::string request = saying("  a<|end|> \xEF\xB7\x90 < <|e");
  auto prompt = chat->renderFor(**tokenizer, request);
  MTP_ASSERT_OK(prompt);
  EXPECT_EQ(prompt->text, text(*chat, request));
  // The slice cuts off the rest of the third copy.
  ASSERT_EQ(prompt->literals.size(), 4u);
  EXPECT_EQ(prompt->literals.front(), 1u);
  EXPECT_EQ(prompt->text.substr(prompt->literals[2], 7), "<|end|>");
}

TEST(ChatTokens, needANoncharacterToSpare) {
  auto tokenizer = loadJson(byteLevelJson());
  MTP_ASSERT_OK(tokenizer);
  std::string all;
  for (char last = '\x90'; last != '\xb0'; ++last)
    all += std::string("\xEF\xB7") + last;
  auto chat = parse("{{ messages[0].content }}");
  EXPECT_EQ(chat->encode(saying(all), **tokenizer).status().code(),
            StatusCode::InvalidArgument);
  all.resize(all.size() - 3);
  EXPECT_EQ(chat->renderFor(**tokenizer, saying(all))->text, all);
}

//===----------------------------------------------------------------------===//
// Reasoning, by models' own templates
//===----------------------------------------------------------------------===//

namespace {

/// An answer in the tokens of a model's family.
struct Family {
  const char *file;
  /// Variables of the request, and the answer; text between \1 and \2 is a
  /// special token.
  const char *variables, *answer;
};

class ChatReasoning : public testing::TestWithParam<Family> {};

} // namespace

TEST_P(ChatReasoning, isSplitAsTheTemplateSays) {
  MTP_REQUIRE_SHARED_DATA();
  std::string source = readFile(sharedData() / "templates" / GetParam().file);
  ASSERT_FALSE(source.empty()) << GetParam().file;
  auto chat = parse(source);
  std::string request =
      R"({"messages": [{"role": "user", "content": "Say <think>"}])";
  auto prompt = chat->render(request + GetParam().variables + "}");
  MTP_ASSERT_OK(prompt);
  ReasoningSplitter splitter(detectReasoningFormat(chat->source()), *prompt);
  AnswerPart all;
  std::string_view rest = GetParam().answer;
  auto add = [&](const AnswerPart &part) {
    all.reasoning += part.reasoning;
    all.content += part.content;
  };
  while (!rest.empty()) {
    bool isSpecial = rest[0] == '\1';
    size_t end = isSpecial ? rest.find('\2') : 1;
    add(isSpecial ? splitter.appendSpecial(rest.substr(1, end - 1))
                  : splitter.append(rest.substr(0, 1)));
    rest.remove_prefix(isSpecial ? end + 1 : 1);
  }
  add(splitter.finish());
  std::string_view file = GetParam().file;
  bool isOff = std::string_view(GetParam().variables).find("false") !=
               std::string_view::npos;
  EXPECT_EQ(all.reasoning, isOff ? "" : "Let me see.") << file << *prompt;
  EXPECT_EQ(all.content, "Yes.") << file << *prompt;
}

INSTANTIATE_TEST_SUITE_P(
    Families, ChatReasoning,
    testing::Values(
        Family{"deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja", "",
               "Let me see.\n</think>\n\nYes."},
        Family{"deepseek-ai-DeepSeek-V3.1.jinja", R"(, "thinking": true)",
               "Let me see.</think>Yes."},
        Family{"Qwen-Qwen3-0.6B.jinja", "",
               "<think>\nLet me see.\n</think>\n\nYes."},
        Family{"Qwen-Qwen3-0.6B.jinja", R"(, "enable_thinking": false)",
               "Yes."},
        Family{"Qwen-QwQ-32B.jinja", R"(, "enable_thinking": true)",
               "Let me see.\n</think>\n\nYes."},
        Family{"GLM-4.6.jinja", "", "\n<think>Let me see.</think>\nYes."},
        Family{"GLM-4.6.jinja", R"(, "enable_thinking": false)", "\nYes."},
        Family{"MiMo-VL.jinja", "", "<think>\nLet me see.\n</think>\nYes."},
        Family{"MiniMax-M2.jinja", "", "Let me see.\n</think>\n\nYes."},
        Family{"ByteDance-Seed-OSS.jinja", "",
               "<seed:think>Let me see.</seed:think>Yes."},
        Family{"google-gemma-4-31B-it.jinja", R"(, "enable_thinking": true)",
               "\1<|channel>\2thought\nLet me see.\n\1<channel|>\2Yes."},
        Family{"openai-gpt-oss-120b.jinja", "",
               "\1<|channel|>\2analysis\1<|message|>\2Let me see.\1<|end|>\2"
               "\1<|start|>\2assistant\1<|channel|>\2final\1<|message|>\2"
               "Yes."}));
