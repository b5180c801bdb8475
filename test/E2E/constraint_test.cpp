//===- constraint_test.cpp - Constrained requests -------------------------===//
//
// Tokens and logits of constrained requests, and of free requests beside them,
// must equal, bit for bit, those of a session without drafts that runs one
// sequence at a time.
//
//===----------------------------------------------------------------------===//

#include "harness/Automaton.h"
#include "harness/OnDevice.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns requests of which every third is free. Some have penalties, too.
std::vector<Request> someRequests(uint32_t vocab, bool isSampled) {
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 6; ++i) {
    Request request;
    for (uint32_t token = 0; token < 5 + 7 * i; ++token)
      request.prompt.push_back(textToken(i, token, vocab));
    request.maxTokens = 24 - i;
    request.ignoreEos = true;
    if (isSampled)
      request.sampling = {0.8f, 20, 0.9f, 0.02f, 100 + i};
    if (i % 3 != 2)
      request.constraint = std::make_shared<Automaton>(vocab, int32_t(i));
    if (i >= 3)
      request.rules.frequencyPenalty = 0.4f;
    requests.push_back(std::move(request));
  }
  return requests;
}

/// Fails the test unless all tokens of constrained requests are allowed.
void expectAllowed(const std::vector<Request> &requests, const Outcome &run) {
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].constraint)
      continue;
    auto matcher = requests[i].constraint->begin();
    for (int32_t token : run.sequences[i].tokens)
      ASSERT_TRUE(matcher->accept(token).isOk()) << i << " " << token;
  }
}

uint64_t acceptedOf(const Outcome &run) {
  return std::accumulate(run.statistics.accepted.begin(),
                         run.statistics.accepted.end(), uint64_t(0));
}

using Constraint = OnDeviceTest;

/// With programs whose rounds take rows of prompts.
using MixedConstraint = OnDeviceTest;

/// On the simulator, which takes 20 ms or more for a round.
using SimulatedConstraint = OnDeviceTest;

} // namespace

TEST_P(Constraint, TokensAreThoseOfNoDrafts) {
  ASSERT_TRUE(model->masksTokens());
  uint64_t accepted = 0;
  for (bool isSampled : {false, true}) {
    std::vector<Request> all = someRequests(envelope.vocab, isSampled);
    Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
    expectAllowed(all, expected);
    std::vector<Request> free = all;
    for (Request &request : free)
      request.constraint = nullptr;
    Outcome plain = generate(model, single(0, 1), free);
    EXPECT_NE(plain.sequences[0].tokens, expected.sequences[0].tokens);
    EXPECT_EQ(plain.sequences[2].tokens, expected.sequences[2].tokens);
    for (uint32_t k = 0; k <= envelope.maxK; ++k)
      for (uint32_t slots : {1u, 3u, envelope.maxBatch}) {
        SessionOptions options = single(k, slots);
        Outcome run = generate(model, options, all);
        expectSame(run, expected, options);
        accepted += acceptedOf(run);
      }
  }
  // A lookup finds little in these texts.
  bool isLookup = std::string(GetParam().artifact).starts_with("qwen3");
  EXPECT_TRUE(accepted > 0 || isLookup);
}

TEST_P(Constraint, SurvivesPreemption) {
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/true);
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  uint64_t preemptions = 0;
  for (uint32_t k : {0u, envelope.maxK}) {
    SessionOptions options = single(k, envelope.maxBatch);
    options.prefixCache = true;
    options.automaticK = k > 0;
    options.kvPages = 7;
    Outcome run = generate(model, options, all);
    expectSame(run, expected, options);
    preemptions += run.statistics.preemptions;
  }
  EXPECT_GT(preemptions, 0u);
}

// Rows of prompts share rounds with free sequences. The first token of a
// constrained prompt is picked there, in the company of rows without masks.
TEST_P(MixedConstraint, PromptsInRoundsHaveMasks) {
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/false);
  // A free sequence runs first, and longest.
  std::swap(all[0], all[2]);
  all[0].maxTokens = 60;
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  expectAllowed(all, expected);
  uint64_t mixed = 0;
  for (uint32_t k : {0u, 1u, envelope.maxK}) {
    SessionOptions options = single(k, envelope.maxBatch);
    Outcome run =
        generate(model, options, all, LogitsMode::All, /*stepsApart=*/2);
    expectSame(run, expected, options);
    mixed += run.statistics.mixedTokens;
  }
  EXPECT_GT(mixed, 20u);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Constraint,
    testing::Values(OnDevice{"mimo-mtp1.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-static.rules", DeviceKind::Cpu},
                    OnDevice{"mtp-beam.rules", DeviceKind::Cpu},
                    OnDevice{"qwen3.rules", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Models, MixedConstraint,
    testing::Values(OnDevice{"mimo-mtp1.masks", DeviceKind::Cpu},
                    OnDevice{"mtp-static.masks", DeviceKind::Cpu},
                    OnDevice{"mtp-beam.masks", DeviceKind::Cpu},
                    OnDevice{"qwen3.masks", DeviceKind::Cpu}),
    nameOf);

// Greedy and sampled, constrained and free sequences share rounds. Prompts come
// while a free sequence runs.
TEST_P(SimulatedConstraint, TokensAreThoseOfNoDrafts) {
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/true);
  std::swap(all[0], all[2]);
  all.resize(5);
  for (Request &request : all)
    request.maxTokens = 8;
  all[0].maxTokens = 14;
  all[1].sampling = {};
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  expectAllowed(all, expected);
  SessionOptions options = single(envelope.maxK, /*slots=*/3);
  options.kvPages = 7;
  Outcome run =
      generate(model, options, all, LogitsMode::All, /*stepsApart=*/2);
  expectSame(run, expected, options);
  EXPECT_GT(run.statistics.mixedTokens, 0u);
}

#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(
    Models, SimulatedConstraint,
    testing::Values(OnDevice{"mimo-mtp1.masks", DeviceKind::Cuda},
                    OnDevice{"mtp-static.masks", DeviceKind::Cuda},
                    OnDevice{"mtp-beam.masks", DeviceKind::Cuda},
                    OnDevice{"qwen3.masks", DeviceKind::Cuda}),
    nameOf);
#endif
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SimulatedConstraint);

// Masks of the paths of drafts need a round that stops; rounds of a static tree
// do not give their parents.
TEST(Constraint, DraftsNeedTheirPaths) {
  for (auto [name, hasDrafts] : {std::pair("mimo-mtp1.rules", true),
                                 {"mtp-beam.rules", true},
                                 {"mtp-static.rules", false}}) {
    std::shared_ptr<const Model> model = loadArtifact(name);
    auto session = Session::create(model, single(/*k=*/2, /*slots=*/1));
    ASSERT_TRUE(session.isOk());
    Request request = someRequests(model->envelope()->vocab, false)[0];
    auto id = (*session)->add(request);
    ASSERT_TRUE(id.isOk()) << id.status().toString();
    while (!(*session)->idle())
      ASSERT_TRUE((*session)->step().isOk());
    Statistics counts = *(*session)->statistics(*id);
    EXPECT_EQ(counts.roundRows > counts.rounds, hasDrafts) << name;
  }
}

TEST(Constraint, IsRefusedByAModelWithoutMasks) {
  for (auto [name, vocab, message] :
       {std::tuple("mimo-mtp1.f32", 112u, "--without-logit-rules"),
        {"mimo-mtp1.rules", 113u, "expected a constraint over 112 tokens"}}) {
    auto session = Session::create(loadArtifact(name));
    ASSERT_TRUE(session.isOk());
    Request request = someRequests(112, false)[0];
    request.constraint = std::make_shared<Automaton>(vocab, 0);
    auto added = (*session)->add(request);
    ASSERT_FALSE(added.isOk());
    EXPECT_NE(added.status().message().find(message), std::string::npos)
        << added.status().message();
  }
}
