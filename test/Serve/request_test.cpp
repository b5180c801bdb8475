//===- request_test.cpp - Parsing of request bodies -----------------------===//

#include "mtp/session.h"
#include "runtime/core/StrCat.h"
#include "test/Runtime/support/ByteTokenizer.h"
#include "tools/mtp-serve/api/FieldReaders.h"
#include "tools/mtp-serve/api/KnownFields.h"
#include "tools/mtp-serve/api/Prompts.h"
#include "tools/mtp-serve/api/RequestParser.h"

#include <cstring>
#include <gtest/gtest.h>
#include <set>

using namespace mtp;
using namespace mtp::serve;
using namespace mtp::test;

namespace {

ModelFacts facts() {
  ModelFacts facts;
  facts.names = {"tiny", "other"};
  facts.vocab = 64;
  facts.maxContext = 96;
  facts.maxK = 3;
  facts.slots = 2;
  facts.generation.temperature = 0.5f;
  facts.generation.topP = 0.75f;
  return facts;
}

ModelFacts strictFacts() {
  ModelFacts strict = facts();
  strict.isStrict = true;
  return strict;
}

GenerationRequest parsed(std::string_view body,
                         const ModelFacts &model = facts()) {
  GenerationRequest request;
  MaybeError error = parseCompletion(body, model, request);
  EXPECT_FALSE(error) << body << ": " << error->message;
  return request;
}

ApiError refused(std::string_view body, const ModelFacts &model = facts()) {
  GenerationRequest request;
  MaybeError error = parseCompletion(body, model, request);
  EXPECT_TRUE(error) << body;
  return error.value_or(ApiError{0});
}

/// Returns a body with ids and one additional field.
std::string with(std::string_view field) {
  return strCat(R"({"prompt": [1, 2], )", field, "}");
}

} // namespace

TEST(Request, TheNewerOfTwoLengthsCounts) {
  for (const char *fields :
       {R"("max_tokens": 5, "max_completion_tokens": 7)",
        R"("max_completion_tokens": 7, "max_tokens": 5)",
        R"("max_completion_tokens": 7, "max_tokens": null)"})
    EXPECT_EQ(parsed(with(fields)).maxTokens, 7u) << fields;
  EXPECT_EQ(parsed(with(R"("max_tokens": 5)")).maxTokens, 5u);
  // Both are checked, and an error names the one that counts.
  EXPECT_EQ(
      refused(with(R"("max_completion_tokens": 7, "max_tokens": -2)")).param,
      "max_tokens");
  for (const char *field : {"max_tokens", "max_completion_tokens"}) {
    std::vector<PreparedPrompt> prompts;
    MaybeError error = preparePrompts(
        parsed(with(strCat("\"", field, "\": 95"))), strictFacts(), prompts);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->param, field);
    EXPECT_NE(error->message.find(field), std::string::npos);
  }
}

/// kubernetes-sigs/inference-perf#286: a field may have a number of any size.
/// If a field is used, the error names it.
TEST(Request, NumbersMayBeOfAnySize) {
  ApiError error = refused(with(R"("max_tokens": 18446744073709551616)"));
  EXPECT_EQ(error.param, "max_tokens");
  EXPECT_NE(error.message.find("18446744073709551616"), std::string::npos)
      << error.message;
  EXPECT_EQ(refused(with(R"("temperature": 1e999)")).param, "temperature");
}

TEST(Request, ErrorsAreText) {
  ApiError error = wrongField("a\xFF", "b\xC3(\xE2\x82");
  EXPECT_EQ(errorJson(error).find('\xFF'), std::string::npos);
  EXPECT_NE(errorJson(error).find("b\xEF\xBF\xBD(\xEF\xBF\xBD"),
            std::string::npos);
}

TEST(Request, DefaultsAreTheModels) {
  GenerationRequest request = parsed(R"({"prompt": [1, 2, 3]})");
  ASSERT_EQ(request.prompts.size(), 1u);
  EXPECT_EQ(request.prompts[0].ids, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_EQ(request.sampling.topP, 0.75f);
  EXPECT_FALSE(request.hasSeed);
  EXPECT_FALSE(request.maxTokens);
  EXPECT_EQ(request.k, Request::kSessions);
  EXPECT_EQ(request.n, 1u);
}

TEST(Request, TakesAllItsFields) {
  GenerationRequest r = parsed(R"({"model": "other", "prompt": [[1], [2, 3]],
    "max_tokens": 7, "temperature": 1.5, "top_p": 0.25, "top_k": 5,
    "min_p": 0.125, "seed": 18446744073709551615, "stop_token_ids": [4],
    "n": 3, "k": 2, "draft_p_min": 0.75,
    "echo": true, "ignore_eos": true, "stream": true,
    "stream_options": {"include_usage": true}, "return_token_ids": true,
    "return_round_tokens": true, "min_tokens": 6, "priority": -4,
    "cache_salt": "salt", "kind": "code", "timeout": 2.5,
    "skip_special_tokens": false, "add_special_tokens": false, "user": "u"})");
  EXPECT_EQ(r.model, "other");
  ASSERT_EQ(r.prompts.size(), 2u);
  EXPECT_EQ(r.prompts[1].ids, (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(r.maxTokens, 7u);
  EXPECT_EQ(r.sampling.temperature, 1.5f);
  EXPECT_EQ(r.sampling.topP, 0.25f);
  EXPECT_EQ(r.sampling.topK, 5u);
  EXPECT_EQ(r.sampling.minP, 0.125f);
  EXPECT_TRUE(r.hasSeed);
  EXPECT_EQ(r.sampling.seed, UINT64_MAX);
  EXPECT_EQ(r.stopTokens, (std::vector<int32_t>{4}));
  EXPECT_EQ(r.n, 3u);
  EXPECT_EQ(r.k, 2u);
  EXPECT_TRUE(r.echo && r.ignoreEos && r.streams && r.includesUsage);
  EXPECT_TRUE(r.returnsIds && r.returnsRounds);
  EXPECT_EQ(r.minTokens, 6u);
  EXPECT_EQ(r.priority, -4);
  EXPECT_EQ(r.cacheSalt, "salt");
  EXPECT_EQ(r.timeout, 2.5f);
  Request sequence = sequenceOf(r, facts(), {{1}, ""}, 0, 0);
  EXPECT_EQ(sequence.minTokens, 6u);
  EXPECT_EQ(sequence.priority, -4);
  EXPECT_EQ(sequence.cacheSalt, "salt");
  EXPECT_EQ(sequence.kind, "code");
  EXPECT_EQ(sequence.draftPMin, 0.75f);
  EXPECT_FALSE(r.skipSpecialTokens || r.addSpecialTokens);
  EXPECT_EQ(parsed(with(R"("k": "auto")")).k, Request::kAutomatic);
  EXPECT_EQ(parsed(with(R"("seed": -1)")).sampling.seed, UINT64_MAX);
  EXPECT_EQ(parsed(with(R"("top_k": -1)")).sampling.topK, 0u);
  EXPECT_EQ(parsed(with(R"("temperature": null)")).sampling.temperature, 0.5f);
}

// GuideLLM asks for it in each stream (bugreports/n: vllm-project/guidellm#603,
// sglang#12241, vllm#5742, lemma-platform#583).
TEST(Request, TakesUsageInEachPart) {
  for (const char *value : {"true", "false", "null"}) {
    GenerationRequest r = parsed(
        with(strCat(R"("stream": true, "stream_options": {"include_usage": true,
                  "continuous_usage_stats": )",
                    value, "}")));
    EXPECT_TRUE(r.includesUsage);
    EXPECT_EQ(r.hasUsageInAll, std::string_view(value) == "true");
  }
  EXPECT_FALSE(parsed(with(R"("stream_options":
      {"continuous_usage_stats": false})"))
                   .hasUsageInAll);
}

// 8 and 8.0 are one number in JSON, and some clients write the second.
TEST(Request, TakesWholeNumbersAsTheyAreWritten) {
  GenerationRequest r = parsed(R"({"prompt": [1.0, 2e0], "max_tokens": 8.0,
      "n": 2.0, "k": 3.0, "seed": 7.0, "top_k": 5e0, "priority": -4.0,
      "min_tokens": 1.0, "stop_token_ids": [9.0]})");
  ASSERT_EQ(r.prompts.size(), 1u);
  EXPECT_EQ(r.prompts[0].ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(r.maxTokens, 8u);
  EXPECT_EQ(r.n, 2u);
  EXPECT_EQ(r.k, 3u);
  EXPECT_EQ(r.sampling.seed, 7u);
  EXPECT_EQ(r.sampling.topK, 5u);
  EXPECT_EQ(r.priority, -4);
  EXPECT_EQ(r.minTokens, 1u);
  EXPECT_EQ(r.stopTokens, (std::vector<int32_t>{9}));
  EXPECT_EQ(parsed(with(R"("seed": -1.0)")).sampling.seed, UINT64_MAX);
  EXPECT_EQ(parsed(with(R"("seed": 9223372036854775808.0)")).sampling.seed,
            uint64_t(1) << 63);
  EXPECT_EQ(refused(with(R"("seed": 1e30)")).param, "seed");
  EXPECT_EQ(refused(R"({"prompt": [1.5]})").param, "prompt");
  // A number that is not whole is quoted unchanged.
  EXPECT_NE(refused(with(R"("max_tokens": 8.00000001)"))
                .message.find("got 8.00000001"),
            std::string::npos);
}

// llama-server's name of the field, which its clients send to any model.
TEST(Request, TakesTheConfidenceOfLlamaServer) {
  ModelFacts ending = facts();
  ending.endsDrafts = true;
  GenerationRequest r = parsed(with(R"("speculative.p_min": 0.25)"), ending);
  EXPECT_EQ(r.draftPMin, 0.25f);
  EXPECT_TRUE(r.ignored.empty());
  EXPECT_EQ(sequenceOf(r, facts(), {{1, 2}, ""}, 0, 0).draftPMin, 0.25f);
  EXPECT_FALSE(parsed(with(R"("speculative.p_min": 0.25)")).draftPMin);
  EXPECT_EQ(parsed(with(R"("draft_p_min": 0.25)")).draftPMin, 0.25f);
}

TEST(Request, NamesTheFieldThatIsWrong) {
  for (auto [field, name] : std::vector<std::pair<const char *, const char *>>{
           {R"("max_tokens": -2)", "max_tokens"},
           {R"("max_tokens": 2147483648)", "max_tokens"},
           {R"("max_tokens": 8.00000001)", "max_tokens"},
           {R"("max_tokens": 1.5)", "max_tokens"},
           {R"("max_tokens": "7")", "max_tokens"},
           {R"("temperature": -1)", "temperature"},
           {R"("temperature": 1e999)", "temperature"},
           {R"("top_p": 1.5)", "top_p"},
           {R"("top_k": -2)", "top_k"},
           {R"("min_p": [])", "min_p"},
           {R"("seed": 0.5)", "seed"},
           {R"("n": 0)", "n"},
           {R"("n": 257)", "n"},
           {R"("k": 4)", "k"},
           {R"("draft_p_min": 1.5)", "draft_p_min"},
           {R"("speculative.p_min": 1.5)", "speculative.p_min"},
           {R"("speculative.p_min": "x")", "speculative.p_min"},
           {R"("k": "some")", "k"},
           {R"("stop_token_ids": [64])", "stop_token_ids"},
           {R"("stop_token_ids": 3)", "stop_token_ids"},
           {R"("stop": "a")", "stop"},
           {R"("stream": 1)", "stream"},
           {R"("stream_options": {"include_usage": true})", "stream_options"},
           {R"("stream_options": {"continuous_usage_stats": true})",
            "stream_options"},
           {R"("stream_options": {"continuous_usage_stats": 1})",
            "stream_options.continuous_usage_stats"},
           {R"("echo": "yes")", "echo"},
           {R"("min_tokens": -1)", "min_tokens"},
           {R"("priority": 2147483648)", "priority"},
           {R"("cache_salt": "")", "cache_salt"},
           {R"("cache_salt": 5)", "cache_salt"},
           {R"("kind": "two words")", "kind"},
           {R"("kind": 1)", "kind"},
           {R"("timeout": 0)", "timeout"},
           {R"("timeout": "soon")", "timeout"},
           {R"("n": 1, "n": 2)", "n"},
           {R"("mirostat": 1, "mirostat": 0)", "mirostat"},
           {R"("messages": [])", "messages"},
           {R"("input": "a")", "input"}}) {
    ApiError error = refused(with(field));
    EXPECT_EQ(error.param, name) << field << ": " << error.message;
    EXPECT_EQ(error.status, 400u);
  }
  EXPECT_EQ(refused("{}").param, "prompt");
}

// Clients send fields of other servers, names of other models and limits that
// suit other models.
TEST(Request, TakesWhatIsMeantForOtherServers) {
  GenerationRequest r =
      parsed(with(R"("nonsense": {"a": 1}, "stream": true, "stream_options":
          {"other": 1}, "model": "gpt", "max_tokens": 32000)"));
  EXPECT_EQ(r.ignored,
            (std::vector<std::string>{"nonsense", "stream_options.other"}));
  PreparedPrompt prompt{{1, 2}, ""};
  EXPECT_EQ(sequenceOf(r, facts(), prompt, 0, 0).maxTokens, 94u);
  for (const char *name :
       {"max_tokens", "max_completion_tokens", "n_predict", "num_predict"}) {
    r = parsed(with(strCat("\"", name, "\": -1")));
    EXPECT_EQ(sequenceOf(r, facts(), prompt, 0, 0).maxTokens, 94u) << name;
  }
  // The model computes a token, which the answer omits.
  r = parsed(with(R"("max_tokens": 0)"));
  EXPECT_EQ(r.maxTokens, 0u);
  EXPECT_EQ(sequenceOf(r, facts(), prompt, 0, 0).maxTokens, 1u);
}

TEST(Request, IsStrictIfTheServerIs) {
  for (auto [field, name] : std::vector<std::pair<const char *, const char *>>{
           {R"("nonsense": null)", "nonsense"},
           {R"("stream": true, "stream_options": {"other": 1})",
            "stream_options.other"},
           {R"("max_tokens": 0)", "max_tokens"},
           {R"("max_tokens": -1)", "max_tokens"}}) {
    ApiError error = refused(with(field), strictFacts());
    EXPECT_EQ(error.param, name) << field << ": " << error.message;
    EXPECT_EQ(error.status, 400u);
  }
  ApiError error = refused(with(R"("model": "none")"), strictFacts());
  EXPECT_EQ(error.status, 404u);
  EXPECT_EQ(error.code, "model_not_found");
  parsed(with(R"("mirostat": 0, "keep_alive": "5m", "model": "tiny")"),
         strictFacts());
}

TEST(Request, NamesThePromptThatIsWrong) {
  for (const char *prompt : {"[]", "3", "{}", "[[1], [64]]", "[-1]",
                             "[1, \"a\"]", "[[1], [[2]]]", "[true]"})
    // An empty list is rejected when the prompt is prepared.
    if (std::string_view(prompt) != "[]")
      EXPECT_EQ(refused(strCat(R"({"prompt": )", prompt, "}")).param, "prompt")
          << prompt;
}

TEST(Request, TakesTextWithATokenizerAlone) {
  EXPECT_EQ(refused(R"({"prompt": "text"})").param, "prompt");
}

TEST(Request, RefusesWhatItCannotDoUnlessItChangesNothing) {
  for (const char *field :
       {R"("logit_bias": {"1": 5})", R"("logprobs": 21)", R"("logprobs": true)",
        R"("frequency_penalty": 0.5)", R"("presence_penalty": -1)",
        R"("repetition_penalty": 1.1)",
        R"("response_format": {"type": "json_object"})", R"("best_of": 2)",
        R"("suffix": "x")", R"("use_beam_search": true)"}) {
    ApiError error = refused(with(field));
    std::string name(field + 1, std::strchr(field + 1, '"'));
    EXPECT_EQ(error.param, name) << error.message;
    EXPECT_EQ(error.status, 400u);
  }
  parsed(with(R"("logit_bias": {}, "logprobs": null, "min_tokens": 0,
    "frequency_penalty": 0, "presence_penalty": 0.0, "repetition_penalty": 1.0,
    "response_format": {"type": "text"}, "best_of": 1, "suffix": "",
    "use_beam_search": false)"));
}

namespace {

/// Returns a value that the table calls neutral, as JSON.
std::string neutralJson(std::string_view word) {
  if (word.starts_with("type="))
    return strCat("{\"type\": \"", word.substr(5), "\"}");
  if (word.starts_with("["))
    return strCat("[\"", word.substr(1, word.size() - 2), "\"]");
  if (word.starts_with("<="))
    return strCat(word.substr(2), ".0");
  if (word == "*")
    return "[3, {}]";
  bool isWord = word[0] >= 'a' && word[0] <= 'z';
  return isWord && word != "true" && word != "false" ? strCat("\"", word, "\"")
                                                     : std::string(word);
}

} // namespace

TEST(KnownFields, AreTakenAtTheirNeutralValuesOnly) {
  std::set<std::string_view> names;
  for (const KnownField &field : knownFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " twice";
    std::string_view rest = field.neutral;
    while (!rest.empty()) {
      std::string_view word = rest.substr(0, rest.find(' '));
      EXPECT_TRUE(
          parsed(with(strCat("\"", field.name, "\": ", neutralJson(word))))
              .ignored.empty());
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    EXPECT_TRUE(
        parsed(with(strCat("\"", field.name, "\": null"))).ignored.empty());
    if (field.neutral == "*")
      continue;
    for (const char *other : {"0.5", "\"x\"", "[7]", "{\"a\": 1}"}) {
      ApiError error = refused(with(strCat("\"", field.name, "\": ", other)));
      EXPECT_EQ(error.param, field.name);
      EXPECT_EQ(error.status, 400u);
    }
  }
}

// A field with a reader would never be looked up in the table.
TEST(KnownFields, HaveNoReader) {
  for (std::span<const Field> fields :
       {samplingFields(), promptFields(), conversationFields()})
    for (const Field &field : fields)
      EXPECT_FALSE(isKnownField(field.name)) << field.name;
}

namespace {

/// The prompt that a template makes from a conversation, or its error.
struct Talk {
  explicit Talk(std::string_view source, std::string_view messages)
      : tables(byteTokenizer()), tokenizer(*Tokenizer::load(tables)),
        chat(*ChatTemplate::parse({{{"default", std::string(source)}}, {}})) {
    ModelFacts own = facts();
    own.tokenizer = tokenizer.get();
    own.chat = chat.get();
    own.vocab = 300;
    own.maxContext = 1000;
    MaybeError failed =
        parseChat(strCat("{\"messages\": ", messages, "}"), own, request);
    std::vector<PreparedPrompt> prompts;
    if (!failed)
      failed = preparePrompts(request, own, prompts);
    if (!failed)
      text = prompts[0].text;
    error = failed.value_or(ApiError{0});
  }

  std::vector<uint8_t> tables;
  std::unique_ptr<Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat;
  GenerationRequest request;
  std::string text;
  ApiError error;
};

constexpr const char *kAllMessages = "{{ messages }}";
constexpr const char *kAdds =
    "{% for m in messages %}{{ m.role + ':' + m.content + ';' }}{% endfor %}";

} // namespace

// The messages of an agent after a tool's answer.
TEST(Chat, TakesAConversationWithTools) {
  const char *messages = R"([{"role": "user", "content": "sum?"},
    {"role": "assistant", "content": null, "refusal": null, "audio": null,
     "tool_calls": [{"id": "c1", "type": "function", "function":
       {"name": "add", "arguments": "{\"a\": 1, \"b\": [2]}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "3"}])";
  EXPECT_EQ(Talk(kAdds, messages).text, "user:sum?;assistant:;tool:3;");
  EXPECT_EQ(
      Talk(kAllMessages, messages).text,
      "[{'role': 'user', 'content': 'sum?'}, {'role': 'assistant', 'content': "
      "'', 'tool_calls': [{'id': 'c1', 'type': 'function', 'function': "
      "{'name': 'add', 'arguments': {'a': 1, 'b': [2]}}}]}, {'role': 'tool', "
      "'tool_call_id': 'c1', 'content': '3'}]");
}

TEST(Chat, TakesWhatIsNullForWhatIsNotThere) {
  EXPECT_EQ(Talk(kAdds, R"([{"role": "user", "content": null},
                            {"role": "assistant"}])")
                .text,
            "user:;assistant:;");
  EXPECT_EQ(Talk("{{ messages[0].tool_calls is defined }}",
                 R"([{"role": "assistant", "tool_calls": null}])")
                .text,
            "False");
  // Arguments that are no dict stay unchanged; missing ones become an empty
  // dict.
  for (auto [given, passed] :
       std::vector<std::pair<const char *, const char *>>{
           {R"("{broken")", "'{broken'"},
           {R"("")", "{}"},
           {"null", "{}"},
           {R"({"a": 1})", "{'a': 1}"},
           {R"("5")", "'5'"}})
    EXPECT_EQ(Talk("{{ [messages[0].tool_calls[0].function.arguments] }}",
                   strCat(R"([{"role": "assistant", "tool_calls": [{"function":
                             {"arguments": )",
                          given, "}}]}]"))
                  .text,
              strCat("[", passed, "]"));
  EXPECT_EQ(Talk("{{ messages[0].tool_calls }}",
                 R"([{"role": "assistant", "tool_calls": [1, {"id": "x"}]}])")
                .text,
            "[1, {'id': 'x'}]");
}

TEST(Chat, NamesTheMessageThatATemplateFailsAt) {
  const char *strict = "{% for m in messages %}{% if m.role == 'odd' %}"
                       "{{ raise_exception('no ' + m.role) }}{% endif %}"
                       "{{ m.content }}{% endfor %}";
  const char *user = R"({"role": "user", "content": "a"})";
  const char *odd = R"({"role": "odd", "content": "a"})";
  for (const auto &[messages, index] :
       std::vector<std::pair<std::string, const char *>>{
           {strCat("[", odd, "]"), "messages[0]"},
           {strCat("[", user, ", ", user, ", ", odd, "]"), "messages[2]"},
           {strCat("[", user, ", ", odd, ", ", user, ", ", user, "]"),
            "messages[1]"}}) {
    Talk talk(strict, messages);
    EXPECT_EQ(talk.error.status, 400u);
    EXPECT_EQ(talk.error.param, index);
    EXPECT_EQ(talk.error.message.find(index), 0u) << talk.error.message;
    EXPECT_NE(talk.error.message.find("no odd"), std::string::npos);
  }
  // The failing message cannot be determined if the first alone fails.
  Talk blind("{{ messages[5].content + 'x' }}",
             strCat("[", user, ", ", user, "]"));
  EXPECT_EQ(blind.error.param, "messages");
}

TEST(Request, RefusesWhatIsNoObject) {
  for (const std::string &body :
       {std::string(""), std::string("["), std::string("3"),
        std::string("null"), std::string("{\"prompt\": [1]"),
        std::string("{\"prompt\": [1]} x"),
        std::string("{\"user\": \"\xFF\", \"prompt\": [1]}"),
        std::string("{\"user\": \"\\ud800\", \"prompt\": [1]}"),
        strCat("{\"user\": ", std::string(100000, '['), "}"),
        strCat("{\"user\": ", std::string(70, '['), std::string(70, ']'),
               ", \"prompt\": [1]}")}) {
    ApiError error = refused(body);
    EXPECT_EQ(error.status, 400u);
    EXPECT_EQ(error.param, "");
  }
  parsed(strCat("{\"user\": ", std::string(50, '['), std::string(50, ']'),
                ", \"prompt\": [1]}"));
}

TEST(Request, ChoicesAreBounded) {
  std::string many = "[";
  for (int i = 0; i < 257; ++i)
    many += i ? ", [1]" : "[1]";
  EXPECT_EQ(refused(strCat("{\"prompt\": ", many, "]}")).param, "prompt");
  EXPECT_EQ(refused(R"({"prompt": [[1], [2]], "n": 200})").param, "n");
}

TEST(Prompts, FitIntoTheContext) {
  auto prepare = [](std::string_view body) {
    GenerationRequest request = parsed(body);
    std::vector<PreparedPrompt> prompts;
    MaybeError error = preparePrompts(request, strictFacts(), prompts);
    if (!error)
      EXPECT_EQ(prompts.size(), request.prompts.size());
    return error.value_or(ApiError{0});
  };
  std::string ids = "[1";
  for (int i = 1; i < 95; ++i)
    ids += ", 1";
  EXPECT_EQ(prepare(strCat("{\"prompt\": ", ids, "]}")).status, 0u);
  ApiError error =
      prepare(strCat("{\"max_tokens\": 2, \"prompt\": ", ids, "]}"));
  EXPECT_EQ(error.param, "max_tokens");
  EXPECT_EQ(error.code, "context_length_exceeded");
  error = prepare(strCat("{\"prompt\": ", ids, ", 1]}"));
  EXPECT_EQ(error.param, "prompt");
  EXPECT_EQ(error.code, "context_length_exceeded");
  EXPECT_EQ(prepare(R"({"prompt": []})").param, "prompt");
}

// litellm, and so aider, detects the error by its text, other clients by the
// code, and llama.cpp's clients by two numbers.
TEST(Prompts, SayHowLongTheContextIs) {
  auto refusalOf = [](std::string_view body) {
    std::vector<PreparedPrompt> prompts;
    return preparePrompts(parsed(body), strictFacts(), prompts)
        .value_or(ApiError{0});
  };
  std::string ids = "1";
  for (int i = 1; i < 100; ++i)
    ids += ", 1";
  for (const auto &[body, tokens, param] :
       {std::tuple(strCat("{\"prompt\": [", ids, "]}"), 100, "prompt"),
        std::tuple(with(R"("max_tokens": 95)"), 2, "max_tokens"),
        std::tuple(with(R"("max_tokens": 2147483647)"), 2, "max_tokens"),
        std::tuple(with(R"("max_completion_tokens": 97)"), 2,
                   "max_completion_tokens")}) {
    ApiError error = refusalOf(body);
    EXPECT_EQ(error.status, 400u);
    EXPECT_EQ(error.message.find("This model's maximum context length is 96 "
                                 "tokens"),
              0u)
        << error.message;
    EXPECT_EQ(error.code, "context_length_exceeded");
    EXPECT_EQ(error.param, param);
    std::string json = errorJson(error);
    EXPECT_NE(json.find(strCat("\"n_prompt_tokens\": ", tokens)),
              std::string::npos)
        << json;
    EXPECT_NE(json.find("\"n_ctx\": 96"), std::string::npos) << json;
  }
  // Other errors lack these numbers.
  EXPECT_EQ(errorJson(refused(with(R"("n": 0)"))).find("n_ctx"),
            std::string::npos);
}

TEST(Prompts, SequencesHaveSeedsInOrder) {
  GenerationRequest request = parsed(
      R"({"prompt": [1, 2], "n": 2, "seed": 7, "k": 1,
          "stop_token_ids": [9]})");
  PreparedPrompt prompt{{1, 2}, ""};
  Request sequence = sequenceOf(request, facts(), prompt, 1, 100);
  EXPECT_EQ(sequence.sampling.seed, 8u);
  EXPECT_EQ(sequence.maxTokens, 16u);
  EXPECT_EQ(sequence.k, 1u);
  EXPECT_EQ(sequence.stopTokens, (std::vector<int32_t>{9}));
  request = parsed(R"({"prompt": [1, 2], "n": 2})");
  EXPECT_EQ(sequenceOf(request, facts(), prompt, 1, 100).sampling.seed, 101u);
  // The rest of the context is less than the default.
  prompt.ids.assign(90, 1);
  EXPECT_EQ(sequenceOf(request, facts(), prompt, 0, 0).maxTokens, 6u);
}
