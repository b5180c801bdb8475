//===- mixed_test.cpp - Mixed batches of rounds and prompts ---------------===//
//
// Prompts that arrive while other sequences run are merged into their rounds.
// No bit of any tokens or logits may change, compared with a session that runs
// prompts in passes of their own. The tests cover all k, several sequences,
// short pages and shared pages.
//
//===----------------------------------------------------------------------===//

#include "harness/MixedTest.h"
#include "runtime/core/StrCat.h"
#include "runtime/exec/ModelImpl.h"
#include "runtime/schema/PromptLayout.h"
#include "test/Runtime/support/ForwardingExecutable.h"
#include "test/Runtime/support/OpenSession.h"

#include <algorithm>
#include <string_view>

using namespace mtp;
using namespace mtp::test;

/// On the simulator, with more models.
using MixedBits = Mixed;

/// Methods whose rounds may stop for a host. There are slots for four prompts
/// beside rounds.
using MixedHosts = Mixed;

TEST_P(MixedBits, AreTheSame) {
  uint32_t leastSlots = isSimulated() ? envelope.maxBatch : 1;
  for (float temperature : {0.0f, 1.0f}) {
    std::vector<Request> all = requests(temperature);
    for (uint32_t slots = leastSlots; slots <= envelope.maxBatch; ++slots)
      for (uint32_t k = 0; k <= envelope.maxK; ++k) {
        // The simulator runs each k once.
        if (isSimulated() && (k % 2 == 0) != (temperature == 0))
          continue;
        SessionOptions apart = single(k, slots), mixed = apart;
        apart.separatePrompts = true;
        Outcome outcome = run(mixed, all);
        expectLikeApart(outcome, run(apart, all), mixed);
        // With one slot no prompt waits while a sequence runs.
        EXPECT_EQ(outcome.statistics.mixedTokens > 0, slots > 1);
        // Running sequences continue while prompts are read.
        if (slots == envelope.maxBatch)
          EXPECT_GT(outcome.statistics.mixedTokens, isSimulated() ? 60u : 100u);
      }
  }
}

// Without running sequences a prompt is cut elsewhere, and a launch has more
// rounds if no sequence waits.
TEST_P(Mixed, ChunksAndLaunchesChangeNoToken) {
  std::vector<Request> all = requests(0.8f);
  // The simulator runs all rounds of a launch at once.
  all[0].maxTokens += 30;
  SessionOptions apart = single(envelope.maxK, envelope.maxBatch);
  SessionOptions mixed = apart;
  apart.separatePrompts = true;
  apart.roundsPerLaunch = 1;
  mixed.prefillChunk = 7;
  mixed.roundsPerLaunch = 2;
  Outcome outcome = run(mixed, all, LogitsMode::None);
  expectSame(outcome, run(apart, all, LogitsMode::None), mixed);
  EXPECT_GT(outcome.statistics.mixedTokens, 0u);
}

// Short prompts that arrive together end in one round.
TEST_P(Mixed, SeveralShareARound) {
  std::vector<Request> all = requests(0.8f);
  all.resize(4);
  all[0].maxTokens = 30;
  all[1].prompt.resize(4);
  all[3].prompt.resize(3);
  SessionOptions mixed = single(envelope.maxK, envelope.maxBatch);
  mixed.roundsPerLaunch = 1;
  for (size_t count : {3, 4}) {
    std::vector<Request> some(all.begin(), all.begin() + long(count));
    SessionOptions apart = mixed;
    apart.separatePrompts = true;
    Outcome expected = run(apart, some, LogitsMode::None);
    auto session = *Session::create(model, mixed);
    std::vector<SequenceId> ids = {*session->add(all[0])};
    while (session->output(ids[0])->empty())
      ASSERT_TRUE(session->step().isOk());
    for (size_t i = 1; i < count; ++i)
      ids.push_back(*session->add(all[i]));
    uint64_t rounds = session->statistics().rounds;
    ASSERT_TRUE(session->step().isOk());
    EXPECT_EQ(session->statistics().rounds, rounds + 1);
    // There are programs for one and two prompts, and for four beside four
    // slots.
    size_t begun = 0;
    for (SequenceId id : ids)
      begun += !session->output(id)->empty();
    EXPECT_EQ(begun, envelope.maxBatch >= 8 ? count : 3);
    finishLike(*session, ids, expected.sequences);
  }
}

// If there is no program for the number of prompts, a program for more prompts
// reads them, provided a slot is free as a placeholder.
TEST_P(MixedHosts, ThreePromptsTakeTheProgramOfFour) {
  std::vector<Request> all = requests(0.8f);
  all.resize(4);
  all[0].maxTokens = 30;
  all[1].prompt.resize(4);
  all[3].prompt.resize(3);
  SessionOptions options = single(envelope.maxK, envelope.maxBatch);
  options.roundsPerLaunch = 1;
  SessionOptions apart = options;
  apart.separatePrompts = true;
  apart.maxSlots = 1;
  Outcome expected = run(apart, all, LogitsMode::None);
  for (uint32_t slots : {4u, envelope.maxBatch}) {
    options.maxSlots = slots;
    auto session = *Session::create(model, options);
    std::vector<SequenceId> ids = {*session->add(all[0])};
    while (session->output(ids[0])->empty())
      ASSERT_TRUE(session->step().isOk());
    for (size_t i = 1; i < all.size(); ++i)
      ids.push_back(*session->add(all[i]));
    ASSERT_TRUE(session->step().isOk());
    EXPECT_EQ(session->statistics().mixedTokens, slots == 4 ? 4u : 8u);
    finishLike(*session, ids, expected.sequences, strCat(slots, " slots"));
  }
}

TEST_P(MixedHosts, ThreePromptsShareAPass) {
  std::vector<Request> all = requests(0.8f);
  all.resize(3);
  all[1].prompt.resize(4);
  SessionOptions options = single(envelope.maxK, /*slots=*/1);
  Outcome expected = run(options, all);
  for (uint32_t slots : {3u, 4u}) {
    options.maxSlots = slots;
    auto session = *Session::create(model, options);
    std::vector<SequenceId> ids;
    for (const Request &request : all)
      ids.push_back(*session->add(request));
    ASSERT_TRUE(session->step().isOk());
    // Sequences that have begun run a round after the pass. The third prompt
    // shares it if it was not in the pass.
    EXPECT_EQ(session->statistics().mixedTokens, slots == 3 ? 5u : 0u);
    finishLike(*session, ids, expected.sequences, strCat(slots, " slots"));
  }
}

// While a running sequence sees its drafts, rounds stop and alternate with
// prompts.
TEST_P(MixedHosts, NoPromptWaitsForAHost) {
  std::vector<Request> all = requests(0.8f);
  SessionOptions mixed = single(envelope.maxK, envelope.maxBatch);
  SessionOptions apart = mixed;
  apart.separatePrompts = true;
  Outcome expected = run(apart, all);
  Outcome none = run(mixed, all);
  expectSame(none, expected, mixed);
  all[2].seesDrafts = true;
  Outcome one = run(mixed, all);
  expectSame(one, expected, mixed);
  for (Request &request : all)
    request.seesDrafts = true;
  Outcome each = run(mixed, all);
  expectSame(each, expected, mixed);
  EXPECT_EQ(each.statistics.mixedTokens, 0u);
  EXPECT_LT(each.statistics.mixedTokens, one.statistics.mixedTokens);
  EXPECT_LT(one.statistics.mixedTokens, none.statistics.mixedTokens);
}

// A prompt of 41 tokens does not fit into a round. Each request has its own k.
TEST_P(Mixed, EveryRequestsOwnKChangesNoBit) {
  std::vector<Request> all = requests(0.8f);
  if (isSimulated())
    all[0].maxTokens = 34;
  SessionOptions apart = single(envelope.maxK, envelope.maxBatch);
  SessionOptions mixed = apart;
  apart.separatePrompts = true;
  Outcome expected = run(apart, all);
  all[0].k = 0;
  all[1].k = Request::kAutomatic;
  all[2].k = envelope.maxK / 2;
  Outcome outcome = run(mixed, all);
  expectSame(outcome, expected, mixed);
  EXPECT_GT(outcome.statistics.mixedTokens, 0u);
}

// Rounds without drafts run drafters over their prompt rows, which see the
// entries of earlier prefills.
TEST_P(Mixed, SessionsWithoutDraftsChangeNoBit) {
  std::vector<Request> all = requests(0.8f);
  if (isSimulated())
    all[0].maxTokens = 34;
  SessionOptions apart = single(/*k=*/0, envelope.maxBatch);
  SessionOptions mixed = apart;
  apart.separatePrompts = true;
  Outcome outcome = run(mixed, all);
  expectSame(outcome, run(apart, all), mixed);
  EXPECT_GT(outcome.statistics.mixedTokens, 0u);
}

TEST_P(Mixed, SharedPagesChangeNoBit) {
  std::vector<Request> all = requests(0.8f);
  SessionOptions apart = single(envelope.maxK, envelope.maxBatch);
  SessionOptions mixed = apart;
  apart.separatePrompts = true;
  mixed.prefixCache = true;
  Outcome outcome = run(mixed, all);
  expectSame(outcome, run(apart, all), mixed);
  EXPECT_GT(outcome.statistics.cachedTokens, 0u);
  EXPECT_GT(outcome.statistics.mixedTokens, 0u);
}

TEST_P(Mixed, MissingPagesChangeNoBit) {
  std::vector<Request> all = requests(0.8f);
  SessionOptions apart = single(envelope.maxK, envelope.maxBatch);
  SessionOptions mixed = apart;
  apart.separatePrompts = true;
  for (Request &request : all)
    request.maxTokens += 24;
  // The longest needs six pages of 16 tokens, and has seven.
  mixed.kvPages = 8;
  Outcome expected = run(apart, all);
  for (bool shares : {false, true}) {
    if (isSimulated() && !shares)
      continue;
    mixed.prefixCache = shares;
    Outcome outcome = run(mixed, all);
    expectSame(outcome, expected, mixed);
    EXPECT_GT(outcome.statistics.preemptions, 0u);
    EXPECT_GT(outcome.statistics.mixedTokens, 0u);
  }
}

// A prompt that was partly read in rounds is cancelled.
TEST_P(Mixed, AreLeftByWhoIsCancelled) {
  std::vector<Request> all = requests(0.0f);
  all[0].maxTokens = 30;
  SessionOptions apart = single(envelope.maxK, envelope.maxBatch);
  apart.roundsPerLaunch = 1;
  SessionOptions mixed = apart;
  apart.separatePrompts = true;
  Outcome expected = run(apart, {all[0], all[3]});
  auto session = *Session::create(model, mixed);
  SequenceId first = *session->add(all[0]);
  while (session->output(first)->empty())
    ASSERT_TRUE(session->step().isOk());
  SequenceId second = *session->add(all[1]);
  ASSERT_TRUE(session->step().isOk());
  EXPECT_GT(session->statistics().mixedTokens, 0u);
  EXPECT_TRUE(session->output(second)->empty());
  ASSERT_TRUE(session->cancel(second).isOk());
  ASSERT_TRUE(session->release(second).isOk());
  SequenceId third = *session->add(all[3]);
  finishLike(*session, {first, third}, expected.sequences);
}

//===----------------------------------------------------------------------===//
// By time
//===----------------------------------------------------------------------===//

namespace {

/// The times of rounds on a simulated clock; nothing is timed.
struct RoundTimes {
  /// Rows of the sequences of a round.
  uint32_t ownRows = 0;
  /// Seconds of a round, and of each of its rows, including prompt rows.
  double round = 0, row = 0;
  double now = 0;
};

/// Lets time pass as rounds compute.
class TimedRounds : public ForwardingExecutable {
public:
  TimedRounds(std::unique_ptr<Executable> inner, const Model &model,
              RoundTimes &times)
      : ForwardingExecutable(std::move(inner)),
        artifact(ModelAccess::file(model)->artifact()),
        plan(artifact.plans[ModelAccess::plan(model)]), times(times) {}

  Status run(uint32_t program, uint32_t n) override {
    MTP_RETURN_IF_ERROR(inner->run(program, n));
    const Program &ran = plan.programs[program];
    if (ran.kind != schema::ProgramKind::Decode)
      return okStatus();
    MTP_ASSIGN_OR_RETURN(uint32_t rows, promptRows(ran));
    times.now += times.round + times.row * (times.ownRows + rows);
    return okStatus();
  }

private:
  /// Returns the rows of prompts that a round had.
  Result<uint32_t> promptRows(const Program &ran) {
    if (ran.prompts == 0)
      return 0;
    uint32_t index = *artifact.findState("prompt_sequences");
    std::vector<int32_t> words(artifact.states[index].bytes / sizeof(int32_t));
    Binding all{schema::Space::State, index, 0, words.size() * sizeof(int32_t)};
    MTP_RETURN_IF_ERROR(inner->read(all, words.data(), all.bytes));
    uint64_t width = artifact.states[index].shape.back();
    uint32_t rows = 0;
    for (uint64_t s = 0; s < width; ++s)
      rows += uint32_t(words[kPromptRows * width + s]);
    return rows;
  }

  const Artifact &artifact;
  const Plan &plan;
  RoundTimes &times;
};

/// A session with running sequences, in which prompts arrive one after the
/// other.
class MixedTimes : public Mixed {
protected:
  void start(uint32_t running, uint32_t stepMilliseconds);
  void addPrompt();
  uint32_t nextRows();
  uint32_t settledRows(double round, double row);

  RoundTimes times;
  std::unique_ptr<Session> session;
  std::vector<Request> added;
  std::vector<SequenceId> ids;
  uint32_t texts = 40;
};

} // namespace

/// Starts sequences of one token per round, which fill the positions.
void MixedTimes::start(uint32_t running, uint32_t stepMilliseconds) {
  SessionOptions options = single(/*k=*/0, envelope.maxBatch);
  options.roundsPerLaunch = 1;
  options.stepMilliseconds = stepMilliseconds;
  times = RoundTimes{running};
  SessionSetup setup;
  setup.clock = [this] { return times.now; };
  setup.device = [this](std::unique_ptr<Executable> loaded) {
    return std::make_unique<TimedRounds>(std::move(loaded), *model, times);
  };
  session = openSession(model, options, std::move(setup));
  for (uint32_t i = 0; i < running; ++i) {
    Request request;
    request.prompt = {textToken(texts++, 0, envelope.vocab)};
    request.maxTokens = envelope.maxContext - 1;
    request.ignoreEos = true;
    added.push_back(request);
    ids.push_back(*session->add(request));
  }
  while (session->output(ids.back())->empty())
    ASSERT_TRUE(session->step().isOk());
}

void MixedTimes::addPrompt() {
  Request request;
  for (uint32_t i = 0; i < 60; ++i)
    request.prompt.push_back(textToken(texts, i, envelope.vocab));
  ++texts;
  request.maxTokens = 1;
  request.ignoreEos = true;
  added.push_back(request);
  ids.push_back(*session->add(request));
}

/// Returns the number of prompt rows in the next round in which no prompt ends.
uint32_t MixedTimes::nextRows() {
  while (true) {
    if (session->counts().prefilling + session->counts().waiting == 0)
      addPrompt();
    uint64_t before = session->statistics().mixedTokens;
    uint64_t rounds = session->statistics().rounds;
    EXPECT_TRUE(session->step().isOk());
    EXPECT_EQ(session->statistics().rounds, rounds + 1);
    if (session->output(ids.back())->empty())
      return uint32_t(session->statistics().mixedTokens - before);
  }
}

/// Returns the number of rows that is reached for these times.
uint32_t MixedTimes::settledRows(double round, double row) {
  times.round = round;
  times.row = row;
  uint32_t rows = 0;
  for (int i = 0; i < 16; ++i) {
    rows = nextRows();
    EXPECT_GE(rows, 1u);
  }
  return rows;
}

// In 14 ms a round has the rows that fit into this time, including its own. If
// rows take longer it has fewer, and more if they take less again. If the round
// alone takes longer, prompts have one row in each round, and come to an end.
TEST_P(MixedTimes, RowsBesideARoundFollowATime) {
  for (uint32_t running : {1u, 3u}) {
    start(running, /*stepMilliseconds=*/14);
    EXPECT_NEAR(settledRows(0.002, 0.001), 12 - running, 1);
    EXPECT_NEAR(settledRows(0.002, 0.002), 6 - running, 1);
    EXPECT_NEAR(settledRows(0.004, 0.001), 10 - running, 1);
    EXPECT_EQ(settledRows(0.020, 0.001), 1u);
    EXPECT_NEAR(settledRows(0.002, 0.001), 12 - running, 1);
    SessionOptions apart = single(/*k=*/0, envelope.maxBatch);
    apart.separatePrompts = true;
    Outcome expected = run(apart, added, LogitsMode::None);
    finishLike(*session, ids, expected.sequences);
    added.clear();
    ids.clear();
  }
}

//===----------------------------------------------------------------------===//
// Artifacts
//===----------------------------------------------------------------------===//

static const auto onCpu =
    testing::Values(OnDevice{"dsv3-chain-mtp2.mixed", DeviceKind::Cpu},
                    OnDevice{"mimo-mtp1.mixed", DeviceKind::Cpu},
                    OnDevice{"mimo-tree.mixed", DeviceKind::Cpu},
                    OnDevice{"mtp-static.mixed", DeviceKind::Cpu},
                    OnDevice{"mtp-beam.mixed", DeviceKind::Cpu},
                    OnDevice{"llama-gqa.mixed", DeviceKind::Cpu},
                    OnDevice{"dflash-speculators.block", DeviceKind::Cpu},
                    OnDevice{"hybrid.mixed", DeviceKind::Cpu},
                    OnDevice{"dsv3-chain-mtp2.suremixed", DeviceKind::Cpu},
                    OnDevice{"mimo-mtp1.suremixed", DeviceKind::Cpu});

INSTANTIATE_TEST_SUITE_P(Cpu, Mixed, onCpu, nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, MixedBits, onCpu, nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, MixedTimes,
                         testing::Values(OnDevice{"llama-gqa.mixed",
                                                  DeviceKind::Cpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, MixedHosts,
                         testing::Values(OnDevice{"grammar.mixed",
                                                  DeviceKind::Cpu}),
                         nameOf);

#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, MixedHosts,
                         testing::Values(OnDevice{"grammar.mixed",
                                                  DeviceKind::Cuda}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(
    Gpu, Mixed,
    testing::Values(OnDevice{"dsv3-chain-mtp2.mixedsim", DeviceKind::Cuda},
                    OnDevice{"mimo-tree.mixedsim", DeviceKind::Cuda}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Gpu, MixedBits,
    testing::Values(OnDevice{"dsv3-chain-mtp2.mixedsim", DeviceKind::Cuda},
                    OnDevice{"mimo-mtp1.mixedsim", DeviceKind::Cuda},
                    OnDevice{"mimo-tree.mixedsim", DeviceKind::Cuda},
                    OnDevice{"llama-gqa.mixedsim", DeviceKind::Cuda}),
    nameOf);
#endif
