//===- tool_formats_test.cpp - Formats of tool calls ----------------------===//

#include "runtime/chat/tools/ArgumentValue.h"
#include "runtime/chat/tools/JsonScanner.h"
#include "runtime/core/StrCat.h"
#include "test/Chat/ToolTestUtil.h"

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr std::string_view kSum = R"(calculator {"expression": "1+1"})";

using Calls = std::vector<std::string>;

/// Returns "content | call | ...".
std::string read(ToolFormat format, std::string_view text) {
  ParsedAnswer answer = parse(format, text);
  std::string shown = answer.content;
  for (const std::string &call : answer.calls)
    shown += " | " + call;
  return shown;
}

/// Returns the kinds of the events of a text in pieces of one byte.
std::string kinds(ToolFormat format, std::string_view text) {
  ToolCallParser parser(format, testTools());
  std::string names;
  for (size_t i = 0; i <= text.size(); ++i) {
    ToolEvents events;
    if (i < text.size())
      parser.append(text.substr(i, 1), events);
    else
      parser.finish(events);
    for (const ToolEvent &event : events)
      names += "CBAEXM"[size_t(event.kind)];
  }
  return names;
}

} // namespace

TEST(Json, isCheckedInPieces) {
  for (const char *text :
       {"{}", "[]", "0", "-0.5e+3", "\"\\u00e9\\n\"", "true", "null",
        R"({"a": [1, {"b": null}, "x"], "c": {}})", "[[], [1,2]]", "1E5"})
    EXPECT_TRUE(JsonScanner::isValue(text)) << text;
  for (const char *text :
       {"",       "{",         "}",      "[1,]",        "{\"a\":}",
        "{a: 1}", "{\"a\" 1}", "01",     "1.",          "-",
        "1e",     "+1",        "\"\n\"", "\"\\x\"",     "\"\\u12g4\"",
        "tru",    "truex",     "[1 2]",  "{\"a\": 1,}", "1 ",
        "{}{}",   "nan",       "[}",     "{]",          "'a'"})
    EXPECT_FALSE(JsonScanner::isValue(text)) << text;
  std::string deep(JsonScanner::kMostDepth, '[');
  EXPECT_TRUE(
      JsonScanner::isValue(deep + std::string(JsonScanner::kMostDepth, ']')));
  EXPECT_FALSE(JsonScanner::isValue(
      "[" + deep + std::string(JsonScanner::kMostDepth + 1, ']')));
}

TEST(Hermes, isRead) {
  auto hermes = [](std::string_view text) {
    return read(ToolFormat::Hermes, text);
  };
  std::string call =
      R"(<tool_call>
{"name": "calculator", "arguments": {"expression": "1+1"}}
</tool_call>)";
  EXPECT_EQ(hermes(call), " | " + std::string(kSum));
  EXPECT_EQ(hermes("Let me see.\n" + call + "\n" + call + "\n"),
            "Let me see. | " + std::string(kSum) + " | " + std::string(kSum));
  EXPECT_EQ(hermes(call + "\n Done. "), "\n Done.  | " + std::string(kSum));
  EXPECT_EQ(hermes(R"(<tool_call>{"arguments":{"expression":"1+1"},"id":1,)"
                   R"("name":"calculator"}</tool_call>)"),
            " | " + std::string(kSum));
  EXPECT_EQ(hermes(R"(<tool_call>{"name": "calculator"}</tool_call>)"),
            " | calculator {}");
  EXPECT_EQ(hermes(R"(<tool_call>{"name": "calculator", "arguments": null})"
                   R"(</tool_call>)"),
            " | calculator {}");
  // A mark inside a string of the arguments is text.
  EXPECT_EQ(hermes(R"(<tool_call>{"name": "calculator", "arguments": )"
                   R"({"expression": "</tool_call>"}}</tool_call>)"),
            R"( | calculator {"expression": "</tool_call>"})");
}

TEST(Hermes, isContentIfItIsBroken) {
  auto isContent = [](std::string_view text) {
    EXPECT_EQ(read(ToolFormat::Hermes, text), text);
  };
  isContent("Use <tool_call> to call.");
  isContent("<tool_call>");
  isContent("<tool_call></tool_call>");
  isContent("<tool_call>{}</tool_call>");
  isContent("<tool_call>[]</tool_call>");
  isContent("a  \n <tool_");
  isContent(R"(<tool_call>{"name": "unknown", "arguments": {}}</tool_call>)");
  isContent(R"(<tool_call>{"name": 1, "arguments": {}}</tool_call>)");
  isContent(
      R"(<tool_call>{"name": "calculator", "arguments": "x"}</tool_call>)");
  isContent(
      R"(<tool_call>{"name": "calculator", "arguments": [1]}</tool_call>)");
  isContent(
      R"(<tool_call>{"name": "calculator", "arguments": {"a": }}</tool_call>)");
  isContent(
      R"(<tool_call>{"name": "calculator", "arguments": {}} x</tool_call>)");
  isContent(
      R"(<tool_call>{"name": "calculator", "name": "calculator"}</tool_call>)");
  isContent(R"(<tool_call>{"name": "calculator", "arguments": {}, )"
            R"("parameters": {}}</tool_call>)");
  isContent(
      "<tool_call>{\"name\": \"calculator\", \"arguments\": {\"a\": \"\n\"}}"
      "</tool_call>");
  // The call after a broken one counts.
  EXPECT_EQ(read(ToolFormat::Hermes,
                 R"(<tool_call><tool_call>{"name": "calculator"}</tool_call>)"),
            "<tool_call> | calculator {}");
}

TEST(Hermes, isStreamed) {
  // One event for each byte: content, begin, arguments, end.
  EXPECT_EQ(kinds(ToolFormat::Hermes, R"(ab<tool_call>{"name": "calculator", )"
                                      R"("arguments": {"a": 1}}</tool_call>)"),
            "CCBAAAAAAAAE");
  EXPECT_EQ(kinds(ToolFormat::Hermes, R"(<tool_call>{"name": "calculator", )"
                                      R"("arguments": {"a": 1} x)"),
            "BAAAAAAAAXC");
  // Arguments in front of the name wait for it.
  EXPECT_EQ(kinds(ToolFormat::Hermes, R"(<tool_call>{"arguments": {"a": 1}, )"
                                      R"("name": "calculator"}</tool_call>)"),
            "BAE");
}

TEST(Qwen3Coder, isRead) {
  auto qwen = [](std::string_view text) {
    return read(ToolFormat::Qwen3Coder, text);
  };
  EXPECT_EQ(qwen("So:\n\n<tool_call>\n<function=write_file>\n"
                 "<parameter=path>\n/a \"b\"\n</parameter>\n"
                 "<parameter=text>\n\n1 < 2\n\n</parameter>\n"
                 "<parameter=count>\n12\n</parameter>\n"
                 "<parameter=deep>\nTrue\n</parameter>\n"
                 "<parameter=tags>\n[\"a\", \"b\"]\n</parameter>\n"
                 "<parameter=more>\n5\n</parameter>\n"
                 "</function>\n</tool_call>"),
            "So: | write_file {\"count\": 12, \"deep\": true, \"more\": \"5\", "
            "\"path\": \"/a \\\"b\\\"\", \"tags\": [\"a\", \"b\"], "
            "\"text\": \"\\n1 < 2\\n\"}");
  // Models leave the outer mark out.
  EXPECT_EQ(qwen("<function=calculator>\n<parameter=expression>1+1</parameter>"
                 "</function></tool_call>"),
            " | " + std::string(kSum));
  EXPECT_EQ(qwen("<tool_call><function=calculator></function></tool_call>."),
            ". | calculator {}");
  // A value that does not fit its type stays a string.
  EXPECT_EQ(qwen("<tool_call><function=write_file><parameter=count>many"
                 "</parameter></function></tool_call>"),
            " | write_file {\"count\": \"many\"}");
  for (const char *text :
       {"<function=f>", "<tool_call>\n", "<tool_call>\n<function=nobody>\n",
        "<function=calculator>x</function>",
        "<function=calculator><parameter=a>1</parameter><parameter=a>",
        "<tool_call>\n<function=calculator>\n<parameter=a>\n1\n</param"})
    EXPECT_EQ(qwen(text), text);
}

TEST(Llama3, isRead) {
  auto llama = [](std::string_view text) {
    return read(ToolFormat::Llama3, text);
  };
  std::string call =
      R"({"name": "calculator", "parameters": {"expression": "1+1"}})";
  std::string sum(kSum);
  EXPECT_EQ(llama(call), " | " + sum);
  EXPECT_EQ(llama(" " + call + "; " + call), " | " + sum + " | " + sum);
  EXPECT_EQ(llama("<|python_tag|>" + call), " | " + sum);
  EXPECT_EQ(llama("<|python_tag|>calculator.call(expression=\"1+1\")"),
            " | " + sum);
  EXPECT_EQ(llama(R"({"type": "function", "name": "calculator", )"
                  R"("parameters": {}})"),
            " | calculator {}");
  // JSON that is no call, and a call that is not the first text.
  for (const std::string &text :
       {std::string(R"({"city": "Paris", "name": "calculator"})"),
        std::string(R"({"name": "Paris"})"), std::string("{"), "x " + call,
        std::string("{}"), std::string(R"({"name": "calculator")")})
    EXPECT_EQ(llama(text), text);
  EXPECT_EQ(llama(call + "; and"), "; and | " + sum);
}

TEST(Pythonic, isRead) {
  auto pythonic = [](std::string_view text) {
    return read(ToolFormat::Pythonic, text);
  };
  EXPECT_EQ(pythonic(R"([calculator(expression="1+1"), )"
                     R"(write_file(path='a\'b)', tags=["x", ('y',)], )"
                     R"(deep=True, options={'k': None, "n": -1.5})])"),
            " | " + std::string(kSum) +
                R"( | write_file {"deep": true, "options": {"k": null, )"
                R"x("n": -1.5}, "path": "a'b)", "tags": ["x", ["y"]]})x");
  EXPECT_EQ(pythonic("[calculator()]"), " | calculator {}");
  for (const char *text :
       {"[1] says so", "[calculator(1)]", "[nobody()]", "[calculator(a=b)]",
        "calculator()", "[calculator(a=1, a=2)]", "[calculator(a=[1}", "[",
        "[calculator(a=\"", "[x y("})
    EXPECT_EQ(pythonic(text).find('|'), std::string::npos) << text;
}

TEST(Mistral, isRead) {
  auto mistral = [](std::string_view text) {
    return read(ToolFormat::Mistral, text);
  };
  std::string sum(kSum);
  EXPECT_EQ(mistral(R"([TOOL_CALLS] [{"name": "calculator", "arguments": )"
                    R"({"expression": "1+1"}, "id": "abcdefghi"}, )"
                    R"({"name": "calculator", "arguments": {}}])"),
            " | " + sum + " | calculator {}");
  EXPECT_EQ(mistral(R"(Hm. [TOOL_CALLS]calculator[ARGS]{"expression": "1+1"})"
                    R"([TOOL_CALLS]calculator[CALL_ID]abcdefghi[ARGS]{})"
                    R"([TOOL_CALLS]calculator{})"),
            "Hm. | " + sum + " | calculator {} | calculator {}");
  for (const char *text :
       {"[TOOL_CALLS]", "[TOOL_CALLS][]", "[TOOL_CALLS]nobody{}",
        "[TOOL_CALLS]calculator[ARGS]{\"a\"", "[TOOL_CALLS]calculator{1}"})
    EXPECT_EQ(mistral(text), text);
}

TEST(DeepSeek, isRead) {
  std::string sum(kSum);
  EXPECT_EQ(read(ToolFormat::DeepSeekV31,
                 "Yes<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>calculator"
                 "<｜tool▁sep｜>{\"expression\": \"1+1\"}<｜tool▁call▁end｜>"
                 "<｜tool▁call▁begin｜>calculator<｜tool▁sep｜>{}"
                 "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
            "Yes | " + sum + " | calculator {}");
  EXPECT_EQ(
      read(ToolFormat::DeepSeekV3,
           "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function"
           "<｜tool▁sep｜>calculator\n```json\n{\"expression\": \"1+1\"}\n"
           "```<｜tool▁call▁end｜>\n<｜tool▁calls▁end｜>"),
      " | " + sum);
  EXPECT_EQ(
      read(ToolFormat::DeepSeekV32,
           "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"write_file\">\n"
           "<｜DSML｜parameter name=\"path\" string=\"true\">5"
           "</｜DSML｜parameter>\n<｜DSML｜parameter name=\"more\" "
           "string=\"false\">{\"a\": [5]}</｜DSML｜parameter>\n"
           "</｜DSML｜invoke>\n</｜DSML｜function_calls>"),
      R"( | write_file {"more": {"a": [5]}, "path": "5"})");
}

TEST(Glm, isRead) {
  auto glm = [](std::string_view text) { return read(ToolFormat::Glm, text); };
  EXPECT_EQ(glm("\n<tool_call>write_file\n<arg_key>path</arg_key>\n"
                "<arg_value>5</arg_value>\n<arg_key>count</arg_key>\n"
                "<arg_value>5</arg_value>\n<arg_key>more</arg_key>"
                "<arg_value>{'a': True}</arg_value>\n</tool_call>"),
            R"( | write_file {"count": 5, "more": {"a": true}, "path": "5"})");
  EXPECT_EQ(glm("<tool_call>calculator</tool_call>"), " | calculator {}");
  for (const char *text :
       {"<tool_call>calculator", "<tool_call>\n{}</tool_call>",
        "<tool_call>calculator<arg_key>a</arg_key></tool_call>"})
    EXPECT_EQ(glm(text), text);
}

TEST(Harmony, isRead) {
  auto harmony = [](std::string_view text) {
    return read(ToolFormat::Harmony, text);
  };
  std::string sum(kSum);
  EXPECT_EQ(harmony("<|start|>assistant<|channel|>commentary "
                    "to=functions.calculator <|constrain|>json<|message|>"
                    "{\"expression\": \"1+1\"}<|call|>"),
            " | " + sum);
  EXPECT_EQ(harmony("<|start|>assistant to=functions.calculator<|channel|>"
                    "commentary json<|message|>{\"expression\": \"1+1\"}"),
            " | " + sum);
  std::string other = "<|start|>assistant to=browser.open<|channel|>commentary"
                      "<|message|>{}<|call|>";
  EXPECT_EQ(harmony(other), other);
}

TEST(Others, areRead) {
  std::string sum(kSum);
  EXPECT_EQ(read(ToolFormat::KimiK2,
                 "I see.<|tool_calls_section_begin|><|tool_call_begin|>"
                 "functions.calculator:0<|tool_call_argument_begin|>"
                 "{\"expression\": \"1+1\"}<|tool_call_end|>"
                 "<|tool_call_begin|>calculator:1<|tool_call_argument_begin|>"
                 "{}<|tool_call_end|><|tool_calls_section_end|>"),
            "I see. | " + sum + " | calculator {}");
  EXPECT_EQ(read(ToolFormat::MiniMaxM2,
                 "<minimax:tool_call>\n<invoke name=\"calculator\">\n"
                 "<parameter name=\"expression\">1+1</parameter>\n</invoke>\n"
                 "<invoke name=\"calculator\"></invoke>\n"
                 "</minimax:tool_call>\n"),
            " | " + sum + " | calculator {}");
  EXPECT_EQ(read(ToolFormat::SeedOss,
                 "\n<seed:tool_call>\n<function=write_file>\n"
                 "<parameter=path> a\n</parameter>\n"
                 "<parameter=tags>['x', \"y'\"]</parameter>\n"
                 "</function>\n</seed:tool_call>"),
            R"( | write_file {"path": " a\n", "tags": ["x", "y'"]})");
  EXPECT_EQ(read(ToolFormat::Gemma4,
                 "<|tool_call>call:write_file{count:3,deep:true,options:{a:"
                 "{b:[1,<|\"|>x}<|\"|>]}},path:<|\"|>p,q<|\"|>}<tool_call|>"),
            R"( | write_file {"count": 3, "deep": true, "options": )"
            R"({"a": {"b": [1, "x}"]}}, "path": "p,q"})");
  EXPECT_EQ(read(ToolFormat::Granite,
                 R"(<|tool_call|>[{"name": "calculator", "arguments": )"
                 R"({"expression": "1+1"}}])"),
            " | " + sum);
  EXPECT_EQ(read(ToolFormat::Json,
                 R"([{"name": "calculator", "parameters": )"
                 R"({"expression": "1+1"}}, {"name": "calculator"}])"),
            " | " + sum + " | calculator {}");
  // A list without a mark is data if its objects have other members.
  constexpr const char *kOther = R"([{"x": 1, "name": "calculator"}])";
  EXPECT_EQ(read(ToolFormat::Json, kOther), kOther);
  EXPECT_EQ(read(ToolFormat::Granite, strCat("<|tool_call|>", kOther)),
            " | calculator {}");
  EXPECT_EQ(read(ToolFormat::None, "<tool_call>"), "<tool_call>");
}

TEST(Values, haveTheTypesOfTheirSchema) {
  auto tools = ToolSet::read(R"([{"type": "function", "function": {
    "name": "f", "parameters": {"properties": {
      "s": {"type": "string"}, "i": {"type": "integer"},
      "n": {"type": ["number", "null"]},
      "u": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
      "e": {"enum": [1, 2]}, "r": {"$ref": "#/$defs/R"},
      "loop": {"$ref": "#/properties/loop"}, "b": {"type": "boolean"},
      "o": {"type": "object"}, "a": {"type": "array"}},
      "$defs": {"R": {"type": "object"}}}}}])");
  ASSERT_TRUE(tools.isOk()) << tools.status().toString();
  const Tool &tool = *tools->find("f");
  auto json = [&](std::string_view key, std::string_view text) {
    return argumentJson(text, tool.typesOf(key), false);
  };
  EXPECT_EQ(json("s", "5"), "\"5\"");
  EXPECT_EQ(json("s", "null"), "\"null\"");
  EXPECT_EQ(json("s", " {} "), "\" {} \"");
  EXPECT_EQ(json("i", " 5\n"), "5");
  EXPECT_EQ(json("i", "five"), "\"five\"");
  EXPECT_EQ(json("i", "null"), "null");
  EXPECT_EQ(json("n", "1e3"), "1e3");
  EXPECT_EQ(json("n", "None"), "null");
  EXPECT_EQ(json("u", "5"), "5");
  EXPECT_EQ(json("u", "x"), "\"x\"");
  EXPECT_EQ(json("u", "null"), "\"null\"");
  EXPECT_EQ(json("e", "2"), "2");
  EXPECT_EQ(json("r", "{\"a\": 1}"), "{\"a\": 1}");
  EXPECT_EQ(json("loop", "{}"), "\"{}\"");
  EXPECT_EQ(json("b", "TRUE"), "true");
  EXPECT_EQ(json("b", "yes"), "\"yes\"");
  EXPECT_EQ(json("o", "{'a': (1, 2), 'b': {}}"), R"({"a": [1, 2], "b": {}})");
  EXPECT_EQ(json("o", "[1]"), "\"[1]\"");
  EXPECT_EQ(json("a", "[1, 2"), "\"[1, 2\"");
  EXPECT_EQ(json("new", "5"), "\"5\"");
  EXPECT_EQ(argumentJson("5", {}, true), "5");
  EXPECT_EQ(argumentJson("five", {}, true), "\"five\"");
}

TEST(Values, areReadFromPython) {
  EXPECT_EQ(pythonToJson(R"(['a\n', "b'", '\x41\u00e9\U0001F600', 1, -2.5])"),
            R"(["a\n", "b'", "Aé😀", 1, -2.5])");
  EXPECT_EQ(pythonToJson("{'a': None, 'b': [True, False,],}"),
            R"({"a": null, "b": [true, false]})");
  for (const std::string &text :
       {std::string("'a"), std::string("[1"), std::string("{1: 2}"),
        std::string("x"), std::string("'\\ud800'"), std::string("1 2"),
        std::string("__import__('os')"), std::string(100, '[')})
    EXPECT_EQ(pythonToJson(text), std::nullopt) << text;
}

TEST(Tools, areChecked) {
  auto error = [](std::string_view json) {
    return std::string(ToolSet::read(json).status().message());
  };
  EXPECT_EQ(error("{}"), ": expected an array of tools");
  EXPECT_EQ(error("[1]"), "[0]: expected an object");
  EXPECT_EQ(error(std::string(100, '[') + std::string(100, ']')),
            ": expected JSON nested at most 64 deep");
  EXPECT_EQ(error(R"([{"type": "x"}])"), "[0].type: expected 'function'");
  EXPECT_EQ(error(R"([{"type": "function"}])"),
            "[0].function: expected an object");
  std::string_view name = "[0].function.name: expected 1 to 128 letters, "
                          "digits, '_', '-' or '.'";
  EXPECT_EQ(error(R"([{"type": "function", "function": {}}])"), name);
  EXPECT_EQ(error(R"([{"type": "function", "function": {"name": "a b"}}])"),
            name);
  EXPECT_EQ(error(R"([{"type": "function", "function": {"name": "a"}},
                      {"type": "function", "function": {"name": "a"}}])"),
            "[1].function.name: expected another name than 'a', which is given "
            "twice");
  EXPECT_EQ(error(R"([{"type": "function", "function": {"name": "a",
                       "parameters": {"properties": []}}}])"),
            "[0].function.parameters.properties: expected an object");
}

TEST(Formats, haveNames) {
  for (std::string_view name : toolFormatNames())
    EXPECT_TRUE(findToolFormat(name).has_value()) << name;
  EXPECT_EQ(findToolFormat("qwen"), ToolFormat::Hermes);
  EXPECT_EQ(findToolFormat("glm-4.6"), ToolFormat::Glm);
  EXPECT_EQ(findToolFormat("x"), std::nullopt);
  EXPECT_EQ(detectToolFormat("{{ messages }}"), ToolFormat::None);
  EXPECT_EQ(detectToolFormat("[func_name1(params_name1=v)]"),
            ToolFormat::Pythonic);
}

TEST(Marks, areTokensOfTheFormat) {
  ToolCallParser mistral(ToolFormat::Mistral, testTools());
  EXPECT_TRUE(mistral.isMark("[TOOL_CALLS]"));
  EXPECT_TRUE(mistral.isMark("[ARGS]"));
  EXPECT_FALSE(mistral.isMark("[INST]"));
  ToolCallParser dsml(ToolFormat::DeepSeekV32, testTools());
  EXPECT_TRUE(dsml.isMark("｜DSML｜"));
  ToolCallParser kimi(ToolFormat::KimiK2, testTools());
  for (const char *mark :
       {"<|tool_calls_section_begin|>", "<|tool_call_begin|>",
        "<|tool_call_argument_begin|>", "<|tool_call_end|>",
        "<|tool_calls_section_end|>"})
    EXPECT_TRUE(kimi.isMark(mark));
  EXPECT_FALSE(kimi.isMark("<|im_end|>"));
  EXPECT_FALSE(kimi.isMark(""));
  EXPECT_FALSE(ToolCallParser(ToolFormat::None, testTools()).isMark("<"));
}

// The text that a broken call consumes does not depend on the pieces.
TEST(HostileAnswers, breakAtOnePlace) {
  std::string mistral = "[TOOL_CALLS]calculator{\"a\": {\"b[TOOL_CALLS]"
                        "calculator{}\n\": {}}";
  EXPECT_EQ(read(ToolFormat::Mistral, mistral), mistral);
  std::string longKey =
      "<tool_call>{\"" + std::string(1020, 'x') +
      "<tool_call>{\"name\": \"calculator\"}</tool_call>\": 1}";
  EXPECT_EQ(read(ToolFormat::Hermes, longKey), longKey);
  std::string longName = std::string(125, 'x') + "<tool_call>calculator";
  EXPECT_EQ(read(ToolFormat::Glm, "<tool_call>" + longName),
            "<tool_call>" + longName);
  EXPECT_EQ(read(ToolFormat::Qwen3Coder, "<function=" + longName),
            "<function=" + longName);
  EXPECT_EQ(read(ToolFormat::Pythonic, "[" + longName), "[" + longName);
}

TEST(HostileAnswers, takeLinearTime) {
  // Each would take minutes if a part were read again for each opening.
  for (const char *part :
       {"<tool_call>", "<tool_call>{\"name\": \"calculator\", \"arguments\": {",
        "<function=", "<function=calculator><parameter=a>", "<", " ", "\n",
        "[TOOL_CALLS]calculator{\"a\": [", "<tool_call>calculator<arg_key>",
        "<|tool_call>call:calculator{", "{", "[calculator(a=[", "\\",
        "<｜tool▁calls▁begin｜>"})
    for (std::string_view name : toolFormatNames()) {
      std::string text;
      while (text.size() < 200'000)
        text += part;
      ParsedAnswer whole = parseIn(*findToolFormat(name), text, text.size());
      EXPECT_EQ(parseIn(*findToolFormat(name), text, 64), whole)
          << part << " " << name;
    }
}
