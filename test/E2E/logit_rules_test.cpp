//===- logit_rules_test.cpp - Rules of logits run only if asked -----------===//

#include "harness/Automaton.h"
#include "harness/Generation.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/schema/LogitRules.h"
#include "test/Runtime/support/ForwardingExecutable.h"
#include "test/Runtime/support/OpenSession.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mtp;
using namespace mtp::test;

namespace {

/// The work of a session for rules.
struct Watched {
  /// Whether runs include the commands for rules.
  std::set<bool> applied;
  /// Writes to each state.
  std::map<uint32_t, size_t> writes;
  /// Rounds that stopped for the host.
  size_t stops = 0;
};

/// Notes the work for rules, and may leave out their commands.
class WatchedExecutable : public ForwardingExecutable {
public:
  WatchedExecutable(std::unique_ptr<Executable> inner, Watched &watched,
                    bool leavesOut)
      : ForwardingExecutable(std::move(inner)), watched(watched),
        leavesOut(leavesOut) {}

  void applyRules(bool applies) override {
    watched.applied.insert(applies);
    inner->applyRules(applies && !leavesOut);
  }
  Status runPart(uint32_t program, uint32_t n, Part part) override {
    watched.stops += part == Part::FirstHalf;
    return inner->runPart(program, n, part);
  }
  Status write(const Binding &to, const void *source, uint64_t bytes) override {
    if (to.space == schema::Space::State)
      ++watched.writes[to.index];
    return inner->write(to, source, bytes);
  }

private:
  Watched &watched;
  bool leavesOut;
};

std::vector<Request> someRequests(bool haveRules) {
  std::vector<Request> requests(3);
  for (uint32_t i = 0; i < requests.size(); ++i) {
    for (uint32_t token = 0; token < 7 + i; ++token)
      requests[i].prompt.push_back(textToken(/*text=*/i, token, 112));
    requests[i].maxTokens = 16;
    requests[i].ignoreEos = true;
    if (haveRules && i < 2)
      requests[i].rules.frequencyPenalty = 2;
  }
  return requests;
}

/// Returns the tokens of each request.
std::vector<std::vector<int32_t>> run(const std::vector<Request> &requests,
                                      Watched &watched,
                                      bool leavesOut = false) {
  SessionSetup setup;
  setup.device = [&](std::unique_ptr<Executable> loaded) {
    return std::make_unique<WatchedExecutable>(std::move(loaded), watched,
                                               leavesOut);
  };
  auto session = openSession(loadArtifact("mimo-mtp1.rules"),
                             single(/*k=*/3, /*slots=*/4), std::move(setup));
  std::vector<SequenceId> ids;
  for (const Request &request : requests)
    ids.push_back(*session->add(request));
  while (!session->idle())
    EXPECT_TRUE(session->step().isOk());
  std::vector<std::vector<int32_t>> tokens;
  for (SequenceId id : ids)
    tokens.push_back(collect(*session, id).tokens);
  return tokens;
}

} // namespace

TEST(LogitRules, NoKernelRunsForThemUnlessARequestHasRules) {
  Watched without, with, leftOut;
  auto plain = run(someRequests(false), without);
  EXPECT_EQ(without.applied, std::set<bool>{false});
  auto ruled = run(someRequests(true), with);
  EXPECT_TRUE(with.applied.contains(true));
  EXPECT_NE(ruled[0], plain[0]);
  EXPECT_NE(ruled[1], plain[1]);
  EXPECT_EQ(ruled[2], plain[2]);
  // The states say what the rules are, but the kernels that read them are left
  // out.
  EXPECT_EQ(run(someRequests(true), leftOut, /*leavesOut=*/true), plain);
}

// Masks are made and copied for constrained sequences alone.
TEST(LogitRules, NoMaskIsWrittenUnlessARequestIsConstrained) {
  std::shared_ptr<const Model> model = loadArtifact("mimo-mtp1.rules");
  const Artifact &artifact = ModelAccess::file(*model)->artifact();
  uint32_t masks = *artifact.findState(kLogitMasks);
  uint32_t drafts = *artifact.findState(kHostDrafts);
  for (bool haveRules : {false, true}) {
    Watched free;
    run(someRequests(haveRules), free);
    EXPECT_FALSE(free.writes.contains(masks));
    EXPECT_FALSE(free.writes.contains(drafts));
    EXPECT_EQ(free.stops, 0u);
  }
  Watched constrained;
  std::vector<Request> requests = someRequests(false);
  requests[1].constraint = std::make_shared<Automaton>(112, 1);
  auto tokens = run(requests, constrained);
  EXPECT_EQ(constrained.writes[drafts], constrained.stops);
  EXPECT_GT(constrained.stops, 0u);
  // Two for each round, and one for the prompt.
  EXPECT_EQ(constrained.writes[masks], 1 + 2 * constrained.stops);
  Watched free;
  auto plain = run(someRequests(false), free);
  EXPECT_EQ(tokens[0], plain[0]);
  EXPECT_NE(tokens[1], plain[1]);
  EXPECT_EQ(tokens[2], plain[2]);
}

// 16 bits for a count, 32 for a bias, and a bit for each of at most 16 nodes.
TEST(LogitRules, TakeAtMostEightBytesOfASlotForEachToken) {
  for (const char *name : {"mimo-mtp1.rules", "mtp-beam.rules"}) {
    std::shared_ptr<const Model> model = loadArtifact(name);
    ASSERT_TRUE(model && model->hasLogitRules());
    const Artifact &artifact = ModelAccess::file(*model)->artifact();
    const EnvelopeInfo &envelope = *model->envelope();
    uint64_t bytes = 0;
    for (const State &state : artifact.states)
      if (state.name == kTokenCounts || state.name == kLogitBias ||
          state.name == kLogitMasks)
        bytes += state.bytes;
    uint64_t masks = std::min<uint64_t>(envelope.maxNodes, kMostMasks);
    EXPECT_EQ(bytes, envelope.maxBatch *
                         (countWords(envelope.vocab) * 4 + envelope.vocab * 4 +
                          masks * maskWords(envelope.vocab) * 4));
    EXPECT_LE(bytes, uint64_t(envelope.maxBatch) * (envelope.vocab + 32) * 8);
  }
}

// The tokens of a sequence that another session has begun count as output.
TEST(LogitRules, GoOnWithWhatAnotherSessionHasBegun) {
  Watched watched;
  std::vector<Request> requests = someRequests(true);
  requests[1].rules.presencePenalty = 1;
  requests[1].rules.repetitionPenalty = 1.3f;
  auto whole = run(requests, watched);
  for (uint32_t begun : {1u, 5u, 15u}) {
    std::vector<Request> rest = requests;
    for (size_t i = 0; i < rest.size(); ++i) {
      auto first = whole[i].begin();
      rest[i].prompt.insert(rest[i].prompt.end(), first, first + begun);
      rest[i].maxTokens -= begun;
      rest[i].rules.begunTokens = begun;
    }
    auto tokens = run(rest, watched);
    for (size_t i = 0; i < rest.size(); ++i)
      EXPECT_TRUE(
          std::ranges::equal(tokens[i], std::span(whole[i]).subspan(begun)))
          << i << " " << begun;
  }
}

TEST(LogitRules, AreRefusedByAModelWithoutThem) {
  auto session = Session::create(loadArtifact("mimo-mtp1.f32"));
  ASSERT_TRUE(session.isOk());
  Request request = someRequests(true)[0];
  auto added = (*session)->add(request);
  ASSERT_FALSE(added.isOk());
  EXPECT_NE(added.status().message().find("--without-logit-rules"),
            std::string::npos);
  request.rules = {};
  EXPECT_TRUE((*session)->add(request).isOk());
}

TEST(LogitRules, AreChecked) {
  auto session = Session::create(loadArtifact("mimo-mtp1.rules"));
  ASSERT_TRUE(session.isOk());
  auto refused = [&](LogitRules rules) {
    Request request = someRequests(false)[0];
    request.rules = std::move(rules);
    auto added = (*session)->add(request);
    return added.isOk() ? "" : std::string(added.status().message());
  };
  EXPECT_EQ(refused({.repetitionPenalty = 0}),
            "expected a repetition penalty above 0, got 0.000000");
  EXPECT_EQ(refused({.presencePenalty = 2.5f}),
            "expected a presence penalty of -2 to 2, got 2.500000");
  EXPECT_EQ(refused({.frequencyPenalty = -3}),
            "expected a frequency penalty of -2 to 2, got -3.000000");
  EXPECT_EQ(refused({.bias = {{112, 1}}}),
            "expected a bias of a token below 112, got token 112");
  EXPECT_EQ(refused({.bias = {{3, INFINITY}}}),
            "expected a finite bias or -infinity of token 3, got inf");
  EXPECT_EQ(refused({.allowedTokens = {-1}}),
            "expected allowed tokens below 112, got -1");
  EXPECT_EQ(refused({.bias = {{3, 3e38f}, {3, 3e38f}}}),
            "expected biases of token 3 whose sum is finite or -infinity, "
            "got +infinity");
  EXPECT_EQ(refused({.bias = {{3, -3e38f}, {3, -3e38f}}}), "");
  EXPECT_EQ(refused({.bias = {{3, NAN}}}),
            "expected a finite bias or -infinity of token 3, got nan");
  EXPECT_EQ(refused({.badWords = {{}}}),
            "expected bad words of tokens below 112, none empty");
  // Rules that leave no token, whatever the logits are.
  EXPECT_EQ(refused({.bias = {{3, -INFINITY}}, .allowedTokens = {3}}),
            "no token can follow position 6: the request's logit rules leave "
            "none (allowed tokens, a bias of -infinity)");
  EXPECT_EQ(refused({.allowedTokens = {3, 3}, .badWords = {{3}}}),
            "no token can follow position 6: the request's logit rules leave "
            "none (allowed tokens, bad words)");
  Request ends = someRequests(false)[0];
  ends.stopTokens = {3};
  ends.minTokens = 1;
  ends.rules.allowedTokens = {3};
  auto added = (*session)->add(ends);
  ASSERT_FALSE(added.isOk());
  EXPECT_EQ(added.status().message(),
            "no token can follow position 6: the request's logit rules leave "
            "none (allowed tokens, min tokens)");
  EXPECT_EQ(refused({.begunTokens = 8}),
            "expected begun tokens of at most the 7 prompt tokens, got 8");
}
