//===- constraint_test.cpp - Constrained requests -------------------------===//
//
// Tokens and logits of constrained requests, and of free requests beside them,
// must equal, bit for bit, those of a session without drafts that runs one
// sequence at a time.
//
//===----------------------------------------------------------------------===//

#include "harness/Automaton.h"
#include "harness/OnDevice.h"
#include "mtp/constraint.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <regex>
#include <string_view>

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

class Constraint : public OnDeviceTest {
protected:
  /// Returns the least number of forced tokens that a round accepts. The host
  /// does not know the paths of a static tree. The paths of a computed tree may
  /// be shorter than k.
  uint64_t perRound(uint64_t k) const {
    std::string_view name = GetParam().artifact;
    if (name.starts_with("mtp-static."))
      return 1;
    return name.starts_with("mtp-beam.") ? std::min<uint64_t>(k + 1, 2) : k + 1;
  }
};

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
  EXPECT_GT(accepted, 0u);
}

// A constraint that allows one text. Each round proposes its next tokens, also
// if the drafter proposes others or nothing. The target accepts them all. The
// last one ends the sequence.
TEST_P(Constraint, OneTextNeedsNoDrafter) {
  constexpr size_t kTokens = 15;
  AutomatonTexts texts{envelope.vocab};
  texts.length = kTokens;
  texts.end = 7;
  texts.isForced = true;
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    std::vector<Request> all(2);
    for (uint32_t i = 0; i < all.size(); ++i) {
      all[i].prompt = {1, 2, int32_t(i)};
      all[i].maxTokens = kTokens + 5;
      all[i].stopTokens = {texts.end};
      all[i].constraint = std::make_shared<Automaton>(texts);
    }
    Outcome run = generate(model, single(k, 1), all);
    for (const Generated &sequence : run.sequences) {
      ASSERT_EQ(sequence.tokens.size(), kTokens);
      for (size_t i = 0; i < kTokens; ++i)
        EXPECT_EQ(sequence.tokens[i], int32_t((i * 5 + 11) % envelope.vocab));
    }
    // A prompt gives the first token. The stop token is no output.
    auto roundsOf = [&](uint64_t tokens) {
      return all.size() * ((kTokens + tokens - 1) / tokens);
    };
    EXPECT_GE(run.statistics.rounds, roundsOf(k + 1)) << k;
    EXPECT_LE(run.statistics.rounds, roundsOf(perRound(k))) << k;
  }
}

// Sequences end as the constraint says.
TEST_P(Constraint, EndsWithTheConstraint) {
  AutomatonTexts texts{envelope.vocab};
  texts.length = 9;
  texts.end = 7;
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/true);
  for (size_t i = 0; i < all.size(); ++i) {
    texts.first = int32_t(i);
    all[i].constraint = std::make_shared<Automaton>(texts);
    all[i].stopTokens = {texts.end};
  }
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  expectAllowed(all, expected);
  for (const Generated &sequence : expected.sequences)
    EXPECT_EQ(sequence.tokens.size(), texts.length);
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  expectSame(generate(model, options, all), expected, options);
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
  all.resize(4);
  for (Request &request : all)
    request.maxTokens = 8;
  all[0].maxTokens = 14;
  all[1].sampling = {};
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  expectAllowed(all, expected);
  SessionOptions options = single(envelope.maxK, /*slots=*/3);
  Outcome run =
      generate(model, options, all, LogitsMode::All, /*stepsApart=*/2);
  expectSame(run, expected, options);
  EXPECT_GT(run.statistics.mixedTokens, 0u);
}

// Both sequences need a page more after some rounds, but one page is left.
TEST_P(SimulatedConstraint, SurvivesPreemption) {
  std::vector<Request> all = someRequests(envelope.vocab, /*isSampled=*/false);
  all.resize(2);
  // The rows of a window of k = 1, at most.
  size_t rows = envelope.maxNodes - (envelope.maxK - 1);
  size_t begin = 0;
  for (Request &request : all) {
    while ((request.prompt.size() + rows + 12) % envelope.pageTokens != 0)
      request.prompt.push_back(request.prompt.back() / 2 + 3);
    request.maxTokens = uint32_t(rows + 16);
    begin += (request.prompt.size() + rows + 12) / envelope.pageTokens;
  }
  Outcome expected = generate(model, single(/*k=*/0, /*slots=*/1), all);
  expectAllowed(all, expected);
  SessionOptions options = single(/*k=*/1, /*slots=*/2);
  options.kvPages = uint32_t(1 + begin + 1);
  options.chunksPerStep = SessionOptions::kUnbounded;
  Outcome run = generate(model, options, all);
  expectSame(run, expected, options);
  EXPECT_GT(run.statistics.preemptions, 0u);
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

// Sources of all kinds restrict the texts of a model with a tokenizer, and
// give the same text at any k.
TEST(ConstraintSources, RestrictTexts) {
  using Kind = ConstraintSource::Kind;
  std::shared_ptr<const Model> model = loadArtifact("mimo-mtp1.rules");
  auto tokenizer = Tokenizer::load(model->tokenizer());
  ASSERT_TRUE(tokenizer.isOk());
  const char *schema = R"({"enum": ["fox", 12, null, true]})";
  std::vector<ConstraintSource> sources = {
      {Kind::JsonSchema, schema, {}},
      {Kind::Regex, "(ab|cd){2}e", {}},
      {Kind::Gbnf, "root ::= [xy] \"-the-only-rest\"", {}},
      {Kind::Choice, "", {"the cat", "the dog"}}};
  std::vector<std::string> matches = {"\"fox\"|12|null|true", "(ab|cd){2}e",
                                      "[xy]-the-only-rest", "the (cat|dog)"};
  for (size_t i = 0; i < sources.size(); ++i) {
    auto constraint = compileConstraint(*model, sources[i]);
    ASSERT_TRUE(constraint.isOk()) << constraint.status().toString();
    Request request;
    request.prompt = {5, 6, 7};
    request.maxTokens = 40;
    request.constraint = *constraint;
    Outcome expected = generate(model, single(/*k=*/0, 1), {request});
    Outcome run = generate(model, single(/*k=*/3, 1), {request});
    expectSame(run, expected, single(3, 1));
    auto text = (*tokenizer)->decode(expected.sequences[0].tokens);
    ASSERT_TRUE(text.isOk());
    EXPECT_TRUE(std::regex_match(*text, std::regex(matches[i]))) << *text;
    if (sources[i].kind == Kind::Gbnf)
      EXPECT_LT(run.statistics.rounds, expected.statistics.rounds / 2);
  }
  auto refused = [&](ConstraintSource source) {
    return compileConstraint(*model, source).status().code();
  };
  EXPECT_EQ(refused({Kind::Regex, "a(", {}}), StatusCode::InvalidArgument);
  EXPECT_EQ(refused({Kind::JsonSchema, R"({"not": {}})", {}}),
            StatusCode::Unimplemented);
}

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
