//===- call_choice_test.cpp - Requests whose answers must call ------------===//

#include "test/Serve/ToolRig.h"
#include "tools/mtp-serve/engine/GrammarCompiler.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

/// A model that can restrict answers.
struct CallRig : ToolRig {
  explicit CallRig(ToolFormat format = ToolFormat::Hermes) : ToolRig(format) {
    facts.hasLogitRules = facts.hasGrammars = true;
    facts.vocab = tokenizer->vocabSize();
    facts.generation.eos = {256};
  }

  /// Reads a chat with a question and other fields.
  MaybeError chat(std::string_view fields, GenerationRequest &request) const {
    return read(
        AnswerForm::OpenAi,
        strCat(R"("messages": [{"role": "user", "content": "q"}], )", fields),
        request);
  }
  /// Returns the field of the error of a chat.
  std::string wrong(std::string_view fields) const {
    GenerationRequest request;
    MaybeError error = chat(fields, request);
    return error ? error->param : "none";
  }
  /// Returns whether an answer may begin with a text, or the field of an error.
  std::string begins(std::string_view fields, std::string_view text,
                     std::string_view prompt = "") {
    GenerationRequest request;
    GrammarCompiler compiler(facts);
    std::shared_ptr<const TokenConstraint> constraint;
    MaybeError error = chat(fields, request);
    if (!error && !request.isRestricted())
      return "free";
    if (!error)
      error = compiler.compile(request, prompt, constraint);
    if (error)
      return error->param;
    std::unique_ptr<ConstraintMatcher> matcher = constraint->begin();
    for (int32_t token : *tokenizer->encode(std::string(text)))
      if (!matcher->accept(token).isOk())
        return "no";
    return "yes";
  }
};

std::string with(std::string_view fields) {
  return strCat(kChatTools, ", ", fields);
}

constexpr std::string_view kBegun = "<tool_call>\n{\"name\": \"add\", "
                                    "\"arguments\": {\"b\": ";
constexpr std::string_view kStrictTool =
    R"("tools": [{"type": "function", "function": {"name": "add", )"
    R"("strict": true, "parameters": {"type": "object", "properties": )"
    R"({"b": {"type": "integer"}}}}}])";

} // namespace

TEST(CallChoice, RestrictsAnswers) {
  CallRig rig;
  for (const char *choice :
       {R"("tool_choice": "required")", R"("tool_choice": {"type": "function",
          "function": {"name": "add"}})"}) {
    EXPECT_EQ(rig.begins(with(choice), strCat(kBegun, "1")), "yes");
    EXPECT_EQ(rig.begins(with(choice), strCat(kBegun, "x")), "no");
    EXPECT_EQ(rig.begins(with(choice), "I call"), "no");
  }
  EXPECT_EQ(rig.begins(kChatTools, "I call"), "free");
  EXPECT_EQ(rig.begins(with(R"("tool_choice": "none")"), "I call"), "free");
}

TEST(CallChoice, RestrictsStrictToolsOnly) {
  CallRig rig;
  EXPECT_EQ(rig.begins(kStrictTool, "I call"), "yes");
  EXPECT_EQ(rig.begins(kStrictTool, strCat(kBegun, "1")), "yes");
  EXPECT_EQ(rig.begins(kStrictTool, strCat(kBegun, "x")), "no");
  rig.facts.hasGrammars = false;
  EXPECT_EQ(rig.begins(kStrictTool, "I call"), "free");
}

TEST(CallChoice, FollowsReasoningInThePrompt) {
  CallRig rig;
  rig.facts.reasoning = ReasoningFormat::Think;
  auto begins = [&](std::string_view text, std::string_view prompt) {
    return rig.begins(with(R"("tool_choice": "required")"), text, prompt);
  };
  EXPECT_EQ(begins("I call", "a <think>\n"), "yes");
  EXPECT_EQ(begins(strCat("I call</think>\n", kBegun), "a <think>\n"), "yes");
  EXPECT_EQ(begins("I call", "a"), "no");
  constexpr std::string_view kFormat =
      R"("response_format": {"type": "json_object"})";
  EXPECT_EQ(rig.begins(kFormat, "So:</think>\n{", "<think>\n"), "yes");
  EXPECT_EQ(rig.begins(kFormat, "So:", ""), "no");
}

TEST(CallChoice, NamesTheWrongField) {
  CallRig rig;
  constexpr std::string_view kUnknown =
      R"("tools": [{"type": "function", "function": {"name": "a"}},
        {"type": "function", "function": {"name": "b", "parameters":
          {"properties": {"c": {"not": {}}}}}}])";
  std::string required = R"(, "tool_choice": "required")";
  EXPECT_EQ(rig.begins(strCat(kUnknown, required), ""),
            "tools[1].function.parameters/properties/c/not");
  // Tools without a schema that counts are no error.
  EXPECT_EQ(rig.begins(kUnknown, ""), "free");
  EXPECT_EQ(rig.wrong(with(R"("tool_choice": "required",
                "guided_regex": "a")")),
            "guided_regex");
  EXPECT_EQ(rig.wrong(with(R"("tool_choice": "required",
                "response_format": {"type": "json_object"})")),
            "none");
  EXPECT_EQ(rig.wrong(R"("tool_choice": "required")"), "tool_choice");
  EXPECT_EQ(rig.wrong(R"("tools": [{"type": "function", "function":
                {"name": "a", "strict": 1}}])"),
            "tools[0].function.strict");
  rig.facts.hasGrammars = false;
  EXPECT_EQ(rig.wrong(with(R"("tool_choice": "required")")), "tool_choice");
}

TEST(CallChoice, OtherApisDemandCalls) {
  CallRig rig;
  GenerationRequest messages, responses;
  EXPECT_FALSE(rig.read(AnswerForm::Messages,
                        strCat(R"("max_tokens": 9, "messages": [{"role": "user",
                            "content": "q"}], "tool_choice": {"type": "any",
                            "disable_parallel_tool_use": true}, )",
                               kMessagesTools),
                        messages));
  EXPECT_TRUE(messages.tools.isRestricted);
  EXPECT_FALSE(messages.tools.isParallel);
  EXPECT_FALSE(rig.read(AnswerForm::Responses,
                        strCat(R"("input": "q", "tool_choice": {"type":
                            "function", "name": "add"}, )",
                               kFlatTools),
                        responses));
  EXPECT_TRUE(responses.tools.isRestricted);
  ASSERT_EQ(responses.tools.allowed.size(), 1u);
  EXPECT_EQ(responses.tools.allowed[0].name, "add");
}

TEST(CallChoice, RestrictsCallsToAllowedTools) {
  CallRig rig;
  constexpr std::string_view kTwo =
      R"("tools": [{"type": "function", "function": {"name": "a"}},
                   {"type": "function", "function": {"name": "b"}}])";
  auto allowed = [&](std::string_view mode, std::string_view name) {
    return strCat(kTwo, R"(, "tool_choice": {"type": "allowed_tools",
                  "allowed_tools": {"mode": ")",
                  mode, R"(", "tools": [{"type": "function", "function":
                  {"name": ")",
                  name, R"("}}]}})");
  };
  auto call = [](std::string_view name) {
    return strCat("<tool_call>\n{\"name\": \"", name, "\", \"arguments\": {");
  };
  EXPECT_EQ(rig.begins(allowed("required", "a"), call("a")), "yes");
  EXPECT_EQ(rig.begins(allowed("required", "a"), call("b")), "no");
  EXPECT_EQ(rig.begins(allowed("required", "b"), call("b")), "yes");
  EXPECT_EQ(rig.begins(allowed("required", "a"), "I call"), "no");
  EXPECT_EQ(rig.begins(allowed("auto", "a"), call("a")), "yes");
  EXPECT_EQ(rig.begins(allowed("auto", "a"), call("b")), "no");
  EXPECT_EQ(rig.begins(allowed("auto", "a"), "I call"), "yes");
  // Templates show all tools.
  GenerationRequest request;
  ASSERT_FALSE(rig.chat(allowed("auto", "a"), request));
  EXPECT_NE(request.tools.items.find("\"b\""), std::string::npos);
  EXPECT_EQ(request.tools.set->find("b"), nullptr);
  // Without grammars, calls of other tools are text.
  rig.facts.hasGrammars = false;
  EXPECT_EQ(rig.begins(allowed("auto", "a"), call("b")), "free");
  EXPECT_EQ(rig.wrong(allowed("required", "a")), "tool_choice");
  GenerationRequest responses;
  rig.facts.hasGrammars = true;
  EXPECT_FALSE(rig.read(AnswerForm::Responses,
                        strCat(R"("input": "q", "tool_choice": {"type":
                            "allowed_tools", "mode": "required", "tools":
                            [{"type": "function", "name": "add"}]}, )",
                               kFlatTools),
                        responses));
  EXPECT_TRUE(responses.tools.isRestricted);
  EXPECT_TRUE(responses.tools.mustCall());
}

TEST(CallChoice, SharesEqualCalls) {
  CallRig rig;
  GrammarCompiler compiler(rig.facts);
  auto compiled = [&](std::string_view fields) {
    GenerationRequest request;
    std::shared_ptr<const TokenConstraint> constraint;
    EXPECT_FALSE(rig.chat(with(fields), request));
    EXPECT_FALSE(compiler.compile(request, "", constraint));
    return constraint;
  };
  auto first = compiled(R"("tool_choice": "required")");
  EXPECT_EQ(compiled(R"("tool_choice": "required")"), first);
  // A choice of the only tool is the same as a demand for any.
  EXPECT_EQ(compiled(R"("tool_choice": {"type": "function", "function":
                {"name": "add"}})"),
            first);
  EXPECT_NE(compiled(R"("tool_choice": "required",
                        "parallel_tool_calls": false)"),
            first);
}

TEST(AnswerFormat, IsReadInOtherApis) {
  CallRig rig;
  auto read = [&](AnswerForm form, std::string_view fields) {
    GenerationRequest request;
    MaybeError error = rig.read(form, fields, request);
    return error             ? error->param
           : request.grammar ? strCat(request.grammar->field, " ",
                                      request.grammar->source.text)
                             : "free";
  };
  auto response = [&](std::string_view format) {
    return read(AnswerForm::Responses,
                strCat(R"("input": "q", "text": {"format": )", format, "}"));
  };
  EXPECT_EQ(response(R"({"type": "text"})"), "free");
  EXPECT_EQ(response(R"({"type": "json_object"})"), "text.format ");
  EXPECT_EQ(response(R"({"type": "json_schema", "name": "x", "strict": true,
                         "schema": {"type": "null"}})"),
            R"(text.format.schema {"type":"null"})");
  EXPECT_EQ(response(R"({"type": "grammar"})"), "text.format.type");
  auto message = [&](std::string_view field) {
    return read(AnswerForm::Messages,
                strCat(R"("max_tokens": 9, "messages": [{"role": "user",
                    "content": "q"}], )",
                       field));
  };
  constexpr std::string_view kFormat =
      R"({"type": "json_schema", "schema": {"type": "null"}})";
  EXPECT_EQ(message(strCat(R"("output_format": )", kFormat)),
            R"(output_format.schema {"type":"null"})");
  EXPECT_EQ(message(strCat(R"("output_config": {"effort": "low", "format": )",
                           kFormat, "}")),
            R"(output_config.format.schema {"type":"null"})");
  rig.facts.hasGrammars = false;
  EXPECT_EQ(message(strCat(R"("output_format": )", kFormat)),
            "output_format.schema");
}

TEST(ResponseScores, AreIncludedOnRequest) {
  CallRig rig;
  GenerationRequest request, plain;
  ASSERT_FALSE(rig.read(AnswerForm::Responses,
                        R"("input": "q", "top_logprobs": 2,
                           "include": ["message.output_text.logprobs"])",
                        request));
  EXPECT_EQ(request.scores.output, 2u);
  ASSERT_FALSE(rig.read(AnswerForm::Responses,
                        R"("input": "q", "top_logprobs": 2)", plain));
  EXPECT_EQ(plain.scores.output, std::nullopt);
}
