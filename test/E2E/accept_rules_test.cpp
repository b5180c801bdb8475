//===- accept_rules_test.cpp - Rules of logits with any accept rule -------===//
//
// Requests have penalties, biases and constraints, and rounds accept by rules
// other than `exact`. Greedy texts of lossless rules equal the texts of k = 0.
// Sampled texts of a constraint have the distribution of k = 0. law.py compares
// the distribution of other rules of logits with numbers.
//
//===----------------------------------------------------------------------===//

#include "harness/Automaton.h"
#include "harness/OnDevice.h"

#include <cmath>
#include <map>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

std::vector<Request> someRequests(uint32_t vocab, bool isSampled) {
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 6; ++i) {
    Request request;
    for (uint32_t token = 0; token < 5 + 4 * i; ++token)
      request.prompt.push_back(textToken(i, token, vocab));
    request.maxTokens = 24 - i;
    request.ignoreEos = true;
    if (isSampled)
      request.sampling = {0.8f, 20, 0.9f, 0.02f, 100 + i};
    if (i % 3 != 2)
      request.constraint = std::make_shared<Automaton>(vocab, int32_t(i));
    if (i % 2 == 1) {
      request.rules.frequencyPenalty = 0.4f;
      request.rules.repetitionPenalty = 1.2f;
    }
    // A constraint may allow a single token, which must not be excluded.
    for (int32_t token = 0; i >= 2 && token < int32_t(vocab); token += 3)
      request.rules.bias.push_back(
          {token, token % 2 && !request.constraint ? -INFINITY : 1.5f});
    requests.push_back(std::move(request));
  }
  return requests;
}

/// Fails the test unless constraints and biases allow all tokens.
void expectAllowed(const std::vector<Request> &requests, const Outcome &run) {
  for (size_t i = 0; i < requests.size(); ++i) {
    std::unique_ptr<ConstraintMatcher> matcher;
    if (requests[i].constraint)
      matcher = requests[i].constraint->begin();
    for (int32_t token : run.sequences[i].tokens) {
      ASSERT_TRUE(!matcher || matcher->accept(token).isOk()) << i;
      for (const TokenBias &entry : requests[i].rules.bias)
        ASSERT_FALSE(std::isinf(entry.bias) && entry.token == token) << i;
    }
  }
}

uint64_t acceptedOf(const Outcome &run) {
  return std::accumulate(run.statistics.accepted.begin(),
                         run.statistics.accepted.end(), uint64_t(0));
}

using AcceptRules = OnDeviceTest;
using LosslessRules = OnDeviceTest;
using DrawnRules = OnDeviceTest;

} // namespace

TEST_P(AcceptRules, TextsAreAllowed) {
  ASSERT_TRUE(model->masksTokens());
  uint64_t accepted = 0;
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/true);
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    std::vector<std::vector<int32_t>> texts;
    for (uint32_t slots : {1u, envelope.maxBatch}) {
      Outcome run = generate(model, single(k, slots), all);
      expectAllowed(all, run);
      accepted += acceptedOf(run);
      for (size_t i = 0; i < all.size(); ++i)
        if (slots == 1)
          texts.push_back(run.sequences[i].tokens);
        else
          EXPECT_EQ(run.sequences[i].tokens, texts[i]) << k << " " << i;
    }
  }
  EXPECT_GT(accepted, 0u);
}

// A constraint that allows one text, whose tokens need no drafter.
TEST_P(AcceptRules, OneTextIsAccepted) {
  AutomatonTexts texts{envelope.vocab};
  texts.length = 15;
  texts.end = 7;
  texts.isForced = true;
  Request request;
  request.prompt = {1, 2, 3};
  request.maxTokens = 20;
  request.sampling = {0.8f, 0, 1.0f, 0.0f, 5};
  request.stopTokens = {texts.end};
  request.constraint = std::make_shared<Automaton>(texts);
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    Outcome run = generate(model, single(k, 1), {request});
    EXPECT_EQ(run.sequences[0].tokens.size(), texts.length);
    EXPECT_LE(run.statistics.rounds, k == 0 ? 15u : 9u) << k;
  }
}

// Sequences whose rules leave no token fail, and others keep their tokens.
TEST_P(AcceptRules, NoTokenIsAnError) {
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/true);
  all.resize(3);
  Outcome expected = generate(model, single(envelope.maxK, 3), all);
  auto session = Session::create(model, single(envelope.maxK, 4));
  ASSERT_TRUE(session.isOk());
  std::vector<SequenceId> ids;
  for (const Request &request : all)
    ids.push_back(*(*session)->add(request));
  // The text may end only, which it may not yet.
  AutomatonTexts texts{envelope.vocab};
  texts.length = 5;
  texts.end = 7;
  Request stuck = all[0];
  stuck.constraint = std::make_shared<Automaton>(texts);
  stuck.stopTokens = {texts.end};
  stuck.minTokens = 9;
  stuck.rules.frequencyPenalty = 0.5f;
  SequenceId id = *(*session)->add(stuck);
  std::string error;
  while (!(*session)->idle()) {
    auto updates = (*session)->step();
    ASSERT_TRUE(updates.isOk());
    for (const SequenceUpdate &update : *updates)
      if (update.finish == FinishReason::Failed) {
        EXPECT_EQ(update.id, id);
        EXPECT_EQ(update.error.code(), StatusCode::InvalidArgument);
        error = std::string(update.error.message());
      }
  }
  EXPECT_EQ(error, "no token can follow position 9: the request's logit rules "
                   "leave none (min tokens, grammar)");
  EXPECT_EQ(collect(**session, id).tokens.size(), 5u);
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(collect(**session, ids[i]).tokens, expected.sequences[i].tokens);
}

TEST_P(LosslessRules, GreedyTextsAreThoseOfNoDrafts) {
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/false);
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  expectAllowed(all, expected);
  uint64_t accepted = 0;
  for (uint32_t k = 1; k <= envelope.maxK; ++k)
    for (uint32_t slots : {1u, envelope.maxBatch}) {
      SessionOptions options = single(k, slots);
      Outcome run = generate(model, options, all);
      expectSame(run, expected, options);
      accepted += acceptedOf(run);
      options.kvPages = 7;
      options.prefixCache = true;
      expectSame(generate(model, options, all), expected, options);
    }
  EXPECT_GT(accepted, 0u);
}

// Few tokens are allowed, so most drafts are forbidden. Pairs of tokens have
// the same frequencies at k = 0 and with drafts, by chi-square.
TEST_P(DrawnRules, ConstrainedTextsHaveTheDistributionOfNoDrafts) {
  constexpr size_t kTexts = 3000;
  std::vector<Request> all(kTexts);
  for (uint32_t i = 0; i < kTexts; ++i) {
    Request &request = all[i];
    request.prompt = {5, 9, 2};
    request.maxTokens = 4;
    request.ignoreEos = true;
    request.sampling = {1.0f, 6, 1.0f, 0.0f, i};
    request.constraint = std::make_shared<Automaton>(envelope.vocab, 0);
  }
  std::map<std::pair<int32_t, int32_t>, std::array<double, 2>> pairs;
  for (size_t isDrafted : {0, 1}) {
    // Other seeds: the runs must be independent.
    for (Request &request : all)
      request.sampling.seed += isDrafted * kTexts;
    Outcome run = generate(model, single(isDrafted ? envelope.maxK : 0, 4), all,
                           LogitsMode::None);
    for (const Generated &text : run.sequences)
      for (size_t at = 1; at + 1 < text.tokens.size(); ++at)
        ++pairs[{text.tokens[at], text.tokens[at + 1]}][isDrafted];
  }
  double square = 0, degrees = -1;
  for (const auto &[pair, counts] : pairs) {
    if (counts[0] + counts[1] < 20)
      continue;
    square += std::pow(counts[0] - counts[1], 2) / (counts[0] + counts[1]);
    ++degrees;
  }
  // The cube root of chi-square is nearly normal.
  double spread = 2 / (9 * degrees);
  double deviations =
      (std::cbrt(square / degrees) - (1 - spread)) / std::sqrt(spread);
  EXPECT_GT(degrees, 8);
  EXPECT_LT(deviations, 4) << degrees;
}

INSTANTIATE_TEST_SUITE_P(
    Models, AcceptRules,
    testing::Values(OnDevice{"mtp-drawn.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-block.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-tried.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-typical.rules", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Models, LosslessRules,
    testing::Values(OnDevice{"mtp-drawn.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-block.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-tried.rules", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Models, DrawnRules,
    testing::Values(OnDevice{"mtp-drawn.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-block.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-tried.rules", DeviceKind::Cpu}),
    nameOf);
