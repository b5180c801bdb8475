//===- gpu_test.cpp - Models on the simulated GPU -------------------------===//
//
// Runs each architecture in short sessions; the simulator takes 20 ms for a
// round. Sessions with and without drafts on one device must be equal bit for
// bit. Sums on different devices have different orders.
//
//===----------------------------------------------------------------------===//

#include "harness/Automaton.h"
#include "harness/Generation.h"
#include "runtime/tokenizer/Tokenizer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// An artifact with a plan for the simulator and one for the CPU.
struct Plans {
  const char *name;
  /// Bound for the difference of logits, relative to the largest one. Rounding
  /// to bf16 and to integers amplifies differences in the order of sums. The
  /// CPU plan is for any x86-64, so that it is the same on all machines; it
  /// keeps rows in f32 that a GPU rounds to bf16.
  float bound;
  /// True if the target accepts many drafts.
  bool accepts = false;
};
constexpr float kExact = 1e-5f, kRounded = 3e-2f, kQuantised = 6e-2f;

/// Calls a function of the simulator beyond CUDA. Does nothing on a GPU.
template <typename... Arguments>
void callSimulator(const char *name, Arguments... arguments) {
  const char *path = std::getenv("MTP_CUDA_DRIVER");
  if (!path)
    return;
  void *driver = dlopen(path, RTLD_NOW);
  ASSERT_TRUE(driver) << dlerror();
  auto function = reinterpret_cast<void (*)(Arguments...)>(dlsym(driver, name));
  if (function)
    function(arguments...);
}

/// Sets the seed of the order of threads, blocks and graph nodes.
void setSchedule(uint64_t seed) { callSimulator("mtp_sim_set_seed", seed); }

Request makeRequest(uint32_t index, uint32_t prompt, uint32_t output,
                    uint32_t vocab) {
  Request request;
  for (uint32_t i = 0; i < prompt; ++i)
    request.prompt.push_back(textToken(index + 5, i, vocab));
  request.maxTokens = output;
  request.ignoreEos = true;
  return request;
}

/// Returns prompts of 1, 19 and 6 tokens: less than a page, and more than a
/// chunk.
std::vector<Request> shortRequests(uint32_t vocab) {
  std::vector<Request> requests;
  for (uint32_t length : {1, 19, 6}) {
    uint32_t index = uint32_t(requests.size());
    requests.push_back(makeRequest(index, length, /*output=*/7 - index, vocab));
  }
  return requests;
}

/// Gives each request rules of its own.
void addRules(std::vector<Request> &requests) {
  requests[0].rules.frequencyPenalty = 1.5f;
  requests[0].constraint = std::make_shared<Automaton>(112, 2);
  for (int32_t token = 0; token < 112; token += 2)
    requests[1].rules.allowedTokens.push_back(token);
  requests[2].rules.repetitionPenalty = 2;
  requests[2].rules.bias = {{7, 3.5f}, {40, -2}};
}

class Gpu : public testing::TestWithParam<Plans> {
protected:
  void SetUp() override {
    // An earlier test may have lost the device.
    callSimulator("mtp_sim_revive");
    setSchedule(0);
    gpu = loadArtifact(GetParam().name, DeviceKind::Cuda);
    ASSERT_TRUE(gpu);
    envelope = *gpu->envelope();
  }

  void expectLogitsOfTheCpu();

  std::shared_ptr<const Model> gpu;
  EnvelopeInfo envelope;
};

/// Models that fill several pages.
class GpuPages : public Gpu {};

/// Models that run with each k, number of slots and chunk: models with
/// recurrent layers, and models whose slots verify trees of their own.
class GpuCells : public Gpu {};

} // namespace

namespace {
/// The number of drafts of several runs, and of accepted drafts.
struct DraftCounts {
  uint64_t drafted = 0, accepted = 0;

  void add(const Statistics &statistics) {
    for (uint64_t count : statistics.drafted)
      drafted += count;
    for (uint64_t count : statistics.accepted)
      accepted += count;
  }
  void expectSomeOfBoth() const {
    EXPECT_GT(accepted, 2u);
    EXPECT_LT(accepted + 2, drafted);
  }
};
} // namespace

TEST_P(Gpu, DraftsBatchesAndSchedulesChangeNoBit) {
  DraftCounts counts;
  std::vector<Request> requests = shortRequests(envelope.vocab);
  requests[1].sampling = {0.8f, 20, 0.9f, 0.02f, /*seed=*/78};
  requests[2].sampling = {1.2f, 0, 1.0f, 0.0f, /*seed=*/79};
  if (std::string_view(GetParam().name) == "mimo-mtp1.rulessim") {
    Outcome plain = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
    addRules(requests);
    Outcome ruled = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
    size_t changed = 0;
    for (size_t i = 0; i < requests.size(); ++i)
      changed += ruled.sequences[i].tokens != plain.sequences[i].tokens;
    EXPECT_GT(changed, 1u);
  }
  Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
  for (uint32_t k = 0; k <= envelope.maxK; ++k) {
    setSchedule(/*seed=*/1 + k);
    SessionOptions options = single(k, /*slots=*/2);
    Outcome run = generate(gpu, options, requests);
    expectSame(run, expected, options);
    counts.add(run.statistics);
  }
  if (GetParam().accepts)
    counts.expectSomeOfBoth();
}

// The number of rows of all slots' windows exceeds the 32 rows of a product's
// tile.
TEST_P(Gpu, WideBatchesChangeNoBit) {
  uint32_t k = envelope.maxK, slots = envelope.maxBatch;
  ASSERT_GT(envelope.maxNodes * slots, 32u);
  std::vector<Request> requests;
  for (uint32_t i = 0; i < slots; ++i) {
    requests.push_back(makeRequest(i, /*prompt=*/1 + i % 2,
                                   /*output=*/i % 4 ? 2 : 5, envelope.vocab));
    if (i % 3 == 0)
      requests.back().sampling = {0.8f, 20, 0.9f, 0.02f, /*seed=*/i};
  }
  Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
  SessionOptions options = single(k, slots);
  options.chunksPerStep = SessionOptions::kUnbounded;
  Outcome run = generate(gpu, options, requests);
  expectSame(run, expected, options);
  // All sequences begin with the first round: none waits for a slot.
  EXPECT_LE(run.statistics.rounds, 4u);
}

TEST_P(GpuPages, PreemptionAndReuseChangeNoBit) {
  std::vector<Request> requests;
  uint32_t page = envelope.pageTokens;
  for (uint32_t i = 0; i < 3; ++i)
    requests.push_back(makeRequest(i % 2, page + 1, page + 2, envelope.vocab));
  Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
  // Two sequences at a time with three pages each share five pages.
  SessionOptions options = single(envelope.maxK, /*slots=*/2);
  options.kvPages = 1 + 5;
  options.prefixCache = true;
  options.chunksPerStep = SessionOptions::kUnbounded;
  Outcome run = generate(gpu, options, requests);
  expectSame(run, expected, options);
  EXPECT_GT(run.statistics.cachedTokens, 0u);
  EXPECT_GT(run.statistics.preemptions, 0u);
}

/// Returns the largest and the second largest value.
static std::pair<float, float> bestTwo(std::vector<float> row) {
  std::nth_element(row.begin(), row.begin() + 1, row.end(), std::greater<>());
  return {row[0], row[1]};
}

void Gpu::expectLogitsOfTheCpu() {
  std::shared_ptr<const Model> cpu =
      loadArtifact(GetParam().name, DeviceKind::Cpu);
  ASSERT_TRUE(cpu);
  std::vector<Request> requests = shortRequests(envelope.vocab);
  requests[2].sampling = {0.8f, 20, 0.9f, 0.02f, /*seed=*/79};
  SessionOptions options = single(/*k=*/0, /*slots=*/2);
  Outcome run = generate(gpu, options, requests);
  Outcome expected = generate(cpu, options, requests);
  ASSERT_EQ(run.sequences.size(), expected.sequences.size());
  size_t vocab = envelope.vocab, compared = 0;
  for (size_t i = 0; i < run.sequences.size(); ++i) {
    const Generated &a = run.sequences[i], &b = expected.sequences[i];
    ASSERT_EQ(a.tokens.size(), b.tokens.size());
    for (size_t token = 0; token < a.tokens.size(); ++token) {
      auto rowOf = [&](const Generated &all) {
        auto begin = all.logits.begin() + long(token * vocab);
        return std::vector<float>(begin, begin + long(vocab));
      };
      std::vector<float> x = rowOf(a), y = rowOf(b);
      auto [best, second] = bestTwo(y);
      float bound = GetParam().bound * std::max(1.0f, std::abs(best));
      for (size_t j = 0; j < vocab; ++j)
        ASSERT_NEAR(x[j], y[j], bound)
            << "request " << i << ", token " << token;
      ++compared;
      // After a close choice the devices may continue with different texts. The
      // margin of a sampled token is unknown, so with a bound above kExact any
      // sample may be close.
      bool isClose = requests[i].sampling.temperature > 0
                         ? GetParam().bound > kExact
                         : best - second <= 2 * bound;
      if (isClose)
        break;
      EXPECT_EQ(a.tokens[token], b.tokens[token]) << "request " << i;
    }
  }
  EXPECT_GE(compared, run.sequences.size());
}

TEST_P(Gpu, LogitsAreTheCpus) { expectLogitsOfTheCpu(); }
TEST_P(GpuCells, LogitsAreTheCpus) { expectLogitsOfTheCpu(); }

namespace {
/// Options of a session: drafts, slots, and tokens of a prompt's chunk.
struct Cell {
  uint32_t k, slots, chunk;
};
} // namespace

/// With MTP_TREES=all in the environment returns each k with 1 to 4 slots and
/// each chunk. Otherwise returns each k once, so that nine values of k cover
/// all numbers of slots and both chunks.
static std::vector<Cell> cellsOf(const EnvelopeInfo &envelope) {
  std::vector<Cell> cells;
  uint32_t most = std::min(envelope.maxBatch, 4u);
  for (uint32_t k = 0; k <= envelope.maxK; ++k)
    for (uint32_t slots = 1; slots <= most; ++slots)
      for (uint32_t chunk : {5u, envelope.prefillChunk})
        if (takesAll() || (slots == 1 + k % most &&
                           (chunk == 5) == ((k + k / most) % 2 == 0)))
          cells.push_back({k, slots, chunk});
  return cells;
}

// Prompts are longer than a chunk of 5.
TEST_P(GpuCells, EveryKBatchAndChunkChangeNoBit) {
  DraftCounts counts;
  std::vector<Request> requests = shortRequests(envelope.vocab);
  requests.push_back(
      makeRequest(/*index=*/3, /*prompt=*/11, /*output=*/5, envelope.vocab));
  requests[1].sampling = {0.8f, 20, 0.9f, 0.02f, /*seed=*/78};
  requests[2].sampling = {1.2f, 0, 1.0f, 0.0f, /*seed=*/79};
  Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
  for (const Cell &cell : cellsOf(envelope)) {
    setSchedule(/*seed=*/1 + cell.k);
    SessionOptions options = single(cell.k, cell.slots);
    options.prefillChunk = cell.chunk;
    options.chunksPerStep = SessionOptions::kUnbounded;
    Outcome run = generate(gpu, options, requests);
    expectSame(run, expected, options);
    counts.add(run.statistics);
  }
  counts.expectSomeOfBoth();
}

static std::string nameOf(const testing::TestParamInfo<Plans> &info) {
  return testName(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Gpu,
    testing::Values(
        Plans{"llama-gqa.sim", kRounded}, Plans{"llama-tied.sim", kExact},
        Plans{"mistral.sim", kExact}, Plans{"qwen2.sim", kExact},
        Plans{"qwen3.sim", kExact}, Plans{"qwen3moe.sim", kRounded},
        Plans{"ernie-moe.sim", kRounded}, Plans{"minimax-m2.sim", kExact},
        Plans{"mimo-mtp1.sim", kRounded}, Plans{"mimo-tree.sim", kRounded},
        Plans{"mimo-mtp1.rulessim", kExact},
        Plans{"glm4moe-mtp1.sim", kRounded},
        Plans{"qwen3next-mtp1.sim", kExact}, Plans{"qwen35-mtp1.sim", kRounded},
        Plans{"dsv3-chain-mtp2.sim", kRounded, true},
        Plans{"dsv3-yarn-mtp2.sim", kExact},
        Plans{"dsv3-int8.sim", kQuantised, true},
        Plans{"dsv3-int4.sim", kExact}, Plans{"dsv3-searched.sim", kQuantised},
        Plans{"llama-tied.searchedsim", kQuantised}, Plans{"types.sim", kExact},
        Plans{"kimi-tree.sim", kRounded}, Plans{"lookup", kExact},
        Plans{"branches", kExact, true}, Plans{"siblings", kExact, true},
        Plans{"topology", kExact, true}, Plans{"eagle_tree", kExact},
        Plans{"eagle2", kExact}, Plans{"dflash", kExact},
        Plans{"eagle26", kExact, true}, Plans{"lookahead", kExact},
        Plans{"heads_tree", kExact}, Plans{"head_layers", kExact},
        Plans{"dflash-speculators.block", kExact},
        Plans{"dspark.block", kExact, true}, Plans{"suffix", kExact},
        Plans{"lookup_eagle", kExact}, Plans{"lookup_tree", kExact, true},
        Plans{"hybrid", kExact, true},
        Plans{"dsv3-chain-mtp2.suresim", kRounded},
        Plans{"mimo-mtp1.suresim", kRounded}, Plans{"wish", kExact},
        Plans{"mimo-mtp1.kvint8sim", kRounded},
        Plans{"random_tree.mixed", kExact, true}, Plans{"ngram.mixed", kExact},
        Plans{"reduced.mixed", kExact, true},
        Plans{"walked.mixed", kExact, true}, Plans{"eagle.mixed", kExact},
        Plans{"heads.mixed", kExact}, Plans{"wide.mixed", kExact},
        Plans{"early.mixed", kExact}, Plans{"early_tree.mixed", kExact, true},
        Plans{"latest.mixed", kExact}, Plans{"between.mixed", kExact}),
    nameOf);

// Trees of a model's own modules.
INSTANTIATE_TEST_SUITE_P(ModuleTrees, Gpu,
                         testing::Values(Plans{"mtp-static.sim", kRounded},
                                         Plans{"mtp-beam.sim", kRounded}),
                         nameOf);

// Drafters in folders that draft all positions at once.
INSTANTIATE_TEST_SUITE_P(Parallel, Gpu,
                         testing::Values(Plans{"pard.sim", kExact},
                                         Plans{"heads.sim", kExact},
                                         Plans{"p-eagle.sim", kExact}),
                         nameOf);

// Integer weights, each with its neighbouring layers.
INSTANTIATE_TEST_SUITE_P(Integers, GpuCells,
                         testing::Values(Plans{"hybrid.int8", kExact},
                                         Plans{"hybrid.int4", kExact}),
                         nameOf);
// A lookup before a tree: each slot verifies a chain or the tree.
INSTANTIATE_TEST_SUITE_P(OwnTrees, GpuCells,
                         testing::Values(Plans{"lookup_tree", kExact}), nameOf);
// Only with MTP_TREES=all. The cases above run f32 with each k and two slots,
// and with all slots and the most drafts.
INSTANTIATE_TEST_SUITE_P(Floats, GpuCells,
                         testing::ValuesIn(takesAll() ? std::vector{Plans{
                                                            "hybrid", kExact}}
                                                      : std::vector<Plans>()),
                         nameOf);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuCells);

INSTANTIATE_TEST_SUITE_P(
    Models, GpuPages,
    testing::Values(Plans{"llama-gqa.sim", 0}, Plans{"mimo-tree.sim", 0},
                    Plans{"dsv3-chain-mtp2.sim", 0}, Plans{"lookup", 0},
                    Plans{"topology", 0}, Plans{"dflash", 0},
                    Plans{"dspark.block", 0}),
    nameOf);

// A context that grows from rounds for short rows to rounds in which blocks
// share positions, in two splits. The other slot's row has one split. Tests of
// kernels cover windows whose rows differ in splits.
TEST(GpuParts, DraftsBatchesAndRoundsChangeNoBit) {
  constexpr uint32_t kPart = 512, kShort = kPart + kPart / 4;
  setSchedule(0);
  std::shared_ptr<const Model> gpu =
      loadArtifact("dsv3-parts.sim", DeviceKind::Cuda);
  ASSERT_TRUE(gpu);
  uint32_t vocab = gpu->envelope()->vocab;
  std::vector<Request> requests = {
      makeRequest(0, /*prompt=*/kShort - 3, /*output=*/7, vocab),
      makeRequest(1, /*prompt=*/5, /*output=*/7, vocab)};
  Outcome expected = generate(gpu, single(/*k=*/0, /*slots=*/1), requests);
  setSchedule(1);
  SessionOptions options = single(/*k=*/2, /*slots=*/2);
  expectSame(generate(gpu, options, requests), expected, options);
  options.roundsPerLaunch = 16;
  Outcome looped = generate(gpu, options, requests, LogitsMode::None);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(looped.sequences[i].tokens, expected.sequences[i].tokens);
}

// An acceptance rule that is code of the module and not exact: its tokens
// depend on the drafts. It reads probabilities, so the devices' picks agree
// unless one is close to a bound.
namespace {
class GpuRule : public testing::TestWithParam<const char *> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Models, GpuRule,
                         testing::Values("rejection", "block_drawn",
                                         "typical.mixed", "credit.mixed",
                                         "channel.mixed", "block.mixed"),
                         [](const auto &info) { return testName(info.param); });

TEST_P(GpuRule, AcceptsWhatItDoesOnTheCpu) {
  setSchedule(0);
  std::shared_ptr<const Model> gpu = loadArtifact(GetParam(), DeviceKind::Cuda);
  std::shared_ptr<const Model> cpu = loadArtifact(GetParam(), DeviceKind::Cpu);
  ASSERT_TRUE(gpu && cpu);
  DraftCounts counts;
  for (uint32_t k : {1u, gpu->envelope()->maxK})
    for (float temperature : {0.0f, 1.0f}) {
      std::vector<Request> requests;
      for (uint32_t i = 0; i < 3; ++i) {
        requests.push_back(makeRequest(i, 2 + 9 * i, /*output=*/12, 64));
        requests.back().sampling.temperature = temperature;
        requests.back().sampling.seed = i;
      }
      SessionOptions options = single(k, /*slots=*/2);
      Outcome run = generate(gpu, options, requests);
      Outcome expected = generate(cpu, options, requests);
      for (size_t i = 0; i < requests.size(); ++i)
        EXPECT_EQ(run.sequences[i].tokens, expected.sequences[i].tokens)
            << describe(options) << ", temperature " << temperature;
      EXPECT_EQ(run.statistics.accepted, expected.statistics.accepted);
      counts.add(run.statistics);
    }
  EXPECT_GT(counts.accepted, 10u);
}

// A trained model, whose tokens are far from ties.
TEST(GpuBundled, WritesWhatItDoesOnTheCpu) {
  setSchedule(0);
  std::shared_ptr<const Model> gpu =
      loadArtifact("bundled.sim", DeviceKind::Cuda);
  std::shared_ptr<const Model> cpu =
      loadArtifact("bundled.sim", DeviceKind::Cpu);
  ASSERT_TRUE(gpu && cpu);
  auto tokenizer = Tokenizer::load(cpu->tokenizer());
  ASSERT_TRUE(tokenizer.isOk());
  auto prompt = (*tokenizer)->encode("Once upon a time");
  ASSERT_TRUE(prompt.isOk());
  Request request;
  request.prompt = *prompt;
  request.maxTokens = 6;
  Outcome plain = generate(gpu, single(/*k=*/0, /*slots=*/1), {request});
  Outcome drafted = generate(gpu, single(/*k=*/2, /*slots=*/1), {request});
  Outcome expected = generate(cpu, single(/*k=*/0, /*slots=*/1), {request});
  expectSame(drafted, plain, single(/*k=*/2, /*slots=*/1));
  EXPECT_EQ(plain.sequences[0].tokens, expected.sequences[0].tokens);
  EXPECT_LT(drafted.statistics.rounds, plain.statistics.rounds);
}
