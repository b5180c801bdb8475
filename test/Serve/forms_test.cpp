//===- forms_test.cpp - Forms of other servers ----------------------------===//

#include "runtime/core/StrCat.h"
#include "test/Runtime/support/ByteTokenizer.h"
#include "test/Serve/RoutesRig.h"

#include <simdjson.h>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

constexpr const char *kTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</s>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/// Routes of a model with a tokenizer of bytes and a chat template.
struct Forms : RoutesRig {
  explicit Forms(std::string_view source = kTemplate)
      : tables(byteTokenizer()), tokenizer(*Tokenizer::load(tables)),
        chat(*ChatTemplate::parse({{{"default", std::string(source)}}, {}})) {
    facts.tokenizer = tokenizer.get();
    facts.chat = chat.get();
    facts.fingerprint = "mtpc-1";
  }

  /// Returns the prompt of a conversation, or the error's field.
  std::string prompt(std::string_view fields) {
    std::string json =
        ask("POST", "/apply-template", strCat("{", fields, "}")).reply.body;
    std::string text = at(json, "/prompt");
    return text == "nothing" ? at(json, "/error/param") : text;
  }

  static std::string at(const std::string &json, const char *pointer) {
    simdjson::dom::parser parser;
    simdjson::dom::element element;
    std::string_view text;
    if (parser.parse(json).at_pointer(pointer).get(element))
      return "nothing";
    return element.get(text) ? simdjson::minify(element) : std::string(text);
  }

  std::vector<uint8_t> tables;
  std::unique_ptr<Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat;
};

/// Returns the data of all events.
std::vector<std::string> dataOf(const std::string &events) {
  std::vector<std::string> all;
  constexpr std::string_view kData = "data: ";
  for (size_t begin = 0; (begin = events.find(kData, begin)) != events.npos;) {
    begin += kData.size();
    size_t end = events.find("\n\n", begin);
    all.push_back(events.substr(begin, end - begin));
  }
  return all;
}

} // namespace

//===----------------------------------------------------------------------===//
// llama-server
//===----------------------------------------------------------------------===//

TEST(Native, AnswersAsLlamaServerDoes) {
  Forms rig;
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
    EXPECT_EQ(Forms::at(json, "/tokens"), ids + "]") << json;
    EXPECT_EQ(Forms::at(json, "/stop"), "true");
    EXPECT_EQ(Forms::at(json, "/stop_type"), "limit");
    EXPECT_EQ(Forms::at(json, "/stopping_word"), "");
    EXPECT_EQ(Forms::at(json, "/prompt"), "\x03\x01\x04");
    EXPECT_EQ(Forms::at(json, "/tokens_predicted"), "5");
    EXPECT_EQ(Forms::at(json, "/tokens_evaluated"), "3");
    EXPECT_EQ(Forms::at(json, "/truncated"), "false");
    EXPECT_EQ(Forms::at(json, "/generation_settings/n_predict"), "5");
    EXPECT_EQ(Forms::at(json, "/timings/prompt_n"), "3");
    EXPECT_EQ(Forms::at(json, "/timings/predicted_n"), "5");
    EXPECT_EQ(Forms::at(json, "/choices"), "nothing");
  }
  // Several prompts are an array. Without a limit the context is one.
  std::string json = rig.post("/completion", R"({"prompt": [[1], [2, 3]]})");
  EXPECT_EQ(Forms::at(json, "/1/index"), "1") << json;
  EXPECT_EQ(Forms::at(json, "/1/tokens_predicted"), "94");
  EXPECT_EQ(Forms::at(json, "/1/tokens"), "[]");
}

TEST(Native, StreamsAsLlamaServerDoes) {
  Forms rig;
  std::vector<std::string> events = dataOf(rig.post(
      "/completion", R"({"prompt": [3, 1], "n_predict": 6, "stream": true,
                  "timings_per_token": true, "return_progress": true})"));
  ASSERT_GE(events.size(), 2u);
  uint64_t progress = 0;
  for (const std::string &event : events) {
    bool isLast = &event == &events.back();
    EXPECT_EQ(Forms::at(event, "/stop"), isLast ? "true" : "false") << event;
    EXPECT_NE(Forms::at(event, "/timings/predicted_n"), "nothing") << event;
    EXPECT_EQ(Forms::at(event, "/stop_type"), isLast ? "limit" : "nothing");
    progress += Forms::at(event, "/prompt_progress/total") == "2";
  }
  EXPECT_GE(progress, 1u);
  EXPECT_EQ(Forms::at(events.back(), "/content"), "");
}

TEST(Native, SaysWhatStopped) {
  Forms rig;
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
  EXPECT_EQ(Forms::at(json, "/stop_type"), "word") << json;
  EXPECT_EQ(Forms::at(json, "/stopping_word"), both);
  json = rig.post("/v1/completions", stop + "}");
  EXPECT_EQ(Forms::at(json, "/choices/0/stop_reason"), both);
  std::string kept = rig.post(
      "/v1/completions", stop + R"(, "include_stop_str_in_output": true})");
  EXPECT_EQ(Forms::at(kept, "/choices/0/text"),
            Forms::at(json, "/choices/0/text") + both);
  // A stop token is named as well, but not an end token of the model.
  std::string token =
      strCat(R"({"prompt": [3, 1, 4], "max_tokens": 20, "stop_token_ids": [)",
             tokens[3], "]");
  json = rig.post("/v1/completions", token + "}");
  EXPECT_EQ(Forms::at(json, "/choices/0/stop_reason"),
            std::to_string(tokens[3]));
  kept = rig.post("/v1/completions",
                  token + R"(, "include_stop_str_in_output": true})");
  EXPECT_EQ(Forms::at(kept, "/choices/0/text"),
            Forms::at(json, "/choices/0/text") + char(tokens[3]));
  json = rig.complete(R"({"prompt": [3], "max_tokens": 2})");
  EXPECT_EQ(Forms::at(json, "/choices/0/stop_reason"), "null");
  EXPECT_EQ(Forms::at(json, "/system_fingerprint"), "mtpc-1");
}

TEST(Native, TakesPromptsOfTextsAndIds) {
  Forms rig;
  auto idsOf = [&](const char *prompt) {
    return Forms::at(rig.complete(strCat("{\"prompt\": ", prompt,
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
    EXPECT_EQ(Forms::at(rig.complete(strCat("{\"prompt\": ", prompt, "}")),
                        "/error/param"),
              "prompt")
        << prompt;
}

TEST(Native, HasItsOtherPaths) {
  Forms rig;
  for (const char *path : {"/models", "/models/alias", "/v1/health", "/ping",
                           "/load", "/slots", "/props"})
    EXPECT_EQ(rig.ask("GET", path).reply.status, 200u) << path;
  EXPECT_EQ(rig.ask("POST", "/ping", "", "").reply.status, 200u);
  EXPECT_EQ(rig.ask("GET", "/models/none").reply.status, 404u);
  EXPECT_EQ(rig.ask("GET", "/modelsnone").reply.status, 404u);
  EXPECT_EQ(rig.ask("GET", "/load").reply.body, "{\"server_load\": 0}");
  std::string slots = rig.ask("GET", "/slots").reply.body;
  EXPECT_EQ(Forms::at(slots, "/3/id"), "3");
  EXPECT_EQ(Forms::at(slots, "/0/is_processing"), "false");
  EXPECT_EQ(Forms::at(slots, "/4"), "nothing");
  std::string props = rig.ask("GET", "/props").reply.body;
  EXPECT_EQ(Forms::at(props, "/default_generation_settings/n_ctx"), "96");
  EXPECT_EQ(Forms::at(props, "/chat_template"), kTemplate);
  EXPECT_EQ(Forms::at(props, "/modalities/vision"), "false");
}

TEST(Native, TokenizesWithItsDefaults) {
  Forms rig;
  rig.facts.generation.bos = 60;
  rig.facts.generation.addBos = true;
  auto tokens = [&](const char *body) {
    return Forms::at(rig.ask("POST", "/tokenize", body).reply.body, "/tokens");
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
  EXPECT_EQ(Forms::at(json, "/count"), "9") << json;
  EXPECT_EQ(Forms::at(json, "/token_strs/1"), "u");
  json = rig.ask("POST", "/tokenize", R"({"messages": 3})").reply.body;
  EXPECT_EQ(Forms::at(json, "/error/param"), "messages");
}

//===----------------------------------------------------------------------===//
// Answers that continue a message
//===----------------------------------------------------------------------===//

TEST(Continuation, FollowsTheLastMessage) {
  Forms rig;
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
  Forms rig(
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}"
      "{% endif %}{% endfor %}{% if add_generation_prompt %}>{% endif %}");
  const char *fields = R"("messages": [{"role": "user", "content": "Hi"},
                            {"role": "assistant", "content": "So"}])";
  EXPECT_EQ(rig.prompt(fields), "Hi>So");
}
