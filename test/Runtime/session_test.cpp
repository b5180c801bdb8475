//===- session_test.cpp - Output does not depend on how it is made --------===//

#include "support/FakeLanguage.h"
#include "support/FakeModel.h"

#include <array>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

Request request(std::vector<int32_t> prompt, uint32_t maxTokens,
                float temperature = 0, uint64_t seed = 0) {
  Request r;
  r.prompt = std::move(prompt);
  r.maxTokens = maxTokens;
  r.sampling.temperature = temperature;
  r.sampling.seed = seed;
  return r;
}

std::unique_ptr<Session> open(std::shared_ptr<const Model> model,
                              const SessionOptions &options = {}) {
  auto session = Session::create(std::move(model), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

/// Adds all requests, runs them, and compares tokens, reasons and logits.
void expectLossless(Session &session, const std::vector<Request> &requests,
                    const std::vector<int32_t> &eos = {}) {
  std::vector<SequenceId> ids;
  for (const Request &r : requests) {
    auto id = session.add(r);
    ASSERT_TRUE(id.isOk()) << id.status().toString();
    ids.push_back(*id);
  }
  drain(session);
  for (size_t i = 0; i < ids.size(); ++i) {
    Expected expected = expectedOutput(requests[i], eos);
    auto output = session.output(ids[i]);
    ASSERT_TRUE(output.isOk());
    EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
              expected.tokens)
        << "request " << i;
    EXPECT_EQ(*session.finishReason(ids[i]), expected.finish);
    if (session.options().logits != LogitsMode::All)
      continue;
    std::vector<int32_t> tokens = requests[i].prompt;
    for (size_t t = 0; t < expected.tokens.size(); ++t) {
      auto row = session.logits(ids[i], t);
      ASSERT_TRUE(row.isOk()) << row.status().toString();
      EXPECT_EQ(std::vector<float>(row->begin(), row->end()),
                fakeLogits(tokens));
      tokens.push_back(expected.tokens[t]);
    }
  }
  EXPECT_EQ(session.kvUsage().heldPages, 0u);
}

std::vector<Request> mixedRequests() {
  return {request({1}, 30),
          request({5, 6, 7}, 17),
          request({9, 9, 9, 9, 9, 9, 9, 9, 9}, 25, 0.8f, 11),
          request({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2}, 40),
          request({60, 61}, 1),
          request({8, 16, 24, 32}, 33, 1.3f, 99)};
}

class Lossless : public testing::TestWithParam<
                     std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> {};

} // namespace

TEST_P(Lossless, AnyModulesKBatchThreads) {
  auto [modules, k, batch, threads] = GetParam();
  FakeOptions fake;
  fake.modules = modules;
  SessionOptions options;
  options.k = k;
  options.maxSlots = batch;
  options.threads = threads;
  options.logits = LogitsMode::All;
  auto session = open(loadFakeModel(fake), options);
  expectLossless(*session, mixedRequests());
}

INSTANTIATE_TEST_SUITE_P(All, Lossless,
                         testing::Combine(testing::Values(1u, 2u, 3u),
                                          testing::Values(0u, 1u, 2u, 3u, 4u),
                                          testing::Values(1u, 2u, 3u, 4u),
                                          testing::Values(1u, 2u)));

TEST(Session, ModelWithoutModulesDecodesPlainly) {
  FakeOptions fake;
  fake.modules = 0;
  fake.maxK = 0;
  auto session = open(loadFakeModel(fake));
  expectLossless(*session, mixedRequests());
}

TEST(Session, ChunkSizesDoNotChangeTheOutput) {
  auto model = loadFakeModel();
  for (uint32_t chunk : {3u, 8u})
    for (uint32_t perStep : {0u, 1u}) {
      SessionOptions options;
      options.prefillChunk = chunk;
      options.chunksPerStep = perStep;
      options.threads = 1;
      auto session = open(model, options);
      expectLossless(*session, mixedRequests());
    }
}

namespace {

std::vector<int32_t> longPrompt(uint32_t length) {
  std::vector<int32_t> tokens;
  for (uint32_t i = 0; i < length; ++i)
    tokens.push_back(int32_t((i * i + 3 * i + length) % 64));
  return tokens;
}

FakeOptions withChunks(std::vector<uint32_t> chunks, uint32_t modules) {
  FakeOptions fake;
  fake.maxContext = 256;
  fake.modules = modules;
  fake.chunks = std::move(chunks);
  return fake;
}

} // namespace

TEST(Session, APromptRunsThroughTheFewestChunksThatWasteLittle) {
  auto model = loadFakeModel(withChunks({128, 32, 8}, 2));
  // Programs that a prompt runs through where the largest has 128, 32, 8 rows.
  struct {
    uint32_t length, passes[3];
  } cases[] = {{1, {1, 1, 1}},    {5, {1, 1, 1}},    {8, {1, 1, 1}},
               {9, {2, 2, 2}},    {23, {3, 3, 3}},   {24, {3, 3, 3}},
               {33, {2, 2, 5}},   {119, {6, 6, 15}}, {120, {6, 6, 15}},
               {121, {1, 4, 16}}, {129, {2, 5, 17}}, {140, {3, 6, 18}}};
  for (auto &[length, passes] : cases)
    for (uint32_t i = 0; i < 3; ++i) {
      SessionOptions options;
      options.prefillChunk = std::array{128u, 32u, 8u}[i];
      auto session = open(model, options);
      expectLossless(*session, {request(longPrompt(length), 3)});
      EXPECT_EQ(session->statistics().prefillChunks, passes[i])
          << length << " tokens, " << options.prefillChunk;
      EXPECT_EQ(session->statistics().prefillTokens, length);
    }
  // An artifact without a small chunk takes the smallest that there is.
  auto session = open(loadFakeModel(withChunks({64, 16}, 1)));
  expectLossless(*session, {request(longPrompt(1), 3)});
  expectLossless(*session, {request(longPrompt(70), 3)});
  EXPECT_EQ(session->statistics().prefillChunks, 3u);
}

TEST(Session, MixedChunksGiveTheSameBitsAndDrafts) {
  for (uint32_t modules : {1u, 2u, 3u}) {
    // One chunk size for all of a prompt, and what it is divided into.
    auto plain = loadFakeModel(withChunks({8}, modules));
    auto mixed = loadFakeModel(withChunks({128, 32, 8}, modules));
    for (uint32_t length : {1u, 5u, 9u, 33u, 129u, 140u})
      for (uint32_t k : {0u, 2u, 4u}) {
        Statistics seen[2];
        for (int i = 0; i < 2; ++i) {
          SessionOptions options;
          options.k = k;
          options.logits = LogitsMode::All;
          auto session = open(i ? mixed : plain, options);
          expectLossless(*session, {request(longPrompt(length), 40),
                                    request(longPrompt(length), 20, 0.9f, 5)});
          seen[i] = session->statistics();
        }
        // A carried row or a module's entry that is wrong loses drafts.
        EXPECT_EQ(seen[0].accepted, seen[1].accepted)
            << length << " tokens, k " << k << ", modules " << modules;
      }
    // Few pages: prompts are computed again, from where prefixes end.
    SessionOptions options;
    options.kvPages = 60;
    options.logits = LogitsMode::All;
    auto session = open(mixed, options);
    std::vector<Request> requests;
    for (uint32_t length : {140u, 9u, 129u, 33u, 1u, 5u, 140u})
      requests.push_back(request(longPrompt(length), 45));
    expectLossless(*session, requests);
    EXPECT_GT(session->statistics().preemptions, 0u);
  }
}

TEST(Session, RunningSequencesWaitForOneChunkAtMost) {
  auto model = loadFakeModel(withChunks({8, 3}, 1));
  auto chunksOfSteps = [&](uint32_t chunksPerStep) {
    SessionOptions options;
    options.chunksPerStep = chunksPerStep;
    auto session = open(model, options);
    EXPECT_TRUE(session->add(request({1, 2}, 90)).isOk());
    EXPECT_TRUE(session->step().isOk());
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(session->add(request(longPrompt(24 + i), 4)).isOk());
    // Prompts, and the round of the running sequence, in one step.
    uint64_t rounds = session->statistics().rounds;
    uint64_t tokens = session->statistics().prefillTokens;
    EXPECT_TRUE(session->step().isOk());
    EXPECT_EQ(session->statistics().rounds, rounds + 1);
    return session->statistics().prefillTokens - tokens;
  };
  EXPECT_EQ(chunksOfSteps(SessionOptions::kOneBesideRunning), 8u);
  EXPECT_EQ(chunksOfSteps(1), 8u);
  EXPECT_EQ(chunksOfSteps(2), 16u);
  EXPECT_EQ(chunksOfSteps(SessionOptions::kUnbounded), 24u + 25 + 26);
  // No sequence runs: prompts go on until one of them has its token.
  auto session = open(model);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(session->add(request(longPrompt(24 + i), 4)).isOk());
  EXPECT_TRUE(session->step().isOk());
  EXPECT_EQ(session->statistics().prefillTokens, 24u);
}

/// The drafter of the fake language knows the target but for its surprises, so
/// every draft up to the first surprise must be accepted. Anything less means
/// that a module saw wrong tokens, hidden states or cache entries.
TEST(Session, DraftsAreAcceptedUpToTheFirstSurprise) {
  for (uint32_t modules : {1u, 2u, 3u}) {
    FakeOptions fake;
    fake.modules = modules;
    for (uint32_t k = 1; k <= 4; ++k) {
      SessionOptions options;
      options.k = k;
      auto session = open(loadFakeModel(fake), options);
      Request r = request({2, 7, 1, 8, 2, 8, 1, 8, 2, 8}, 80);
      auto id = session->add(r);
      drain(*session);
      // Walk the true text as rounds would.
      std::vector<int32_t> text = r.prompt;
      for (int32_t token : expectedOutput(r).tokens)
        text.push_back(token);
      uint64_t rounds = 0, at = r.prompt.size();
      auto guess = [&](size_t i) { return fakeGuess(text[i - 1], text[i]); };
      while (at + 1 < text.size()) {
        uint64_t n = 0;
        while (n < k && at + n + 1 < text.size() &&
               guess(at + n) == text[at + n + 1])
          ++n;
        at += n + 1;
        ++rounds;
      }
      auto statistics = session->statistics(*id);
      EXPECT_EQ(statistics->rounds, rounds)
          << "modules " << modules << " k " << k;
    }
  }
}

TEST(Session, StopsInsideAnAcceptedRun) {
  FakeOptions fake;
  for (int32_t end = 0; end < 64; end += 3) {
    fake.eos = {end};
    for (uint32_t k : {0u, 4u}) {
      SessionOptions options;
      options.k = k;
      options.threads = 1;
      options.logits = LogitsMode::All;
      auto session = open(loadFakeModel(fake), options);
      std::vector<Request> requests = mixedRequests();
      expectLossless(*session, requests, fake.eos);
      // Prefill gives a sequence its first token, unless that ends it.
      uint64_t given = 0, first = 0;
      for (const Request &r : requests) {
        size_t count = expectedOutput(r, fake.eos).tokens.size();
        given += count;
        first += count > 0;
      }
      EXPECT_EQ(session->statistics().outputTokens, given);
      EXPECT_EQ(session->statistics().decodeTokens, given - first);
      EXPECT_GE(session->statistics().roundTokens, given - first);
    }
  }
}

TEST(Session, StopTokensAndIgnoredEos) {
  FakeOptions fake;
  fake.eos = {3, 14, 15};
  auto session = open(loadFakeModel(fake));
  Request stop = request({1, 2, 3}, 60);
  stop.stopTokens = {9, 26, 5};
  Request ignore = request({1, 2, 3}, 60);
  ignore.ignoreEos = true;
  expectLossless(*session, {stop, ignore}, fake.eos);
}

TEST(Session, SamplesTheSameAtEveryKAndWithEveryFilter) {
  auto model = loadFakeModel();
  for (uint32_t k = 0; k <= 4; ++k) {
    SessionOptions options;
    options.k = k;
    auto session = open(model, options);
    std::vector<Request> requests;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      Request r = request({int32_t(seed), 4, 2}, 40, 1.0f, seed << 33 | seed);
      r.sampling.topK = seed % 2 ? 5 : 0;
      r.sampling.topP = seed % 3 ? 0.9f : 1.0f;
      r.sampling.minP = seed == 5 ? 0.2f : 0.0f;
      requests.push_back(r);
    }
    expectLossless(*session, requests);
  }
}

/// Greedy slots of a session without logits have none: a session that keeps
/// them must give the same tokens.
TEST(Session, KeepingLogitsDoesNotChangeTheOutput) {
  auto model = loadFakeModel();
  for (LogitsMode logits :
       {LogitsMode::None, LogitsMode::Last, LogitsMode::All})
    for (uint32_t k : {0u, 3u}) {
      SessionOptions options;
      options.k = k;
      options.logits = logits;
      auto session = open(model, options);
      expectLossless(*session, mixedRequests());
    }
}

TEST(Session, LateArrivalsDoNotDisturb) {
  auto session = open(loadFakeModel());
  std::vector<Request> requests = mixedRequests();
  std::vector<SequenceId> ids;
  for (const Request &r : requests) {
    ids.push_back(*session->add(r));
    ASSERT_TRUE(session->step().isOk());
  }
  drain(*session);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto output = session->output(ids[i]);
    EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
              expectedOutput(requests[i]).tokens);
  }
}

TEST(Session, UpdatesAddUpToTheOutput) {
  auto session = open(loadFakeModel());
  auto id = session->add(request({4, 4}, 50));
  std::vector<int32_t> tokens;
  FinishReason finish = FinishReason::None;
  for (const SequenceUpdate &update : drain(*session)) {
    EXPECT_EQ(update.id, *id);
    EXPECT_EQ(finish, FinishReason::None);
    tokens.insert(tokens.end(), update.tokens.begin(), update.tokens.end());
    finish = update.finish;
  }
  EXPECT_EQ(tokens, expectedOutput(request({4, 4}, 50)).tokens);
  EXPECT_EQ(finish, FinishReason::Length);
  EXPECT_EQ(session->statistics().outputTokens, 50u);
  EXPECT_EQ(session->statistics().drafted.size(), 4u);
  EXPECT_GE(session->statistics().accepted[0],
            session->statistics().accepted[3]);
}

TEST(Session, CancelFreesPagesAndLeavesOthersAlone) {
  auto session = open(loadFakeModel());
  auto a = session->add(request({1, 2}, 60));
  auto b = session->add(request({3, 4}, 60));
  auto c = session->add(request({5, 6}, 60));
  ASSERT_TRUE(session->cancel(*c).isOk()); // before admission
  ASSERT_TRUE(session->step().isOk());
  ASSERT_TRUE(session->cancel(*a).isOk()); // while running
  ASSERT_TRUE(session->cancel(*a).isOk()); // twice
  EXPECT_TRUE(session->checkInvariants().isOk());
  drain(*session);
  EXPECT_EQ(*session->finishReason(*a), FinishReason::Cancelled);
  EXPECT_EQ(*session->finishReason(*c), FinishReason::Cancelled);
  auto output = session->output(*b);
  EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
            expectedOutput(request({3, 4}, 60)).tokens);
  EXPECT_EQ(session->kvUsage().heldPages, 0u);
  EXPECT_EQ(session->cancel(77).code(), StatusCode::NotFound);
}

TEST(Session, ReleaseForgetsFinishedSequencesOnly) {
  auto session = open(loadFakeModel());
  auto id = session->add(request({1}, 2));
  EXPECT_EQ(session->release(*id).code(), StatusCode::FailedPrecondition);
  drain(*session);
  EXPECT_TRUE(session->release(*id).isOk());
  EXPECT_EQ(session->output(*id).status().code(), StatusCode::NotFound);
}
