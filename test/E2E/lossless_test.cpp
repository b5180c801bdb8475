//===- lossless_test.cpp - Speculation changes no bit of the output -------===//
//
// For each model of the fixture, tokens and logits of a session must equal, bit
// for bit, those of the simplest session: no drafts, one sequence at a time,
// one thread, no prefix reuse.
//
//===----------------------------------------------------------------------===//

#include "harness/Automaton.h"
#include "harness/Generation.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

enum class Picking { Greedy, Sampled };

/// Returns prompts of 1 to 45 tokens, around the borders of pages and chunks.
/// Every second prompt begins with the same 20 tokens, or part of them.
std::vector<Request> mixedRequests(uint32_t vocab, Picking picking,
                                   uint32_t seed, uint32_t output = 20) {
  std::vector<Request> requests;
  for (uint32_t length : {1, 24, 2, 33, 9, 45, 17, 21}) {
    Request request;
    uint32_t index = uint32_t(requests.size());
    for (uint32_t i = 0; i < length; ++i) {
      bool shared = index % 2 == 1 && i < 20;
      request.prompt.push_back(
          textToken(shared ? seed : seed * 100 + index + 1, i, vocab));
    }
    request.maxTokens = output - index;
    request.ignoreEos = true;
    if (picking == Picking::Sampled)
      request.sampling = {0.8f, 20, 0.9f, 0.02f, seed * 1000 + index};
    requests.push_back(request);
  }
  return requests;
}

/// Gives requests rules of all kinds: penalties of two requests, a bias, few
/// allowed tokens, end tokens masked at first, and everything at once. Two of
/// six requests also have a grammar. Every sixth request has none.
void addRules(std::vector<Request> &requests, uint32_t vocab) {
  for (size_t i = 0; i < requests.size(); ++i) {
    Request &request = requests[i];
    LogitRules &rules = request.rules;
    size_t kind = i % 6;
    if (kind == 1 || kind == 4)
      rules.repetitionPenalty = 1.3f;
    if (kind == 1 || kind == 2)
      rules.frequencyPenalty = kind == 1 ? 0.4f : -0.1f;
    if (kind == 2)
      rules.presencePenalty = 0.75f;
    if (kind == 3 || kind == 4)
      for (int32_t token = 0; token < int32_t(vocab); token += 3)
        rules.bias.push_back({token, float(token % 7) - 2.5f});
    if (kind >= 4)
      for (int32_t token = kind == 4 ? 0 : 1; token < int32_t(vocab);
           token += 2)
        rules.allowedTokens.push_back(token);
    if (kind == 2 || kind == 5) {
      request.stopTokens = {5, 9, 11, 20, 31, 32, 33, 47};
      request.minTokens = 4;
    }
    if (kind == 1 || kind == 3)
      request.constraint = std::make_shared<Automaton>(vocab, int32_t(i));
  }
}

/// Makes tokens of the texts bad words of some requests: a token, a pair, and
/// three tokens.
void addBadWords(std::vector<Request> &requests, const Outcome &texts) {
  for (size_t i = 2; i < requests.size(); i += 3) {
    const std::vector<int32_t> &text = texts.sequences[i].tokens;
    for (size_t size : {1, 2, 3})
      if (text.size() > 4 * size)
        requests[i].rules.badWords.emplace_back(text.begin() + 3 * size,
                                                text.begin() + 4 * size);
  }
}

void expectNoBadWords(const std::vector<Request> &requests,
                      const Outcome &texts) {
  size_t words = 0;
  for (size_t i = 0; i < requests.size(); ++i)
    for (const std::vector<int32_t> &word : requests[i].rules.badWords) {
      EXPECT_TRUE(std::ranges::search(texts.sequences[i].tokens, word).empty());
      ++words;
    }
  EXPECT_GT(words, 0u);
}

class Lossless : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    model = loadArtifact(GetParam());
    ASSERT_TRUE(model);
    envelope = *model->envelope();
  }

  std::vector<Request> requests(Picking picking, uint32_t seed) const {
    return mixed(picking, seed);
  }

  /// Whether all tests of the model have requests with rules.
  bool isRuled() const {
    return std::string_view(GetParam()).ends_with(".rules");
  }

  /// Returns mixedRequests(), with rules if all tests of the model have them.
  std::vector<Request> mixed(Picking picking, uint32_t seed,
                             uint32_t output = 20) const {
    std::vector<Request> all =
        mixedRequests(envelope.vocab, picking, seed, output);
    if (isRuled())
      addRules(all, envelope.vocab);
    return all;
  }

  Outcome plain(const std::vector<Request> &requests) const {
    return generate(model, single(/*k=*/0, /*slots=*/1), requests);
  }

  /// Runs with `options` and compares with `expected`.
  Outcome check(const SessionOptions &options,
                const std::vector<Request> &requests,
                const Outcome &expected) const {
    Outcome run = generate(model, options, requests);
    expectSame(run, expected, options);
    return run;
  }

  std::shared_ptr<const Model> model;
  EnvelopeInfo envelope;
};

} // namespace

TEST_P(Lossless, EveryKAndBatch) {
  for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
    std::vector<Request> all = requests(picking, /*seed=*/1);
    Outcome expected = plain(all);
    for (uint32_t k = 0; k <= envelope.maxK; ++k)
      for (uint32_t slots = 1; slots <= envelope.maxBatch; ++slots)
        check(single(k, slots), all, expected);
  }
}

// Requests with penalties, biases, bad words and masked end tokens, of which
// most ask for log-probabilities.
TEST_P(Lossless, RulesAndLogprobs) {
  if (!model->hasLogitRules())
    GTEST_SKIP() << "a model without rules";
  for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
    std::vector<Request> all = mixedRequests(envelope.vocab, picking,
                                             /*seed=*/16);
    addRules(all, envelope.vocab);
    for (uint32_t i = 0; i < all.size(); ++i) {
      if (i % 4 != 2)
        all[i].logprobs.output = i;
      if (i % 2 == 1)
        all[i].logprobs.mode = LogprobsMode::Processed;
    }
    addBadWords(all, plain(all));
    Outcome expected = plain(all);
    EXPECT_EQ(expected.sequences[1].logprobs.size(),
              expected.sequences[1].tokens.size());
    expectNoBadWords(all, expected);
    for (uint32_t k = 0; k <= envelope.maxK; ++k)
      check(single(k, k % 2 ? 1 : envelope.maxBatch), all, expected);
  }
}

TEST_P(Lossless, Seeds) {
  for (uint32_t seed : {2, 3, 4}) {
    std::vector<Request> all = requests(Picking::Sampled, seed);
    Outcome expected = plain(all);
    for (uint32_t k = 0; k <= envelope.maxK; k += 2)
      check(single(k, envelope.maxBatch), all, expected);
  }
}

/// Returns the number of passes for prompts that run one by one.
static uint64_t passesOneByOne(const std::vector<Request> &requests,
                               uint32_t chunk) {
  uint64_t passes = 0;
  for (const Request &request : requests)
    passes += (request.prompt.size() + chunk - 1) / chunk;
  return passes;
}

TEST_P(Lossless, PrefillChunks) {
  for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
    std::vector<Request> all = requests(picking, /*seed=*/5);
    Outcome expected = plain(all);
    for (uint32_t chunk : {5u, envelope.prefillChunk})
      for (uint32_t chunksPerStep : {0, 1})
        for (uint32_t k : {0u, envelope.maxK}) {
          SessionOptions options = single(k, /*slots=*/1);
          options.prefillChunk = chunk;
          options.chunksPerStep = chunksPerStep;
          Outcome run = check(options, all, expected);
          // No prompt has more passes than its own rows need.
          EXPECT_EQ(run.statistics.prefillChunks, passesOneByOne(all, chunk))
              << describe(options);
        }
  }
}

// Several prompts share chunks if there are slots for them.
TEST_P(Lossless, PrefillsOfSeveralPrompts) {
  if (envelope.maxBatch == 1)
    GTEST_SKIP() << "one slot";
  uint64_t passes = 0, alone = 0;
  for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
    std::vector<Request> all = requests(picking, /*seed=*/5);
    Outcome expected = plain(all);
    for (uint32_t chunk : {5u, 12u, envelope.prefillChunk})
      for (uint32_t chunksPerStep : {0, 1})
        for (uint32_t k : {0u, envelope.maxK}) {
          SessionOptions options = single(k, envelope.maxBatch);
          options.prefillChunk = chunk;
          options.chunksPerStep = chunksPerStep;
          Outcome run = check(options, all, expected);
          EXPECT_LE(run.statistics.prefillChunks, passesOneByOne(all, chunk))
              << describe(options);
          passes += run.statistics.prefillChunks;
          alone += passesOneByOne(all, chunk);
        }
  }
  EXPECT_LT(passes, alone);
}

// Without logits, greedy slots are picked from the head's partial results,
// beside slots that sample from logits. The output must not show whose logits
// are kept.
TEST_P(Lossless, WithoutLogits) {
  std::vector<Request> all = requests(Picking::Greedy, /*seed=*/9);
  std::vector<Request> sampled = requests(Picking::Sampled, /*seed=*/9);
  for (size_t i = 0; i < all.size(); i += 3)
    all[i] = sampled[i];
  Outcome expected = plain(all);
  for (uint32_t k : {0u, envelope.maxK})
    for (LogitsMode logits : {LogitsMode::None, LogitsMode::Last}) {
      SessionOptions options = single(k, envelope.maxBatch);
      Outcome run = generate(model, options, all, logits);
      ASSERT_EQ(run.sequences.size(), expected.sequences.size());
      for (size_t i = 0; i < run.sequences.size(); ++i)
        EXPECT_EQ(run.sequences[i].tokens, expected.sequences[i].tokens)
            << describe(options) << ", request " << i;
    }
}

// One run each: threads that wait for each other are slow on a busy machine.
TEST_P(Lossless, Threads) {
  std::vector<Request> all = requests(Picking::Sampled, /*seed=*/8);
  Outcome expected = plain(all);
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  options.threads = 2;
  check(options, all, expected);
}

TEST_P(Lossless, PrefixReuse) {
  std::vector<Request> all = requests(Picking::Sampled, /*seed=*/6);
  Outcome expected = plain(all);
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    SessionOptions options = single(k, std::min(2u, envelope.maxBatch));
    options.prefixCache = true;
    // These prompts are shorter than a chunk.
    options.snapshotTokens = envelope.pageTokens;
    Outcome run = check(options, all, expected);
    EXPECT_GT(run.statistics.cachedTokens, 0u) << describe(options);
  }
}

// The second turn of a chat begins with the text that the first one generated.
// Its pages are shared, without an effect on output or acceptance.
TEST_P(Lossless, SecondTurn) {
  // With another turn in a context of 96.
  uint32_t output = std::min(60u, envelope.maxContext - 44);
  Request first = mixed(Picking::Sampled, /*seed=*/10, output)[1];
  // With a static tree, a sequence with a grammar has no drafts.
  first.constraint = nullptr;
  Request second = first;
  Outcome turn = plain({first});
  second.prompt.insert(second.prompt.end(), turn.sequences[0].tokens.begin(),
                       turn.sequences[0].tokens.end());
  second.prompt.push_back(textToken(/*text=*/11, 0, envelope.vocab));
  second.maxTokens = 20;
  Outcome expected = plain({first, second});
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    SessionOptions options = single(k, /*slots=*/1);
    Outcome apart = check(options, {first, second}, expected);
    options.prefixCache = true;
    Outcome shared = check(options, {first, second}, expected);
    EXPECT_EQ(shared.statistics.accepted, apart.statistics.accepted)
        << describe(options);
    // With fewer drafts than modules or heads, the deeper ones make no entries.
    bool hasHeads = std::string_view(GetParam()).starts_with("heads");
    uint32_t needed = hasHeads ? envelope.maxK : envelope.modules;
    bool isComplete = k == 0 || k >= needed;
    uint64_t prompt = first.prompt.size();
    EXPECT_EQ(shared.statistics.cachedTokens > prompt, isComplete)
        << describe(options);
  }
}

// The pool holds the longest sequence and little more, and outputs grow over
// several pages.
TEST_P(Lossless, Preemption) {
  std::vector<Request> all = mixed(Picking::Sampled, /*seed=*/7,
                                   /*output=*/50);
  Outcome expected = plain(all);
  size_t longest = 0;
  for (const Request &request : all)
    longest = std::max(longest, request.prompt.size() + request.maxTokens);
  uint64_t preemptions = 0;
  for (uint32_t k = 0; k <= envelope.maxK; ++k)
    for (uint32_t spare : {0, 2}) {
      SessionOptions options = single(k, envelope.maxBatch);
      options.prefixCache = spare != 0;
      // A window has a row for the anchor.
      uint32_t drafts = k ? envelope.maxNodes - 1 - (envelope.maxK - k) : 0;
      options.kvPages = 1 + spare +
                        uint32_t(longest + drafts + envelope.pageTokens - 1) /
                            envelope.pageTokens;
      preemptions += check(options, all, expected).statistics.preemptions;
    }
  EXPECT_GT(preemptions, 0u);
}

/// Sets the requests' k in turn to 0, 1, the maximum, and the session's choice.
static void mixK(std::vector<Request> &requests, uint32_t maxK,
                 uint32_t first = 0) {
  std::array<uint32_t, 4> ks = {0, std::min(maxK, 1u), maxK,
                                Request::kAutomatic};
  for (size_t i = 0; i < requests.size(); ++i)
    requests[i].k = ks[(first + i) % ks.size()];
}

// Requests of any k share rounds and pages.
TEST_P(Lossless, EveryRequestsOwnK) {
  for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
    std::vector<Request> all = requests(picking, /*seed=*/13);
    Outcome expected = plain(all);
    for (uint32_t first = 0; first < 4; ++first) {
      mixK(all, envelope.maxK, first);
      SessionOptions options = single(envelope.maxK, envelope.maxBatch);
      options.prefixCache = first % 2 == 1;
      check(options, all, expected);
    }
  }
}

TEST_P(Lossless, PreemptionWithEveryRequestsOwnK) {
  std::vector<Request> all = mixed(Picking::Sampled, /*seed=*/14,
                                   /*output=*/50);
  Outcome expected = plain(all);
  mixK(all, envelope.maxK);
  size_t longest = 0;
  for (const Request &request : all)
    longest = std::max(longest, request.prompt.size() + request.maxTokens);
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  options.prefixCache = true;
  options.kvPages =
      2 + uint32_t(longest + envelope.maxNodes - 1 + envelope.pageTokens - 1) /
              envelope.pageTokens;
  Outcome run = check(options, all, expected);
  if (envelope.maxBatch > 1)
    EXPECT_GT(run.statistics.preemptions, 0u);
}

// The output of a rule that is not exact depends on k, and not on other
// sequences or preemption.
TEST(LosslessRule, OutputIsThatOfTheRequestsK) {
  std::shared_ptr<const Model> model = loadArtifact("rejection");
  ASSERT_TRUE(model);
  const EnvelopeInfo &envelope = *model->envelope();
  std::vector<Request> all = mixedRequests(64, Picking::Sampled, /*seed=*/15,
                                           /*output=*/40);
  mixK(all, envelope.maxK);
  all.push_back(all[2]);
  all.back().k = 0; // an equal text with another k
  std::vector<std::vector<int32_t>> expected;
  for (const Request &request : all) {
    uint32_t k = std::min(request.k, envelope.maxK);
    Request own = request;
    own.k = Request::kSessions;
    expected.push_back(
        generate(model, single(k, 1), {own}).sequences[0].tokens);
  }
  EXPECT_NE(expected[2], expected.back());
  uint64_t preemptions = 0;
  for (uint32_t slots = 1; slots <= envelope.maxBatch; ++slots)
    for (uint32_t pages : {0u, 13u}) {
      SessionOptions options = single(envelope.maxK, slots);
      options.kvPages = pages;
      Outcome run = generate(model, options, all);
      preemptions += run.statistics.preemptions;
      for (size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(run.sequences[i].tokens, expected[i])
            << describe(options) << ", request " << i << ", k " << all[i].k;
    }
  EXPECT_GT(preemptions, 0u);
}

// A matrix without accepted drafts, or without rejected ones, would prove
// little. This model has both.
TEST(LosslessMatrix, AcceptsAndRejectsDrafts) {
  for (const char *name :
       {"dsv3-chain-mtp2.f32", "dsv3-chain-mtp2.bf16", "dsv3-chain-mtp2.int8",
        "dsv3-chain-mtp2.int4", "dsv3-chain-mtp2.draft90"}) {
    std::shared_ptr<const Model> model = loadArtifact(name);
    ASSERT_TRUE(model);
    for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
      Outcome run =
          generate(model, single(2, 4), mixedRequests(112, picking, 1));
      for (uint32_t position : {0, 1}) {
        EXPECT_GT(run.statistics.accepted[position], 5u) << name;
        EXPECT_LT(run.statistics.accepted[position] + 5,
                  run.statistics.drafted[position])
            << name;
      }
    }
  }
}

// The likeliest tokens as drafts would be accepted with their probability by
// the target, here 0.25 at temperature 1. Drafts picked with the target's noise
// are accepted almost as often as the distributions agree.
TEST(LosslessMatrix, SampledDraftsShareTheTargetsNoise) {
  std::shared_ptr<const Model> model = loadArtifact("bundled");
  ASSERT_TRUE(model);
  auto tokenizer = Tokenizer::load(model->tokenizer());
  ASSERT_TRUE(tokenizer.isOk());
  auto prompt =
      (*tokenizer)
          ->encode("Once upon a time there was a little girl who lived in");
  ASSERT_TRUE(prompt.isOk());
  std::vector<Request> all(4);
  for (uint32_t i = 0; i < all.size(); ++i) {
    all[i].prompt = *prompt;
    all[i].maxTokens = 100;
    all[i].ignoreEos = true;
    all[i].sampling.temperature = 1;
    all[i].sampling.seed = i;
  }
  // With a filter, drafter and target can differ in fewer tokens.
  for (float topP : {1.0f, 0.8f}) {
    for (Request &request : all)
      request.sampling.topP = topP;
    Outcome run = generate(model, single(2, 4), all);
    for (uint32_t position : {0, 1})
      EXPECT_GT(run.statistics.accepted[position] * 100,
                run.statistics.drafted[position] * (position ? 33u : 60u))
          << "top-p " << topP << ", draft " << position + 1;
  }
}

// The model compiled for one worker and for sixteen, which share a row's
// positions. Prompts end before the end of the first split and of the second
// one; outputs cross these ends.
TEST(LosslessParts, WorkersChangeNoBit) {
  std::shared_ptr<const Model> alone = loadArtifact("dsv3-chain-mtp2.parts");
  std::shared_ptr<const Model> shared = loadArtifact("dsv3-chain-mtp2.shared");
  ASSERT_TRUE(alone && shared);
  std::vector<Request> all(3);
  for (uint32_t i = 0; i < all.size(); ++i) {
    uint32_t length = std::array{505u, 3u, 1017u}[i];
    for (uint32_t token = 0; token < length; ++token)
      all[i].prompt.push_back(textToken(/*text=*/i, token, 112));
    all[i].maxTokens = 20;
    all[i].ignoreEos = true;
  }
  all[2].sampling = {0.8f, 20, 0.9f, 0.02f, /*seed=*/3};
  Outcome expected = generate(alone, single(0, 1), all);
  for (const std::shared_ptr<const Model> &model : {alone, shared})
    for (uint32_t k : {0, 2})
      for (uint32_t threads : {1, 2}) {
        SessionOptions options = single(k, 2);
        options.threads = threads;
        expectSame(generate(model, options, all), expected, options);
      }
}

// The model compiled for ranges of batches and rows, and with a program for
// each batch and each number of rows.
TEST(LosslessRanges, AProgramForEachBatchGivesTheSameBits) {
  std::shared_ptr<const Model> ranges = loadArtifact("dsv3-chain-mtp2.ranges");
  std::shared_ptr<const Model> apart = loadArtifact("dsv3-chain-mtp2.single");
  ASSERT_TRUE(ranges && apart);
  const EnvelopeInfo &envelope = *ranges->envelope();
  for (Picking picking : {Picking::Greedy, Picking::Sampled}) {
    std::vector<Request> all = mixedRequests(112, picking, /*seed=*/12);
    for (uint32_t k = 0; k <= envelope.maxK; ++k)
      for (uint32_t slots = 1; slots <= envelope.maxBatch; ++slots)
        for (uint32_t threads : {1, 2}) {
          SessionOptions options = single(k, slots);
          options.threads = threads;
          Outcome expected = generate(apart, options, all);
          Outcome run = generate(ranges, options, all);
          expectSame(run, expected, options);
          EXPECT_EQ(run.statistics.accepted, expected.statistics.accepted);
          EXPECT_EQ(run.statistics.rounds, expected.statistics.rounds);
        }
  }
}

/// Returns the name of a test for an artifact.
static std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  return testName(info.param);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Lossless,
    testing::Values(
        "dsv3-mtp1.f32", "dsv3-mtp1.bf16", "dsv3-yarn-mtp2.f32",
        "dsv3-yarn-mtp2.bf16", "dsv3-chain-mtp2.f32", "dsv3-chain-mtp2.bf16",
        "dsv3-chain-mtp2.reuse", "dsv3-chain-mtp2.page8", "dsv3-chain-mtp2.v3",
        "dsv3-chain-mtp2.int8", "dsv3-chain-mtp2.int4",
        "dsv3-chain-mtp2.draft90", "mimo-mtp1.f32", "mimo-mtp1.bf16",
        "glm4moe-mtp1.f32", "glm4moe-mtp1.bf16", "glm4moe-qknorm-mtp1.f32",
        "glm4moe-qknorm-mtp1.bf16", "llama-gqa.f32", "llama-gqa.bf16",
        "llama-tied.f32", "llama-tied.bf16", "llama-tied.embed8", "qwen2.f32",
        "qwen2.bf16", "qwen3.f32", "qwen3.bf16", "qwen3.int8", "qwen3moe.f32",
        "qwen3moe.bf16", "qwen3moe.bf16v3", "qwen3moe.int4v3",
        "dsv3-chain-mtp2.searched", "qwen3moe.searchedv3", "types", "types.v3",
        "hy3-mtp1.f32", "bundled", "qwen3next-mtp1.f32", "qwen35-mtp1.f32",
        "qwen35-mtp1.bf16", "qwen35moe-mtp1.f32", "dsv3-chain-mtp2.bf16v3",
        "dsv3-chain-mtp2.int8v3", "mimo-mtp1.bf16v3", "llama-gqa.bf16v3",
        "dflash-wide.block", "dspark.block", "dspark-speculators.block",
        "dflash-deepspec.block", "suffix", "lookup_eagle", "lookup_tree",
        "hybrid", "hybrid.int8", "hybrid.int4", "hybrid.trimmed",
        "dsv3-chain-mtp2.sure", "mimo-mtp1.sure", "eagle3.sure",
        "draft-model.sure", "wish", "gemma3.f32", "gemma3.bf16"),
    nameOf);

// Requests with rules for their logits.
INSTANTIATE_TEST_SUITE_P(Rules, Lossless,
                         testing::Values("mimo-mtp1.rules", "mtp-static.rules",
                                         "mtp-beam.rules", "mtp-wide.rules",
                                         "qwen3.rules", "mimo-few.rules"),
                         nameOf);

// Types of the KV cache.
INSTANTIATE_TEST_SUITE_P(CacheTypes, Lossless,
                         testing::Values("mimo-mtp1.kvbf16", "mimo-mtp1.kvint8",
                                         "dsv3-chain-mtp2.kvint8",
                                         "llama-gqa.kvint8v3",
                                         "qwen35-mtp1.kvint8",
                                         "dflash-wide.kvint8"),
                         nameOf);

// Trees of a model's own modules.
INSTANTIATE_TEST_SUITE_P(ModuleTrees, Lossless,
                         testing::Values("mtp-static", "mtp-beam",
                                         "mtp-static.reuse", "mtp-beam.reuse",
                                         "mtp-static.three", "mtp-beam.three",
                                         "mtp-static.kvint8"),
                         nameOf);

// Drafters in folders that draft all positions at once.
INSTANTIATE_TEST_SUITE_P(Parallel, Lossless,
                         testing::Values("pard.f32", "heads.f32",
                                         "p-eagle.f32"),
                         nameOf);
