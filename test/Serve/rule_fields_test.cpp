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
        R"("allowed_token_ids": [1])"})
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

// llama-server counts other tokens than vLLM.
TEST(RuleFields, PenaltiesAreForOtherPathsThanCompletion) {
  GenerationRequest request;
  MaybeError error =
      parseNative(with(R"("presence_penalty": 1)"), facts(true), request);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "presence_penalty");
  GenerationRequest neutral;
  EXPECT_FALSE(
      parseNative(with(R"("presence_penalty": 0)"), facts(true), neutral));
}
