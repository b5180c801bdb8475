//===- failure_test.cpp - Sessions whose device is lost -------------------===//

#include "support/FakeModel.h"
#include "support/LosingExecutable.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns more requests than there are slots, greedy and sampled.
std::vector<Request> requests() {
  std::vector<Request> all;
  for (uint32_t i = 0; i < 6; ++i) {
    Request r;
    for (uint32_t t = 0; t < 3 + 5 * i; ++t)
      r.prompt.push_back(int32_t((i * 11 + t * (i + 3)) % 64));
    r.maxTokens = 12 + i;
    r.sampling.temperature = i % 2 ? 0.9f : 0;
    r.sampling.seed = i;
    all.push_back(r);
  }
  return all;
}

/// Steps until one step fails or all sequences have ended; collects the
/// results.
Status runToFailure(Session &session,
                    std::map<SequenceId, std::vector<int32_t>> &given) {
  while (!session.idle()) {
    auto updates = session.step();
    EXPECT_TRUE(session.checkInvariants().isOk());
    if (!updates.isOk())
      return updates.status();
    for (const SequenceUpdate &update : *updates)
      given[update.id].insert(given[update.id].end(), update.tokens.begin(),
                              update.tokens.end());
  }
  return okStatus();
}

std::vector<int32_t> outputOf(const Session &session, SequenceId id) {
  auto output = *session.output(id);
  return {output.begin(), output.end()};
}

/// Returns the rest of the request after `made` has been output.
Request restOf(Request request, const std::vector<int32_t> &made) {
  request.prompt.insert(request.prompt.end(), made.begin(), made.end());
  request.maxTokens -= uint32_t(made.size());
  return request;
}

} // namespace

TEST(Failure, SequencesAreRunAgainElsewhere) {
  auto model = loadFakeModel();
  std::vector<Request> all = requests();
  for (int runs = 0; runs < 30; ++runs) {
    std::unique_ptr<Session> session = openLosing(model, {}, runs);
    std::map<SequenceId, Request> asked;
    for (const Request &r : all)
      asked[*session->add(r)] = r;
    std::map<SequenceId, std::vector<int32_t>> given;
    Status status = runToFailure(*session, given);
    ASSERT_EQ(status.code(), StatusCode::Internal) << runs;
    // All output has been returned and can still be read.
    auto other = *Session::create(model);
    std::map<SequenceId, SequenceId> again;
    std::vector<SequenceId> left = session->unfinished();
    for (auto &[id, request] : asked) {
      std::vector<int32_t> made = outputOf(*session, id);
      EXPECT_EQ(made, given[id]) << runs;
      bool isLeft = std::ranges::count(left, id) > 0;
      EXPECT_EQ(*session->finishReason(id) == FinishReason::None, isLeft);
      if (isLeft)
        again[id] = *other->add(restOf(request, made));
    }
    drain(*other);
    for (auto &[id, request] : asked) {
      std::vector<int32_t> whole = outputOf(*session, id);
      if (again.contains(id))
        for (int32_t token : outputOf(*other, again[id]))
          whole.push_back(token);
      EXPECT_EQ(whole, expectedOutput(request).tokens) << runs;
    }
  }
}

TEST(Failure, AStepFirstReturnsWhatItGave) {
  // The prompt succeeds, the next round fails.
  std::unique_ptr<Session> session = openLosing(loadFakeModel(), {}, 1);
  Request request = requests()[0];
  SequenceId id = *session->add(request);
  auto updates = session->step();
  ASSERT_TRUE(updates.isOk()) << updates.status().toString();
  ASSERT_EQ(updates->size(), 1u);
  EXPECT_EQ((*updates)[0].tokens.size(), 1u);
  EXPECT_FALSE(session->idle());
  const std::string message = "Internal: an earlier step of the session "
                              "failed: the device is lost";
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(session->step().status().toString(), message);
  EXPECT_EQ(session->add(request).status().toString(), message);
  EXPECT_EQ(session->runFunction("twice", {}).status().toString(), message);
  EXPECT_EQ(outputOf(*session, id), (*updates)[0].tokens);
}

TEST(Failure, SequencesAreCancelledAndReleased) {
  std::unique_ptr<Session> session = openLosing(loadFakeModel(), {}, 6);
  for (const Request &r : requests())
    ASSERT_TRUE(session->add(r).isOk());
  std::map<SequenceId, std::vector<int32_t>> given;
  ASSERT_FALSE(runToFailure(*session, given).isOk());
  std::vector<SequenceId> left = session->unfinished();
  EXPECT_EQ(left.size(), 6u);
  for (SequenceId id : left) {
    EXPECT_EQ(session->release(id).code(), StatusCode::FailedPrecondition);
    EXPECT_TRUE(session->cancel(id).isOk());
    EXPECT_EQ(*session->finishReason(id), FinishReason::Cancelled);
    EXPECT_EQ(outputOf(*session, id), given[id]);
    EXPECT_TRUE(session->release(id).isOk());
  }
  EXPECT_TRUE(session->idle());
  EXPECT_TRUE(session->unfinished().empty());
  EXPECT_EQ(session->kvUsage().heldPages, 0u);
  EXPECT_TRUE(session->checkInvariants().isOk());
}

TEST(Failure, EveryTokenHasItsLogits) {
  for (LogitsMode mode : {LogitsMode::Last, LogitsMode::All})
    for (int reads = 0; reads < 40; ++reads) {
      SessionOptions options;
      options.logits = mode;
      options.maxSlots = 2;
      std::unique_ptr<Session> session =
          openLosing(loadFakeModel(), options, kNever, reads);
      std::vector<Request> all = requests();
      std::vector<SequenceId> ids;
      for (const Request &r : all)
        ids.push_back(*session->add(r));
      std::map<SequenceId, std::vector<int32_t>> given;
      ASSERT_FALSE(runToFailure(*session, given).isOk());
      for (size_t i = 0; i < ids.size(); ++i) {
        std::vector<int32_t> text = all[i].prompt, made = given[ids[i]];
        EXPECT_EQ(outputOf(*session, ids[i]), made);
        for (size_t t = 0; t < made.size(); text.push_back(made[t++])) {
          if (mode == LogitsMode::Last && t + 1 < made.size())
            continue;
          auto row = session->logits(ids[i], t);
          ASSERT_TRUE(row.isOk()) << row.status().toString();
          EXPECT_EQ(std::vector<float>(row->begin(), row->end()),
                    fakeLogits(text));
        }
      }
    }
}
