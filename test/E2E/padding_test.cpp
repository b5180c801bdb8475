//===- padding_test.cpp - Rounds with padding rows ------------------------===//
//
// A round of n slots that runs the program of n' > n slots gives the tokens,
// logits and states of a round of n slots, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"
#include "mtp/saved_prefix.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/exec/SessionFactory.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/CaptureChoice.h"
#include "runtime/profile/ProfileFile.h"
#include "test/Runtime/support/ForwardingExecutable.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>

using namespace mtp;
using namespace mtp::test;

namespace {

/// The results of a session.
struct Trace {
  std::vector<Generated> outputs;
  /// By step, the states of the slots whose sequences run.
  std::vector<std::vector<uint8_t>> states;
  uint64_t padding = 0;
};

class Padding : public OnDeviceTest {
protected:
  Request request(uint32_t index, float temperature) const {
    Request request;
    for (uint32_t i = 0; i < 3 + 4 * index; ++i)
      request.prompt.push_back(textToken(index + 5, i, envelope.vocab));
    request.maxTokens = (isSimulated() ? 5 : 16) + index % 3;
    request.ignoreEos = true;
    request.sampling = {temperature, 20, 0.9f, 0.02f, 3 + index};
    return request;
  }
  bool isSimulated() const { return GetParam().device == DeviceKind::Cuda; }
  /// Slots of a session: few, because the simulator is slow.
  uint32_t slots() const {
    return std::min<uint32_t>(envelope.maxBatch, isSimulated() ? 3 : 6);
  }

  SessionOptions options(uint32_t k, std::vector<uint32_t> sizes) const {
    SessionOptions options = single(k, slots());
    options.roundsPerLaunch = 1;
    options.captureSizes = std::move(sizes);
    return options;
  }

  Trace run(SessionOptions options, uint32_t count, float temperature) const;
  void addStates(Executable &executable, const std::vector<uint32_t> &slots,
                 Trace &trace) const;
};

} // namespace

/// Adds the states of slots, except for the numbers of their pages.
void Padding::addStates(Executable &executable,
                        const std::vector<uint32_t> &slots,
                        Trace &trace) const {
  const Artifact &artifact = ModelAccess::file(*model)->artifact();
  std::vector<uint8_t> &all = trace.states.emplace_back();
  for (uint32_t i = 0; i < artifact.states.size(); ++i) {
    const State &state = artifact.states[i];
    if (state.rule.shared || state.name == "page_table")
      continue;
    uint64_t bytes = state.bytes / envelope.maxBatch;
    for (uint32_t slot : slots) {
      all.resize(all.size() + bytes);
      Binding place{schema::Space::State, i, slot * bytes, bytes};
      ASSERT_TRUE(executable.read(place, all.data() + all.size() - bytes, bytes)
                      .isOk());
    }
  }
}

Trace Padding::run(SessionOptions options, uint32_t count,
                   float temperature) const {
  options.logits = LogitsMode::All;
  Executable *executable = nullptr;
  SessionSetup setup;
  setup.device = [&](std::unique_ptr<Executable> own) {
    executable = own.get();
    return own;
  };
  Trace trace;
  auto session = SessionFactory::create(model, options, std::move(setup));
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  if (!session.isOk())
    return trace;
  std::vector<SequenceId> ids;
  for (uint32_t i = 0; i < count; ++i)
    ids.push_back(*(*session)->add(request(i, temperature)));
  while (!(*session)->idle()) {
    auto updates = (*session)->step();
    EXPECT_TRUE(updates.isOk()) << updates.status().toString();
    if (!updates.isOk())
      return trace;
    std::vector<uint32_t> running;
    for (uint32_t i = 0; i < count; ++i)
      if (*(*session)->state(ids[i]) == SequenceState::Running)
        running.push_back(i);
    addStates(*executable, running, trace);
  }
  for (SequenceId id : ids)
    trace.outputs.push_back(collect(**session, id));
  trace.padding = (*session)->statistics().paddingSlots;
  EXPECT_EQ((*session)->kvUsage().heldPages, 0u);
  return trace;
}

TEST_P(Padding, ChangesNoBit) {
  for (uint32_t k : std::set<uint32_t>{0, envelope.maxK / 2, envelope.maxK})
    for (uint32_t count = 1; count < slots(); ++count) {
      // Sequences of either kind, to save time on the simulator.
      float temperature = (k + count) % 2 ? 0.8f : 0.0f;
      Trace expected = run(options(k, {}), count, temperature);
      EXPECT_EQ(expected.padding, 0u);
      for (uint32_t size = count + 1; size <= slots(); ++size) {
        SCOPED_TRACE("k " + std::to_string(k) + ", slots " +
                     std::to_string(count) + " in " + std::to_string(size));
        Trace padded = run(options(k, {size}), count, temperature);
        EXPECT_GT(padded.padding, 0u);
        ASSERT_EQ(padded.outputs.size(), expected.outputs.size());
        for (size_t i = 0; i < padded.outputs.size(); ++i) {
          EXPECT_EQ(padded.outputs[i].tokens, expected.outputs[i].tokens);
          EXPECT_TRUE(
              bitEqual(padded.outputs[i].logits, expected.outputs[i].logits));
        }
        EXPECT_TRUE(padded.states == expected.states);
      }
    }
}

// Padding slots of a launch of several rounds move on, and slots go from
// padding to sequences and back.
TEST_P(Padding, ChangesNoTokenInALoop) {
  std::vector<Request> all;
  for (uint32_t i = 0; i < slots() + 1; ++i)
    all.push_back(request(i, i % 2 ? 0.8f : 0.0f));
  for (uint32_t k : std::set<uint32_t>{0, envelope.maxK}) {
    Outcome expected =
        generate(model, options(k, {}), all, LogitsMode::None, 2);
    SessionOptions padded = options(k, {slots()});
    padded.roundsPerLaunch = 16;
    Outcome outcome = generate(model, padded, all, LogitsMode::None, 2);
    expectSame(outcome, expected, padded);
    EXPECT_GT(outcome.statistics.paddingSlots, 0u);
  }
}

// Without a page for padding a round has its own size.
TEST_P(Padding, TakesNoPagesThatSequencesNeed) {
  std::vector<Request> all = {request(0, 0.8f)};
  SessionOptions tight = options(envelope.maxK, {slots()});
  // The dummy, and the pages of the sequence.
  uint32_t tokens = uint32_t(all[0].prompt.size()) + all[0].maxTokens;
  tight.kvPages = 1 + (tokens + envelope.maxNodes + envelope.pageTokens - 1) /
                          envelope.pageTokens;
  Outcome expected =
      generate(model, options(envelope.maxK, {}), all, LogitsMode::None);
  Outcome outcome = generate(model, tight, all, LogitsMode::None);
  expectSame(outcome, expected, tight);
}

/// Requests that fill the prefix cache of a session, one after another, and
/// after each of them the session's counts.
class FullCache : public Padding {
protected:
  struct CacheTrace {
    std::vector<Generated> outputs;
    std::vector<uint32_t> cachedPages, freePages;
    std::vector<uint64_t> cachedTokens, paddedRounds;
  };

  /// Pages of a padding slot, and of a sequence.
  uint32_t pagesFor(uint64_t tokens) const {
    return uint32_t((tokens + envelope.pageTokens - 1) / envelope.pageTokens);
  }
  uint32_t paddingPages() const {
    return (slots() - 1) * pagesFor(1 + envelope.maxNodes);
  }
  uint32_t sequencePages() const {
    return pagesFor(2 * envelope.pageTokens + kTokens + envelope.maxNodes);
  }
  /// Pages of a pool without padding, of which padding takes a quarter.
  uint32_t pool() const {
    return 1 + std::max(3 * paddingPages(), 2 * sequencePages());
  }

  CacheTrace fill(std::vector<uint32_t> sizes, uint32_t pages) const;

  static constexpr uint32_t kTokens = 3;
};

FullCache::CacheTrace FullCache::fill(std::vector<uint32_t> sizes,
                                      uint32_t pages) const {
  SessionOptions tight = options(envelope.maxK, std::move(sizes));
  tight.prefixCache = true;
  tight.kvPages = pages;
  tight.logits = LogitsMode::All;
  CacheTrace result;
  auto session = Session::create(model, tight);
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  // The last prompt comes twice.
  uint32_t count = pool() / 2 + 2;
  for (uint32_t i = 0; i <= count && session.isOk(); ++i) {
    uint32_t text = std::min(i, count - 1);
    Request next = request(text, text % 2 ? 0.8f : 0.0f);
    next.prompt.clear();
    for (uint32_t j = 0; j < 2 * envelope.pageTokens; ++j)
      next.prompt.push_back(textToken(text + 5, j, envelope.vocab));
    next.maxTokens = kTokens;
    auto id = (*session)->add(next);
    EXPECT_TRUE(id.isOk()) << id.status().toString();
    while (!(*session)->idle()) {
      EXPECT_TRUE((*session)->step().isOk());
      EXPECT_TRUE((*session)->checkInvariants().isOk());
    }
    result.outputs.push_back(collect(**session, *id));
    result.cachedPages.push_back((*session)->kvUsage().cachedPages);
    result.freePages.push_back((*session)->kvUsage().freePages);
    result.cachedTokens.push_back((*session)->statistics().cachedTokens);
    result.paddedRounds.push_back((*session)->statistics().paddedRounds);
  }
  return result;
}

// The prefix cache leaves the pages free that padding slots need. With these
// pages in addition it keeps what it keeps without padding.
TEST_P(FullCache, LeavesPagesForPadding) {
  CacheTrace expected = fill({}, pool());
  CacheTrace padded = fill({slots()}, pool() + paddingPages());
  ASSERT_EQ(padded.outputs.size(), expected.outputs.size());
  for (size_t i = 0; i < padded.outputs.size(); ++i) {
    EXPECT_EQ(padded.outputs[i].tokens, expected.outputs[i].tokens);
    EXPECT_TRUE(bitEqual(padded.outputs[i].logits, expected.outputs[i].logits));
    EXPECT_GT(padded.paddedRounds[i], i ? padded.paddedRounds[i - 1] : 0) << i;
  }
  EXPECT_EQ(padded.cachedPages, expected.cachedPages);
  EXPECT_EQ(padded.cachedTokens, expected.cachedTokens);
  // Recurrent layers share a prefix only after a copy of their states.
  if (std::string_view(GetParam().artifact) == "hybrid")
    return;
  EXPECT_GT(padded.cachedTokens.back(), 0u);
  // The cache is full: the next sequence takes pages from it.
  EXPECT_LT(expected.freePages.back(), sequencePages());
  EXPECT_GE(padded.freePages.back(), paddingPages());
}

// A pool of the default size has the pages of padding slots in addition.
TEST_P(FullCache, AddsPagesToADefaultPool) {
  auto pagesOf = [&](std::vector<uint32_t> sizes) {
    SessionOptions plain = options(envelope.maxK, std::move(sizes));
    plain.prefixCache = true;
    return (*Session::create(model, plain))->options().kvPages;
  };
  EXPECT_EQ(pagesOf({slots()}), pagesOf({}) + paddingPages());
  EXPECT_EQ(pagesOf({1, slots()}),
            pagesOf({}) + paddingPages() / (slots() - 1) * (slots() - 2));
}

// Calls between two steps may need the pages of padding.
TEST_P(Padding, GivesPagesBackWhenNothingRuns) {
  SessionOptions padded = options(envelope.maxK, {slots()});
  padded.roundsPerLaunch = 16;
  auto session = Session::create(model, padded);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  Request only = request(0, 0.0f);
  uint64_t tokens = only.prompt.size() + only.maxTokens + envelope.maxNodes;
  uint64_t pages = (tokens + envelope.pageTokens - 1) / envelope.pageTokens;
  ASSERT_TRUE((*session)->add(only).isOk());
  while (!(*session)->idle()) {
    ASSERT_TRUE((*session)->step().isOk());
    SavedPrefix::forget(**session, only.prompt);
    EXPECT_LE((*session)->kvUsage().heldPages, pages);
    EXPECT_TRUE((*session)->checkInvariants().isOk());
  }
  EXPECT_GT((*session)->statistics().paddingSlots, 0u);
}

TEST_P(Padding, IsOfSizesThatTheSessionHas) {
  auto session = Session::create(model, options(0, {slots() + 1}));
  ASSERT_FALSE(session.isOk());
  EXPECT_NE(session.status().message().find(
                "captureSizes (--capture-sizes): expected 1 to"),
            std::string::npos)
      << session.status().message();
}

namespace {
/// Notes the launches that a session expects.
class WatchedExecutable : public ForwardingExecutable {
public:
  WatchedExecutable(std::unique_ptr<Executable> inner,
                    std::vector<ExpectedLaunch> &expected)
      : ForwardingExecutable(std::move(inner)), expected(expected) {}

  Status expect(std::span<const ExpectedLaunch> launches) override {
    expected.assign(launches.begin(), launches.end());
    return inner->expect(launches);
  }

private:
  std::vector<ExpectedLaunch> &expected;
};
} // namespace

/// Graphs that a session builds at its start.
using PlannedGraphs = Padding;

TEST_P(PlannedGraphs, AreTheMostUsedOnesOfAProfile) {
  SessionOptions recording = options(/*k=*/0, {});
  recording.recordsProfile = true;
  auto session = Session::create(model, recording);
  ASSERT_TRUE(session.isOk()) << session.status().toString();
  for (uint32_t i = 0; i < 2; ++i) {
    Request next = request(i, 0.0f);
    next.maxTokens = 8;
    ASSERT_TRUE((*session)->add(next).isOk());
  }
  while (!(*session)->idle())
    ASSERT_TRUE((*session)->step().isOk());
  profile::Profile profile = SessionProfile::recorded(**session);
  ASSERT_TRUE(profile.load.rounds.contains({2, 0}));
  ASSERT_FALSE(profile.machines.empty());
  auto choice = profile::capturesOf(profile.machines[0], profile.load);
  ASSERT_TRUE(choice);
  EXPECT_GT(choice->nodes, 0u);
  std::string path = testing::TempDir() + "/planned_graphs.profile";
  std::vector<uint8_t> bytes = profile::writeProfile(profile);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
  LoadOptions load;
  load.device = GetParam().device;
  load.profile = path;
  auto tuned = Model::load(artifactPath(GetParam().artifact), load);
  ASSERT_TRUE(tuned.isOk()) << tuned.status().toString();
  std::vector<ExpectedLaunch> expected;
  SessionSetup setup;
  setup.device = [&](std::unique_ptr<Executable> own) {
    return std::make_unique<WatchedExecutable>(std::move(own), expected);
  };
  auto next = SessionFactory::create(*tuned, options(0, {}), std::move(setup));
  ASSERT_TRUE(next.isOk()) << next.status().toString();
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(expected[0].isPrepared);
  EXPECT_TRUE(
      std::ranges::is_sorted(expected, std::greater(), &ExpectedLaunch::share));
  // Sizes of the caller come first.
  expected.clear();
  SessionSetup again;
  again.device = [&](std::unique_ptr<Executable> own) {
    return std::make_unique<WatchedExecutable>(std::move(own), expected);
  };
  next =
      SessionFactory::create(*tuned, options(0, {slots()}), std::move(again));
  ASSERT_TRUE(next.isOk()) << next.status().toString();
  EXPECT_TRUE(expected.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, FullCache,
    testing::Values(OnDevice{"dsv3-chain-mtp2.f32", DeviceKind::Cpu},
                    OnDevice{"llama-gqa.bf16", DeviceKind::Cpu},
                    OnDevice{"eagle_tree", DeviceKind::Cpu},
                    OnDevice{"hybrid", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Cpu, Padding,
    testing::Values(OnDevice{"dsv3-chain-mtp2.f32", DeviceKind::Cpu},
                    OnDevice{"llama-gqa.bf16", DeviceKind::Cpu},
                    OnDevice{"eagle_tree", DeviceKind::Cpu},
                    OnDevice{"suffix", DeviceKind::Cpu},
                    OnDevice{"dflash", DeviceKind::Cpu},
                    OnDevice{"heads_tree", DeviceKind::Cpu},
                    OnDevice{"lookahead", DeviceKind::Cpu},
                    OnDevice{"random_tree.mixed", DeviceKind::Cpu},
                    OnDevice{"rejection", DeviceKind::Cpu},
                    OnDevice{"eagle26.trimmed", DeviceKind::Cpu},
                    OnDevice{"qwen3next-mtp1.f32", DeviceKind::Cpu},
                    OnDevice{"hybrid", DeviceKind::Cpu}),
    nameOf);
#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(
    Gpu, Padding,
    testing::Values(OnDevice{"dsv3-chain-mtp2.sim", DeviceKind::Cuda},
                    OnDevice{"llama-gqa.sim", DeviceKind::Cuda},
                    OnDevice{"suffix", DeviceKind::Cuda},
                    OnDevice{"qwen3next-mtp1.sim", DeviceKind::Cuda},
                    OnDevice{"lookahead", DeviceKind::Cuda}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(Gpu, FullCache,
                         testing::Values(OnDevice{"llama-gqa.sim",
                                                  DeviceKind::Cuda}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Gpu, PlannedGraphs,
                         testing::Values(OnDevice{"llama-gqa.sim",
                                                  DeviceKind::Cuda}),
                         nameOf);
#endif
