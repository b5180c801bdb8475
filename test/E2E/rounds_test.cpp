//===- rounds_test.cpp - Rounds that follow each other on the device ------===//
//
// The number of rounds in a launch changes no token, whatever ends it: the last
// round, a stop token, the budget, missing pages, a new sequence.
//
//===----------------------------------------------------------------------===//

#include "harness/OnDevice.h"
#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"

#include <algorithm>
#include <fstream>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

class Rounds : public OnDeviceTest {
protected:
  /// Returns prompts of several lengths, each with another budget.
  std::vector<Request> requests(float temperature = 0.8f) const {
    std::vector<Request> all;
    for (uint32_t length : {3, 18, 1}) {
      Request request;
      uint32_t index = uint32_t(all.size());
      for (uint32_t i = 0; i < length; ++i)
        request.prompt.push_back(textToken(index + 11, i, envelope.vocab));
      request.maxTokens = 13 - 4 * index;
      request.ignoreEos = true;
      request.sampling = {temperature, 20, 0.9f, 0.02f, 5 + index};
      all.push_back(request);
    }
    return all;
  }

  SessionOptions options(uint32_t rounds) const {
    SessionOptions options = single(envelope.maxK, envelope.maxBatch);
    options.roundsPerLaunch = rounds;
    return options;
  }

  Outcome run(const SessionOptions &options,
              const std::vector<Request> &requests) const {
    return generate(model, options, requests, LogitsMode::None);
  }

  std::unique_ptr<Session> open(const SessionOptions &options) const {
    auto session = Session::create(model, options);
    EXPECT_TRUE(session.isOk()) << session.status().toString();
    return session.isOk() ? std::move(*session) : nullptr;
  }
};

} // namespace

TEST_P(Rounds, TheirNumberChangesNoToken) {
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> all = requests(temperature);
    SessionOptions plain = single(/*k=*/0, /*slots=*/1);
    plain.roundsPerLaunch = 1;
    Outcome expected = run(plain, all);
    for (uint32_t rounds : {3, 32})
      for (uint32_t k : {0u, envelope.maxK}) {
        SessionOptions many = options(rounds);
        many.k = k;
        expectSame(run(many, all), expected, many);
      }
  }
}

// In one launch each slot drafts as its request says.
TEST_P(Rounds, EveryRequestsOwnKChangesNoToken) {
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> all = requests(temperature);
    for (Request &request : all)
      request.maxTokens += 8;
    SessionOptions plain = single(/*k=*/0, /*slots=*/1);
    plain.roundsPerLaunch = 1;
    Outcome expected = run(plain, all);
    all[0].k = 0;
    all[1].k = envelope.maxK;
    all[2].k = Request::kAutomatic;
    SessionOptions many = options(/*rounds=*/16);
    Outcome outcome = run(many, all);
    expectSame(outcome, expected, many);
    const std::vector<uint64_t> &byK = outcome.statistics.roundsByK;
    EXPECT_EQ(std::accumulate(byK.begin(), byK.end(), uint64_t(0)),
              outcome.statistics.rounds);
  }
}

/// Drafters of each kind. Their states belong to a round that the host has not
/// seen.
using RoundsOfDrafters = Rounds;

TEST_P(RoundsOfDrafters, TheirNumberChangesNoToken) {
  std::vector<Request> all = requests();
  SessionOptions plain = single(/*k=*/0, /*slots=*/1), many = options(16);
  plain.roundsPerLaunch = 1;
  Outcome outcome = run(many, all);
  expectSame(outcome, run(plain, all), many);
  EXPECT_GT(outcome.statistics.slotRounds, 0u);
}

/// Drafters whose acceptance rule is not exact.
using RoundsOfRules = Rounds;

// The output depends on the drafts, which depend only on the tokens.
TEST_P(RoundsOfRules, TheirNumberChangesNoToken) {
  std::vector<Request> all = requests(/*temperature=*/1.0f);
  SessionOptions plain = single(envelope.maxK, /*slots=*/1);
  SessionOptions many = options(16);
  plain.roundsPerLaunch = 1;
  Outcome outcome = run(many, all), expected = run(plain, all);
  expectSame(outcome, expected, many);
  EXPECT_EQ(outcome.statistics.drafted, expected.statistics.drafted);
  EXPECT_EQ(outcome.statistics.accepted, expected.statistics.accepted);
  EXPECT_GT(outcome.statistics.accepted[0], 0u);
}

/// Drafts with random parents for each slot and round. Some parents are not
/// preceding nodes.
using RoundsOfRandomTrees = Rounds;

TEST_P(RoundsOfRandomTrees, ChangeNoTokenInAnyCompany) {
  auto cpu = loadArtifact(GetParam().artifact, DeviceKind::Cpu);
  ASSERT_TRUE(cpu);
  for (float temperature : {0.0f, 0.8f}) {
    std::vector<Request> all = requests(temperature);
    all.push_back(all[0]);
    all.back().prompt = {5, 9, 2, 5, 9};
    SessionOptions plain = single(/*k=*/0, /*slots=*/1);
    Outcome expected = run(plain, all);
    for (uint32_t slots = 1; slots <= all.size(); ++slots)
      for (uint32_t k : {2u, envelope.maxK}) {
        // The simulator runs each number of slots once.
        if (GetParam().device == DeviceKind::Cuda &&
            ((slots % 2 == 0) != (temperature > 0) || (slots <= 2) != (k == 2)))
          continue;
        SessionOptions trees = single(k, slots);
        trees.roundsPerLaunch = k == 2 ? 1 : 16;
        Outcome outcome = run(trees, all);
        expectSame(outcome, expected, trees);
        // A sequence's trees are equal for any number of slots, and on any
        // device.
        Outcome alone =
            generate(cpu, single(k, /*slots=*/1), all, LogitsMode::None);
        const Statistics &own = outcome.statistics, &other = alone.statistics;
        EXPECT_EQ(own.drafted, other.drafted) << describe(trees);
        EXPECT_EQ(own.accepted, other.accepted) << describe(trees);
        EXPECT_GT(own.accepted[1], 0u) << describe(trees);
        EXPECT_GT(own.drafted[k - 1], 0u) << describe(trees);
        // Some trees have smaller depth.
        if (k == envelope.maxK)
          EXPECT_LT(own.drafted[k - 1], own.drafted[0]) << describe(trees);
      }
  }
}

/// Methods whose accept region picks from all rows, including padding rows.
using RoundsOfAllRows = Rounds;

// An ended slot accepts nothing. The entries that it would move were never
// written, which the simulator reports.
TEST_P(RoundsOfAllRows, MoveNoEntriesOfWhoHasEnded) {
  std::vector<Request> all;
  for (const std::vector<int32_t> &prompt :
       std::vector<std::vector<int32_t>>{{5, 9, 2, 5, 9},
                                         {1},
                                         {7, 7, 7, 3, 7, 7, 7, 3, 7, 7, 7, 3},
                                         {30, 31, 32, 33}}) {
    Request request;
    request.prompt = prompt;
    request.maxTokens = 40;
    request.ignoreEos = true;
    request.sampling.temperature = 0.8f;
    request.sampling.seed = 1;
    all.push_back(request);
  }
  SessionOptions plain = single(/*k=*/0, /*slots=*/4);
  SessionOptions many = single(/*k=*/4, /*slots=*/4);
  many.roundsPerLaunch = 16;
  expectSame(run(many, all), run(plain, all), many);
}

/// Drafters in which a round's rows see each other.
using RoundsOfBlocks = Rounds;

// A slot that drafts less has a block of its own size, also beside others.
TEST_P(RoundsOfBlocks, DraftTheSameBesideOthers) {
  std::vector<Request> all = requests(/*temperature=*/0.0f);
  all[0].k = 2;
  all[0].maxTokens = all[1].maxTokens = 40;
  all[1].k = envelope.maxK;
  auto statisticsOf = [&](size_t count) {
    std::unique_ptr<Session> session = open(options(1));
    SequenceId first = *session->add(all[0]);
    for (size_t i = 1; i < count; ++i)
      EXPECT_TRUE(session->add(all[i]).isOk());
    while (!session->idle())
      EXPECT_TRUE(session->step().isOk());
    return *session->statistics(first);
  };
  Statistics alone = statisticsOf(1), beside = statisticsOf(2);
  EXPECT_EQ(alone.drafted, beside.drafted);
  EXPECT_EQ(alone.accepted, beside.accepted);
  EXPECT_EQ(alone.rounds, beside.rounds);
  EXPECT_GT(alone.accepted[0], 0u);
}

TEST_P(Rounds, EndWithTheBudget) {
  std::vector<Request> all = requests();
  all.resize(1);
  SessionOptions many = options(32);
  many.k = 0;
  Outcome outcome = run(many, all);
  // The first token is the prefill's.
  EXPECT_EQ(outcome.statistics.rounds, all[0].maxTokens - 1);
}

TEST_P(Rounds, EndWithAStopToken) {
  std::vector<Request> all = requests();
  all.resize(1);
  all[0].maxTokens = 20;
  SessionOptions many = options(32);
  many.k = 0;
  std::vector<int32_t> whole = run(many, all).sequences[0].tokens;
  ASSERT_EQ(whole.size(), 20u);
  // A token that has not occurred before.
  size_t end = 3;
  while (std::find(whole.begin(), whole.begin() + long(end), whole[end]) !=
         whole.begin() + long(end))
    ++end;
  all[0].stopTokens = {whole[end]};
  Outcome outcome = run(many, all);
  std::vector<int32_t> expected(whole.begin(), whole.begin() + long(end));
  EXPECT_EQ(outcome.sequences[0].tokens, expected);
  EXPECT_LE(outcome.statistics.rounds, end);
  // More stop tokens than a device compares, the last of which occurs: the host
  // checks after each round.
  all[0].stopTokens.clear();
  for (int32_t token = 0; all[0].stopTokens.size() < 8; ++token)
    if (std::ranges::count(whole, token) == 0)
      all[0].stopTokens.push_back(token);
  all[0].stopTokens.push_back(whole[end]);
  outcome = run(many, all);
  EXPECT_EQ(outcome.sequences[0].tokens, expected);
  EXPECT_LE(outcome.statistics.rounds, end);
}

TEST_P(Rounds, MissingPagesChangeNoToken) {
  std::vector<Request> all = requests();
  all.resize(2);
  all[0].maxTokens = all[1].maxTokens = 40;
  Outcome expected = run(options(1), all);
  SessionOptions tight = options(32);
  // The first sequence takes all that is left of five pages for rounds ahead,
  // so that the second one ends the launch. In the end they need seven pages.
  tight.kvPages = 6;
  tight.prefixCache = true;
  Outcome outcome = run(tight, all);
  expectSame(outcome, expected, tight);
}

TEST_P(Rounds, LetANewSequenceIn) {
  std::vector<Request> all = requests();
  all[0].maxTokens = 20;
  Outcome expected = run(options(1), all);
  // The simulator runs all rounds of a launch at once.
  SessionOptions many = options(8);
  many.k = 0;
  std::unique_ptr<Session> session = open(many);
  ASSERT_TRUE(session);
  SequenceId first = *session->add(all[0]);
  ASSERT_TRUE(session->step().isOk());
  SequenceId second = *session->add(all[1]);
  finishLike(*session, {first, second}, expected.sequences);
  // They ran side by side.
  EXPECT_LT(session->statistics().rounds, 19u + all[1].maxTokens - 1);
}

TEST_P(Rounds, AheadMakeRoomForANewSequence) {
  std::vector<Request> all = requests();
  all[0].maxTokens = 60;
  SessionOptions tight = options(16);
  // The first sequence takes four or five of five pages, as for rounds whose
  // drafts are all accepted. The rounds give fewer tokens. The second one needs
  // one page, and one must be left for the first.
  tight.kvPages = 6;
  tight.prefixCache = false;
  std::unique_ptr<Session> session = open(tight);
  ASSERT_TRUE(session);
  SequenceId first = *session->add(all[0]);
  ASSERT_TRUE(session->step().isOk());
  SequenceId second = *session->add(all[2]);
  while (session->output(second)->empty()) {
    auto updates = session->step();
    ASSERT_TRUE(updates.isOk()) << updates.status().toString();
    for (const SequenceUpdate &update : *updates)
      ASSERT_FALSE(update.id == first && update.finish != FinishReason::None)
          << "the second waited for the end of the first";
  }
  EXPECT_TRUE(session->checkInvariants().isOk());
}

TEST_P(Rounds, AreLeftByWhoIsCancelled) {
  std::vector<Request> all = requests();
  all[0].maxTokens = 20;
  Outcome expected = run(options(1), all);
  std::unique_ptr<Session> session = open(options(32));
  ASSERT_TRUE(session);
  SequenceId first = *session->add(all[0]), second = *session->add(all[1]);
  ASSERT_TRUE(session->step().isOk());
  ASSERT_TRUE(session->cancel(first).isOk());
  ASSERT_TRUE(session->release(first).isOk());
  std::span<const Generated> whole = expected.sequences;
  finishLike(*session, {second}, whole.subspan(1));
  // All of them may be gone while rounds are in flight.
  SequenceId third = *session->add(all[2]);
  ASSERT_TRUE(session->step().isOk());
  ASSERT_TRUE(session->cancel(third).isOk());
  EXPECT_TRUE(session->idle());
  SequenceId fourth = *session->add(all[2]);
  finishLike(*session, {fourth}, whole.subspan(2));
}

TEST_P(Rounds, AreAsManyAsTheRingHas) {
  auto session = Session::create(model, options(33));
  ASSERT_FALSE(session.isOk());
  EXPECT_EQ(session.status().message(),
            "expected rounds_per_launch of at most 32, which the artifact has "
            "room for, got 33");
}

/// Rounds per launch as a profile says.
class PlannedRounds : public Rounds {
protected:
  std::string path = testing::TempDir() + "/planned_rounds.profile";

  void TearDown() override { std::remove(path.c_str()); }

  /// Returns what a session with `rounds` rounds per launch records.
  profile::Profile record(uint32_t rounds) const {
    SessionOptions recording = options(rounds);
    recording.recordsProfile = true;
    std::unique_ptr<Session> session = open(recording);
    for (Request &request : requests(/*temperature=*/0.0f)) {
      request.maxTokens = 20;
      EXPECT_TRUE(session->add(request).isOk());
    }
    while (!session->idle())
      EXPECT_TRUE(session->step().isOk());
    return SessionProfile::recorded(*session);
  }

  std::shared_ptr<const Model> load(const profile::Profile &profile) const {
    std::vector<uint8_t> bytes = profile::writeProfile(profile);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()),
               std::streamsize(bytes.size()));
    LoadOptions load;
    load.device = GetParam().device;
    load.profile = path;
    auto tuned = Model::load(artifactPath(GetParam().artifact), load);
    EXPECT_TRUE(tuned.isOk()) << tuned.status().toString();
    return tuned.isOk() ? *tuned : nullptr;
  }
};

TEST_P(PlannedRounds, AreRecordedWithTheDevice) {
  profile::Profile one = record(1), many = record(4);
  ASSERT_EQ(one.machines.size(), 1u);
  ASSERT_FALSE(one.machines[0].launches.empty());
  for (const profile::LaunchCost &cost : one.machines[0].launches)
    EXPECT_EQ(cost.rounds, 1u);
  uint32_t longest = 0;
  for (const profile::LaunchCost &cost : many.machines[0].launches)
    longest = std::max(longest, cost.rounds);
  EXPECT_EQ(longest, 4u);
  // Three sequences of 20 tokens.
  EXPECT_EQ(many.load.outputs, (std::vector<uint64_t>{0, 0, 0, 0, 3}));
  // As the simulator names itself.
  const profile::GpuSettings &gpu = many.machines[0].gpu;
  EXPECT_GE(gpu.driver, 13000u);
  EXPECT_EQ(gpu.clock, 1'980'000u);
  EXPECT_EQ(gpu.memoryClock, 2'619'000u);
  EXPECT_TRUE(profile::readProfile(profile::writeProfile(many)).isOk());
}

TEST_P(PlannedRounds, ChangeNoToken) {
  std::vector<Request> all = requests();
  Outcome expected = run(options(0), all);
  profile::Profile profile = record(1);
  ASSERT_FALSE(profile.machines[0].launches.empty());
  const profile::LaunchCost shape = profile.machines[0].launches[0];
  // Launches that take ten rounds' time, and launches that take none.
  for (auto [launch, rounds] : {std::pair(1e-2, 32u), std::pair(0.0, 1u)}) {
    profile.machines[0].launches.clear();
    for (uint32_t number : {1u, 2u, 8u, 32u}) {
      profile::LaunchCost &cost =
          profile.machines[0].launches.emplace_back(shape);
      cost.rounds = number;
      cost.lower = cost.median = cost.upper = launch + 1e-3 * number;
      cost.count = 9;
    }
    auto tuned = load(profile);
    ASSERT_TRUE(tuned);
    auto session = Session::create(tuned, options(0));
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    EXPECT_EQ((*session)->options().roundsPerLaunch, rounds);
    EXPECT_TRUE(SessionProfile::notes(**session).empty() ||
                SessionProfile::notes(**session)[0].find("outcomes") == 0);
    expectSame(generate(tuned, options(0), all, LogitsMode::None), expected,
               options(rounds));
    // A number of the caller stays.
    session = Session::create(tuned, options(5));
    ASSERT_TRUE(session.isOk()) << session.status().toString();
    EXPECT_EQ((*session)->options().roundsPerLaunch, 5u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cpu, Rounds,
    testing::Values(OnDevice{"dsv3-chain-mtp2.f32", DeviceKind::Cpu},
                    OnDevice{"llama-gqa.bf16", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Cpu, RoundsOfDrafters,
    testing::Values(OnDevice{"lookup", DeviceKind::Cpu},
                    OnDevice{"branches", DeviceKind::Cpu},
                    OnDevice{"topology", DeviceKind::Cpu},
                    OnDevice{"eagle_tree", DeviceKind::Cpu},
                    OnDevice{"eagle2", DeviceKind::Cpu},
                    OnDevice{"dflash", DeviceKind::Cpu},
                    OnDevice{"dspark.block", DeviceKind::Cpu},
                    OnDevice{"eagle26", DeviceKind::Cpu},
                    OnDevice{"lookahead", DeviceKind::Cpu},
                    OnDevice{"suffix", DeviceKind::Cpu},
                    OnDevice{"lookup_eagle", DeviceKind::Cpu},
                    OnDevice{"siblings", DeviceKind::Cpu},
                    OnDevice{"heads_tree", DeviceKind::Cpu},
                    OnDevice{"head_layers", DeviceKind::Cpu},
                    OnDevice{"wish", DeviceKind::Cpu},
                    OnDevice{"random_tree.mixed", DeviceKind::Cpu},
                    OnDevice{"ngram.mixed", DeviceKind::Cpu},
                    OnDevice{"reduced.mixed", DeviceKind::Cpu},
                    OnDevice{"walked.mixed", DeviceKind::Cpu},
                    OnDevice{"eagle.mixed", DeviceKind::Cpu},
                    OnDevice{"heads.mixed", DeviceKind::Cpu},
                    OnDevice{"wide.mixed", DeviceKind::Cpu},
                    OnDevice{"early.mixed", DeviceKind::Cpu},
                    OnDevice{"early_tree.mixed", DeviceKind::Cpu},
                    OnDevice{"latest.mixed", DeviceKind::Cpu},
                    OnDevice{"between.mixed", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Cpu, RoundsOfRules,
    testing::Values(OnDevice{"rejection", DeviceKind::Cpu},
                    OnDevice{"block_drawn", DeviceKind::Cpu},
                    OnDevice{"typical.mixed", DeviceKind::Cpu},
                    OnDevice{"credit.mixed", DeviceKind::Cpu},
                    OnDevice{"channel.mixed", DeviceKind::Cpu},
                    OnDevice{"block.mixed", DeviceKind::Cpu}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, RoundsOfRandomTrees,
                         testing::Values(OnDevice{"random_tree.mixed",
                                                  DeviceKind::Cpu}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Cpu, RoundsOfBlocks,
                         testing::Values(OnDevice{"dspark.block",
                                                  DeviceKind::Cpu}),
                         nameOf);

INSTANTIATE_TEST_SUITE_P(Cpu, RoundsOfAllRows,
                         testing::Values(OnDevice{"lookahead",
                                                  DeviceKind::Cpu}),
                         nameOf);

#ifdef MTP_E2E_CUDASIM
INSTANTIATE_TEST_SUITE_P(Gpu, PlannedRounds,
                         testing::Values(OnDevice{"llama-gqa.sim",
                                                  DeviceKind::Cuda}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Gpu, Rounds,
                         testing::Values(OnDevice{"dsv3-chain-mtp2.sim",
                                                  DeviceKind::Cuda}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(
    Gpu, RoundsOfDrafters,
    testing::Values(OnDevice{"llama-gqa.sim", DeviceKind::Cuda},
                    OnDevice{"mimo-tree.sim", DeviceKind::Cuda},
                    OnDevice{"lookup", DeviceKind::Cuda},
                    OnDevice{"branches", DeviceKind::Cuda},
                    OnDevice{"topology", DeviceKind::Cuda},
                    OnDevice{"eagle_tree", DeviceKind::Cuda},
                    OnDevice{"eagle2", DeviceKind::Cuda},
                    OnDevice{"dflash", DeviceKind::Cuda},
                    OnDevice{"dspark.block", DeviceKind::Cuda},
                    OnDevice{"dflash-wide.block", DeviceKind::Cuda},
                    OnDevice{"eagle26", DeviceKind::Cuda},
                    OnDevice{"suffix", DeviceKind::Cuda},
                    OnDevice{"lookup_eagle", DeviceKind::Cuda},
                    OnDevice{"siblings", DeviceKind::Cuda},
                    OnDevice{"heads_tree", DeviceKind::Cuda},
                    OnDevice{"head_layers", DeviceKind::Cuda},
                    OnDevice{"wish", DeviceKind::Cuda},
                    OnDevice{"random_tree.mixed", DeviceKind::Cuda},
                    OnDevice{"ngram.mixed", DeviceKind::Cuda},
                    OnDevice{"reduced.mixed", DeviceKind::Cuda},
                    OnDevice{"walked.mixed", DeviceKind::Cuda},
                    OnDevice{"eagle.mixed", DeviceKind::Cuda},
                    OnDevice{"heads.mixed", DeviceKind::Cuda},
                    OnDevice{"wide.mixed", DeviceKind::Cuda},
                    OnDevice{"early.mixed", DeviceKind::Cuda},
                    OnDevice{"early_tree.mixed", DeviceKind::Cuda},
                    OnDevice{"latest.mixed", DeviceKind::Cuda},
                    OnDevice{"between.mixed", DeviceKind::Cuda}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(
    Gpu, RoundsOfRules,
    testing::Values(OnDevice{"typical.mixed", DeviceKind::Cuda},
                    OnDevice{"credit.mixed", DeviceKind::Cuda},
                    OnDevice{"channel.mixed", DeviceKind::Cuda},
                    OnDevice{"block.mixed", DeviceKind::Cuda}),
    nameOf);
INSTANTIATE_TEST_SUITE_P(Gpu, RoundsOfRandomTrees,
                         testing::Values(OnDevice{"random_tree.mixed",
                                                  DeviceKind::Cuda}),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Gpu, RoundsOfAllRows,
                         testing::Values(OnDevice{"lookahead",
                                                  DeviceKind::Cuda}),
                         nameOf);
#endif
