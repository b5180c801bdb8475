//===- Generation.cpp - Generate with an artifact of the fixture ----------===//

#include "Generation.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/SessionFactory.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string_view>

using namespace mtp;
using namespace mtp::test;

/// Every step of every session in the tests checks the session's invariants.
static const bool checksSteps = [] {
  SessionFactory::checkEveryStep(true);
  return true;
}();

/// Returns the artifact folder of a kit; null elsewhere.
static const char *kitFolder() { return std::getenv("MTP_E2E_ARTIFACTS"); }

bool mtp::test::takesAll() {
  const char *trees = std::getenv("MTP_TREES");
  return trees && std::string_view(trees) == "all";
}

bool mtp::test::isKit() { return kitFolder() != nullptr; }

std::string mtp::test::artifactPath(const std::string &name) {
  return strCat(isKit() ? kitFolder() : MTP_E2E_ARTIFACTS, "/", name, ".bin");
}

std::shared_ptr<const Model> mtp::test::loadArtifact(const std::string &name,
                                                     DeviceKind device) {
  LoadOptions options;
  options.device = device;
  auto model = Model::load(artifactPath(name), options);
  EXPECT_TRUE(model.isOk()) << model.status().toString();
  return model.isOk() ? *model : nullptr;
}

std::string mtp::test::testName(std::string artifact) {
  for (char &c : artifact)
    if (c == '-' || c == '.')
      c = '_';
  return artifact;
}

bool mtp::test::bitEqual(const std::vector<float> &a,
                         const std::vector<float> &b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Checks that pages do not leak: free + cached + held = all, and none is held.
static void expectNoPagesHeld(const Session &session) {
  Status invariants = session.checkInvariants();
  EXPECT_TRUE(invariants.isOk()) << invariants.toString();
  KvUsage usage = session.kvUsage();
  EXPECT_EQ(usage.heldPages, 0u);
  EXPECT_EQ(usage.freePages + usage.cachedPages + 1, session.options().kvPages);
}

Generated mtp::test::collect(const Session &session, SequenceId id) {
  Generated result;
  auto output = session.output(id);
  EXPECT_TRUE(output.isOk()) << output.status().toString();
  result.tokens.assign(output->begin(), output->end());
  bool isKept = session.options().logits == LogitsMode::All;
  for (size_t i = 0; isKept && i < result.tokens.size(); ++i) {
    auto row = session.logits(id, i);
    EXPECT_TRUE(row.isOk()) << row.status().toString();
    result.logits.insert(result.logits.end(), row->begin(), row->end());
  }
  return result;
}

using Scores = std::map<SequenceId, std::vector<TokenLogprobs>>;

/// Runs a step, and fails the test if it or a sequence fails. Appends
/// log-probabilities to `scores`.
static bool runStep(Session &session, Scores &scores) {
  auto updates = session.step();
  EXPECT_TRUE(updates.isOk()) << updates.status().toString();
  if (!updates.isOk())
    return false;
  for (const SequenceUpdate &update : *updates) {
    EXPECT_TRUE(update.error.isOk()) << update.error.toString();
    std::vector<TokenLogprobs> &own = scores[update.id];
    own.insert(own.end(), update.logprobs.begin(), update.logprobs.end());
  }
  return true;
}

Outcome mtp::test::generate(std::shared_ptr<const Model> model,
                            SessionOptions options,
                            const std::vector<Request> &requests,
                            LogitsMode logits, size_t stepsApart) {
  Outcome run;
  options.logits = logits;
  auto session = Session::create(std::move(model), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  if (!session.isOk())
    return run;
  std::vector<SequenceId> ids;
  Scores scores;
  auto arrives = [&](size_t step) {
    return ids.size() < requests.size() &&
           (stepsApart == 0 || ids.size() * stepsApart == step);
  };
  for (size_t step = 0; !(*session)->idle() || ids.size() < requests.size();
       ++step) {
    while (arrives(step)) {
      auto id = (*session)->add(requests[ids.size()]);
      EXPECT_TRUE(id.isOk()) << id.status().toString();
      if (!id.isOk())
        return run;
      ids.push_back(*id);
    }
    if (!runStep(**session, scores))
      return run;
  }
  // Rounds may still be in flight although all their tokens have been read.
  EXPECT_TRUE((*session)->step().isOk());
  for (SequenceId id : ids) {
    run.sequences.push_back(collect(**session, id));
    run.sequences.back().logprobs = std::move(scores[id]);
  }
  run.statistics = (*session)->statistics();
  expectNoPagesHeld(**session);
  return run;
}

int32_t mtp::test::textToken(uint32_t text, uint32_t i, uint32_t vocab) {
  uint32_t x = (text * 7919u + i) * 2654435761u;
  return int32_t((x >> 8) % std::min(vocab, 112u));
}

SessionOptions mtp::test::single(uint32_t k, uint32_t slots) {
  SessionOptions options;
  options.k = k;
  options.threads = 1;
  options.maxSlots = slots;
  options.prefixCache = false;
  // The number of passes must not depend on their times.
  options.promptMilliseconds = 0;
  return options;
}

std::string mtp::test::describe(const SessionOptions &options) {
  return "k " + std::to_string(options.k) + ", slots " +
         std::to_string(options.maxSlots) + ", threads " +
         std::to_string(options.threads) + ", chunk " +
         std::to_string(options.prefillChunk) + ", pages " +
         std::to_string(options.kvPages) +
         (options.prefixCache ? ", prefix cache" : "");
}

static bool isSame(const TokenLogprob &a, const TokenLogprob &b) {
  return a.token == b.token && std::bit_cast<uint32_t>(a.logprob) ==
                                   std::bit_cast<uint32_t>(b.logprob);
}

static bool isEqual(const TokenLogprobs &a, const TokenLogprobs &b) {
  return isSame(a.own, b.own) && a.rank == b.rank &&
         std::ranges::equal(a.likeliest, b.likeliest, isSame);
}

void mtp::test::expectSame(const Outcome &run, const Outcome &expected,
                           const SessionOptions &options) {
  EXPECT_EQ(run.sequences.size(), expected.sequences.size());
  for (size_t i = 0; i < run.sequences.size(); ++i) {
    EXPECT_EQ(run.sequences[i].tokens, expected.sequences[i].tokens)
        << describe(options) << ", request " << i;
    EXPECT_TRUE(bitEqual(run.sequences[i].logits, expected.sequences[i].logits))
        << describe(options) << ", logits of request " << i;
    EXPECT_TRUE(std::ranges::equal(run.sequences[i].logprobs,
                                   expected.sequences[i].logprobs, isEqual))
        << describe(options) << ", log-probabilities of request " << i;
  }
}

void mtp::test::finishLike(Session &session, const std::vector<SequenceId> &ids,
                           std::span<const Generated> expected,
                           const std::string &where) {
  Scores scores;
  while (!session.idle())
    if (!runStep(session, scores)) {
      ADD_FAILURE() << where;
      return;
    }
  for (size_t i = 0; i < ids.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(*session.output(ids[i]), expected[i].tokens))
        << "sequence " << i << ", " << where;
  Status invariants = session.checkInvariants();
  EXPECT_TRUE(invariants.isOk()) << invariants.toString() << ", " << where;
}
