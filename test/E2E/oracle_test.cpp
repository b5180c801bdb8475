//===- oracle_test.cpp - The product's logits against the oracle's --------===//
//
// test/oracle computes in binary32 with PyTorch. All bounds are relative to the
// row's largest magnitude, because a logit near zero is a difference of larger
// terms.
//
//===----------------------------------------------------------------------===//

#include "harness/Generation.h"
#include "harness/OracleFile.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

class Oracle : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    model = loadArtifact(GetParam());
    ASSERT_TRUE(model);
    std::string name = oracleName(GetParam());
    exact = name.ends_with(".f32");
    results = readOracle(name);
    ASSERT_FALSE(results.empty());
  }

  float bound(const std::vector<float> &row) const {
    return logitBound(row, exact);
  }

  void expectRow(const std::vector<float> &row, const PartialRow &expected,
                 size_t index) const {
    for (auto [token, logit] : expected)
      EXPECT_NEAR(row[size_t(token)], logit, bound(row))
          << "row " << index << ", token " << token;
  }

  /// Returns whether the row picks the token. In bf16 a near tie may have
  /// either result.
  bool picks(const std::vector<float> &row, int32_t token) const {
    float largest = *std::max_element(row.begin(), row.end());
    return row[size_t(token)] >= largest - (exact ? 0 : 2 * bound(row));
  }

  std::shared_ptr<const Model> model;
  std::vector<OracleResult> results;
  bool exact = false;
};

Request greedy(std::vector<int32_t> prompt, uint32_t maxTokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.maxTokens = maxTokens;
  request.ignoreEos = true;
  return request;
}

} // namespace

// Each row of the oracle's forward pass, as the last row of a prompt.
TEST_P(Oracle, PrefillRows) {
  for (const OracleResult &result : results) {
    std::vector<int32_t> tokens = result.tokens();
    std::vector<Request> requests;
    for (size_t row = 0; row < result.target.argmax.size(); ++row)
      requests.push_back(
          greedy({tokens.begin(), tokens.begin() + long(row) + 1}, 1));
    SessionOptions options;
    options.threads = 1;
    Outcome run = generate(model, options, requests);
    size_t agreed = 0;
    for (uint32_t row = 0; row < run.sequences.size(); ++row) {
      const std::vector<float> &logits = run.sequences[row].logits;
      agreed += picks(logits, result.target.argmax[row]);
      auto expected = result.target.rows.find(row);
      if (expected != result.target.rows.end())
        expectRow(logits, expected->second, row);
    }
    // In bf16 a near tie of two experts may have either result, too. The row's
    // logits then differ.
    size_t rows = result.target.argmax.size();
    EXPECT_GE(agreed, exact ? rows : rows - rows / 20);
  }
}

// Compares generated tokens and logits, with and without drafts.
TEST_P(Oracle, GreedyTokensAndLogits) {
  for (uint32_t k : {0u, model->envelope()->maxK}) {
    SessionOptions options;
    options.threads = 1;
    options.k = k;
    std::vector<Request> requests;
    for (const OracleResult &result : results)
      requests.push_back(greedy(result.prompt, uint32_t(result.greedy.size())));
    Outcome run = generate(model, options, requests);
    size_t vocab = model->envelope()->vocab;
    for (size_t i = 0; i < results.size(); ++i) {
      const Generated &got = run.sequences[i];
      for (uint32_t t = 0; t < got.tokens.size(); ++t) {
        auto begin = got.logits.begin() + long(t * vocab);
        std::vector<float> logits(begin, begin + long(vocab));
        uint32_t row = uint32_t(results[i].prompt.size()) + t - 1;
        auto expected = results[i].target.rows.find(row);
        if (expected != results[i].target.rows.end())
          expectRow(logits, expected->second, row);
        EXPECT_TRUE(picks(logits, results[i].greedy[t])) << "token " << t;
        // After a tie with another result the texts differ.
        if (got.tokens[t] != results[i].greedy[t])
          break;
      }
    }
  }
}

// The log-softmax of the oracle's rows, as log-probabilities of a prompt.
TEST_P(Oracle, PromptLogProbabilities) {
  size_t vocab = model->envelope()->vocab, compared = 0, whole = 0;
  for (const OracleResult &result : results) {
    Request request = greedy(result.tokens(), 1);
    request.logprobs.prompt = 5;
    SessionOptions options;
    options.threads = 1;
    auto session = Session::create(model, options);
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    ASSERT_TRUE((*session)->add(request).isOk());
    std::vector<TokenLogprobs> scores;
    while (!(*session)->idle())
      for (SequenceUpdate &update : *(*session)->step())
        if (!update.promptLogprobs.empty())
          scores = std::move(update.promptLogprobs);
    ASSERT_EQ(scores.size() + 1, request.prompt.size());
    for (const auto &[row, logits] : result.target.rows) {
      if (logits.size() != vocab || row >= scores.size())
        continue;
      ++whole;
      std::vector<float> values;
      double sum = 0;
      for (auto [token, logit] : logits) {
        values.push_back(logit);
        sum += std::exp(double(logit));
      }
      auto expectNear = [&](const TokenLogprob &one) {
        EXPECT_NEAR(one.logprob, double(logits.at(one.token)) - std::log(sum),
                    2 * bound(values))
            << "row " << row << ", token " << one.token;
        ++compared;
      };
      EXPECT_EQ(scores[row].own.token, request.prompt[row + 1]);
      expectNear(scores[row].own);
      std::ranges::for_each(scores[row].likeliest, expectNear);
    }
  }
  EXPECT_EQ(compared, 6 * whole);
}

namespace {
/// Artifacts with a context for the oracle's long text.
class LongOracle : public Oracle {};
} // namespace

// The first of 1,025 tokens affects the last one's logits.
TEST_P(LongOracle, RemembersTheFirstToken) {
  for (const OracleResult &result : results) {
    ASSERT_EQ(result.farLogits.size(), 2u);
    std::vector<int32_t> other = result.far;
    other[0] = result.farFirst;
    SessionOptions options;
    options.threads = 1;
    Outcome run =
        generate(model, options, {greedy(result.far, 1), greedy(other, 1)});
    float apart = 0;
    for (size_t i = 0; i < 2; ++i) {
      const std::vector<float> &logits = run.sequences[i].logits;
      for (size_t t = 0; t < result.farLogits[i].size(); ++t) {
        EXPECT_NEAR(logits[t], result.farLogits[i][t], bound(logits));
        apart = std::max(
            apart, std::abs(result.farLogits[0][t] - result.farLogits[1][t]));
      }
    }
    // Otherwise one could pass for the other.
    EXPECT_GT(apart, 4 * bound(run.sequences[0].logits));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LongOracle,
                         testing::Values("qwen3next-mtp1.long"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return testName(info.param);
                         });

INSTANTIATE_TEST_SUITE_P(
    Models, Oracle,
    testing::Values(
        "dsv3-mtp1.f32", "dsv3-mtp1.bf16", "dsv3-yarn-mtp2.f32",
        "dsv3-yarn-mtp2.bf16", "dsv3-chain-mtp2.f32", "dsv3-chain-mtp2.bf16",
        "dsv3-chain-mtp2.page8", "dsv3-chain-mtp2.v3", "mimo-mtp1.f32",
        "mimo-mtp1.bf16", "glm4moe-mtp1.f32", "glm4moe-mtp1.bf16",
        "glm4moe-qknorm-mtp1.f32", "glm4moe-qknorm-mtp1.bf16",
        "dsv3-negative.f32", "dsv3-negative.bf16", "glm4moe-negative.f32",
        "glm4moe-negative.bf16", "llama-gqa.f32", "llama-gqa.bf16",
        "llama-tied.f32", "llama-tied.bf16", "qwen2.f32", "qwen2.bf16",
        "qwen3.f32", "qwen3.bf16", "qwen3moe.f32", "qwen3moe.bf16",
        "ernie-moe.f32", "minimax-m2.f32", "hy3-mtp1.f32", "qwen3next-mtp1.f32",
        "qwen35-mtp1.f32", "qwen35-mtp1.bf16", "qwen35moe-mtp1.f32", "bundled",
        "dsv3-mtp1.bf16v3", "dsv3-chain-mtp2.bf16v3", "mimo-mtp1.bf16v3",
        "glm4moe-mtp1.bf16v3", "llama-gqa.bf16v3", "qwen3moe.bf16v3",
        "bundled.v3", "gemma3.f32", "gemma3.bf16"),
    [](const testing::TestParamInfo<const char *> &info) {
      return testName(info.param);
    });
