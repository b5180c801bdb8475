//===- request_test.cpp - Bodies to requests ------------------------------===//

#include "mtp/session.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/GenerationRequest.h"
#include "tools/mtp-serve/Prompts.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::serve;

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

GenerationRequest parsed(std::string_view body) {
  GenerationRequest request;
  MaybeError error = parseCompletion(body, facts(), request);
  EXPECT_FALSE(error) << body << ": " << error->message;
  return request;
}

ApiError refused(std::string_view body) {
  GenerationRequest request;
  MaybeError error = parseCompletion(body, facts(), request);
  EXPECT_TRUE(error) << body;
  return error.value_or(ApiError{0});
}

/// A body with ids and one field more.
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
  // Either is checked, and an error names the one that counts.
  EXPECT_EQ(
      refused(with(R"("max_completion_tokens": 7, "max_tokens": 0)")).param,
      "max_tokens");
  for (const char *field : {"max_tokens", "max_completion_tokens"}) {
    std::vector<PreparedPrompt> prompts;
    MaybeError error = preparePrompts(
        parsed(with(strCat("\"", field, "\": 95"))), facts(), prompts);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->param, field);
    EXPECT_NE(error->message.find(field), std::string::npos);
  }
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
    "n": 3, "k": 2, "echo": true, "ignore_eos": true, "stream": true,
    "stream_options": {"include_usage": true}, "return_token_ids": true,
    "return_round_tokens": true, "min_tokens": 6, "priority": -4,
    "cache_salt": "salt", "timeout": 2.5,
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
  EXPECT_FALSE(r.skipSpecialTokens || r.addSpecialTokens);
  EXPECT_EQ(parsed(with(R"("k": "auto")")).k, Request::kAutomatic);
  EXPECT_EQ(parsed(with(R"("seed": -1)")).sampling.seed, UINT64_MAX);
  EXPECT_EQ(parsed(with(R"("top_k": -1)")).sampling.topK, 0u);
  EXPECT_EQ(parsed(with(R"("temperature": null)")).sampling.temperature, 0.5f);
}

TEST(Request, NamesTheFieldThatIsWrong) {
  for (auto [field, name] : std::vector<std::pair<const char *, const char *>>{
           {R"("max_tokens": 0)", "max_tokens"},
           {R"("max_tokens": 97)", "max_tokens"},
           {R"("max_tokens": 1.5)", "max_tokens"},
           {R"("max_tokens": "7")", "max_tokens"},
           {R"("temperature": -1)", "temperature"},
           {R"("temperature": 1e999)", ""},
           {R"("top_p": 1.5)", "top_p"},
           {R"("top_k": -2)", "top_k"},
           {R"("min_p": [])", "min_p"},
           {R"("seed": 0.5)", "seed"},
           {R"("n": 0)", "n"},
           {R"("n": 257)", "n"},
           {R"("k": 4)", "k"},
           {R"("k": "some")", "k"},
           {R"("stop_token_ids": [64])", "stop_token_ids"},
           {R"("stop_token_ids": 3)", "stop_token_ids"},
           {R"("stop": "a")", "stop"},
           {R"("stream": 1)", "stream"},
           {R"("stream_options": {"include_usage": true})", "stream_options"},
           {R"("stream_options": {"other": 1})", "stream_options.other"},
           {R"("echo": "yes")", "echo"},
           {R"("min_tokens": -1)", "min_tokens"},
           {R"("priority": 2147483648)", "priority"},
           {R"("cache_salt": "")", "cache_salt"},
           {R"("cache_salt": 5)", "cache_salt"},
           {R"("timeout": 0)", "timeout"},
           {R"("timeout": "soon")", "timeout"},
           {R"("n": 1, "n": 2)", "n"},
           {R"("nonsense": 1)", "nonsense"}}) {
    ApiError error = refused(with(field));
    EXPECT_EQ(error.param, name) << field << ": " << error.message;
    EXPECT_EQ(error.status, 400u);
  }
  for (const char *prompt : {"[]", "3", "{}", "[[1], [64]]", "[-1]",
                             "[1, \"a\"]", "[[1], [[2]]]", "[true]"})
    // An empty list is found when the prompt is prepared.
    if (std::string_view(prompt) != "[]")
      EXPECT_EQ(refused(strCat(R"({"prompt": )", prompt, "}")).param, "prompt")
          << prompt;
  EXPECT_EQ(refused("{}").param, "prompt");
  ApiError error = refused(R"({"prompt": [1], "model": "none"})");
  EXPECT_EQ(error.status, 404u);
  EXPECT_EQ(error.code, "model_not_found");
}

TEST(Request, TakesTextWithATokenizerAlone) {
  EXPECT_EQ(refused(R"({"prompt": "text"})").param, "prompt");
}

TEST(Request, RefusesWhatItCannotDoUnlessItChangesNothing) {
  for (const char *field :
       {R"("logit_bias": {"1": 5})", R"("logprobs": 3)", R"("logprobs": true)",
        R"("logprobs": true)", R"("frequency_penalty": 0.5)",
        R"("presence_penalty": -1)", R"("repetition_penalty": 1.1)",
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

TEST(Request, RefusesWhatIsNoObject) {
  for (std::string body :
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
    MaybeError error = preparePrompts(request, facts(), prompts);
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
  // What the context leaves is less than what is usual.
  prompt.ids.assign(90, 1);
  EXPECT_EQ(sequenceOf(request, facts(), prompt, 0, 0).maxTokens, 6u);
}
