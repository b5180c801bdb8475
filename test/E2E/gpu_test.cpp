//===- gpu_test.cpp - Models on the simulated GPU -------------------------===//
//
// Artifacts that have a plan for the CPU and one for gpu-sim, in short
// sessions: a token takes the simulator a tenth of a second. What must be equal
// to the bit is a session with drafts and one without on the same device;
// between devices sums have other orders.
//
//===----------------------------------------------------------------------===//

#include "Generation.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Prompts of 1, 19 and 6 tokens: less than a page, more than a chunk.
std::vector<Request> shortRequests(uint32_t vocab, float temperature) {
  std::vector<Request> requests;
  for (uint32_t length : {1, 19, 6}) {
    Request request;
    uint32_t index = uint32_t(requests.size());
    for (uint32_t i = 0; i < length; ++i)
      request.prompt.push_back(textToken(index + 5, i, vocab));
    request.maxTokens = 7 - index;
    request.ignoreEos = true;
    if (temperature > 0)
      request.sampling = {temperature, 20, 0.9f, 0.02f, 77 + index};
    requests.push_back(request);
  }
  return requests;
}

class Gpu : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    gpu = loadArtifact(GetParam(), DeviceKind::Cuda);
    cpu = loadArtifact(GetParam(), DeviceKind::Cpu);
    ASSERT_TRUE(gpu && cpu);
    envelope = *gpu->envelope();
  }

  std::shared_ptr<const Model> gpu, cpu;
  EnvelopeInfo envelope;
};

} // namespace

TEST_P(Gpu, DraftsAndBatchesChangeNoBit) {
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> requests = shortRequests(envelope.vocab, temperature);
    Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
    for (uint32_t k = 0; k <= envelope.maxK; ++k) {
      SessionOptions options = single(k, envelope.maxBatch);
      expectSame(generate(gpu, options, requests), expected, options);
    }
  }
}

TEST_P(Gpu, PreemptionAndReuseChangeNoBit) {
  std::vector<Request> requests = shortRequests(envelope.vocab, 0.8f);
  Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  options.kvPages = 4;
  options.prefixCache = true;
  expectSame(generate(gpu, options, requests), expected, options);
}

/// The largest value and the second largest.
static std::pair<float, float> bestTwo(std::vector<float> row) {
  std::nth_element(row.begin(), row.begin() + 1, row.end(), std::greater<>());
  return {row[0], row[1]};
}

TEST_P(Gpu, LogitsAreTheCpus) {
  std::vector<Request> requests = shortRequests(envelope.vocab, 0.0f);
  SessionOptions options = single(/*k=*/0, envelope.maxBatch);
  Outcome run = generate(gpu, options, requests);
  Outcome expected = generate(cpu, options, requests);
  ASSERT_EQ(run.sequences.size(), expected.sequences.size());
  size_t vocab = envelope.vocab, compared = 0;
  for (size_t i = 0; i < run.sequences.size(); ++i) {
    const Generated &a = run.sequences[i], &b = expected.sequences[i];
    ASSERT_EQ(a.tokens.size(), b.tokens.size());
    for (size_t token = 0; token < a.tokens.size(); ++token) {
      auto rowOf = [&](const Generated &all) {
        auto begin = all.logits.begin() + long(token * vocab);
        return std::vector<float>(begin, begin + long(vocab));
      };
      std::vector<float> x = rowOf(a), y = rowOf(b);
      auto [best, second] = bestTwo(y);
      float bound = 0.02f * std::max(1.0f, std::abs(best));
      for (size_t j = 0; j < vocab; ++j)
        ASSERT_NEAR(x[j], y[j], bound)
            << "request " << i << ", token " << token;
      ++compared;
      // Where the two best are close the devices may go on apart.
      if (best - second <= 2 * bound)
        break;
      EXPECT_EQ(a.tokens[token], b.tokens[token]) << "request " << i;
    }
  }
  EXPECT_GE(compared, run.sequences.size());
}

INSTANTIATE_TEST_SUITE_P(Models, Gpu,
                         testing::Values("llama-gqa.sim", "qwen3moe.sim",
                                         "mimo-mtp1.sim", "glm4moe-mtp1.sim",
                                         "dsv3-chain-mtp2.sim"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             if (c == '-' || c == '.')
                               c = '_';
                           return name;
                         });
