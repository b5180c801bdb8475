//===- mixed_methods_test.cpp - Mixed batches of methods and rules --------===//

#include "harness/MixedTest.h"

using namespace mtp;
using namespace mtp::test;

/// Methods that are written as files.
using MixedMethods = Mixed;

/// Methods whose acceptance rule is not exact.
using MixedRules = Mixed;

namespace {
/// A session of `MixedMethods`. `pages` 0: enough.
struct Setting {
  float temperature;
  uint32_t slots, k, pages;
  bool separatePrompts = false;
};
} // namespace

static std::vector<Setting> settingsOnCpu(const EnvelopeInfo &envelope) {
  // For one sequence with few nodes and with many, and a little more.
  constexpr uint32_t kFewPages = 14, kMorePages = 22;
  std::vector<Setting> all;
  for (float temperature : {0.0f, 1.0f})
    for (uint32_t slots = 1; slots <= 4; ++slots)
      for (uint32_t k = 1; k <= envelope.maxK; ++k)
        for (uint32_t pages : {0u, kFewPages, kMorePages})
          all.push_back({temperature, slots, k, pages});
  return all;
}

/// Returns each depth with MTP_TREES=all in the environment. Otherwise the
/// least depth, one between, and the largest.
static std::vector<Setting> settingsOnSimulator(const EnvelopeInfo &envelope) {
  // For two sequences that end, and so few that one of two is preempted.
  constexpr uint32_t kManyPages = 26, kSlots = 4;
  uint32_t most = envelope.maxK, middle = most / 2;
  uint32_t few = envelope.maxNodes > 32
                     ? 23
                     : 11 + envelope.maxNodes / envelope.pageTokens;
  if (!takesAll())
    return {{0, kSlots, 1, few},
            {1, kSlots, middle, few, /*separatePrompts=*/true},
            {0, kSlots, most, few},
            {1, kSlots, most, kManyPages}};
  std::vector<Setting> all;
  for (float temperature : {0.0f, 1.0f})
    for (uint32_t k = 1; k <= most; ++k) {
      all.push_back({temperature, kSlots, k, few});
      all.push_back({temperature, kSlots, k, few, /*separatePrompts=*/true});
      all.push_back({temperature, kSlots, k, kManyPages});
    }
  return all;
}

// Several rounds in a launch, with short pages and shared pages.
TEST_P(MixedMethods, ChangeNoToken) {
  uint64_t preemptions = 0, cached = 0, beside = 0;
  for (float temperature : {0.0f, 1.0f}) {
    std::vector<Request> all = requests(temperature);
    // The simulator runs all rounds of a launch at once.
    for (size_t i : {0, 2})
      all[i].maxTokens += isSimulated() ? 30 : 0;
    SessionOptions plain = single(/*k=*/0, /*slots=*/1);
    Outcome expected = run(plain, all, LogitsMode::None);
    for (const Setting &setting : isSimulated() ? settingsOnSimulator(envelope)
                                                : settingsOnCpu(envelope)) {
      if (setting.temperature != temperature)
        continue;
      SessionOptions options = single(setting.k, setting.slots);
      options.roundsPerLaunch = isSimulated() ? 2 : 3;
      options.kvPages = setting.pages;
      options.prefixCache = setting.pages > 0;
      options.separatePrompts = setting.separatePrompts;
      Outcome outcome = run(options, all, LogitsMode::None);
      expectSame(outcome, expected, options);
      preemptions += outcome.statistics.preemptions;
      beside += outcome.statistics.mixedTokens;
      cached += outcome.statistics.cachedTokens;
    }
  }
  EXPECT_GT(preemptions, 0u);
  EXPECT_GT(cached, 0u);
  EXPECT_GT(beside, 0u);
}

// The output depends on the drafts, which depend only on the tokens.
TEST_P(MixedRules, ChangeNoToken) {
  uint64_t preemptions = 0, beside = 0;
  std::vector<Request> all = requests(/*temperature=*/1.0f);
  for (size_t i : {0, 2})
    all[i].maxTokens += isSimulated() ? 30 : 0;
  for (uint32_t k = 1; k <= envelope.maxK; ++k) {
    SessionOptions plain = single(k, /*slots=*/1);
    Outcome expected = run(plain, all, LogitsMode::None);
    for (const Setting &setting : isSimulated() ? settingsOnSimulator(envelope)
                                                : settingsOnCpu(envelope)) {
      if (setting.k != k || setting.temperature != 1 || setting.separatePrompts)
        continue;
      SessionOptions options = single(k, setting.slots);
      options.roundsPerLaunch = isSimulated() ? 2 : 3;
      // Windows are short.
      options.kvPages =
          setting.pages ? setting.pages - (isSimulated() ? 1 : 3) : 0;
      Outcome outcome = run(options, all, LogitsMode::None);
      expectSame(outcome, expected, options);
      preemptions += outcome.statistics.preemptions;
      beside += outcome.statistics.mixedTokens;
    }
  }
  EXPECT_GT(preemptions, 0u);
  EXPECT_GT(beside, 0u);
}

//===----------------------------------------------------------------------===//
// Artifacts
//===----------------------------------------------------------------------===//

static auto on(DeviceKind device, const std::vector<const char *> &names) {
  std::vector<OnDevice> all;
  for (const char *name : names)
    all.push_back({name, device});
  return testing::ValuesIn(all);
}

/// Returns the names with MTP_TREES=all in the environment, otherwise none.
[[maybe_unused]] static std::vector<const char *>
ifAll(const std::vector<const char *> &names) {
  return takesAll() ? names : std::vector<const char *>();
}

static const std::vector<const char *> methods = {
    "eagle_tree.mixed", "eagle2.mixed", "dflash.mixed", "lookahead.mixed"};
/// On the simulator only with MTP_TREES=all.
static const std::vector<const char *> moreMethods = {
    "random_tree.mixed", "ngram.mixed",      "reduced.mixed", "walked.mixed",
    "eagle.mixed",       "heads.mixed",      "wide.mixed",    "early.mixed",
    "between.mixed",     "early_tree.mixed", "latest.mixed"};
/// Artifacts without a plan for the simulator.
static const std::vector<const char *> methodsOfCpu = {
    "lookup.mixed",      "branches.mixed", "siblings.mixed",
    "topology.mixed",    "eagle26.mixed",  "heads_tree.mixed",
    "head_layers.mixed", "suffix.mixed",   "lookup_eagle.mixed",
    "lookup_tree.mixed", "wish.mixed"};
static const std::vector<const char *> rules = {"typical.mixed", "credit.mixed",
                                                "channel.mixed", "block.mixed"};
static const std::vector<const char *> rulesOfCpu = {"rejection.mixed",
                                                     "block_drawn.mixed"};

INSTANTIATE_TEST_SUITE_P(Cpu, MixedMethods, on(DeviceKind::Cpu, methods),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(CpuMore, MixedMethods,
                         on(DeviceKind::Cpu, moreMethods), nameOf);
INSTANTIATE_TEST_SUITE_P(CpuOnly, MixedMethods,
                         on(DeviceKind::Cpu, methodsOfCpu), nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, MixedRules, on(DeviceKind::Cpu, rules), nameOf);
INSTANTIATE_TEST_SUITE_P(CpuOnly, MixedRules, on(DeviceKind::Cpu, rulesOfCpu),
                         nameOf);

#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, MixedMethods, on(DeviceKind::Cuda, methods),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(GpuMore, MixedMethods,
                         on(DeviceKind::Cuda, ifAll(moreMethods)), nameOf);
INSTANTIATE_TEST_SUITE_P(GpuMore, MixedRules,
                         on(DeviceKind::Cuda, ifAll(rules)), nameOf);
#endif
