//===- prefix_test.cpp - Pages shared between prompts ---------------------===//

#include "support/FakeModel.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

std::vector<int32_t> range(int32_t count, int32_t factor = 7) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i)
    tokens.push_back(i * factor % 64);
  return tokens;
}

struct Generated {
  std::vector<int32_t> tokens;
  Statistics statistics;
};

Generated generate(Session &session, std::vector<int32_t> prompt) {
  Request r;
  r.prompt = std::move(prompt);
  r.maxTokens = 20;
  auto id = session.add(r);
  EXPECT_TRUE(id.isOk()) << id.status().toString();
  drain(session);
  auto output = session.output(*id);
  Generated run{{output->begin(), output->end()}, *session.statistics(*id)};
  EXPECT_EQ(run.tokens, expectedOutput(r).tokens);
  return run;
}

std::unique_ptr<Session> open(uint32_t modules, uint32_t k, bool cache = true) {
  FakeOptions fake;
  fake.modules = modules;
  SessionOptions options;
  options.k = k;
  options.prefixCache = cache;
  auto session = Session::create(loadFakeModel(fake), options);
  EXPECT_TRUE(session.isOk());
  return std::move(*session);
}

} // namespace

TEST(Prefix, EqualPromptsShareWholePages) {
  for (uint32_t modules : {1u, 2u, 3u})
    for (uint32_t k : {0u, 2u, 4u}) {
      auto session = open(modules, k);
      Generated first = generate(*session, range(17));
      Generated second = generate(*session, range(17));
      EXPECT_EQ(first.statistics.cachedTokens, 0u);
      // Pages of 4 tokens: 16 tokens are whole pages; modules read past a page.
      uint64_t reused = k == 0 || modules == 1 ? 16 : 12;
      EXPECT_EQ(second.statistics.cachedTokens, reused)
          << "modules " << modules << " k " << k;
      EXPECT_EQ(second.statistics.prefillTokens, 17 - reused);
      // The drafter's shared pages are as good as new ones.
      EXPECT_EQ(first.statistics.accepted, second.statistics.accepted);
    }
}

TEST(Prefix, APageDependsOnTheTokensThatModulesReadBehindIt) {
  auto session = open(2, 3);
  std::vector<int32_t> prompt = range(20), other = prompt;
  generate(*session, prompt);
  // Token 13 is within reach of two modules from the page that ends at 12.
  other[13] = (other[13] + 1) % 64;
  EXPECT_EQ(generate(*session, other).statistics.cachedTokens, 8u);
  other = prompt;
  other[14] = (other[14] + 1) % 64;
  EXPECT_EQ(generate(*session, other).statistics.cachedTokens, 12u);
}

TEST(Prefix, WithoutModulesOnlyThePageItselfCounts) {
  auto session = open(2, 0);
  std::vector<int32_t> prompt = range(20), other = prompt;
  generate(*session, prompt);
  other[12] = (other[12] + 1) % 64;
  EXPECT_EQ(generate(*session, other).statistics.cachedTokens, 12u);
}

TEST(Prefix, SharedWhileTheFirstStillRuns) {
  auto session = open(1, 4);
  Request a, b;
  a.prompt = b.prompt = range(30);
  b.prompt.back() = 1;
  a.maxTokens = b.maxTokens = 40;
  auto first = session->add(a), second = session->add(b);
  drain(*session);
  EXPECT_EQ(session->statistics(*second)->cachedTokens, 28u);
  auto out = session->output(*first);
  EXPECT_EQ(std::vector<int32_t>(out->begin(), out->end()),
            expectedOutput(a).tokens);
  out = session->output(*second);
  EXPECT_EQ(std::vector<int32_t>(out->begin(), out->end()),
            expectedOutput(b).tokens);
}

TEST(Prefix, OffMeansOff) {
  auto session = open(1, 2, false);
  generate(*session, range(17));
  EXPECT_EQ(generate(*session, range(17)).statistics.cachedTokens, 0u);
  EXPECT_EQ(session->kvUsage().cachedPages, 0u);
}

TEST(Prefix, OldPagesMakeRoomForNewOnes) {
  SessionOptions options;
  options.kvPages = 20;
  auto session = Session::create(loadFakeModel(), options);
  ASSERT_TRUE(session.isOk());
  for (int32_t i = 1; i < 30; ++i)
    generate(**session, range(21, i));
  // The latest prompt is still cached, the first is not.
  EXPECT_EQ(generate(**session, range(21, 29)).statistics.cachedTokens, 20u);
  EXPECT_EQ(generate(**session, range(21, 3)).statistics.cachedTokens, 0u);
}

TEST(Prefix, ASecondTurnSharesWhatWasGenerated) {
  for (uint32_t modules : {1u, 2u, 3u})
    for (uint32_t k : {0u, 1u, 2u, 3u, 4u}) {
      std::vector<int32_t> prompt = range(9);
      Statistics seen[2];
      uint64_t cached = 0;
      for (bool cache : {false, true}) {
        auto session = open(modules, k, cache);
        std::vector<int32_t> turns = generate(*session, prompt).tokens;
        turns.insert(turns.begin(), prompt.begin(), prompt.end());
        for (int32_t token : {11, 12, 13})
          turns.push_back(token);
        Generated second = generate(*session, turns);
        // The third turn reuses pages of both earlier turns.
        std::vector<int32_t> all = turns;
        all.insert(all.end(), second.tokens.begin(), second.tokens.end());
        all.push_back(14);
        Generated third = generate(*session, all);
        // The same number of drafts is accepted as with entries from a prefill.
        if (cache) {
          EXPECT_EQ(second.statistics.accepted, seen[0].accepted)
              << "modules " << modules << " k " << k;
          EXPECT_EQ(third.statistics.accepted, seen[1].accepted);
          cached = second.statistics.cachedTokens;
          // 53 tokens, and one more.
          if (k == 0 || k >= modules)
            EXPECT_GE(third.statistics.cachedTokens, 44u);
        }
        seen[0] = second.statistics;
        seen[1] = third.statistics;
      }
      // 29 tokens. The first turn computed the entries of all except the last
      // round's, and modules read ahead. With fewer drafts than modules only
      // the prompt's pages are reused.
      if (k == 0 || k >= modules)
        EXPECT_GE(cached, 29u - 5 - modules - 3)
            << "modules " << modules << " k " << k;
      else
        EXPECT_LE(cached, 8u);
    }
}

TEST(Prefix, GeneratedPagesAreSharedWhileTheyGrow) {
  auto session = open(2, 3);
  Request r;
  r.prompt = range(9);
  r.maxTokens = 60;
  ASSERT_TRUE(session->add(r).isOk());
  std::vector<int32_t> text = r.prompt;
  for (int32_t token : expectedOutput(r).tokens)
    text.push_back(token);
  for (int step = 0; step < 60 && !session->idle(); ++step) {
    ASSERT_TRUE(session->step().isOk());
    ASSERT_TRUE(session->checkInvariants().isOk());
    if (step % 4 != 3)
      continue;
    Request other;
    other.prompt.assign(text.begin(), text.begin() + 12 + step);
    other.maxTokens = 5;
    auto id = session->add(other);
    ASSERT_TRUE(id.isOk());
    while (*session->finishReason(*id) == FinishReason::None)
      ASSERT_TRUE(session->step().isOk());
    auto output = session->output(*id);
    EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
              expectedOutput(other).tokens);
  }
}
