//===- logprobs_test.cpp - Log-probabilities of tokens --------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/SamplingRow.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/results/RowLogprobs.h"
#include "support/FakeLanguage.h"
#include "support/FakeModel.h"
#include "support/ForwardingExecutable.h"
#include "support/OpenSession.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

//===----------------------------------------------------------------------===//
// The oracle: sorts the tokens, and adds up exponentials of doubles
//===----------------------------------------------------------------------===//

struct OracleRow {
  /// All tokens above -infinity, likeliest first.
  std::vector<int32_t> order;
  /// By token.
  std::vector<double> logprobs;
};

/// Keeps the first tokens of `order` that together reach `share`.
void keepShare(std::vector<int32_t> &order, const std::vector<double> &weights,
               double share) {
  double all = 0, sum = 0;
  for (int32_t token : order)
    all += weights[size_t(token)];
  for (size_t i = 0; i < order.size(); ++i) {
    sum += weights[size_t(order[i])];
    if (sum >= share * all)
      return order.resize(i + 1);
  }
}

OracleRow oracle(const std::vector<float> &logits, LogprobsMode mode,
                 const SamplingParams &s) {
  bool isFiltered = mode == LogprobsMode::Processed && s.temperature > 0;
  OracleRow row;
  for (size_t t = 0; t < logits.size(); ++t)
    if (logits[t] > -kInfinity)
      row.order.push_back(int32_t(t));
  auto logit = [&](int32_t token) { return logits[size_t(token)]; };
  std::stable_sort(row.order.begin(), row.order.end(),
                   [&](int32_t a, int32_t b) { return logit(a) > logit(b); });
  std::vector<int32_t> kept = row.order;
  double best = logit(kept.front());
  double scale = isFiltered ? 1 / double(s.temperature) : 1;
  std::vector<double> weights(logits.size(), 0);
  for (int32_t token : kept)
    weights[size_t(token)] = std::exp((double(logit(token)) - best) * scale);
  if (isFiltered && s.topK > 0)
    kept.resize(std::min<size_t>(kept.size(), s.topK));
  if (isFiltered && s.topP < 1)
    keepShare(kept, weights, s.topP);
  if (isFiltered && s.minP > 0)
    std::erase_if(kept, [&](int32_t token) {
      return weights[size_t(token)] < double(s.minP);
    });
  double sum = 0;
  for (int32_t token : kept)
    sum += weights[size_t(token)];
  row.logprobs.assign(logits.size(), -kInfinity);
  for (int32_t token : kept)
    row.logprobs[size_t(token)] =
        (double(logit(token)) - best) * scale - std::log(sum);
  return row;
}

/// Compares all numbers of a row with the oracle's.
void expectLikeOracle(const std::vector<float> &logits, int32_t token,
                      uint32_t count, LogprobsMode mode,
                      const SamplingParams &sampling) {
  RowLogprobs rows;
  OracleRow expected = oracle(logits, mode, sampling);
  TokenLogprobs given = rows.compute(logits, token, count, mode, sampling);
  auto near = [&](const TokenLogprob &one) {
    double exact = expected.logprobs[size_t(one.token)];
    if (exact == -double(kInfinity))
      EXPECT_EQ(one.logprob, -kInfinity) << "token " << one.token;
    else
      // A float has 24 bits.
      EXPECT_NEAR(one.logprob, exact, 6e-7 + std::abs(exact) * 1.2e-7);
  };
  EXPECT_EQ(given.own.token, token);
  near(given.own);
  auto place = std::ranges::find(expected.order, token);
  EXPECT_EQ(given.rank, uint32_t(place - expected.order.begin()) + 1);
  std::vector<int32_t> likeliest;
  for (size_t i = 0; i < std::min<size_t>(count, expected.order.size()); ++i)
    if (expected.logprobs[size_t(expected.order[i])] > -double(kInfinity))
      likeliest.push_back(expected.order[i]);
  ASSERT_EQ(given.likeliest.size(), likeliest.size());
  for (size_t i = 0; i < likeliest.size(); ++i) {
    EXPECT_EQ(given.likeliest[i].token, likeliest[i]) << "place " << i;
    near(given.likeliest[i]);
  }
}

/// Returns logits with equal ones and ones of -infinity.
std::vector<float> randomRow(size_t vocab, std::mt19937 &random) {
  std::normal_distribution<float> normal(0, 4);
  std::vector<float> logits(vocab);
  for (float &logit : logits)
    logit = normal(random);
  for (size_t i = 0; i < vocab / 8; ++i) {
    logits[random() % vocab] = -kInfinity;
    logits[random() % vocab] = logits[random() % vocab];
  }
  logits[random() % vocab] = 9;
  return logits;
}

} // namespace

TEST(RowLogprobs, AreTheLogSoftmax) {
  std::mt19937 random(1);
  for (size_t vocab : {1, 2, 63, 64, 65, 1000, 49152})
    for (uint32_t count : {0, 1, 5, 20}) {
      std::vector<float> logits = randomRow(vocab, random);
      for (int32_t token : {0, int32_t(random() % vocab)}) {
        if (!(logits[size_t(token)] > -kInfinity))
          continue;
        expectLikeOracle(logits, token, count, LogprobsMode::Raw,
                         {0.5f, 3, 0.5f, 0.1f, 1});
      }
    }
}

TEST(RowLogprobs, FollowTheFilters) {
  std::mt19937 random(2);
  const SamplingParams filters[] = {
      {0.7f, 0, 1, 0, 1},      {1.5f, 5, 1, 0, 1},     {1, 1, 1, 0, 1},
      {0.9f, 0, 0.8f, 0, 1},   {1, 0, 1, 0.05f, 1},    {2, 40, 0.9f, 0.01f, 1},
      {0.01f, 20, 0.5f, 0, 1}, {1, 5000, 0.999f, 0, 1}};
  for (size_t vocab : {65, 1000, 4000})
    for (const SamplingParams &sampling : filters) {
      std::vector<float> logits = randomRow(vocab, random);
      OracleRow all = oracle(logits, LogprobsMode::Raw, sampling);
      // All of the likeliest tokens, and some others.
      for (size_t i = 0; i < all.order.size(); i += i < 30 ? 1 : 211)
        expectLikeOracle(logits, all.order[i], 20, LogprobsMode::Processed,
                         sampling);
    }
}

TEST(RowLogprobs, OfAGreedyRequestAreTheModels) {
  std::mt19937 random(3);
  std::vector<float> logits = randomRow(300, random);
  expectLikeOracle(logits, 7, 9, LogprobsMode::Processed, {0, 3, 0.1f, 0.5f});
}

TEST(RowLogprobs, OfInfiniteLogits) {
  RowLogprobs rows;
  std::vector<float> logits = {1, kInfinity, -kInfinity, kInfinity, NAN};
  TokenLogprobs row = rows.compute(logits, 1, 5, LogprobsMode::Raw, {});
  EXPECT_FLOAT_EQ(row.own.logprob, -std::log(2.0f));
  EXPECT_EQ(row.rank, 1u);
  ASSERT_EQ(row.likeliest.size(), 2u);
  EXPECT_EQ(row.likeliest[1].token, 3);
  EXPECT_EQ(rows.compute(logits, 0, 0, LogprobsMode::Raw, {}).own.logprob,
            -kInfinity);
  // A token without probability has one rank and one value.
  logits = {2, NAN, -kInfinity};
  EXPECT_EQ(rows.compute(logits, 2, 3, LogprobsMode::Raw, {}).own.logprob,
            -kInfinity);
  row = rows.compute(logits, 0, 3, LogprobsMode::Raw, {});
  EXPECT_EQ(row.own.logprob, 0);
  EXPECT_EQ(row.likeliest.size(), 1u);
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

namespace {

std::vector<Request> mixedRequests() {
  std::vector<Request> all;
  for (uint32_t length : {1, 9, 3, 17, 5}) {
    uint32_t index = uint32_t(all.size());
    Request &next = all.emplace_back();
    for (uint32_t i = 0; i < length; ++i)
      next.prompt.push_back(int32_t((i * 7 + length) % FAKE_VOCAB));
    next.maxTokens = 30;
    if (index % 2 == 1)
      next.sampling = {1.2f, 9, 0.9f, 0.01f, index};
    if (index != 2)
      next.logprobs.output = 2 * index;
    if (index == 3)
      next.logprobs.mode = LogprobsMode::Processed;
  }
  return all;
}

struct Output {
  std::vector<int32_t> tokens;
  std::vector<TokenLogprobs> logprobs;
};

std::map<SequenceId, Output> runAll(Session &session,
                                    const std::vector<Request> &requests) {
  std::map<SequenceId, Output> outputs;
  for (const Request &request : requests) {
    auto id = session.add(request);
    EXPECT_TRUE(id.isOk()) << id.status().toString();
    outputs[*id];
  }
  for (SequenceUpdate &update : drain(session)) {
    Output &own = outputs[update.id];
    own.tokens.insert(own.tokens.end(), update.tokens.begin(),
                      update.tokens.end());
    for (TokenLogprobs &one : update.logprobs)
      own.logprobs.push_back(std::move(one));
  }
  return outputs;
}

bool equal(const TokenLogprob &a, const TokenLogprob &b) {
  return a.token == b.token && std::bit_cast<uint32_t>(a.logprob) ==
                                   std::bit_cast<uint32_t>(b.logprob);
}

/// Compares each token's numbers, bit for bit, with those of the fake
/// language's logits.
void expectOwnNumbers(const Request &request, const Output &output) {
  if (!request.logprobs.output) {
    EXPECT_TRUE(output.logprobs.empty());
    return;
  }
  ASSERT_EQ(output.logprobs.size(), output.tokens.size());
  std::vector<int32_t> tokens = request.prompt;
  RowLogprobs rows;
  for (size_t i = 0; i < output.tokens.size(); ++i) {
    TokenLogprobs expected = rows.compute(
        fakeLogits(tokens), output.tokens[i], *request.logprobs.output,
        request.logprobs.mode, request.sampling);
    const TokenLogprobs &given = output.logprobs[i];
    EXPECT_TRUE(equal(given.own, expected.own)) << "token " << i;
    // A token that was drawn is one that the filters keep.
    EXPECT_GT(given.own.logprob, -kInfinity);
    EXPECT_EQ(given.rank, expected.rank);
    ASSERT_EQ(given.likeliest.size(), expected.likeliest.size());
    for (size_t j = 0; j < expected.likeliest.size(); ++j)
      EXPECT_TRUE(equal(given.likeliest[j], expected.likeliest[j]));
    tokens.push_back(output.tokens[i]);
  }
}

} // namespace

TEST(Logprobs, AreThoseOfTheTokensAtAnyKBatchAndPool) {
  std::vector<Request> requests = mixedRequests();
  uint64_t preemptions = 0;
  for (uint32_t k = 0; k <= 4; ++k)
    for (uint32_t slots : {1, 2, 4})
      // A request and its window take up to 13 pages.
      for (uint32_t pages : {0, 20}) {
        FakeOptions fake;
        fake.hasRanges = slots == 2;
        SessionOptions options;
        options.k = k;
        options.maxSlots = slots;
        options.kvPages = pages;
        options.threads = 1;
        auto session = Session::create(loadFakeModel(fake), options);
        ASSERT_TRUE(session.isOk()) << session.status().toString();
        auto outputs = runAll(**session, requests);
        size_t index = 0;
        for (auto &[id, output] : outputs) {
          EXPECT_EQ(output.tokens, expectedOutput(requests[index]).tokens);
          expectOwnNumbers(requests[index++], output);
        }
        preemptions += (*session)->statistics().preemptions;
      }
  EXPECT_GT(preemptions, 0u);
}

TEST(Logprobs, OfAStopTokenAreNotOutput) {
  Request request = mixedRequests()[1];
  std::vector<int32_t> tokens = expectedOutput(request).tokens;
  request.stopTokens = {tokens[6]};
  auto session = openFake();
  auto outputs = runAll(*session, {request});
  expectOwnNumbers(request, outputs.begin()->second);
  EXPECT_LT(outputs.begin()->second.tokens.size(), 7u);
}

namespace {

/// Counts reads of rows of logits, and notes the sampling rows of slots.
class LogitsWatch : public ForwardingExecutable {
public:
  struct Seen {
    uint64_t rows = 0, parts = 0, runs = 0;
    std::vector<int32_t> skips;
  };
  LogitsWatch(std::unique_ptr<Executable> inner, const Artifact &artifact,
              Seen &seen)
      : ForwardingExecutable(std::move(inner)),
        sampling(artifact.findState("sampling")), seen(seen) {}

  Status run(uint32_t program, uint32_t n) override {
    ++seen.runs;
    return inner->run(program, n);
  }
  Status runPart(uint32_t program, uint32_t n, Part part) override {
    ++seen.parts;
    return inner->runPart(program, n, part);
  }
  Status read(const Binding &binding, void *target, uint64_t bytes) override {
    seen.rows += bytes == FAKE_VOCAB * sizeof(float);
    return inner->read(binding, target, bytes);
  }
  Status write(const Binding &binding, const void *source,
               uint64_t bytes) override {
    if (binding.space == schema::Space::State && binding.index == sampling) {
      SamplingRow row;
      std::memcpy(&row, source, sizeof(row));
      seen.skips.push_back(row.skipLogits);
    }
    return inner->write(binding, source, bytes);
  }

private:
  std::optional<uint32_t> sampling;
  Seen &seen;
};

LogitsWatch::Seen watch(const std::vector<Request> &requests) {
  LogitsWatch::Seen seen;
  std::shared_ptr<const Model> model = loadFakeModel();
  SessionOptions options;
  options.threads = 1;
  SessionSetup setup;
  setup.device = [&](std::unique_ptr<Executable> loaded) {
    return std::make_unique<LogitsWatch>(
        std::move(loaded), ModelAccess::impl(*model).artifact(), seen);
  };
  auto session = openSession(model, options, std::move(setup));
  if (session)
    runAll(*session, requests);
  return seen;
}

} // namespace

// A request without log-probabilities reads no logits, and runs what it runs
// anyway.
TEST(Logprobs, CostNothingWithoutARequest) {
  std::vector<Request> with = mixedRequests(), without = with;
  uint64_t tokens = 0;
  for (size_t i = 0; i < with.size(); ++i) {
    without[i].logprobs = {};
    tokens += with[i].logprobs.output ? with[i].maxTokens : 0;
  }
  LogitsWatch::Seen plain = watch(without), asked = watch(with);
  EXPECT_EQ(plain.rows, 0u);
  EXPECT_EQ(asked.rows, tokens);
  EXPECT_EQ(plain.runs, asked.runs);
  EXPECT_EQ(plain.parts, 0u);
  EXPECT_EQ(asked.parts, 0u);
  // Requests 0, 2 and 4 are greedy; 2 asks for nothing.
  EXPECT_EQ(std::ranges::count(plain.skips, 1), 3);
  EXPECT_EQ(std::ranges::count(asked.skips, 1), 1);
}

TEST(Logprobs, AreLimited) {
  auto session = openFake();
  Request request = mixedRequests()[0];
  request.logprobs.output = LogprobsRequest::kMost + 1;
  Status status = session->add(request).status();
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
  EXPECT_EQ(status.message(), "expected logprobs of at most 20, got 21");
  request.logprobs = {std::nullopt, 21};
  status = session->add(request).status();
  EXPECT_EQ(status.message(), "expected prompt logprobs of at most 20, got 21");
  // The fake model cannot score texts.
  request.logprobs.prompt = 0;
  status = session->add(request).status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_FALSE(session->model()->scoresPrompts());
}
