//===- constraint_test.cpp - Constrained requests -------------------------===//
//
// Tokens and logits of constrained requests, and of free requests beside them,
// must equal, bit for bit, those of a session without drafts that runs one
// sequence at a time.
//
//===----------------------------------------------------------------------===//

#include "harness/Automaton.h"
#include "harness/Generation.h"

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

class Constraint : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    model = loadArtifact(GetParam());
    ASSERT_TRUE(model && model->masksTokens());
    envelope = *model->envelope();
  }

  std::shared_ptr<const Model> model;
  EnvelopeInfo envelope;
};

} // namespace

TEST_P(Constraint, TokensAreThoseOfNoDrafts) {
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
    uint64_t accepted = 0;
    for (uint32_t k = 0; k <= envelope.maxK; ++k)
      for (uint32_t slots : {1u, 3u, envelope.maxBatch}) {
        SessionOptions options = single(k, slots);
        Outcome run = generate(model, options, all);
        expectSame(run, expected, options);
        accepted += acceptedOf(run);
      }
    // A lookup finds nothing in these texts.
    EXPECT_EQ(accepted > 0, std::string(GetParam()) != "qwen3.rules");
  }
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

/// Returns the name of a test for an artifact.
static std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  return testName(info.param);
}

INSTANTIATE_TEST_SUITE_P(Models, Constraint,
                         testing::Values("mimo-mtp1.rules", "mtp-static.rules",
                                         "mtp-beam.rules", "qwen3.rules"),
                         nameOf);

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
