//===- tools_test.cpp - Tools of requests and calls in answers ------------===//

#include "test/Serve/ToolRig.h"

#include <simdjson.h>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

constexpr std::string_view kShownTools =
    R"([{"type": "function", "function": {"name": "add", "description": "d", )"
    R"("parameters": {"type": "object", "properties": {"b": {"type": )"
    R"("integer"}, "a": {"type": "string"}}}}}])";
constexpr std::string_view kShownQuestion =
    "\n{\"role\": \"user\", \"content\": \"q\"}\n";

std::string at(std::string_view json, const char *pointer) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  std::string_view text;
  if (parser.parse(simdjson::padded_string(json))
          .at_pointer(pointer)
          .get(element))
    return "nothing";
  return element.get(text) ? simdjson::minify(element) : std::string(text);
}

/// Puts the deltas of OpenAI's chats together: "content | name arguments".
std::string joined(const std::vector<std::string> &events) {
  std::string content;
  std::vector<std::string> calls;
  for (const std::string &event : events) {
    if (event == "[DONE]")
      break;
    if (std::string more = at(event, "/choices/0/delta/content");
        more != "nothing")
      content += more;
    for (size_t i = 0; i < 9; ++i) {
      std::string path = strCat("/choices/0/delta/tool_calls/", i);
      std::string index = at(event, (path + "/index").c_str());
      if (index == "nothing")
        break;
      std::string name = at(event, (path + "/function/name").c_str());
      bool isNew = name != "nothing";
      EXPECT_EQ(isNew, at(event, (path + "/id").c_str()) != "nothing");
      if (isNew)
        calls.push_back(name + " ");
      EXPECT_EQ(index, std::to_string(calls.size() - 1));
      calls.back() += at(event, (path + "/function/arguments").c_str());
    }
  }
  for (const std::string &call : calls)
    content += " | " + call;
  return content;
}

} // namespace

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

TEST(ToolRequests, reachTheTemplate) {
  ToolRig rig;
  std::string expected = strCat(kShownTools, kShownQuestion);
  EXPECT_EQ(rig.chatPrompt(kChatTools), expected);
  EXPECT_EQ(rig.prompt(AnswerForm::Responses,
                       strCat(R"("input": "q", )", kFlatTools)),
            expected);
  EXPECT_EQ(rig.prompt(AnswerForm::Messages,
                       strCat(R"("max_tokens": 9, "messages": [{"role": "user",
                       "content": "q"}], )",
                              kMessagesTools)),
            expected);
  // The order of fields does not matter.
  EXPECT_EQ(rig.prompt(AnswerForm::OpenAi,
                       strCat(kChatTools, R"(, "tool_choice": "auto", )",
                              R"("parallel_tool_calls": true, )",
                              R"("messages": [{"role": "user", )",
                              R"("content": "q"}])")),
            expected);
}

TEST(ToolRequests, mayHaveNoTools) {
  ToolRig rig, plain(ToolFormat::None);
  std::string question(kShownQuestion.substr(1));
  for (std::string_view fields :
       {R"("tools": [])", R"("tools": null, "tool_choice": "auto")",
        R"("tool_choice": "none")"}) {
    EXPECT_EQ(rig.chatPrompt(fields), question);
    EXPECT_EQ(plain.chatPrompt(fields), question);
  }
  EXPECT_EQ(rig.chatPrompt(strCat(kChatTools, R"(, "tool_choice": "none")")),
            question);
  GenerationRequest request;
  ASSERT_FALSE(rig.read(AnswerForm::OpenAi,
                        strCat(kChatTools, R"(, "tool_choice": "none", )",
                               R"("messages": [{"role": "user"}])"),
                        request));
  EXPECT_EQ(request.tools.set, nullptr);
}

TEST(ToolRequests, nameTheWrongField) {
  ToolRig rig;
  for (const auto &[fields, param] :
       std::vector<std::pair<std::string, std::string>>{
           {R"("tools": 3)", "tools"},
           {R"("tools": [3])", "tools[0]"},
           {R"("tools": [{}])", "tools[0].type"},
           {R"("tools": [{"type": "function"}])", "tools[0].function"},
           {R"("tools": [{"type": "function", "function": {"name": ""}}])",
            "tools[0].function.name"},
           {R"("tools": [{"type": "function", "function": {"name": "a",
               "parameters": 3}}])",
            "tools[0].function.parameters"},
           {R"("tool_choice": 3)", "tool_choice"},
           {R"("tool_choice": "any")", "tool_choice"},
           {R"("tool_choice": "required")", "tool_choice"},
           {R"("tool_choice": {"type": "function"})", "tool_choice.function"},
           {strCat(kChatTools, R"(, "tool_choice": "required")"),
            "tool_choice"},
           {strCat(kChatTools, R"(, "tool_choice": {"type": "function",
               "function": {"name": "other"}})"),
            "tool_choice.function.name"},
           {R"("parallel_tool_calls": 1)", "parallel_tool_calls"}}) {
    std::string error = rig.chatPrompt(fields);
    EXPECT_EQ(error.substr(0, error.find(" | ")), param) << error;
  }
  std::string many = R"("tools": [)";
  for (size_t i = 0; i <= ToolSet::kMostTools; ++i)
    many += i > 0 ? ", {}" : "{}";
  EXPECT_EQ(rig.chatPrompt(many + "]"),
            "tools | tools: expected at most 512 tools, got 513");
  EXPECT_EQ(
      rig.chatPrompt(strCat(kChatTools, R"(, "tool_choice": "required")")),
      "tool_choice | expected 'tool_choice' to be 'auto' or 'none', as the "
      "model was imported with --without-logit-rules");
  EXPECT_EQ(ToolRig(ToolFormat::None).chatPrompt(kChatTools),
            "tools | tools: expected none, because the chat template has no "
            "known format of tool calls (mtp-serve --tool-parser names one)");
}

TEST(ToolRequests, nameTheWrongAllowedTool) {
  ToolRig rig;
  constexpr std::string_view kAdd =
      R"({"type": "function", "function": {"name": "add"}})";
  constexpr std::string_view kOther =
      R"({"type": "function", "function": {"name": "other"}})";
  constexpr std::string_view kFlat = R"({"type": "function", "name": "add"})";
  auto wrong = [&](std::string_view mode, std::string_view list) {
    std::string error = rig.chatPrompt(
        strCat(kChatTools, R"(, "tool_choice": {"type": "allowed_tools",
               "allowed_tools": {"mode": ")",
               mode, R"(", "tools": [)", list, "]}}"));
    return error.substr(0, error.find(" | "));
  };
  const std::string path = "tool_choice.allowed_tools";
  EXPECT_EQ(wrong("none", kAdd), path + ".mode");
  EXPECT_EQ(wrong("auto", ""), path + ".tools");
  EXPECT_EQ(wrong("auto", "3"), path + ".tools[0].type");
  EXPECT_EQ(wrong("auto", kFlat), path + ".tools[0].function");
  EXPECT_EQ(wrong("auto", strCat(kAdd, ", ", kOther)),
            path + ".tools[1].function.name");
  EXPECT_EQ(rig.chatPrompt(R"("tool_choice": {"type": "allowed_tools"})"),
            "tool_choice.allowed_tools | tool_choice.allowed_tools: expected "
            "an object, got none");
  EXPECT_EQ(rig.chatPrompt(strCat(R"("tool_choice": {"type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [)",
                                  kAdd, "]}}")),
            "tool_choice | tool_choice: expected 'tools' with this choice, got "
            "none");
  EXPECT_EQ(rig.prompt(AnswerForm::Responses,
                       strCat(R"("input": "q", "tool_choice": {"type":
                           "allowed_tools", "mode": "auto", "tools": [{"type":
                           "function", "name": "other"}]}, )",
                              kFlatTools)),
            "tool_choice.tools[0].name | tool_choice.tools[0].name: expected "
            "the name of one of 'tools', got 'other'");
}

TEST(ToolRequests, nameTheWrongFieldOfOtherForms) {
  ToolRig rig;
  auto param = [&rig](AnswerForm form, std::string_view fields) {
    std::string error = rig.prompt(form, fields);
    return error.substr(0, error.find(" | "));
  };
  auto messages = [&param](std::string_view fields) {
    return param(AnswerForm::Messages,
                 strCat(R"("max_tokens": 9, "messages": [{"role": "user",
                     "content": "q"}], )",
                        fields));
  };
  EXPECT_EQ(messages(R"("tools": [{"name": "a b"}])"), "tools[0].name");
  EXPECT_EQ(messages(R"("tools": [{"name": "a", "input_schema": 3}])"),
            "tools[0].input_schema");
  EXPECT_EQ(messages(R"("tools": [{"type": "web_search_20250305"}])"),
            "tools[0].type");
  EXPECT_EQ(messages(R"("tool_choice": "auto")"), "tool_choice");
  EXPECT_EQ(messages(R"("tool_choice": {"type": "required"})"), "tool_choice");
  EXPECT_EQ(messages(strCat(kMessagesTools, R"(, "tool_choice":
                 {"type": "auto", "disable_parallel_tool_use": 1})")),
            "tool_choice.disable_parallel_tool_use");
  EXPECT_EQ(messages(strCat(kMessagesTools, R"(, "tool_choice":
                 {"type": "tool", "name": "add"})")),
            "tool_choice");
  auto responses = [&param](std::string_view fields) {
    return param(AnswerForm::Responses, strCat(R"("input": "q", )", fields));
  };
  EXPECT_EQ(responses(R"("tools": [{"type": "web_search"}])"), "tools[0].type");
  EXPECT_EQ(responses(R"("tools": [{"type": "function", "name": "a",
                "parameters": {"properties": 3}}])"),
            "tools[0].parameters.properties");
  EXPECT_EQ(responses(strCat(kFlatTools, R"(, "tool_choice":
                {"type": "function", "name": "add"})")),
            "tool_choice");
}

// Calls and results in three forms.
constexpr std::string_view kChatTalk = R"("messages": [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "c1", "type": "function", "function":
        {"name": "add", "arguments": "{\"b\": 1}"}},
      {"id": "c2", "type": "function", "function":
        {"name": "add", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "1"},
    {"role": "tool", "tool_call_id": "c2", "content": "2"}])";
constexpr std::string_view kMessagesTalk = R"("max_tokens": 9, "messages": [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": [
      {"type": "tool_use", "id": "c1", "name": "add", "input": {"b": 1}},
      {"type": "tool_use", "id": "c2", "name": "add", "input": {}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "c1", "content": "1"},
      {"type": "tool_result", "tool_use_id": "c2", "content": "2"}]}])";
constexpr std::string_view kResponsesTalk = R"("input": [
    {"role": "user", "content": "q"},
    {"type": "function_call", "call_id": "c1", "name": "add",
     "arguments": "{\"b\": 1}"},
    {"type": "function_call", "call_id": "c2", "name": "add",
     "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "1"},
    {"type": "function_call_output", "call_id": "c2", "output": "2"}])";

// The three forms make the same conversation.
TEST(ToolRequests, haveCallsAndResults) {
  auto expected = [](std::string_view content, std::string_view first,
                     std::string_view second) {
    return strCat(R"({"role": "user", "content": "q"})", "\n",
                  R"({"role": "assistant", "content": )", content,
                  R"(, "tool_calls": [{"id": "c1", "type": "function", )"
                  R"("function": {"name": "add", "arguments": )",
                  first,
                  R"(}}, {"id": "c2", "type": "function", "function": )"
                  R"({"name": "add", "arguments": )",
                  second, "}}]}\n");
  };
  ToolRig plain, text(ToolFormat::DeepSeekV3, {true, true});
  std::string asObjects = expected(R"("")", R"({"b": 1})", "{}");
  std::string asTexts = expected("null", R"("{\"b\": 1}")", R"("{}")");
  for (auto [form, fields] :
       {std::pair(AnswerForm::OpenAi, kChatTalk),
        std::pair(AnswerForm::Messages, kMessagesTalk),
        std::pair(AnswerForm::Responses, kResponsesTalk)}) {
    std::string prompt = plain.prompt(form, fields);
    EXPECT_TRUE(prompt.starts_with(asObjects)) << prompt;
    EXPECT_NE(prompt.find("\"tool_call_id\": \"c2\""), prompt.npos);
    prompt = text.prompt(form, fields);
    // A client's text of arguments stays as it is.
    if (form == AnswerForm::Messages)
      EXPECT_NE(prompt.find(R"("arguments": "{\"b\":1}")"), prompt.npos)
          << prompt;
    else
      EXPECT_TRUE(prompt.starts_with(asTexts)) << prompt;
  }
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

TEST(ToolAnswers, areOpenAis) {
  ToolRig rig;
  Answered one(rig, AnswerForm::OpenAi);
  std::string text = strCat("<think>hm</think>Two:\n", kCall, "\n", kCall);
  std::string json = one.whole(text);
  EXPECT_EQ(at(json, "/choices/0/finish_reason"), "tool_calls") << json;
  EXPECT_EQ(at(json, "/choices/0/message/content"), "Two:");
  EXPECT_EQ(at(json, "/choices/0/message/reasoning_content"), "hm");
  for (const char *call :
       {"/choices/0/message/tool_calls/0", "/choices/0/message/tool_calls/1"}) {
    EXPECT_EQ(at(json, (std::string(call) + "/type").c_str()), "function");
    EXPECT_EQ(at(json, (std::string(call) + "/function/name").c_str()), "add");
    EXPECT_EQ(at(json, (std::string(call) + "/function/arguments").c_str()),
              kArguments);
  }
  std::string id = at(json, "/choices/0/message/tool_calls/0/id");
  EXPECT_TRUE(id.starts_with("call_")) << id;
  EXPECT_EQ(id.size(), 29u);
  EXPECT_NE(at(json, "/choices/0/message/tool_calls/1/id"), id);
  EXPECT_EQ(at(one.whole(kCall), "/choices/0/message/content"), "null");
  // Without calls the message is a chat's.
  json = one.whole("Hi");
  EXPECT_EQ(at(json, "/choices/0/message/content"), "Hi");
  EXPECT_EQ(at(json, "/choices/0/message/tool_calls"), "nothing");
  EXPECT_EQ(at(json, "/choices/0/finish_reason"), "stop");
}

TEST(ToolAnswers, areStreamedAsOpenAis) {
  ToolRig rig;
  Answered one(rig, AnswerForm::OpenAi);
  std::string text = strCat("Two:\n", kCall, "\n", kCall, "\nDone");
  std::string expected =
      strCat("Two:\nDone | add ", kArguments, " | add ", kArguments);
  for (size_t most : {4, 64, 1000}) {
    std::vector<std::string> events =
        one.events(text, FinishReason::Stop, most);
    EXPECT_EQ(joined(events), expected);
    EXPECT_EQ(events.back(), "[DONE]");
    EXPECT_EQ(at(events[events.size() - 2], "/choices/0/finish_reason"),
              "tool_calls");
  }
  // The arguments arrive in more than one delta.
  std::vector<std::string> events = one.events(kCall);
  size_t deltas = 0;
  for (const std::string &event : events)
    deltas += at(event, "/choices/0/delta/tool_calls") != "nothing";
  EXPECT_GT(deltas, 10u);
}

TEST(ToolAnswers, keepABrokenCallAsContent) {
  ToolRig rig;
  Answered one(rig, AnswerForm::OpenAi);
  for (size_t end = 1; end < kCall.size(); ++end) {
    std::string cut(kCall.substr(0, end));
    std::string json = one.whole(cut, FinishReason::Length);
    EXPECT_EQ(at(json, "/choices/0/message/content"), cut);
    EXPECT_EQ(at(json, "/choices/0/message/tool_calls"), "nothing");
    EXPECT_EQ(at(json, "/choices/0/finish_reason"), "length");
    // A stream cannot take deltas back, but its content has the call.
    std::string streamed = joined(one.events(cut, FinishReason::Length));
    EXPECT_EQ(streamed.substr(0, streamed.find(" | ")), cut);
  }
  std::string json =
      one.whole(strCat(kCall, " and <tool_call>{"), FinishReason::Length);
  EXPECT_EQ(at(json, "/choices/0/finish_reason"), "length");
  EXPECT_EQ(at(json, "/choices/0/message/content"), " and <tool_call>{");
  EXPECT_EQ(at(json, "/choices/0/message/tool_calls/0/function/name"), "add");
}

TEST(ToolAnswers, endAfterTheOnlyCall) {
  ToolRig rig;
  Answered one(rig, AnswerForm::OpenAi, R"(, "parallel_tool_calls": false)");
  std::string text = strCat("a ", kCall, kCall, " b");
  std::string json = one.whole(text, FinishReason::Length);
  EXPECT_EQ(at(json, "/choices/0/finish_reason"), "tool_calls");
  EXPECT_EQ(at(json, "/choices/0/message/content"), "a");
  EXPECT_EQ(at(json, "/choices/0/message/tool_calls/1"), "nothing");
  EXPECT_EQ(joined(one.events(text)), strCat("a | add ", kArguments));
  Choice choice = one.choice();
  ASSERT_TRUE(choice.take(Answered::tokensOf(kCall)).isOk());
  EXPECT_TRUE(choice.hasStopped());
  EXPECT_TRUE(choice.isComplete());
  Answered other(rig, AnswerForm::Messages, R"(, "tool_choice":
      {"type": "auto", "disable_parallel_tool_use": true})");
  json = other.whole(text);
  EXPECT_EQ(at(json, "/content/1/type"), "tool_use");
  EXPECT_EQ(at(json, "/content/2"), "nothing");
}

TEST(ToolAnswers, stopAtStopStrings) {
  ToolRig rig;
  Answered one(rig, AnswerForm::OpenAi);
  ChoiceOptions options;
  options.tokenizer = one.tokenizer;
  options.tools = &one.request.tools;
  options.stops = {"arguments"};
  Choice choice(options);
  ASSERT_TRUE(choice.take(Answered::tokensOf(kCall)).isOk());
  EXPECT_TRUE(choice.hasStopped());
  EXPECT_EQ(choice.callCount(), 0u);
  ChoicePart part = Answered::partOf(choice, SIZE_MAX);
  std::vector<AnswerBlock> blocks = blocksOf(part.text, part.pieces);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].text, R"(<tool_call>{"name": "add", ")");
}

TEST(ToolAnswers, haveIdsThatMistralsTemplatesTake) {
  ToolRig rig(ToolFormat::Mistral);
  Answered one(rig, AnswerForm::OpenAi);
  std::string json = one.whole(R"([TOOL_CALLS]add[ARGS]{"b": 1})");
  std::string id = at(json, "/choices/0/message/tool_calls/0/id");
  EXPECT_EQ(id.size(), 9u) << json;
  EXPECT_TRUE(ToolSet::isName(id));
}

TEST(ToolAnswers, areAnthropics) {
  ToolRig rig;
  Answered one(rig, AnswerForm::Messages);
  std::string text =
      strCat("<think>hm</think>Two:\n", kCall, "\n", kCall, "\nDone");
  std::string json = one.whole(text);
  EXPECT_EQ(at(json, "/stop_reason"), "tool_use") << json;
  EXPECT_EQ(at(json, "/content/0/thinking"), "hm");
  EXPECT_EQ(at(json, "/content/1/text"), "Two:");
  EXPECT_EQ(at(json, "/content/2/type"), "tool_use");
  EXPECT_EQ(at(json, "/content/2/name"), "add");
  EXPECT_EQ(at(json, "/content/2/input/a"), "x");
  EXPECT_EQ(at(json, "/content/3/type"), "tool_use");
  EXPECT_EQ(at(json, "/content/4/text"), "\nDone");
  EXPECT_TRUE(at(json, "/content/2/id").starts_with("toolu_"));
  EXPECT_EQ(at(one.whole(kCall), "/content/0/type"), "tool_use");

  std::string shown;
  std::vector<std::string> events = one.events(text);
  for (const std::string &event : events) {
    std::string type = at(event, "/type");
    if (type == "content_block_start")
      shown +=
          "<" + at(event, "/index") + at(event, "/content_block/type") + ":";
    else if (type == "content_block_stop")
      shown += ">";
    for (const char *member : {"text", "thinking", "partial_json"})
      if (std::string more = at(event, strCat("/delta/", member).c_str());
          more != "nothing")
        shown += more;
  }
  EXPECT_EQ(shown, strCat("<0thinking:hm><1text:Two:><2tool_use:", kArguments,
                          "><3tool_use:", kArguments, "><4text:\nDone>"));
  EXPECT_EQ(at(events[events.size() - 2], "/delta/stop_reason"), "tool_use");
}

TEST(ToolAnswers, areResponses) {
  ToolRig rig;
  Answered one(rig, AnswerForm::Responses,
               R"(, "tool_choice": "auto", "parallel_tool_calls": true)");
  std::string text = strCat("Two:\n", kCall, "\n", kCall);
  std::string json = one.whole(text);
  EXPECT_EQ(at(json, "/output/0/content/0/text"), "Two:") << json;
  for (const char *item : {"/output/1", "/output/2"}) {
    auto member = [&](const char *name) {
      return at(json, strCat(item, "/", name).c_str());
    };
    EXPECT_EQ(member("type"), "function_call");
    EXPECT_EQ(member("name"), "add");
    EXPECT_EQ(member("arguments"), kArguments);
    EXPECT_EQ(member("status"), "completed");
    EXPECT_TRUE(member("call_id").starts_with("call_"));
    EXPECT_TRUE(member("id").starts_with("fc_"));
  }
  EXPECT_EQ(at(json, "/tools/0/name"), "add");
  EXPECT_EQ(at(json, "/status"), "completed");

  std::string shown;
  std::vector<std::string> events = one.events(text);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(at(events[i], "/sequence_number"), std::to_string(i));
    std::string type = at(events[i], "/type");
    if (type == "response.output_item.added")
      shown += "<" + at(events[i], "/item/type") + ":";
    else if (type == "response.output_item.done")
      shown += at(events[i], "/item/status") + ">";
    else if (type.ends_with(".delta"))
      shown += at(events[i], "/delta");
    else if (type == "response.function_call_arguments.done")
      EXPECT_EQ(at(events[i], "/arguments"), kArguments);
  }
  EXPECT_EQ(shown,
            strCat("<message:Two:completed><function_call:", kArguments,
                   "completed><function_call:", kArguments, "completed>"));
  EXPECT_EQ(at(events.back(), "/response/output/2/arguments"), kArguments);
  // A call that breaks is incomplete, and its text is a message.
  events = one.events(kCall.substr(0, kCall.size() - 3), FinishReason::Length);
  EXPECT_EQ(at(events.back(), "/response/output/0/status"), "incomplete");
  EXPECT_EQ(at(events.back(), "/response/output/1/content/0/text"),
            kCall.substr(0, kCall.size() - 3));
}
