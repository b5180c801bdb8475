//===- tool_templates_test.cpp - Calls that templates have rendered -------===//
//
// Each template of the shared data that shows tool calls renders a conversation
// with two calls. A parser reads the same calls from the text: as a whole, in
// pieces, and cut at each byte.
//
//===----------------------------------------------------------------------===//

#include "runtime/calls/CallGrammar.h"
#include "runtime/chat/CallForm.h"
#include "runtime/core/StrCat.h"
#include "test/Chat/CallSampler.h"
#include "test/Chat/ToolTemplates.h"
#include "test/Chat/ToolTestUtil.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

using namespace mtp;
using namespace mtp::test;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFirst =
    R"({"path": "a/b \"c\" <x>.txt", "text": "line 1\n  line 2 \u00e9 \\n",)"
    R"( "count": 3, "ratio": 0.5, "deep": true, "tags": ["a", "b]}"],)"
    R"( "options": {"x": {"y": "z"}, "n": [1, -2.5e3]}})";
constexpr std::string_view kSecond = R"({"expression": "2 < 3 && 4 > 1"})";

/// A template that shows calls.
struct Case {
  ToolFormat format;
  /// Whether a message of the template may have two calls.
  bool isParallel = true;
  /// Whether the template shows calls. Jinja's sandbox, of which transformers
  /// has the strictest form, refuses templates that change a list.
  bool isRendered = true;
};

const std::map<std::string, Case> kCases = {
    {"ByteDance-Seed-OSS", {ToolFormat::SeedOss}},
    {"GLM-4.6", {ToolFormat::Glm}},
    {"GLM-4.7-Flash", {ToolFormat::Glm}},
    {"Kimi-K2-Instruct", {ToolFormat::KimiK2, true, false}},
    {"Kimi-K2-Thinking", {ToolFormat::KimiK2, true, false}},
    {"MiMo-VL", {ToolFormat::Hermes}},
    {"MiniMax-M2", {ToolFormat::MiniMaxM2}},
    {"Mistral-Small-3.2-24B-Instruct-2506", {ToolFormat::Mistral}},
    {"NousResearch-Hermes-3-Llama-3.1-8B-tool_use", {ToolFormat::Hermes}},
    {"Qwen-QwQ-32B", {ToolFormat::Hermes}},
    {"Qwen-Qwen2.5-7B-Instruct", {ToolFormat::Hermes}},
    {"Qwen-Qwen3-0.6B", {ToolFormat::Hermes}},
    {"Qwen3.5-4B", {ToolFormat::Qwen3Coder}},
    {"StepFun3.5-Flash", {ToolFormat::Qwen3Coder}},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", {ToolFormat::DeepSeekV3}},
    {"deepseek-ai-DeepSeek-V3.1", {ToolFormat::DeepSeekV31}},
    {"deepseek-ai-DeepSeek-V3.2", {ToolFormat::DeepSeekV32}},
    {"google-gemma-4-31B-it", {ToolFormat::Gemma4}},
    {"meta-llama-Llama-3.1-8B-Instruct", {ToolFormat::Llama3, false}},
    {"meta-llama-Llama-3.2-3B-Instruct", {ToolFormat::Llama3, false}},
    {"mistralai-Mistral-Nemo-Instruct-2407", {ToolFormat::Mistral}},
    {"openai-gpt-oss-120b", {ToolFormat::Harmony, false}},
};
/// Templates that mention tools, and show no calls of an assistant.
const std::map<std::string, ToolFormat> kWithoutCalls = {
    {"HuggingFaceTB-SmolLM3-3B", ToolFormat::None},
    {"ibm-granite-granite-3.3-2B-Instruct", ToolFormat::Granite},
};

fs::path sharedTemplates() {
  const char *data = std::getenv("MTP_SHARED_DATA");
  return data ? fs::path(data) / "templates"
              : fs::path(MTP_SOURCE_DIR) / ".." / "shared" / "data" /
                    "templates";
}

/// Returns a conversation in which the assistant's message has calls of which
/// each is `NAME ARGUMENTS`.
std::string
conversation(const CallForm &form,
             const std::vector<std::pair<std::string, std::string>> &calls) {
  std::string text;
  for (const auto &[name, arguments] : calls)
    text +=
        strCat(text.empty() ? "" : ", ",
               R"({"id": "abcdefghi", "type": "function", "function": )"
               R"({"name": ")",
               name, R"(", "arguments": )",
               form.hasTextArguments ? jsonQuoted(arguments) : arguments, "}}");
  return strCat(R"({"tools": )", kTools,
                R"(, "messages": [{"role": "user", "content": "q"})",
                text.empty() ? "" : R"(, {"role": "assistant", "content": )",
                text.empty()          ? ""
                : form.hasNullContent ? "null, "
                                      : R"("", )",
                text.empty() ? "" : R"("tool_calls": [)", text,
                text.empty() ? "]" : "]}]", R"(, "add_generation_prompt": )",
                text.empty() ? "true}" : "false}");
}

/// Calls of a message, each with its name and arguments.
using GivenCalls = std::vector<std::pair<std::string, std::string>>;

/// A template that renders answers.
class Renderer {
public:
  explicit Renderer(const std::string &source) {
    ChatSource chat;
    chat.templates = {{"default", source}};
    chat.tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    auto parsed = ChatTemplate::parse(chat);
    EXPECT_TRUE(parsed.isOk()) << parsed.status().toString();
    if (parsed)
      templates = *parsed;
    form = findCallForm(*templates);
  }

  Result<std::string> render(const GivenCalls &calls) const {
    return templates->render(conversation(form, calls));
  }
  /// Returns the text of an answer with calls, after the text of the prompt.
  std::string answer(const GivenCalls &calls) const {
    auto prompt = render({});
    auto whole = render(calls);
    EXPECT_TRUE(prompt.isOk()) << prompt.status().toString();
    EXPECT_TRUE(whole.isOk()) << whole.status().toString();
    if (!prompt || !whole)
      return "";
    auto [end, other] = std::mismatch(whole->begin(), whole->end(),
                                      prompt->begin(), prompt->end());
    // Marks of the prompt and of the answer may begin alike.
    auto begin = size_t(end - whole->begin());
    constexpr std::string_view kStart = "<|start|>assistant";
    if (size_t start = whole->rfind(kStart); start + kStart.size() == begin)
      return whole->substr(start);
    while (begin > 0 && (*whole)[begin - 1] != '\n' &&
           (*whole)[begin - 1] != '>')
      --begin;
    return whole->substr(begin);
  }

private:
  std::shared_ptr<const ChatTemplate> templates;
  CallForm form;
};

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Checks an answer that has `calls` and is cut at each byte.
void checkCuts(ToolFormat format, std::string_view text,
               const std::vector<std::string> &calls) {
  size_t most = 0;
  for (size_t end = 0; end <= text.size(); ++end) {
    ParsedAnswer cut = parseIn(format, text.substr(0, end), 7);
    EXPECT_EQ(parseIn(format, text.substr(0, end), text.size()), cut);
    // Complete calls stay calls, and the rest is content.
    ASSERT_LE(most, cut.calls.size()) << text.substr(0, end);
    most = cut.calls.size();
    ASSERT_LE(most, calls.size());
    for (size_t i = 0; i < most; ++i)
      EXPECT_EQ(cut.calls[i], calls[i]);
    if (most == 0)
      EXPECT_EQ(cut.content, text.substr(0, end));
  }
  EXPECT_EQ(most, calls.size());
}

void check(ToolFormat format, const std::string &text,
           const std::vector<std::string> &calls) {
  ParsedAnswer answer = parse(format, text);
  EXPECT_EQ(answer.calls, calls) << text;
  checkCuts(format, text, calls);
}

/// Checks that an answer with both calls, or with each of them, is read back.
void checkRendered(ToolFormat format, const Renderer &renderer,
                   bool isParallel) {
  const std::string first = "write_file " + sortedJson(kFirst),
                    second = "calculator " + sortedJson(kSecond);
  const GivenCalls given = {{"write_file", std::string(kFirst)},
                            {"calculator", std::string(kSecond)}};
  if (isParallel)
    return check(format, renderer.answer(given), {first, second});
  check(format, renderer.answer({given[0]}), {first});
  check(format, renderer.answer({given[1]}), {second});
}

/// Returns whether a part of a rendered answer is a text of the grammar of
/// calls, and has the call.
bool hasTextOfGrammar(ToolFormat format, const std::string &answer,
                      const std::string &call) {
  auto grammar = compileCalls(format, testTools(), {});
  EXPECT_TRUE(grammar.isOk()) << grammar.status().toString();
  CallSampler sampler(*grammar);
  for (size_t begin = 0; begin < answer.size(); ++begin) {
    std::string_view text = std::string_view(answer).substr(begin);
    text = text.substr(0, sampler.longest(text));
    if (!text.empty() && parseIn(format, text, text.size()).calls ==
                             std::vector<std::string>{call})
      return true;
  }
  return false;
}

} // namespace

TEST(ToolTemplates, haveTextsOfGrammars) {
  if (!fs::is_directory(sharedTemplates()))
    GTEST_SKIP() << "no shared templates";
  std::string call = "calculator " + sortedJson(kSecond);
  for (const auto &[name, known] : kCases) {
    if (!known.isRendered)
      continue;
    Renderer renderer(readFile(sharedTemplates() / (name + ".jinja")));
    // Nemo's template adds the id of a call that has been made, and R1's leaves
    // out the last mark of a single call. Models of Harmony write the name of
    // the tool after the channel, and the template in front of it.
    bool isOther = name == "mistralai-Mistral-Nemo-Instruct-2407" ||
                   name == "deepseek-ai-DeepSeek-R1-Distill-Llama-8B" ||
                   name == "openai-gpt-oss-120b";
    std::string answer =
        renderer.answer({{"calculator", std::string(kSecond)}});
    EXPECT_EQ(hasTextOfGrammar(known.format, answer, call), !isOther)
        << name << ": " << answer;
  }
}

TEST(ToolTemplates, areReadBack) {
  for (const ToolTemplate &one : kToolTemplates) {
    SCOPED_TRACE(std::string(one.calls));
    Renderer renderer(
        strCat("{% for m in messages %}<{{ m.role }}>"
               "{{ m.content }}{% if m.tool_calls %}",
               one.calls,
               "{% endif %}{% endfor %}{% if add_generation_prompt %}"
               "<assistant>{% endif %}"));
    checkRendered(one.format, renderer, /*isParallel=*/true);
  }
}

TEST(ToolTemplates, ofFamiliesAreReadBack) {
  if (!fs::is_directory(sharedTemplates()))
    GTEST_SKIP() << "no shared templates";
  for (const auto &[name, known] : kCases) {
    SCOPED_TRACE(name);
    std::string source = readFile(sharedTemplates() / (name + ".jinja"));
    EXPECT_EQ(detectToolFormat(source), known.format);
    Renderer renderer(source);
    if (known.isRendered)
      checkRendered(known.format, renderer, known.isParallel);
    else
      EXPECT_FALSE(renderer.render({{"calculator", "{}"}}).isOk());
  }
}

TEST(ToolTemplates, areAllKnown) {
  if (!fs::is_directory(sharedTemplates()))
    GTEST_SKIP() << "no shared templates";
  for (const auto &entry : fs::directory_iterator(sharedTemplates())) {
    if (entry.path().extension() != ".jinja")
      continue;
    std::string name = entry.path().stem(), source = readFile(entry.path());
    ToolFormat format = detectToolFormat(source);
    bool hasTools = source.find("tool") != std::string::npos;
    auto without = kWithoutCalls.find(name);
    if (without != kWithoutCalls.end())
      EXPECT_EQ(format, without->second) << name;
    else
      EXPECT_EQ(hasTools, kCases.contains(name)) << name;
    if (!hasTools)
      EXPECT_EQ(format, ToolFormat::None) << name;
  }
}

TEST(CallForms, areFound) {
  auto formOf = [](std::string_view call) {
    ChatSource chat;
    chat.templates = {
        {"default", strCat("{% for m in messages %}", call, "{% endfor %}")}};
    CallForm form = findCallForm(**ChatTemplate::parse(chat));
    return strCat(form.hasTextArguments ? "text" : "object",
                  form.hasNullContent ? " null" : "");
  };
  std::string_view each = "{% for c in m.tool_calls %}";
  EXPECT_EQ(formOf("{{ m.content }}"), "object");
  EXPECT_EQ(formOf(strCat(each, "{{ c.function.arguments | tojson }}"
                                "{% endfor %}")),
            "object");
  EXPECT_EQ(formOf(strCat(each, "{{ 'x' + c.function.arguments }}"
                                "{% endfor %}")),
            "text");
  EXPECT_EQ(formOf(strCat("{% if m.content is none %}", each,
                          "{{ c.function.arguments.key }}{% endfor %}"
                          "{% endif %}")),
            "object null");
}
