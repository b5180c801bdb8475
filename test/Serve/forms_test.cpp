//===- forms_test.cpp - Forms of other servers ----------------------------===//

#include "test/Serve/TextRig.h"
#include "tools/mtp-serve/api/AnswerWriter.h"
#include "tools/mtp-serve/api/Prompts.h"
#include "tools/mtp-serve/api/RequestParser.h"

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

//===----------------------------------------------------------------------===//
// llama-server
//===----------------------------------------------------------------------===//

TEST(Native, AnswersAsLlamaServerDoes) {
  TextRig rig;
  Request request;
  request.prompt = {3, 1, 4};
  request.maxTokens = 5;
  std::vector<int32_t> tokens = expectedOutput(request).tokens;
  for (const char *path : {"/completion", "/completions"}) {
    std::string json = rig.post(
        path, R"({"prompt": [3, 1, 4], "n_predict": 5, "return_tokens": true,
                  "cache_prompt": true, "id_slot": -1, "k": 2})");
    std::string ids;
    for (int32_t token : tokens)
      ids += (ids.empty() ? "[" : ",") + std::to_string(token);
    EXPECT_EQ(TextRig::at(json, "/tokens"), ids + "]") << json;
    EXPECT_EQ(TextRig::at(json, "/stop"), "true");
    EXPECT_EQ(TextRig::at(json, "/stop_type"), "limit");
    EXPECT_EQ(TextRig::at(json, "/stopping_word"), "");
    EXPECT_EQ(TextRig::at(json, "/prompt"), "\x03\x01\x04");
    EXPECT_EQ(TextRig::at(json, "/tokens_predicted"), "5");
    EXPECT_EQ(TextRig::at(json, "/tokens_evaluated"), "3");
    EXPECT_EQ(TextRig::at(json, "/truncated"), "false");
    EXPECT_EQ(TextRig::at(json, "/generation_settings/n_predict"), "5");
    EXPECT_EQ(TextRig::at(json, "/timings/prompt_n"), "3");
    EXPECT_EQ(TextRig::at(json, "/timings/predicted_n"), "5");
    EXPECT_EQ(TextRig::at(json, "/choices"), "nothing");
  }
  // Several prompts are an array. Without a limit the context is one.
  std::string json = rig.post("/completion", R"({"prompt": [[1], [2, 3]]})");
  EXPECT_EQ(TextRig::at(json, "/1/index"), "1") << json;
  EXPECT_EQ(TextRig::at(json, "/1/tokens_predicted"), "94");
  EXPECT_EQ(TextRig::at(json, "/1/tokens"), "[]");
}

TEST(Native, StreamsAsLlamaServerDoes) {
  TextRig rig;
  std::vector<std::string> events = dataOf(rig.post(
      "/completion", R"({"prompt": [3, 1], "n_predict": 6, "stream": true,
                  "timings_per_token": true, "return_progress": true})"));
  ASSERT_GE(events.size(), 2u);
  uint64_t progress = 0;
  for (const std::string &event : events) {
    bool isLast = &event == &events.back();
    EXPECT_EQ(TextRig::at(event, "/stop"), isLast ? "true" : "false") << event;
    EXPECT_NE(TextRig::at(event, "/timings/predicted_n"), "nothing") << event;
    EXPECT_EQ(TextRig::at(event, "/stop_type"), isLast ? "limit" : "nothing");
    progress += TextRig::at(event, "/prompt_progress/total") == "2";
  }
  EXPECT_GE(progress, 1u);
  EXPECT_EQ(TextRig::at(events.back(), "/content"), "");
}

TEST(Native, SaysWhatStopped) {
  TextRig rig;
  Request request;
  request.prompt = {3, 1, 4};
  request.maxTokens = 20;
  std::vector<int32_t> tokens = expectedOutput(request).tokens;
  JsonWriter word(JsonWriter::Layout::OneLine);
  const std::string both{char(tokens[3]), char(tokens[4])};
  word.value(both);
  std::string stop = strCat(
      R"({"prompt": [3, 1, 4], "max_tokens": 20, "stop": )", word.text());
  std::string json = rig.post("/completion", stop + "}");
  EXPECT_EQ(TextRig::at(json, "/stop_type"), "word") << json;
  EXPECT_EQ(TextRig::at(json, "/stopping_word"), both);
  json = rig.post("/v1/completions", stop + "}");
  EXPECT_EQ(TextRig::at(json, "/choices/0/stop_reason"), both);
  std::string kept = rig.post(
      "/v1/completions", stop + R"(, "include_stop_str_in_output": true})");
  EXPECT_EQ(TextRig::at(kept, "/choices/0/text"),
            TextRig::at(json, "/choices/0/text") + both);
  // A stop token is named as well, but not an end token of the model.
  std::string token =
      strCat(R"({"prompt": [3, 1, 4], "max_tokens": 20, "stop_token_ids": [)",
             tokens[3], "]");
  json = rig.post("/v1/completions", token + "}");
  EXPECT_EQ(TextRig::at(json, "/choices/0/stop_reason"),
            std::to_string(tokens[3]));
  kept = rig.post("/v1/completions",
                  token + R"(, "include_stop_str_in_output": true})");
  EXPECT_EQ(TextRig::at(kept, "/choices/0/text"),
            TextRig::at(json, "/choices/0/text") + char(tokens[3]));
  json = rig.complete(R"({"prompt": [3], "max_tokens": 2})");
  EXPECT_EQ(TextRig::at(json, "/choices/0/stop_reason"), "null");
  EXPECT_EQ(TextRig::at(json, "/system_fingerprint"), "mtpc-1");
}

TEST(Native, TakesPromptsOfTextsAndIds) {
  TextRig rig;
  auto idsOf = [&](const char *prompt) {
    return TextRig::at(rig.complete(strCat("{\"prompt\": ", prompt,
                                           ", \"max_tokens\": 1, "
                                           "\"return_token_ids\": true}")),
                       "/choices/0/prompt_token_ids");
  };
  EXPECT_EQ(idsOf(R"([1, 2, "!", 3])"), "[1,2,33,3]");
  EXPECT_EQ(idsOf(R"(["!", 3])"), "[33,3]");
  EXPECT_EQ(idsOf(R"([["!", 3, 4.0], "!"])"), "[33,3,4]");
  EXPECT_EQ(idsOf(R"(["!", "!!"])"), "[33]");
  for (const char *prompt :
       {R"([1, "a", 64])", R"([1, "a", null])", R"([1, "a", 1.5])",
        R"([1, "a", ["b"]])", R"([[[1, "a"]]])"})
    EXPECT_EQ(TextRig::at(rig.complete(strCat("{\"prompt\": ", prompt, "}")),
                          "/error/param"),
              "prompt")
        << prompt;
}

TEST(Native, HasItsOtherPaths) {
  TextRig rig;
  for (const char *path : {"/models", "/models/alias", "/v1/health", "/ping",
                           "/load", "/slots", "/props"})
    EXPECT_EQ(rig.ask("GET", path).reply.status, 200u) << path;
  EXPECT_EQ(rig.ask("POST", "/ping", "", "").reply.status, 200u);
  EXPECT_EQ(rig.ask("GET", "/models/none").reply.status, 404u);
  EXPECT_EQ(rig.ask("GET", "/modelsnone").reply.status, 404u);
  EXPECT_EQ(rig.ask("GET", "/load").reply.body, "{\"server_load\": 0}");
  std::string slots = rig.ask("GET", "/slots").reply.body;
  EXPECT_EQ(TextRig::at(slots, "/3/id"), "3");
  EXPECT_EQ(TextRig::at(slots, "/0/is_processing"), "false");
  EXPECT_EQ(TextRig::at(slots, "/4"), "nothing");
  std::string props = rig.ask("GET", "/props").reply.body;
  EXPECT_EQ(TextRig::at(props, "/default_generation_settings/n_ctx"), "96");
  EXPECT_EQ(TextRig::at(props, "/chat_template"), kChatTemplate);
  EXPECT_EQ(TextRig::at(props, "/modalities/vision"), "false");
}

TEST(Native, TokenizesWithItsDefaults) {
  TextRig rig;
  rig.facts.generation.bos = 60;
  rig.facts.generation.addBos = true;
  auto tokens = [&](const char *body) {
    return TextRig::at(rig.ask("POST", "/tokenize", body).reply.body,
                       "/tokens");
  };
  EXPECT_EQ(tokens(R"({"content": "a"})"), "[97]");
  EXPECT_EQ(tokens(R"({"content": "a", "add_special": true})"), "[60,97]");
  EXPECT_EQ(tokens(R"({"add_special": true, "content": "a"})"), "[60,97]");
  EXPECT_EQ(tokens(R"({"prompt": "a"})"), "[60,97]");
  EXPECT_EQ(tokens(R"({"prompt": "a", "add_special_tokens": false})"), "[97]");
  std::string json = rig.ask("POST", "/tokenize",
                             R"({"messages": [{"role": "u", "content": "hi"}],
                  "add_generation_prompt": false, "return_token_strs": true})")
                         .reply.body;
  EXPECT_EQ(TextRig::at(json, "/count"), "9") << json;
  EXPECT_EQ(TextRig::at(json, "/token_strs/1"), "u");
  json = rig.ask("POST", "/tokenize", R"({"messages": 3})").reply.body;
  EXPECT_EQ(TextRig::at(json, "/error/param"), "messages");
}

//===----------------------------------------------------------------------===//
// Answers that continue a message
//===----------------------------------------------------------------------===//

TEST(Continuation, FollowsTheLastMessage) {
  TextRig rig;
  const std::string user = R"({"role": "user", "content": "Hi"})";
  auto talk = [&](const char *content, const char *fields = "",
                  const char *role = "assistant") {
    return rig.prompt(strCat("\"messages\": [", user, R"(, {"role": ")", role,
                             R"(", "content": )", content, "}]", fields));
  };
  const std::string begin = "<user>Hi</s><assistant>";
  EXPECT_EQ(talk("\"So\""), begin + "So");
  // The template trims the text. Space at its end is the template's to keep.
  EXPECT_EQ(talk("\"\\n So \""), begin + "So");
  // Parts are joined.
  EXPECT_EQ(talk(R"([{"type": "text", "text": "So"}])"), begin + "So");
  // A message without a text is continued only if the request says so.
  EXPECT_EQ(talk("null"), begin + "</s><assistant>");
  EXPECT_EQ(talk("\"\"", ", \"continue_final_message\": true"), begin);
  // vLLM's fields.
  EXPECT_EQ(talk("\"So\"", ", \"continue_final_message\": true"), begin + "So");
  EXPECT_EQ(talk("\"So\"", R"(, "continue_final_message": true,
                              "add_generation_prompt": false)"),
            begin + "So");
  for (const char *fields : {", \"add_generation_prompt\": true",
                             ", \"continue_final_message\": false"})
    EXPECT_EQ(talk("\"So\"", fields), begin + "So</s><assistant>") << fields;
  EXPECT_EQ(talk("\"So\"", ", \"add_generation_prompt\": false"),
            begin + "So</s>");
  EXPECT_EQ(talk("\"So\"", R"(, "continue_final_message": true,
                              "add_generation_prompt": true)"),
            "continue_final_message");
  // A user's message is continued only if the request says so.
  EXPECT_EQ(talk("\"So\"", "", "user"), "<user>Hi</s><user>So</s><assistant>");
  EXPECT_EQ(talk("\"So\"", ", \"continue_final_message\": true", "user"),
            "<user>Hi</s><user>So");
}

TEST(Continuation, NeedsNoTemplateThatShowsTheText) {
  TextRig rig(
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}"
      "{% endif %}{% endfor %}{% if add_generation_prompt %}>{% endif %}");
  const char *fields = R"("messages": [{"role": "user", "content": "Hi"},
                            {"role": "assistant", "content": "So"}])";
  EXPECT_EQ(rig.prompt(fields), "Hi>So");
}

//===----------------------------------------------------------------------===//
// Anthropic's messages
//===----------------------------------------------------------------------===//

namespace {

/// Returns the names of all events.
std::vector<std::string> namesOf(const std::string &events) {
  std::vector<std::string> all;
  constexpr std::string_view kName = "event: ";
  for (size_t begin = 0; (begin = events.find(kName, begin)) != events.npos;) {
    begin += kName.size();
    all.push_back(events.substr(begin, events.find('\n', begin) - begin));
  }
  return all;
}

/// A template with which prompts of punctuation have ids of the fake model.
constexpr const char *kPlain =
    "{% for m in messages %}{{ m.content }}{% endfor %}";

/// Concatenates a member of all events that have it.
std::string joined(const std::vector<std::string> &events,
                   const char *pointer) {
  std::string text;
  for (const std::string &event : events)
    if (std::string part = TextRig::at(event, pointer); part != "nothing")
      text += part;
  return text;
}

} // namespace

TEST(Messages, AreAnsweredAsAnthropicDoes) {
  TextRig rig(kPlain);
  const std::string fields =
      R"({"model": "claude", "max_tokens": 9, "system": [{"type": "text",
          "text": "!", "cache_control": {"type": "ephemeral"}}],
          "messages": [{"role": "user", "content": "#"}],
          "metadata": {"user_id": "u"}, "temperature": 0)";
  std::string json = rig.post("/v1/messages", fields + "}");
  EXPECT_EQ(TextRig::at(json, "/type"), "message") << json;
  EXPECT_EQ(TextRig::at(json, "/id"), "msg_id");
  EXPECT_EQ(TextRig::at(json, "/role"), "assistant");
  EXPECT_EQ(TextRig::at(json, "/content/0/type"), "text");
  EXPECT_EQ(TextRig::at(json, "/stop_reason"), "max_tokens");
  EXPECT_EQ(TextRig::at(json, "/stop_sequence"), "null");
  EXPECT_EQ(TextRig::at(json, "/usage/input_tokens"), "2");
  EXPECT_EQ(TextRig::at(json, "/usage/output_tokens"), "9");
  std::string text = TextRig::at(json, "/content/0/text");
  // A stream has the same text.
  std::string stream = rig.post("/v1/messages", fields + ", \"stream\": true}");
  std::vector<std::string> events = dataOf(stream), names = namesOf(stream);
  ASSERT_EQ(events.size(), names.size());
  for (size_t i = 0; i < events.size(); ++i)
    EXPECT_EQ(TextRig::at(events[i], "/type"), names[i]);
  EXPECT_EQ(joined(events, "/delta/text"), text);
  EXPECT_EQ(names.front(), "message_start");
  EXPECT_EQ(names[1], "content_block_start");
  EXPECT_EQ(names[names.size() - 3], "content_block_stop");
  EXPECT_EQ(names[names.size() - 2], "message_delta");
  EXPECT_EQ(names.back(), "message_stop");
  EXPECT_EQ(TextRig::at(events.front(), "/message/content"), "[]");
  EXPECT_EQ(TextRig::at(events[events.size() - 2], "/delta/stop_reason"),
            "max_tokens");
  EXPECT_EQ(TextRig::at(events[events.size() - 2], "/usage/output_tokens"),
            "9");
  // A stop string.
  JsonWriter stop(JsonWriter::Layout::OneLine);
  stop.value(text.substr(2, 2));
  json = rig.post("/v1/messages",
                  strCat(fields, ", \"stop_sequences\": [", stop.text(), "]}"));
  EXPECT_EQ(TextRig::at(json, "/stop_reason"), "stop_sequence") << json;
  EXPECT_EQ(TextRig::at(json, "/stop_sequence"), text.substr(2, 2));
  json = rig.ask("POST", "/v1/messages/count_tokens",
                 R"({"model": "m", "system": "!",
                     "messages": [{"role": "user", "content": "##"}]})")
             .reply.body;
  EXPECT_EQ(json, "{\"input_tokens\": 3}");
}

TEST(Messages, NameTheFieldThatIsWrong) {
  TextRig rig;
  auto param = [&](const std::string &fields) {
    std::string json = rig.post("/v1/messages", "{" + fields + "}");
    EXPECT_EQ(TextRig::at(json, "/type"), "error") << json;
    EXPECT_EQ(TextRig::at(json, "/error/type"), "invalid_request_error");
    return TextRig::at(json, "/error/param");
  };
  auto content = [&](const char *block) {
    return param(strCat(R"("max_tokens": 1, "messages": [{"role": "user",
                           "content": [)",
                        block, "]}]"));
  };
  const std::string user = R"("messages": [{"role": "user", "content": "a"}])";
  EXPECT_EQ(param(user), "max_tokens");
  EXPECT_EQ(param("\"max_tokens\": 1"), "messages");
  EXPECT_EQ(param(R"("max_tokens": 1, "messages": [])"), "messages");
  EXPECT_EQ(param(R"("max_tokens": 1, "messages": [3])"), "messages[0]");
  EXPECT_EQ(param(R"("max_tokens": 1, "messages": [{"role": "tool"}])"),
            "messages[0].role");
  EXPECT_EQ(param(R"("max_tokens": 1, "messages": [{"role": "user"}])"),
            "messages[0].content");
  EXPECT_EQ(content(R"({"type": "image", "source": {}})"),
            "messages[0].content[0].type");
  EXPECT_EQ(content(R"({"type": "text"})"), "messages[0].content[0].text");
  EXPECT_EQ(content("3"), "messages[0].content[0].type");
  EXPECT_EQ(
      content(R"({"type": "tool_result", "content": [{"type": "image"}]})"),
      "messages[0].content[0].content[0].type");
  for (auto [field, name] : std::vector<std::pair<const char *, const char *>>{
           {R"("system": [{"type": "image"}])", "system[0].type"},
           {R"("system": 3)", "system"},
           {R"("tools": [{"name": "a"}])", "tools"},
           {R"("tool_choice": {"type": "any"})", "tool_choice"},
           {R"("stop_sequences": [3])", "stop_sequences"},
           {R"("output_config": {"format": {"type": "x"}})",
            "output_config.format.type"},
           {R"("thinking": {"type": "x"})", "thinking"},
           {R"("n": 2)", "n"}})
    EXPECT_EQ(param(strCat("\"max_tokens\": 1, ", user, ", ", field)), name);
}

// Blocks become the messages that templates know.
TEST(Messages, BecomeAConversation) {
  TextRig rig("{% for m in messages %}{{ m }}\n{% endfor %}"
              "{{ enable_thinking }}{{ reasoning_effort }}");
  GenerationRequest request;
  MaybeError error = parseMessages(
      R"({"max_tokens": 1, "system": "be", "thinking": {"type": "enabled",
          "budget_tokens": 100}, "output_config": {"effort": "low"},
          "messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"},
                                     {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": [
           {"type": "thinking", "thinking": "hm", "signature": "s"},
           {"type": "tool_use", "id": "c1", "name": "f", "input": {"x": 1}}]},
        {"role": "user", "content": [
           {"type": "tool_result", "tool_use_id": "c1", "content": "3"},
           {"type": "text", "text": "so?"}]}]})",
      rig.facts, request);
  ASSERT_FALSE(error) << error->message;
  ChatPrompt prompt;
  error = renderChat(request, rig.facts, prompt);
  ASSERT_FALSE(error) << error->message;
  EXPECT_EQ(prompt.text,
            "{'role': 'system', 'content': 'be'}\n"
            "{'role': 'user', 'content': 'a\\nb'}\n"
            "{'role': 'assistant', 'content': '', 'reasoning_content': 'hm', "
            "'tool_calls': [{'id': 'c1', 'type': 'function', 'function': "
            "{'name': 'f', 'arguments': {'x': 1}}}]}\n"
            "{'role': 'tool', 'content': '3', 'tool_call_id': 'c1'}\n"
            "{'role': 'user', 'content': 'so?'}\nTruelow");
}

// Anthropic's prefill.
TEST(Messages, ContinueTheAssistantsText) {
  TextRig rig;
  GenerationRequest request;
  ASSERT_FALSE(parseMessages(
      R"({"max_tokens": 1, "messages": [{"role": "user", "content": "Hi"},
          {"role": "assistant",
           "content": [{"type": "text", "text": "So"}]}]})",
      rig.facts, request));
  ChatPrompt prompt;
  ASSERT_FALSE(renderChat(request, rig.facts, prompt));
  EXPECT_EQ(prompt.text, "<user>Hi</s><assistant>So");
}

//===----------------------------------------------------------------------===//
// OpenAI's responses
//===----------------------------------------------------------------------===//

TEST(Responses, AreAnsweredAsOpenAiDoes) {
  TextRig rig(kPlain);
  const std::string fields =
      R"({"model": "gpt", "max_output_tokens": 9, "instructions": "!",
          "input": "#", "store": true, "temperature": 0,
          "text": {"format": {"type": "text"}}, "truncation": "disabled",
          "reasoning": {"effort": "low", "summary": "auto"},
          "previous_response_id": null)";
  std::string json = rig.post("/v1/responses", fields + "}");
  EXPECT_EQ(TextRig::at(json, "/object"), "response") << json;
  EXPECT_EQ(TextRig::at(json, "/id"), "resp_id");
  EXPECT_EQ(TextRig::at(json, "/status"), "incomplete");
  EXPECT_EQ(TextRig::at(json, "/incomplete_details/reason"),
            "max_output_tokens");
  EXPECT_EQ(TextRig::at(json, "/output/0/type"), "message");
  EXPECT_EQ(TextRig::at(json, "/output/0/content/0/type"), "output_text");
  EXPECT_EQ(TextRig::at(json, "/instructions"), "!");
  EXPECT_EQ(TextRig::at(json, "/usage/input_tokens"), "2");
  EXPECT_EQ(TextRig::at(json, "/usage/output_tokens"), "9");
  std::string text = TextRig::at(json, "/output/0/content/0/text");
  std::string stream =
      rig.post("/v1/responses", fields + ", \"stream\": true}");
  std::vector<std::string> events = dataOf(stream), names = namesOf(stream);
  ASSERT_EQ(events.size(), names.size());
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(TextRig::at(events[i], "/type"), names[i]);
    EXPECT_EQ(TextRig::at(events[i], "/sequence_number"), std::to_string(i));
  }
  EXPECT_EQ(joined(events, "/delta"), text);
  EXPECT_EQ(std::vector<std::string>(names.begin(), names.begin() + 5),
            (std::vector<std::string>{
                "response.created", "response.in_progress",
                "response.output_item.added", "response.content_part.added",
                "response.output_text.delta"}));
  EXPECT_EQ(std::vector<std::string>(names.end() - 4, names.end()),
            (std::vector<std::string>{
                "response.output_text.done", "response.content_part.done",
                "response.output_item.done", "response.incomplete"}));
  EXPECT_EQ(TextRig::at(events[events.size() - 4], "/text"), text);
  EXPECT_EQ(TextRig::at(events.back(), "/response/output/0/content/0/text"),
            text);
}

TEST(Responses, SeparateReasoning) {
  TextRig rig("{% for m in messages %}{{ m.content }}{% endfor %}<think>");
  rig.facts.reasoning = ReasoningFormat::Think;
  rig.facts.vocab = 300;
  GenerationRequest request;
  ASSERT_FALSE(parseResponses(R"({"input": "#"})", rig.facts, request));
  std::unique_ptr<AnswerWriter> writer = makeWriter(request);
  ChoicePart part;
  part.isFirst = true;
  part.reasoning = "hm";
  std::string stream = writer->events({"r", "m", 0, ""}, part, {});
  part = {};
  part.text = "so";
  part.finish = FinishReason::Stop;
  stream += writer->events({"r", "m", 0, ""}, part, {});
  stream += writer->lastEvents({"r", "m", 0, ""}, {}, {});
  std::vector<std::string> events = dataOf(stream);
  EXPECT_EQ(TextRig::at(events[4], "/type"), "response.reasoning_text.delta");
  EXPECT_EQ(TextRig::at(events.back(), "/response/output/0/type"), "reasoning");
  EXPECT_EQ(TextRig::at(events.back(), "/response/output/0/content/0/text"),
            "hm");
  EXPECT_EQ(TextRig::at(events.back(), "/response/output/1/content/0/text"),
            "so");
  EXPECT_EQ(TextRig::at(events.back(), "/response/status"), "completed");
}

TEST(Responses, NameTheFieldThatIsWrong) {
  TextRig rig;
  auto param = [&](const std::string &fields) {
    return TextRig::at(rig.post("/v1/responses", "{" + fields + "}"),
                       "/error/param");
  };
  EXPECT_EQ(param(""), "input");
  EXPECT_EQ(param("\"input\": []"), "input");
  EXPECT_EQ(param("\"input\": 3"), "input");
  EXPECT_EQ(param(R"("input": [{"type": "item_reference", "id": "a"}])"),
            "input[0].type");
  EXPECT_EQ(param(R"("input": [{"role": "user"}])"), "input[0].content");
  EXPECT_EQ(param(R"("input": [{"content": "a"}])"), "input[0].role");
  EXPECT_EQ(param(R"("input": [{"role": "user", "content":
                     [{"type": "input_image"}]}])"),
            "input[0].content[0].type");
  for (auto [field, name] : std::vector<std::pair<const char *, const char *>>{
           {R"("previous_response_id": "resp_1")", "previous_response_id"},
           {R"("conversation": "c")", "conversation"},
           {R"("background": true)", "background"},
           {R"("truncation": "auto")", "truncation"},
           {R"("text": {"format": {"type": "json_schema"}})",
            "text.format.schema"},
           {R"("text": {"verbosity": "low"})", "text.verbosity"},
           {R"("reasoning": {"other": 1})", "reasoning.other"},
           {R"("include": ["message.input_image.image_url"])", "include[0]"},
           {R"("tools": [{"type": "web_search"}])", "tools[0].type"},
           {R"("prompt": {"id": "p"})", "prompt"}})
    EXPECT_EQ(param(strCat("\"input\": \"a\", ", field)), name);
}
