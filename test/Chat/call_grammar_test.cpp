//===- call_grammar_test.cpp - Grammars of tool calls ---------------------===//

#include "runtime/calls/CallGrammar.h"
#include "test/Chat/CallSampler.h"
#include "test/Chat/ToolTestUtil.h"

using namespace mtp;
using namespace mtp::test;

namespace {

/// Tools with parameters of all types. None can be written in two forms.
constexpr std::string_view kTyped = R"([
  {"type": "function", "function": {"name": "f", "parameters": {
    "type": "object", "required": ["s", "n"], "properties": {
      "s": {"type": "string"}, "n": {"type": "integer"},
      "e": {"enum": ["a<b", "12", 12, null]}, "b": {"type": "boolean"},
      "o": {"type": ["string", "null"]}, "m": {"type": ["string", "integer"]},
      "p": {"type": "string", "pattern": "^[a-c]+$"},
      "l": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
      "d": {"type": "object", "properties": {"x": {"type": "string"}},
            "additionalProperties": false}}}}},
  {"type": "function", "function": {"name": "g"}},
  {"type": "function", "function": {"name": "h", "strict": true,
    "parameters": {"type": "object", "properties": {
      "k": {"type": "string", "maxLength": 3}}, "required": ["k"]}}}])";

ToolSet toolsOf(std::string_view json) {
  auto tools = ToolSet::read(json);
  EXPECT_TRUE(tools.isOk()) << tools.status().toString();
  return *std::move(tools);
}

const ToolSet &typedTools() {
  static const ToolSet tools = toolsOf(kTyped);
  return tools;
}

CallSampler samplerOf(ToolFormat format, const CallDemand &demand,
                      const ToolSet &tools = typedTools()) {
  auto grammar = compileCalls(format, tools, demand);
  EXPECT_TRUE(grammar.isOk()) << grammar.status().toString();
  return CallSampler(*grammar);
}

/// The formats that have calls.
std::vector<ToolFormat> allFormats() {
  std::vector<ToolFormat> formats;
  for (std::string_view name : toolFormatNames())
    if (name != "none")
      formats.push_back(*findToolFormat(name));
  return formats;
}

/// Returns the text that the parser gets, which has a header in Harmony.
std::string asContent(ToolFormat format, std::string_view text) {
  if (format != ToolFormat::Harmony)
    return std::string(text);
  size_t begin = std::min(text.find_first_not_of(" \n"), text.size());
  return "<|start|>assistant" + std::string(text.substr(begin));
}

ParsedAnswer parsed(ToolFormat format, std::string_view text) {
  std::string content = asContent(format, text);
  return parseIn(format, content, content.size() + 1, typedTools());
}

} // namespace

TEST(CallGrammar, textsAreCalls) {
  for (ToolFormat format : allFormats()) {
    CallSampler sampler = samplerOf(format, {});
    size_t ended = 0, several = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      auto text = sampler.sample(seed);
      if (!text)
        continue;
      ++ended;
      ParsedAnswer answer = parsed(format, *text);
      EXPECT_EQ(trimmed(answer.content), "") << int(format) << ": " << *text;
      EXPECT_FALSE(answer.calls.empty()) << int(format) << ": " << *text;
      several += answer.calls.size() > 1;
    }
    EXPECT_GT(ended, 15u) << int(format);
    EXPECT_EQ(several > 0, format != ToolFormat::Harmony) << int(format);
  }
}

TEST(CallGrammar, isForOneCallOfOneTool) {
  CallDemand demand;
  demand.isParallel = false;
  ToolSet tools = typedTools();
  tools.restrictTo(std::vector<std::string>{"h"});
  for (ToolFormat format : allFormats()) {
    CallSampler sampler = samplerOf(format, demand, tools);
    size_t ended = 0;
    for (uint64_t seed = 0; seed < 20; ++seed)
      if (auto text = sampler.sample(seed)) {
        ++ended;
        ParsedAnswer answer = parsed(format, *text);
        ASSERT_EQ(answer.calls.size(), 1u) << int(format) << ": " << *text;
        EXPECT_TRUE(answer.calls[0].starts_with("h {\"k\": \""))
            << answer.calls[0];
      }
    EXPECT_GT(ended, 10u) << int(format);
  }
}

TEST(CallGrammar, hasTheFormsOfTemplates) {
  ToolSet tools = toolsOf(kTools);
  auto accepts = [&](ToolFormat format, std::string_view text) {
    return samplerOf(format, {}, tools).accepts(text);
  };
  EXPECT_TRUE(accepts(ToolFormat::Hermes,
                      "<tool_call>\n{\"name\": \"calculator\", \"arguments\": "
                      "{\"expression\": \"1+1\"}}\n</tool_call>"));
  EXPECT_FALSE(accepts(ToolFormat::Hermes,
                       "<tool_call>\n{\"name\": \"calculator\", \"arguments\": "
                       "{\"expression\": 1}}\n</tool_call>"));
  EXPECT_FALSE(accepts(ToolFormat::Hermes,
                       "<tool_call>\n{\"name\": \"x\", \"arguments\": {}}"
                       "\n</tool_call>"));
  EXPECT_TRUE(accepts(ToolFormat::Qwen3Coder,
                      "<tool_call>\n<function=write_file>\n<parameter=path>\n"
                      "a < b\n</parameter>\n<parameter=text>\n</para\n"
                      "</parameter>\n<parameter=count>\n3\n</parameter>\n"
                      "</function>\n</tool_call>"));
  EXPECT_FALSE(accepts(ToolFormat::Qwen3Coder,
                       "<tool_call>\n<function=write_file>\n<parameter=path>\n"
                       "a\n</parameter>\n</function>\n</tool_call>"));
  EXPECT_TRUE(accepts(ToolFormat::Glm,
                      "\n<tool_call>calculator\n<arg_key>expression</arg_key>\n"
                      "<arg_value>12</arg_value>\n</tool_call>"));
  EXPECT_TRUE(accepts(ToolFormat::Pythonic,
                      "[write_file(path=\"a\", text=\"b\", deep=True)]"));
  EXPECT_TRUE(accepts(ToolFormat::Gemma4,
                      "<|tool_call>call:write_file{path:<|\"|>a<|\"|>,text:"
                      "<|\"|>\"<b>\"\n<|\"|>,tags:[<|\"|>c<|\"|>]}"
                      "<tool_call|>"));
  EXPECT_FALSE(accepts(ToolFormat::Gemma4,
                       "<|tool_call>call:calculator{expression:<|\"|>"
                       "<tool_call|><|\"|>}<tool_call|>"));
  EXPECT_TRUE(accepts(ToolFormat::Mistral,
                      "[TOOL_CALLS]calculator[CALL_ID]abcABC123[ARGS]"
                      "{\"expression\": \"1\"}"));
  EXPECT_TRUE(accepts(ToolFormat::Mistral,
                      "[TOOL_CALLS] [{\"name\": \"calculator\", \"arguments\": "
                      "{\"expression\": \"1\"}}]"));
}

TEST(CallGrammar, followsReasoning) {
  CallDemand demand;
  demand.start.reasoning = ReasoningFormat::Think;
  constexpr std::string_view kCall =
      "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
  auto accepts = [&](ReasoningPlace place, std::string_view front) {
    demand.start.place = place;
    return samplerOf(ToolFormat::Hermes, demand)
        .accepts(std::string(front) + std::string(kCall));
  };
  EXPECT_TRUE(accepts(ReasoningPlace::Before, ""));
  EXPECT_TRUE(accepts(ReasoningPlace::Before, "<think>\na</thin</think>\n\n"));
  EXPECT_FALSE(accepts(ReasoningPlace::Before, "a"));
  EXPECT_TRUE(accepts(ReasoningPlace::Inside, "a</think>\n\n"));
  EXPECT_FALSE(accepts(ReasoningPlace::Inside, "a"));
  EXPECT_TRUE(accepts(ReasoningPlace::After, "\n"));
  EXPECT_FALSE(accepts(ReasoningPlace::After, "<think></think>"));
  demand = {};
  demand.start.reasoning = ReasoningFormat::Harmony;
  demand.start.place = ReasoningPlace::Before;
  EXPECT_TRUE(samplerOf(ToolFormat::Harmony, demand)
                  .accepts("<|channel|>analysis<|message|>a<|end|><|start|>"
                           "assistant<|channel|>commentary to=functions.g "
                           "<|constrain|>json<|message|>{}"));
}

TEST(AnswerStart, isReasoning) {
  grammar::Source source = {grammar::Source::Kind::Regex, "a+", {}};
  auto accepts = [&](ReasoningFormat format, ReasoningPlace place,
                     std::string_view text) {
    auto grammar = compileAnswer(source, {format, place}, {});
    EXPECT_TRUE(grammar.isOk()) << grammar.status().toString();
    return CallSampler(*grammar).accepts(text);
  };
  using enum ReasoningPlace;
  constexpr ReasoningFormat kThink = ReasoningFormat::Think;
  EXPECT_TRUE(accepts(kThink, Inside, "b</think>\n\na"));
  EXPECT_FALSE(accepts(kThink, Inside, "a"));
  EXPECT_TRUE(accepts(kThink, Before, "a"));
  EXPECT_TRUE(accepts(kThink, Before, "<think>b</think>a"));
  EXPECT_FALSE(accepts(kThink, After, "<think>b</think>a"));
  EXPECT_FALSE(accepts(kThink, None, "b"));
  EXPECT_TRUE(accepts(ReasoningFormat::Harmony, Before,
                      "<|channel|>analysis<|message|>b<|end|><|start|>assistant"
                      "<|channel|>final<|message|>a"));
  source = {grammar::Source::Kind::JsonSchema, R"({"type": "string"})", {}};
  EXPECT_FALSE(accepts(ReasoningFormat::Harmony, Before,
                       "<|channel|>final<|message|>\"<\""));
}

TEST(CallGrammar, letsTextStandInsteadOfCalls) {
  CallDemand demand;
  demand.isRequired = false;
  CallSampler hermes = samplerOf(ToolFormat::Hermes, demand);
  EXPECT_TRUE(hermes.accepts("A <tool or <tool_calls> a text"));
  EXPECT_TRUE(hermes.accepts("Yes.\n<tool_call>\n{\"name\": \"g\", "
                             "\"arguments\": {\"a\": 1}}\n</tool_call>"));
  EXPECT_FALSE(hermes.begins("<tool_call>a"));
  EXPECT_FALSE(hermes.begins("<tool_call>\n{\"name\": \"h\", \"arguments\": "
                             "{\"k\": 1"));
  // Only strict tools have their schema.
  EXPECT_TRUE(hermes.begins("<tool_call>\n{\"name\": \"f\", \"arguments\": "
                            "{\"s\": 1"));
  // Tags and keyword arguments have declared properties of any type.
  EXPECT_TRUE(samplerOf(ToolFormat::Qwen3Coder, demand)
                  .accepts("<tool_call>\n<function=f>\n<parameter=s>\nx\n"
                           "</parameter>\n</function>\n</tool_call>"));
  EXPECT_TRUE(samplerOf(ToolFormat::Pythonic, demand).accepts("[f(n=\"x\")]"));
  CallSampler llama = samplerOf(ToolFormat::Llama3, demand);
  EXPECT_TRUE(llama.accepts("A {text}"));
  EXPECT_FALSE(llama.begins("{text"));
  EXPECT_TRUE(llama.accepts("{\"name\": \"g\", \"parameters\": {}}"));
  for (ToolFormat format : allFormats()) {
    CallSampler sampler = samplerOf(format, demand);
    for (uint64_t seed = 0; seed < 20; ++seed)
      if (auto text = sampler.sample(seed)) {
        ToolCallParser parser(format, typedTools());
        ToolEvents events;
        parser.append(asContent(format, *text), events);
        parser.finish(events);
        for (const ToolEvent &event : events)
          EXPECT_NE(event.kind, ToolEvent::Kind::Broken)
              << int(format) << ": " << *text;
      }
  }
}

TEST(CallGrammar, namesThePathOfAnUnknownKeyword) {
  ToolSet tools = toolsOf(R"([
    {"type": "function", "function": {"name": "f"}},
    {"type": "function", "function": {"name": "g", "parameters":
      {"type": "object", "properties": {"a": {"not": {}}}}}}])");
  for (ToolFormat format : allFormats())
    EXPECT_TRUE(compileCalls(format, tools, {})
                    .status()
                    .message()
                    .starts_with("[1].function.parameters/properties/a/not: "))
        << compileCalls(format, tools, {}).status().toString();
  tools.restrictTo(std::vector<std::string>{"f"});
  EXPECT_TRUE(compileCalls(ToolFormat::Hermes, tools, {}).isOk());
  tools = toolsOf(R"([{"type": "function", "function": {"name": "g",
    "parameters": {"type": "array"}}}])");
  EXPECT_EQ(compileCalls(ToolFormat::Hermes, tools, {}).status().message(),
            "[0].function.parameters/type: expected a schema of objects");
  EXPECT_FALSE(compileCalls(ToolFormat::None, tools, {}).isOk());
}

TEST(CallGrammar, knowsTheTokensOfMarks) {
  EXPECT_TRUE(isCallMark(ToolFormat::KimiK2, ReasoningFormat::Think,
                         "<|tool_call_begin|>"));
  EXPECT_TRUE(
      isCallMark(ToolFormat::Hermes, ReasoningFormat::Think, "</think>"));
  EXPECT_FALSE(
      isCallMark(ToolFormat::Hermes, ReasoningFormat::None, "<|im_end|>"));
}
