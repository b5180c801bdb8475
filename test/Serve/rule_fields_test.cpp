//===- rule_fields_test.cpp - Fields that change logits -------------------===//

#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/Prompts.h"
#include "tools/mtp-serve/api/RequestParser.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::serve;

namespace {

ModelFacts facts(bool hasLogitRules) {
  ModelFacts facts;
  facts.names = {"tiny"};
  facts.vocab = 64;
  facts.maxContext = 96;
  facts.slots = 2;
  facts.hasLogitRules = hasLogitRules;
  return facts;
}

std::string with(std::string_view field) {
  return strCat(R"({"prompt": [1, 2], )", field, "}");
}

LogitRules rulesOf(std::string_view field) {
  GenerationRequest request;
  MaybeError error = parseCompletion(with(field), facts(true), request);
  EXPECT_FALSE(error) << field << ": " << error->message;
  return sequenceOf(request, facts(true), {{1, 2}, {}}, /*number=*/0,
                    /*seed=*/0)
      .rules;
}

ApiError refused(std::string_view field, bool hasLogitRules = true) {
  GenerationRequest request;
  MaybeError error =
      parseCompletion(with(field), facts(hasLogitRules), request);
  EXPECT_TRUE(error) << field;
  return error.value_or(ApiError{0});
}

} // namespace

TEST(RuleFields, ReachTheSequence) {
  LogitRules rules = rulesOf(R"("repetition_penalty": 1.25,
    "presence_penalty": -0.5, "frequency_penalty": 2,
    "allowed_token_ids": [3, 7], "logit_bias": {"5": 1.5, "63": -250})");
  EXPECT_EQ(rules.repetitionPenalty, 1.25f);
  EXPECT_EQ(rules.presencePenalty, -0.5f);
  EXPECT_EQ(rules.frequencyPenalty, 2.0f);
  EXPECT_EQ(rules.allowedTokens, (std::vector<int32_t>{3, 7}));
  ASSERT_EQ(rules.bias.size(), 2u);
  EXPECT_EQ(rules.bias[0].token, 5);
  EXPECT_EQ(rules.bias[0].bias, 1.5f);
  EXPECT_EQ(rules.bias[1].token, 63);
  EXPECT_EQ(rules.bias[1].bias, -100.0f);
}

TEST(RuleFields, TakePairsAsLlamaServerDoes) {
  LogitRules rules = rulesOf(R"("logit_bias": [[5, 1.5], [6, false]])");
  ASSERT_EQ(rules.bias.size(), 2u);
  EXPECT_EQ(rules.bias[0].bias, 1.5f);
  EXPECT_EQ(rules.bias[1].token, 6);
  EXPECT_EQ(rules.bias[1].bias, -INFINITY);
}

TEST(RuleFields, ErrorsNameThePath) {
  const std::pair<const char *, const char *> cases[] = {
      {R"("logit_bias": {"64": 1})", "logit_bias.64"},
      {R"("logit_bias": {"x": 1})", "logit_bias.x"},
      {R"("logit_bias": {"1": "y"})", "logit_bias.1"},
      {R"("logit_bias": {"1": true})", "logit_bias.1"},
      {R"("logit_bias": [[1, 2], [3]])", "logit_bias[1]"},
      {R"("logit_bias": [[-1, 2]])", "logit_bias[0]"},
      {R"("logit_bias": 3)", "logit_bias"},
      {R"("presence_penalty": 2.5)", "presence_penalty"},
      {R"("frequency_penalty": "x")", "frequency_penalty"},
      {R"("repetition_penalty": 0)", "repetition_penalty"},
      {R"("allowed_token_ids": [64])", "allowed_token_ids"},
  };
  for (auto [field, path] : cases) {
    ApiError error = refused(field);
    EXPECT_TRUE(error.param.starts_with(path))
        << field << ": " << error.param << ", " << error.message;
    EXPECT_EQ(error.status, 400u);
  }
}

TEST(RuleFields, NameTheFlagThatAModelLacks) {
  for (const char *field :
       {R"("logit_bias": {"1": 5})", R"("frequency_penalty": 0.5)",
        R"("presence_penalty": -1)", R"("repetition_penalty": 1.1)",
        R"("allowed_token_ids": [1])", R"("bad_words": ["a"])"})
    EXPECT_NE(refused(field, /*hasLogitRules=*/false)
                  .message.find("--without-logit-rules"),
              std::string::npos)
        << field;
  GenerationRequest request;
  EXPECT_FALSE(parseCompletion(
      with(R"("logit_bias": {}, "frequency_penalty": 0, "presence_penalty": 0,
              "repetition_penalty": 1, "allowed_token_ids": [])"),
      facts(false), request));
}

// llama-server counts the last tokens, prompts among them.
TEST(RuleFields, PenaltiesOfCompletionCountAllTokensOrNone) {
  auto parse = [](std::string_view field, GenerationRequest &request) {
    return parseNative(with(field), facts(true), request);
  };
  for (const char *field :
       {R"("presence_penalty": 1)", R"("frequency_penalty": -1)",
        R"("repeat_penalty": 1.1)", R"("repeat_penalty": 1.1,
        "repeat_last_n": 95)"}) {
    GenerationRequest request;
    MaybeError error = parse(field, request);
    ASSERT_TRUE(error) << field;
    EXPECT_EQ(error->param, "repeat_last_n");
  }
  for (const char *count : {"-1", "96"}) {
    GenerationRequest request;
    EXPECT_FALSE(parse(strCat(R"("presence_penalty": 1, "repeat_penalty": 1.5,
                                 "repeat_last_n": )",
                              count),
                       request));
    EXPECT_EQ(request.rules.repetitionPenalty, 1.5f);
    EXPECT_EQ(request.rules.presencePenalty, 1.0f);
    EXPECT_TRUE(request.rules.countsPrompt);
  }
  GenerationRequest off;
  EXPECT_FALSE(parse(R"("repeat_last_n": 0, "repeat_penalty": 1.5)", off));
  EXPECT_EQ(off.rules.repetitionPenalty, 1.0f);
  GenerationRequest neutral;
  EXPECT_FALSE(parse(R"("presence_penalty": 0, "repeat_penalty": 1)", neutral));
  EXPECT_FALSE(neutral.rules.countsPrompt);
  // On other paths only the name is llama-server's.
  GenerationRequest other;
  EXPECT_FALSE(parseCompletion(with(R"("presence_penalty": 1,
                                       "repeat_penalty": 1.5,
                                       "repeat_last_n": -1)"),
                               facts(true), other));
  EXPECT_FALSE(other.rules.countsPrompt);
}

TEST(RuleFields, BadWordsNeedATokenizer) {
  ApiError error = refused(R"("bad_words": ["a"])");
  EXPECT_EQ(error.param, "bad_words");
  EXPECT_NE(error.message.find("tokenizer"), std::string::npos);
  EXPECT_TRUE(rulesOf(R"("bad_words": [])").badWords.empty());
}

TEST(RuleFields, TheModelHasARepetitionPenalty) {
  ModelFacts model = facts(true);
  model.generation.repetitionPenalty = 1.05f;
  for (auto [field, penalty] :
       {std::pair(R"("n": 1)", 1.05f), {R"("repetition_penalty": 1)", 1.0f}}) {
    GenerationRequest request;
    EXPECT_FALSE(parseCompletion(with(field), model, request));
    EXPECT_EQ(request.rules.repetitionPenalty, penalty);
  }
}
