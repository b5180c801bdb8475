//===- logprobs_test.cpp - Log-probabilities of output and prompts --------===//
//
// The log-probabilities of a request must equal, bit for bit, those of the
// simplest session: no drafts, one sequence at a time. Other sequences of the
// session have log-probabilities of their own, or none.
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"

#include <bit>
#include <cmath>
#include <map>

using namespace mtp;
using namespace mtp::test;

namespace {

struct Scored {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> output, prompt;
};

struct ScoredRun {
  std::vector<Scored> sequences;
  Statistics statistics;
};

/// Adds the updates of a step to the sequences that they name.
bool takeStep(Session &session, std::map<SequenceId, Scored> &scored) {
  auto updates = session.step();
  EXPECT_TRUE(updates.isOk()) << updates.status().toString();
  if (!updates.isOk())
    return false;
  for (SequenceUpdate &update : *updates) {
    EXPECT_TRUE(update.error.isOk()) << update.error.toString();
    Scored &own = scored[update.id];
    if (!update.promptLogprobs.empty()) {
      EXPECT_TRUE(own.prompt.empty() && own.tokens.empty());
      own.prompt = std::move(update.promptLogprobs);
    }
    own.tokens.insert(own.tokens.end(), update.tokens.begin(),
                      update.tokens.end());
    own.output.insert(own.output.end(), update.logprobs.begin(),
                      update.logprobs.end());
  }
  return true;
}

/// Runs requests, one of which arrives each `stepsApart` steps.
ScoredRun run(std::shared_ptr<const Model> model, const SessionOptions &options,
              const std::vector<Request> &requests, size_t stepsApart = 0) {
  ScoredRun result;
  auto session = Session::create(std::move(model), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  if (!session.isOk())
    return result;
  std::map<SequenceId, Scored> scored;
  for (size_t step = 0; !(*session)->idle() || scored.size() < requests.size();
       ++step) {
    while (scored.size() < requests.size() &&
           scored.size() * stepsApart <= step) {
      auto id = (*session)->add(requests[scored.size()]);
      EXPECT_TRUE(id.isOk()) << id.status().toString();
      if (!id.isOk())
        return result;
      scored[*id];
    }
    if (!takeStep(**session, scored))
      return result;
  }
  for (auto &[id, sequence] : scored)
    result.sequences.push_back(std::move(sequence));
  result.statistics = (*session)->statistics();
  EXPECT_EQ((*session)->kvUsage().heldPages, 0u);
  return result;
}

bool equal(const TokenLogprob &a, const TokenLogprob &b) {
  return a.token == b.token && std::bit_cast<uint32_t>(a.logprob) ==
                                   std::bit_cast<uint32_t>(b.logprob);
}

void expectEqual(const std::vector<TokenLogprobs> &given,
                 const std::vector<TokenLogprobs> &expected,
                 const std::string &where) {
  ASSERT_EQ(given.size(), expected.size()) << where;
  for (size_t i = 0; i < given.size(); ++i) {
    const TokenLogprobs &a = given[i], &b = expected[i];
    EXPECT_TRUE(equal(a.own, b.own) && a.rank == b.rank)
        << where << ", token " << i << ": " << a.own.token << " "
        << a.own.logprob << ", expected " << b.own.token << " "
        << b.own.logprob;
    ASSERT_EQ(a.likeliest.size(), b.likeliest.size()) << where;
    for (size_t j = 0; j < a.likeliest.size(); ++j)
      EXPECT_TRUE(equal(a.likeliest[j], b.likeliest[j]))
          << where << ", token " << i << ", place " << j;
  }
}

void expectEqual(const ScoredRun &given, const ScoredRun &expected,
                 const SessionOptions &options) {
  ASSERT_EQ(given.sequences.size(), expected.sequences.size());
  for (size_t i = 0; i < given.sequences.size(); ++i) {
    std::string where = describe(options) + ", request " + std::to_string(i);
    EXPECT_EQ(given.sequences[i].tokens, expected.sequences[i].tokens) << where;
    expectEqual(given.sequences[i].output, expected.sequences[i].output,
                where + ", output");
    expectEqual(given.sequences[i].prompt, expected.sequences[i].prompt,
                where + ", prompt");
  }
}

class Logprobs : public OnDeviceTest {
protected:
  bool isSimulated() const { return GetParam().device == DeviceKind::Cuda; }

  Request request(uint32_t text, uint32_t prompt, uint32_t tokens) const {
    Request request;
    for (uint32_t i = 0; i < prompt; ++i)
      request.prompt.push_back(textToken(text, i, envelope.vocab));
    request.maxTokens = tokens;
    request.ignoreEos = true;
    return request;
  }

  /// Returns greedy and sampled requests with equal first tokens: with
  /// log-probabilities of the output, of the prompt, of both, and of neither.
  std::vector<Request> requests(uint32_t output) const {
    std::vector<Request> all;
    std::vector<uint32_t> lengths = {9, 41, 1, 24, 33, 17};
    if (isSimulated())
      lengths.resize(4);
    for (uint32_t length : lengths) {
      uint32_t index = uint32_t(all.size());
      Request &next = all.emplace_back(request(/*text=*/31, length, output));
      if (index % 2 == 1)
        next.sampling = {0.8f, 20, 0.9f, 0.02f, 7 + index};
      if (index != 4)
        next.logprobs.output = index;
      if (index % 3 != 0)
        next.logprobs.prompt = 20 - index;
      next.logprobs.mode =
          index % 4 == 1 ? LogprobsMode::Processed : LogprobsMode::Raw;
    }
    all.front().logprobs.output = LogprobsRequest::kMost;
    return all;
  }
};

} // namespace

TEST_P(Logprobs, AreEqualAtAnyKBatchAndSchedule) {
  std::vector<Request> all = requests(/*output=*/isSimulated() ? 6 : 16);
  ScoredRun expected = run(model, single(/*k=*/0, /*slots=*/1), all);
  ASSERT_EQ(expected.sequences.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Scored &own = expected.sequences[i];
    EXPECT_EQ(own.output.size(),
              all[i].logprobs.output ? own.tokens.size() : 0);
    EXPECT_EQ(own.prompt.size(),
              all[i].logprobs.prompt ? all[i].prompt.size() - 1 : 0);
  }
  uint32_t step = isSimulated() ? std::max(envelope.maxK, 1u) : 1;
  for (uint32_t k = 0; k <= envelope.maxK; k += step)
    for (uint32_t slots : {1u, std::min(envelope.maxBatch, 4u)})
      for (uint32_t chunk : {5u, envelope.prefillChunk}) {
        if (isSimulated() && (slots == 1) == (chunk == 5))
          continue;
        SessionOptions options = single(k, slots);
        options.prefillChunk = chunk;
        options.prefixCache = chunk != 5;
        expectEqual(run(model, options, all, /*stepsApart=*/slots == 1 ? 0 : 3),
                    expected, options);
      }
}

// Sequences lose their slots before, during and after the scoring of their
// prompts.
TEST_P(Logprobs, SurvivePreemption) {
  std::vector<Request> all = requests(/*output=*/isSimulated() ? 16 : 40);
  ScoredRun expected = run(model, single(/*k=*/0, /*slots=*/1), all);
  uint64_t preemptions = 0;
  for (uint32_t k : {0u, envelope.maxK})
    for (bool prefixCache : {false, true}) {
      if (isSimulated() && (k == 0 || prefixCache))
        continue;
      SessionOptions options = single(k, std::min(envelope.maxBatch, 4u));
      options.prefixCache = prefixCache;
      options.kvPages =
          2 + (41 + all.front().maxTokens + 2 * envelope.maxNodes) /
                  envelope.pageTokens;
      ScoredRun tight = run(model, options, all, /*stepsApart=*/1);
      expectEqual(tight, expected, options);
      preemptions += tight.statistics.preemptions;
    }
  EXPECT_GT(preemptions, 0u);
}

// Output that becomes part of a prompt has the numbers that it had as output.
TEST_P(Logprobs, OfAPromptAreThoseOfTheOutput) {
  Request first = request(/*text=*/33, /*prompt=*/13, isSimulated() ? 8 : 45);
  first.sampling = {1.0f, 0, 1, 0, 5};
  first.logprobs.output = 7;
  SessionOptions options = single(envelope.maxK, 1);
  ScoredRun output = run(model, options, {first});
  ASSERT_EQ(output.sequences.size(), 1u);
  const Scored &own = output.sequences[0];
  Request second = first;
  second.prompt.insert(second.prompt.end(), own.tokens.begin(),
                       own.tokens.end());
  second.maxTokens = 1;
  second.logprobs.prompt = 7;
  second.logprobs.mode = LogprobsMode::Processed; // of output alone
  second.logprobs.output.reset();
  ScoredRun prompt = run(model, options, {second});
  ASSERT_EQ(prompt.sequences.size(), 1u);
  const std::vector<TokenLogprobs> &scores = prompt.sequences[0].prompt;
  ASSERT_EQ(scores.size(), second.prompt.size() - 1);
  expectEqual({scores.end() - long(own.output.size()), scores.end()},
              own.output, "prompt");
}

// The oracle adds up exponentials of kept logits as doubles.
TEST_P(Logprobs, AreTheLogSoftmaxOfTheLogits) {
  Request request = this->request(/*text=*/35, /*prompt=*/11, /*tokens=*/6);
  request.sampling = {0.7f, 0, 1, 0, 5};
  for (LogprobsMode mode : {LogprobsMode::Raw, LogprobsMode::Processed}) {
    request.logprobs = {3, std::nullopt, mode};
    SessionOptions options = single(envelope.maxK, 1);
    ScoredRun given = run(model, options, {request});
    ASSERT_EQ(given.sequences.size(), 1u);
    Outcome kept = generate(model, options, {request});
    double scale = mode == LogprobsMode::Raw ? 1 : 1 / double(0.7f);
    const std::vector<TokenLogprobs> &output = given.sequences[0].output;
    ASSERT_EQ(output.size() * envelope.vocab, kept.sequences[0].logits.size());
    for (size_t i = 0; i < output.size(); ++i) {
      const float *row = kept.sequences[0].logits.data() + i * envelope.vocab;
      double most = row[0], sum = 0;
      for (uint32_t t = 0; t < envelope.vocab; ++t)
        most = std::max(most, double(row[t]));
      for (uint32_t t = 0; t < envelope.vocab; ++t)
        sum += std::exp((double(row[t]) - most) * scale);
      std::vector<TokenLogprob> all = output[i].likeliest;
      all.push_back(output[i].own);
      EXPECT_EQ(all.size(), 4u);
      for (const TokenLogprob &one : all)
        EXPECT_NEAR(one.logprob,
                    (double(row[one.token]) - most) * scale - std::log(sum),
                    2e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Logprobs,
    testing::Values(OnDevice{"dsv3-chain-mtp2.mixed", DeviceKind::Cpu, true},
                    OnDevice{"mimo-tree.mixed", DeviceKind::Cpu, true},
                    OnDevice{"llama-gqa.mixed", DeviceKind::Cpu, true},
                    OnDevice{"hybrid.mixed", DeviceKind::Cpu, true},
                    OnDevice{"dsv3-chain-mtp2.mixedsim", DeviceKind::Cuda,
                             true},
                    OnDevice{"mimo-tree.mixedsim", DeviceKind::Cuda, true}),
    nameOf);
