//===- slot_state_test.cpp - States of a slot -----------------------------===//
//
// The fake model whose prompts come as rows has a state of each kind. It fails
// a sequence if a state differs from the result of running all of its tokens
// (prompt_audit).
//
//===----------------------------------------------------------------------===//

#include "runtime/artifact/ArtifactFile.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/LogitRules.h"
#include "support/FakeModel.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

FakeOptions rows(uint32_t modules = 1) {
  FakeOptions fake;
  fake.hasAudit = true;
  fake.hasRanges = true;
  fake.modules = modules;
  return fake;
}

Request request(int32_t seed, size_t size, uint32_t maxTokens,
                float temperature = 0) {
  Request r;
  for (size_t i = 0; i < size; ++i)
    r.prompt.push_back(int32_t((size_t(seed) * 13 + i * 7) % 64));
  r.maxTokens = maxTokens;
  r.sampling.temperature = temperature;
  r.sampling.seed = uint64_t(seed);
  return r;
}

std::unique_ptr<Session> open(const FakeOptions &fake,
                              const SessionOptions &options = {}) {
  auto session = Session::create(loadFakeModel(fake), options);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return std::move(*session);
}

/// Runs requests together and compares each with the sampler alone. Returns the
/// number of failed sequences.
int run(Session &session, const std::vector<Request> &requests) {
  std::vector<SequenceId> ids;
  for (const Request &r : requests)
    ids.push_back(*session.add(r));
  drain(session);
  int failed = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (*session.finishReason(ids[i]) == FinishReason::Failed) {
      ++failed;
      continue;
    }
    auto output = *session.output(ids[i]);
    EXPECT_EQ(std::vector<int32_t>(output.begin(), output.end()),
              expectedOutput(requests[i]).tokens)
        << "request " << i;
  }
  return failed;
}

std::vector<Request> mixed() {
  return {request(1, 17, 30),      request(2, 3, 41),  request(1, 17, 9),
          request(3, 9, 20, 0.8f), request(1, 21, 12), request(4, 1, 30, 1.2f)};
}

std::string openError(const ArtifactBuilder &artifact) {
  AlignedBytes bytes(artifact.finish());
  return std::string(ArtifactFile::fromMemory(bytes.span()).status().message());
}

ArtifactBuilder::State &stateOf(ArtifactBuilder &a, const std::string &name) {
  for (ArtifactBuilder::State &state : a.states)
    if (state.name == name)
      return state;
  std::abort();
}

} // namespace

TEST(SlotState, OtherStatesChangeNoResult) {
  for (uint32_t modules : {1u, 2u, 3u})
    for (uint32_t k : {0u, 1u, 3u, 4u}) {
      SessionOptions options;
      options.k = k;
      options.threads = 2;
      auto session = open(rows(modules), options);
      EXPECT_EQ(run(*session, mixed()), 0) << modules << " " << k;
      FakeOptions plain;
      plain.modules = modules;
      auto other = open(plain, options);
      EXPECT_EQ(run(*other, mixed()), 0);
      // A state of two rows allows less reuse if a module reads one row.
      EXPECT_LE(session->statistics().cachedTokens,
                other->statistics().cachedTokens);
      EXPECT_GT(session->statistics().cachedTokens, 0u);
      EXPECT_EQ(session->statistics().accepted, other->statistics().accepted);
      EXPECT_EQ(session->model()->envelope()->modules, modules);
    }
}

TEST(SlotState, SlotsBeginAnewForEverySequence) {
  SessionOptions options;
  options.maxSlots = 1;
  options.prefixCache = false;
  auto session = open(rows(), options);
  std::vector<Request> requests = {request(1, 30, 40), request(2, 5, 10)};
  EXPECT_EQ(run(*session, requests), 0);
  // The second sequence sees neither the history nor the marks of the first.
  EXPECT_EQ(run(*session, requests), 0);
}

TEST(SlotState, PreemptedSequencesFindTheirTokens) {
  for (uint32_t k : {0u, 1u, 4u})
    for (bool prefix : {false, true})
      for (bool fold : {false, true}) {
        SessionOptions options;
        options.k = k;
        options.kvPages = 17;
        options.prefixCache = prefix;
        options.threads = 1;
        FakeOptions fake = rows(2);
        fake.hasFold = fold;
        auto session = open(fake, options);
        std::vector<Request> requests;
        for (int32_t i = 0; i < 6; ++i)
          requests.push_back(request(i, 6, 38 + uint32_t(i)));
        EXPECT_EQ(run(*session, requests), 0);
        EXPECT_GT(session->statistics().preemptions, 0u);
      }
}

TEST(SlotState, ReuseStopsBeforeTheRowsOfAState) {
  for (auto [declared, reused] : {std::pair(2u, 16u), {4u, 16u}, {5u, 12u}}) {
    FakeOptions fake = rows();
    fake.pairRows = declared;
    auto session = open(fake);
    Request r = request(1, 20, 5);
    EXPECT_EQ(run(*session, {r}), 0);
    SequenceId id = *session->add(r);
    drain(*session);
    EXPECT_EQ(session->statistics(id)->cachedTokens, reused) << declared;
  }
}

TEST(SlotState, TooFewRowsAreFound) {
  // The test detects a wrong runtime: a state of two rows that declares one. Of
  // 17 tokens 16 are reused.
  FakeOptions fake = rows();
  fake.pairRows = 1;
  auto session = open(fake);
  EXPECT_EQ(run(*session, {request(1, 17, 5)}), 0);
  EXPECT_EQ(run(*session, {request(1, 17, 5)}), 1);
}

TEST(SlotState, NothingIsReusedWithAStateThatIsNeverRebuilt) {
  for (auto [rebuild, cached, failed] :
       {std::tuple(schema::Rebuild::Never, 0u, 0),
        {schema::Rebuild::Rows, 16u, 1}}) {
    FakeOptions fake = rows();
    fake.hasFold = true;
    fake.foldRebuild = rebuild;
    auto session = open(fake);
    Request r = request(1, 20, 8);
    EXPECT_EQ(run(*session, {r}), 0);
    EXPECT_EQ(run(*session, {r}), failed);
    EXPECT_EQ(session->statistics().cachedTokens, cached);
  }
}

TEST(SlotState, UpkeepIsChecked) {
  auto message = [](auto spoil) {
    FakeOptions fake = rows();
    fake.hasFold = true;
    ArtifactBuilder a = makeFakeModel(fake);
    spoil(a);
    std::string text = openError(a);
    // The message names the state by its index.
    size_t name = text.find("]: ");
    return text.starts_with("states[") && name != text.npos
               ? text.substr(name + 3)
               : text;
  };
  EXPECT_EQ(message([](auto &) {}), "");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "marks").upkeep.init = 0.5; }),
            "upkeep.init: expected a value of i32, got 0.500000");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "pair").upkeep.rows = 0; }),
            "upkeep.rows: expected 1 to 4096, got 0");
  EXPECT_EQ(message([](auto &a) {
              stateOf(a, "fold").upkeep.rebuild = schema::Rebuild(7);
            }),
            "upkeep.rebuild: unknown value 7");
  EXPECT_EQ(message([](auto &a) {
              stateOf(a, "fold").upkeep.rebuild = schema::Rebuild::Tokens;
            }),
            "upkeep: expected 4x96xi32 or longer for tokens, got 4xi32");
  EXPECT_EQ(
      message([](auto &a) {
        stateOf(a, "fold").upkeep.rebuild = schema::Rebuild::Save;
        stateOf(a, "fold").shape = {4, 16385};
      }),
      "upkeep: expected at most 65536 bytes of a slot to save, got 65540");
  EXPECT_EQ(message([](auto &a) {
              stateOf(a, "fold").upkeep.rebuild = schema::Rebuild::Run;
            }),
            "upkeep.init: expected 0 of a state that programs begin, got "
            "5.000000");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "history").upkeep.input = true; }),
            "upkeep.input: expected nothing to rebuild of an input");
  EXPECT_EQ(message([](auto &a) {
              stateOf(a, "fold").upkeep.input = true;
              stateOf(a, "fold").dtype = schema::DType::I64;
            }),
            "upkeep.input: expected a state per slot of i32 or f32, got i64");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "active").upkeep.input = true; }),
            "upkeep.input: expected a state per slot of i32 or f32, got a "
            "shared one of i32");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "marks").shape = {3}; }),
            "upkeep: expected 4 slots as the first dimension, got 3xi32");
  EXPECT_EQ(message([](auto &a) {
              stateOf(a, "prompt_slots").upkeep.rebuild =
                  schema::Rebuild::Never;
            }),
            "upkeep: expected nothing to rebuild of a shared state");
}

TEST(SlotState, AnInputIsNoStateThatTheHostKnows) {
  ArtifactBuilder a = makeFakeModel(rows());
  stateOf(a, "length").upkeep.input = true;
  EXPECT_NE(openError(a).find("'length': expected no input of requests"),
            std::string::npos)
      << openError(a);
}

TEST(SlotState, ThePromptContractIsChecked) {
  auto message = [](auto spoil) {
    ArtifactBuilder a = makeFakeModel(rows());
    spoil(a);
    return openError(a);
  };
  EXPECT_EQ(
      message([](auto &a) { stateOf(a, "prompt_positions").shape = {1, 16}; }),
      "states[11] 'prompt_positions': expected 2x8xi32 (0: any), got "
      "1x16xi32");
  EXPECT_EQ(
      message([](auto &a) { stateOf(a, "active").upkeep.shared = false; }),
      "states[0] 'active': expected one for all slots");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "out_count").name = "others"; }),
            "states: expected one named 'out_count'");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "length").name = "size"; }), "")
      << "the host does without";
  EXPECT_EQ(
      message([](auto &a) { stateOf(a, "prompt_tokens").shape = {66, 8}; }),
      "states: expected 'prompt_tokens' of a chunk with at most 64 places "
      "ahead");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "prompt_tokens").name = "text"; }),
            "states: expected one named 'prompt_tokens'");
}

TEST(SlotState, TheLimitOfDraftsIsChecked) {
  auto message = [](auto spoil) {
    FakeOptions fake;
    fake.hasLimit = true;
    ArtifactBuilder a = makeFakeModel(fake);
    spoil(a);
    return openError(a);
  };
  EXPECT_EQ(message([](auto &) {}), "");
  EXPECT_NE(message([](auto &a) {
              stateOf(a, "draft_limit").shape = {4, 2};
            }).find("'draft_limit': expected 4xi32 (0: any), got 4x2xi32"),
            std::string::npos);
}

TEST(SlotState, TheConfidenceOfDraftersIsChecked) {
  uint64_t slots = makeFakeModel(rows()).envelope.maxBatch;
  uint64_t maxK = makeFakeModel(rows()).envelope.maxK;
  auto message = [](std::vector<uint64_t> shape, schema::DType type) {
    ArtifactBuilder a = makeFakeModel(rows());
    a.addState("shown_confidence", std::move(shape), type,
               ArtifactBuilder::Upkeep());
    return openError(a);
  };
  EXPECT_EQ(message({slots, 32, maxK}, schema::DType::F32), "");
  for (auto [rounds, type] :
       {std::pair(31, schema::DType::F32), std::pair(32, schema::DType::I32)})
    EXPECT_NE(message({slots, uint64_t(rounds), maxK}, type)
                  .find("'shown_confidence': expected 4x32x"),
              std::string::npos);
}

TEST(SlotState, ThePlacesOfDraftersAreChecked) {
  auto message = [](std::vector<uint64_t> shape) {
    ArtifactBuilder a = makeFakeModel(rows());
    a.addState("drafter_places", std::move(shape), schema::DType::I32,
               ArtifactBuilder::Upkeep());
    return openError(a);
  };
  uint64_t slots = makeFakeModel(rows()).envelope.maxBatch;
  uint64_t maxK = makeFakeModel(rows()).envelope.maxK;
  EXPECT_EQ(message({slots, maxK, 2}), "");
  EXPECT_NE(message({slots, maxK, 3}).find("'drafter_places': expected 4x"),
            std::string::npos);
  EXPECT_NE(message({slots, maxK + 1, 2}).find("'drafter_places': expected 4x"),
            std::string::npos);
}

TEST(SlotState, TheStatesOfRulesAreChecked) {
  uint64_t slots = makeFakeModel(rows()).envelope.maxBatch;
  uint64_t vocab = makeFakeModel(rows()).envelope.vocab;
  auto message = [](const char *name, std::vector<uint64_t> shape) {
    ArtifactBuilder a = makeFakeModel(rows());
    a.addState(name, std::move(shape), schema::DType::I32,
               ArtifactBuilder::Upkeep());
    return openError(a);
  };
  EXPECT_EQ(message("logit_rules", {slots, kRuleWords}), "");
  EXPECT_NE(message("logit_rules", {slots, kRuleWords - 1})
                .find("'logit_rules': expected "),
            std::string::npos);
  uint64_t nodes = makeFakeModel(rows()).envelope.maxK + 1;
  EXPECT_EQ(message("logit_masks", {slots, nodes, maskWords(vocab)}), "");
  EXPECT_NE(message("logit_masks", {slots, nodes - 1, maskWords(vocab)})
                .find("'logit_masks': expected "),
            std::string::npos);
  EXPECT_EQ(message("host_drafts", {slots, nodes}), "");
  EXPECT_NE(message("host_drafts", {slots, nodes + 1})
                .find("'host_drafts': expected "),
            std::string::npos);
  for (auto [name, words] : {std::pair("token_counts", countWords(vocab)),
                             {"logit_bias", uint64_t(vocab)}}) {
    EXPECT_EQ(message(name, {slots, words}), "");
    EXPECT_NE(message(name, {slots, words + 1})
                  .find(strCat("'", name, "': expected ")),
              std::string::npos);
  }
}

TEST(SlotState, TheContractOfRoundsIsChecked) {
  auto message = [](auto spoil) {
    ArtifactBuilder a = makeFakeModel(rows());
    uint64_t slots = a.envelope.maxBatch, entry = a.envelope.maxK + 2;
    ArtifactBuilder::Upkeep slot;
    a.addState("ring", {slots, 2, entry}, schema::DType::I32, slot);
    a.addState("loop", {slots, 8}, schema::DType::I32, slot);
    a.addState("stop_tokens", {slots, 8}, schema::DType::I32, slot);
    spoil(a);
    return openError(a);
  };
  EXPECT_EQ(message([](auto &a) { stateOf(a, "loop").name = "lap"; }),
            "states: expected one named 'loop'");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "stop_tokens").shape[1] = 9; }),
            "states[19] 'stop_tokens': expected 4x8xi32 (0: any), got 4x9xi32");
  EXPECT_EQ(message([](auto &a) { stateOf(a, "ring").shape[1] = 1025; }),
            "states[17] 'ring': expected 1 to 1024 rounds, got 1025");
  // The confidences of a launch have a place for each of 32 rounds.
  EXPECT_EQ(message([](auto &a) {
              a.addState("shown_confidence",
                         {a.envelope.maxBatch, 32, a.envelope.maxK},
                         schema::DType::F32, {});
              stateOf(a, "ring").shape[1] = 33;
            }),
            "states[17] 'ring': expected 1 to 32 rounds, got 33");
  std::string without = message([](auto &) {});
  EXPECT_NE(without.find("expected an output named 'again'"), std::string::npos)
      << without;
}
