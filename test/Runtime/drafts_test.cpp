//===- drafts_test.cpp - Requests of different k in one session -----------===//
//
// If a slot may draft less than its round, requests of any k share rounds
// without a visible difference. Otherwise each has rounds of its own k.
//
//===----------------------------------------------------------------------===//

#include "support/FakeLanguage.h"
#include "support/FakeModel.h"
#include "support/OpenSession.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr uint32_t kAuto = Request::kAutomatic;

/// Returns six requests with these k in turn.
std::vector<Request> requestsOf(const std::vector<uint32_t> &ks) {
  std::vector<Request> requests;
  for (uint32_t i = 0; i < 6; ++i) {
    Request request;
    for (uint32_t token = 0; token <= 3 * i; ++token)
      request.prompt.push_back(int32_t((7 * i + token * token) % 64));
    request.maxTokens = 40 - i;
    request.sampling.temperature = i % 2 ? 0.9f : 0.0f;
    request.sampling.seed = 100 + i;
    request.k = ks[i % ks.size()];
    requests.push_back(request);
  }
  return requests;
}

std::unique_ptr<Session> open(const FakeOptions &fake,
                              const SessionOptions &options = {}) {
  auto session = Session::create(loadFakeModel(fake), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

FakeOptions limited(uint32_t modules = 1) {
  FakeOptions fake;
  fake.hasLimit = true;
  fake.modules = modules;
  fake.maxContext = 128;
  return fake;
}

/// Runs the requests and checks their outputs.
std::vector<SequenceId> expectOutput(Session &session,
                                     const std::vector<Request> &requests) {
  std::vector<SequenceId> ids;
  for (const Request &request : requests)
    ids.push_back(*session.add(request));
  drain(session);
  for (size_t i = 0; i < ids.size(); ++i) {
    auto output = session.output(ids[i]);
    EXPECT_EQ(std::vector<int32_t>(output->begin(), output->end()),
              expectedOutput(requests[i]).tokens)
        << "request " << i;
  }
  return ids;
}

uint64_t sum(const std::vector<uint64_t> &counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

} // namespace

TEST(Drafts, RequestsOfAnyKShareRounds) {
  for (uint32_t modules : {1u, 2u, 3u})
    for (LogitsMode logits : {LogitsMode::None, LogitsMode::All}) {
      SessionOptions options;
      options.logits = logits;
      auto session = open(limited(modules), options);
      std::vector<Request> requests = requestsOf({0, 4, kAuto, 1, 2, 3});
      std::vector<SequenceId> ids = expectOutput(*session, requests);
      for (size_t i = 0; i < ids.size(); ++i) {
        Statistics of = *session->statistics(ids[i]);
        uint32_t k = requests[i].k;
        if (k == kAuto)
          continue;
        // For the request, a round of more drafts counts as one of its own k.
        EXPECT_EQ(of.roundsByK[k], of.slotRounds);
        for (uint32_t j = 0; j < 4; ++j)
          EXPECT_EQ(of.drafted[j], j < k ? of.slotRounds : 0);
        EXPECT_EQ(of.roundTokens, of.slotRounds + sum(of.accepted));
      }
      const Statistics &all = session->statistics();
      EXPECT_EQ(sum(all.roundsByK), all.rounds);
      EXPECT_GT(all.slotRounds, all.rounds);
    }
}

/// A sequence has the same number of rounds with other sequences as alone: its
/// drafts are the same, and the same drafts are accepted.
TEST(Drafts, CompanyChangesNoAcceptance) {
  for (uint32_t modules : {1u, 2u}) {
    std::vector<Request> requests = requestsOf({4, 2, 3});
    auto together = open(limited(modules));
    std::vector<SequenceId> ids = expectOutput(*together, requests);
    for (size_t i = 0; i < ids.size(); ++i) {
      // With one k less than its modules, its rounds refresh only the modules
      // that it drafts with.
      auto alone = open(limited(modules));
      SequenceId id = expectOutput(*alone, {requests[i]}).front();
      EXPECT_EQ(together->statistics(ids[i])->slotRounds,
                alone->statistics(id)->slotRounds)
          << "request " << i;
      EXPECT_EQ(together->statistics(ids[i])->accepted,
                alone->statistics(id)->accepted);
    }
  }
}

TEST(Drafts, PreemptionAndReuseChangeNoOutput) {
  for (uint32_t modules : {1u, 2u, 3u}) {
    SessionOptions options;
    options.kvPages = 1 + 23;
    auto session = open(limited(modules), options);
    expectOutput(*session, requestsOf({kAuto, 0, 4, 1}));
    EXPECT_GT(session->statistics().preemptions, 0u);
    // Again, now with shared pages.
    expectOutput(*session, requestsOf({4, kAuto, 1, 0}));
    EXPECT_GT(session->statistics().cachedTokens, 0u);
  }
}

/// Pages that rounds without drafts have filled lack the drafters' entries.
/// They are not shared, and sequences that share a prefix draft as well as
/// ever.
TEST(Drafts, PagesWithAGapAreNotShared) {
  auto session = open(limited());
  std::vector<Request> turns = requestsOf({0});
  turns.resize(1);
  auto sharedBy = [&](uint32_t k) {
    turns[0].k = k;
    turns[0].prompt[0] = int32_t(k + 1); // another text
    SequenceId first = expectOutput(*session, turns).front();
    std::span<const int32_t> output = *session->output(first);
    Request second = turns[0];
    second.prompt.insert(second.prompt.end(), output.begin(), output.end());
    second.k = 4;
    SequenceId id = expectOutput(*session, {second}).front();
    return session->statistics(id)->cachedTokens;
  };
  EXPECT_EQ(sharedBy(0), 0u);
  EXPECT_GT(sharedBy(1), 30u);
}

TEST(Drafts, OneThatStaysKeepsItsK) {
  // Together with a sequence of four drafts, which ends first.
  auto session = open(limited());
  std::vector<Request> requests = requestsOf({1, 4});
  requests.resize(2);
  requests[1].maxTokens = 10;
  std::vector<SequenceId> ids = expectOutput(*session, requests);
  Statistics one = *session->statistics(ids[0]);
  EXPECT_EQ(one.roundsByK[1], one.slotRounds);
  EXPECT_EQ(session->statistics().roundsByK[2], 0u);
  EXPECT_EQ(session->statistics().roundsByK[3], 0u);
}

/// Runs a request with automatic k. Each round must accept all of its drafts up
/// to the target's first surprise. Returns how often k was less than the number
/// of drafts accepted in the round before.
static uint32_t countFalls(Session &session, const Request &request) {
  SequenceId id = *session.add(request);
  std::vector<int32_t> text = request.prompt;
  for (int32_t token : expectedOutput(request).tokens)
    text.push_back(token);
  Statistics before;
  uint32_t falls = 0;
  uint64_t last = 0;
  while (!session.idle() && session.step().isOk()) {
    Statistics now = *session.statistics(id);
    // A round without drafts leaves a gap.
    if (now.slotRounds == 0 || now.roundsByK[0] > 0)
      continue;
    uint32_t k = 0;
    while (k < 4 &&
           (before.slotRounds == 0 || now.roundsByK[k] == before.roundsByK[k]))
      ++k;
    uint64_t at = request.prompt.size() + before.outputTokens - 1, right = 0;
    uint64_t accepted = now.roundTokens - before.roundTokens - 1;
    while (right < k && at + right + 1 < text.size() &&
           fakeGuess(text[at + right - 1], text[at + right]) ==
               text[at + right + 1])
      ++right;
    if (before.slotRounds > 0 && at + k + 1 < text.size()) {
      EXPECT_EQ(accepted, right) << "at " << at << ", k " << k;
      falls += last > k;
    }
    last = accepted;
    before = now;
  }
  return falls;
}

/// A drafter refreshes all accepted tokens, also if k falls.
TEST(Drafts, AFallingKLosesNoDraft) {
  uint32_t falls = 0;
  for (int32_t text = 0; text < 60; ++text) {
    // Drafts take so long that a larger k is tried and given up.
    double calls = 0;
    auto session =
        openClocked(loadFakeModel(limited()), {}, [&](const Statistics &done) {
          double drafts = 0;
          for (size_t k = 0; k < done.roundsByK.size(); ++k)
            drafts += double(k * done.roundsByK[k]);
          return 1e-3 * ++calls + 5e-4 * drafts;
        });
    Request request = requestsOf({kAuto}).front();
    request.prompt = {text, 5, 9};
    request.maxTokens = 120;
    falls += countFalls(*session, request);
  }
  EXPECT_GT(falls, 0u);
}

TEST(Drafts, WithoutALimitOnlyOneKIsInARound) {
  FakeOptions fake;
  auto session = open(fake);
  std::vector<Request> requests = requestsOf({0, 4, kAuto, 2});
  std::vector<SequenceId> ids = expectOutput(*session, requests);
  std::vector<uint64_t> slotRounds(5);
  for (size_t i = 0; i < ids.size(); ++i) {
    Statistics of = *session->statistics(ids[i]);
    // Output may depend on k: automatic is the session's k.
    uint32_t k = requests[i].k == kAuto ? 4 : requests[i].k;
    EXPECT_EQ(of.roundsByK[k], of.slotRounds);
    EXPECT_EQ(of.drafted[3], k == 4 ? of.slotRounds : 0);
    slotRounds[k] += of.slotRounds;
  }
  const Statistics &all = session->statistics();
  EXPECT_EQ(sum(all.roundsByK), all.rounds);
  for (uint32_t k : {0, 2, 4}) {
    EXPECT_GT(all.roundsByK[k], 0u);
    EXPECT_LE(all.roundsByK[k], slotRounds[k]);
  }
  // Sequences of one k share rounds.
  EXPECT_LT(all.rounds, all.slotRounds);
}

/// No sequence waits for all rounds of other sequences.
TEST(Drafts, RoundsOfSeveralKTakeTurns) {
  auto session = open(FakeOptions());
  std::vector<SequenceId> ids;
  for (uint32_t k : {0, 4, 2}) {
    Request request = requestsOf({k}).front();
    request.maxTokens = 60;
    ids.push_back(*session->add(request));
  }
  for (int step = 0; step < 12; ++step)
    ASSERT_TRUE(session->step().isOk());
  for (SequenceId id : ids)
    EXPECT_GE(session->statistics(id)->slotRounds, 3u);
}

TEST(Drafts, MoreThanTheSessionHasIsRefused) {
  SessionOptions options;
  options.k = 2;
  auto session = open(limited(), options);
  for (uint32_t k : {3u, 4u, 1000u}) {
    auto id = session->add(requestsOf({k}).front());
    ASSERT_FALSE(id.isOk());
    EXPECT_EQ(id.status().code(), StatusCode::InvalidArgument);
    EXPECT_EQ(id.status().message(),
              "expected k of at most 2, the session's, got " +
                  std::to_string(k));
  }
  EXPECT_TRUE(session->idle());
  EXPECT_TRUE(session->add(requestsOf({2}).front()).isOk());
}

TEST(Drafts, AutomaticIsTheSessionsWhereItSaysSo) {
  SessionOptions options;
  options.automaticK = true;
  auto session = open(limited(), options);
  std::vector<Request> requests = requestsOf({Request::kSessions, 3});
  std::vector<SequenceId> ids = expectOutput(*session, requests);
  Statistics fixed = *session->statistics(ids[1]);
  EXPECT_EQ(fixed.roundsByK[3], fixed.slotRounds);
}

// A session starts from the learned costs of another session of the same model
// and number of threads.
TEST(Drafts, SessionsGoOnFromWhatOthersHaveLearned) {
  auto model = loadFakeModel(limited());
  SessionOptions options;
  options.automaticK = true;
  options.maxSlots = 1;
  options.threads = 1;
  auto roundsOf = [&](const SessionOptions &of) {
    // Drafts are expensive: a round with one takes twenty times as long as one
    // without.
    auto session = openClocked(model, of, [](const Statistics &done) {
      double now = 0;
      for (size_t k = 0; k < done.roundsByK.size(); ++k)
        now += double(done.roundsByK[k]) * (1 + 20.0 * double(k));
      return now;
    });
    expectOutput(*session, requestsOf({Request::kSessions}));
    return session->statistics().roundsByK;
  };
  std::vector<uint64_t> first = roundsOf(options), second = roundsOf(options);
  EXPECT_GT(first[1], 0u);
  EXPECT_GT(first[0], first[1]);
  EXPECT_EQ(second[0], sum(second));
  // Sessions with another number of threads have other costs.
  options.threads = 2;
  EXPECT_GT(roundsOf(options)[1], 0u);
}
