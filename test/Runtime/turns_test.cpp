//===- turns_test.cpp - Priorities and minimum lengths --------------------===//

#include "runtime/exec/schedule/FairShare.h"
#include "support/FakeModel.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

Request request(int32_t number, uint32_t maxTokens, uint32_t promptTokens = 6) {
  Request r;
  for (uint32_t i = 0; i < promptTokens; ++i)
    r.prompt.push_back(int32_t((uint32_t(number) * 11 + i * 7) % 64));
  r.maxTokens = maxTokens;
  return r;
}

std::unique_ptr<Session> open(const SessionOptions &options,
                              const FakeOptions &fake = {}) {
  auto session = Session::create(loadFakeModel(fake), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

std::vector<int32_t> outputOf(const Session &session, SequenceId id) {
  auto output = session.output(id);
  return {output->begin(), output->end()};
}

/// Returns the sequences in the order of their ends.
std::vector<SequenceId> endsOf(Session &session) {
  std::vector<SequenceId> ids;
  for (const SequenceUpdate &update : drain(session))
    if (update.finish != FinishReason::None)
      ids.push_back(update.id);
  return ids;
}

} // namespace

TEST(Priority, TheLowestComesFirstForASlot) {
  SessionOptions options;
  options.maxSlots = 1;
  auto session = open(options);
  std::vector<SequenceId> ids;
  for (int32_t priority : {0, 5, -2, 0, -2}) {
    Request r = request(int32_t(ids.size()), 5);
    r.priority = priority;
    ids.push_back(*session->add(r));
  }
  EXPECT_EQ(endsOf(*session),
            (std::vector<SequenceId>{ids[2], ids[4], ids[0], ids[3], ids[1]}));
}

TEST(Priority, TheHighestLosesItsPages) {
  for (bool isUrgent : {false, true}) {
    SessionOptions options;
    options.kvPages = 17;
    options.threads = 1;
    options.prefixCache = false;
    auto session = open(options);
    std::vector<SequenceId> ids;
    std::vector<Request> all;
    for (int32_t i = 0; i < 4; ++i) {
      all.push_back(request(i, 40));
      // Without priority, the last sequence would be preempted first.
      all.back().priority = isUrgent && i == 3 ? -1 : 0;
      ids.push_back(*session->add(all.back()));
    }
    drain(*session);
    EXPECT_GT(session->statistics().preemptions, 0u);
    EXPECT_EQ(session->statistics(ids[3])->preemptions == 0, isUrgent);
    for (size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(outputOf(*session, ids[i]), expectedOutput(all[i]).tokens);
  }
}

// A newcomer of a lower value gets the slot, the pages, or the turn while the
// other prompt is being read.
TEST(Priority, AHighOneMakesWayForANewcomer) {
  for (bool isShort : {false, true})
    for (int steps = 0; steps < 12; ++steps) {
      SessionOptions options;
      options.threads = 1;
      options.chunksPerStep = 1;
      options.maxSlots = isShort ? 4 : 1;
      // All pages that one sequence needs, plus one.
      options.kvPages = isShort ? 16 : 0;
      auto session = open(options);
      Request later = request(1, 30, 23), urgent = request(2, 30, 23);
      later.priority = 1;
      SequenceId first = *session->add(later);
      for (int i = 0; i < steps; ++i)
        ASSERT_TRUE(session->step().isOk());
      bool wasRunning = *session->state(first) != SequenceState::Waiting &&
                        *session->state(first) != SequenceState::Finished;
      SequenceId second = *session->add(urgent);
      EXPECT_EQ(endsOf(*session), (wasRunning || steps == 0)
                                      ? (std::vector<SequenceId>{second, first})
                                      : (std::vector<SequenceId>{second}));
      // After that, pages may be short once more.
      if (wasRunning)
        EXPECT_GE(session->statistics(first)->preemptions, 1u);
      EXPECT_EQ(session->statistics(second)->preemptions, 0u);
      EXPECT_EQ(outputOf(*session, first), expectedOutput(later).tokens);
      EXPECT_EQ(outputOf(*session, second), expectedOutput(urgent).tokens);
    }
}

// Other sequences of equal priority are left alone.
TEST(Priority, EqualOnesDoNotMakeWay) {
  SessionOptions options;
  options.maxSlots = 1;
  auto session = open(options);
  std::vector<SequenceId> ids;
  for (int32_t i = 0; i < 2; ++i) {
    Request r = request(i, 12);
    r.priority = -1;
    ids.push_back(*session->add(r));
    ASSERT_TRUE(session->step().isOk());
  }
  EXPECT_EQ(endsOf(*session), ids);
  EXPECT_EQ(session->statistics().preemptions, 0u);
}

TEST(FairShare, AGroupWithManyDoesNotKeepOthersOut) {
  SessionOptions options;
  options.maxSlots = 1;
  auto session = open(options);
  std::vector<SequenceId> many, few;
  for (int32_t i = 0; i < 5; ++i) {
    Request r = request(i, 6);
    r.group = 1;
    many.push_back(*session->add(r));
  }
  for (int32_t i = 5; i < 7; ++i) {
    Request r = request(i, 6);
    r.group = 2;
    few.push_back(*session->add(r));
  }
  EXPECT_EQ(endsOf(*session),
            (std::vector<SequenceId>{many[0], few[0], many[1], few[1], many[2],
                                     many[3], many[4]}));
}

TEST(FairShare, WhoWasAwayHasNothingToMakeUpFor) {
  FairShare shares;
  shares.enter(1);
  shares.charge(1, 100);
  shares.enter(2);
  EXPECT_EQ(shares.had(2), 100u);
  shares.charge(2, 50);
  shares.leave(2);
  shares.charge(1, 10);
  // A group does not lose its earlier count either.
  shares.enter(2);
  EXPECT_EQ(shares.had(2), 150u);
  shares.leave(1);
  shares.leave(2);
  EXPECT_EQ(shares.had(2), 0u);
}

// At each k, also if an end token is in the middle of a round, and with more
// end tokens than a device compares.
TEST(MinTokens, NothingEndsASequenceBefore) {
  Request plain = request(3, 40);
  std::vector<int32_t> whole = expectedOutput(plain).tokens;
  for (uint32_t k : {0u, 1u, 4u})
    for (size_t stops : {1, 12})
      for (uint32_t least = 0; least <= 40; ++least) {
        SessionOptions options;
        options.k = k;
        options.threads = 1;
        auto session = open(options);
        Request r = plain;
        r.minTokens = least;
        // Tokens at some positions all over the output.
        for (size_t i = 0; i < stops; ++i)
          r.stopTokens.push_back(whole[(i * 7 + 5) % whole.size()]);
        std::vector<int32_t> expected;
        for (int32_t token : whole) {
          if (expected.size() >= least &&
              std::ranges::count(r.stopTokens, token) > 0)
            break;
          expected.push_back(token);
        }
        SequenceId id = *session->add(r);
        drain(*session);
        EXPECT_EQ(outputOf(*session, id), expected) << k << ", " << least;
        EXPECT_EQ(*session->finishReason(id), expected.size() < 40
                                                  ? FinishReason::Stop
                                                  : FinishReason::Length);
      }
}

TEST(CacheSalt, PagesAreSharedWhereItIsEqual) {
  auto session = open({});
  auto cached = [&](const std::string &salt) {
    Request r = request(1, 12, 21);
    r.cacheSalt = salt;
    SequenceId id = *session->add(r);
    drain(*session);
    EXPECT_EQ(outputOf(*session, id), expectedOutput(r).tokens);
    return session->statistics(id)->cachedTokens;
  };
  EXPECT_EQ(cached(""), 0u);
  EXPECT_EQ(cached("a"), 0u);
  EXPECT_EQ(cached("b"), 0u);
  EXPECT_EQ(cached(std::string("a\0", 2)), 0u);
  for (const std::string &salt : {std::string(), std::string("a"),
                                  std::string("b"), std::string("a\0", 2)})
    EXPECT_EQ(cached(salt), 20u) << salt;
}

TEST(CacheSalt, IsInvalidWhereItIsLong) {
  auto session = open({});
  Request r = request(1, 4);
  r.cacheSalt.assign(1025, 'x');
  EXPECT_EQ(session->add(r).status().toString(),
            "InvalidArgument: expected a cache salt of at most 1024 bytes, got "
            "1025");
  r.cacheSalt.clear();
  r.minTokens = 5;
  EXPECT_EQ(session->add(r).status().toString(),
            "InvalidArgument: expected min tokens of at most the 4 max tokens, "
            "got 5");
}
