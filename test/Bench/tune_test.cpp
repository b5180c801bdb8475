//===- tune_test.cpp - What a profile decides -----------------------------===//

#include "runtime/exec/SessionProfile.h"
#include "runtime/profile/ProfileFile.h"
#include "test/Runtime/support/FakeLanguage.h"
#include "test/Runtime/support/FakeModel.h"
#include "test/Runtime/support/OpenSession.h"
#include "tools/mtp-tune/Decisions.h"
#include "tools/mtp-tune/Drafts.h"
#include "tools/mtp-tune/Measure.h"
#include "tools/mtp-tune/Report.h"
#include "tools/mtp-tune/compare/Compare.h"
#include "tools/mtp-tune/simulate/MachineFile.h"
#include "tools/support/DrafterCheck.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace mtp;
using namespace mtp::tune;

namespace {

profile::Cost costOf(uint32_t batch, uint32_t k, double median) {
  profile::Cost cost;
  cost.batch = batch;
  cost.k = k;
  cost.rows = batch * (k + 1);
  cost.positions = uint64_t(batch) * 200;
  cost.lower = median * 0.98;
  cost.median = median;
  cost.upper = median * 1.02;
  cost.count = 24;
  return cost;
}

/// Drafts pay with one slot, and not with eight.
profile::Profile someProfile() {
  profile::Profile profile;
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 600, 10};
  profile.outcomes[0].accepted = {600, 300, 5};
  profile.machines.resize(1);
  profile.machines[0].name = "a processor";
  profile.machines[0].costs = {costOf(1, 0, 0.010), costOf(1, 1, 0.011),
                               costOf(1, 2, 0.016), costOf(8, 0, 0.020),
                               costOf(8, 1, 0.035), costOf(8, 2, 0.050)};
  return profile;
}

profile::Outcomes outcomesOf(std::vector<uint64_t> tried,
                             std::vector<uint64_t> accepted) {
  profile::Outcomes outcomes;
  outcomes.tried = std::move(tried);
  outcomes.accepted = std::move(accepted);
  return outcomes;
}

} // namespace

// The check of the drafter has fewer slots than the sizes of a server.
TEST(Tune, ChecksTheDrafterBesideCaptureSizes) {
  test::FakeOptions fake;
  fake.hasLimit = true;
  std::shared_ptr<const Model> model = test::loadFakeModel(fake);
  SessionOptions options;
  options.threads = 1;
  options.captureSizes = {1, 4};
  auto outcomes = measureOutcomes(model, options, {{3, 1, 4}, {1, 5}}, 12);
  ASSERT_TRUE(outcomes.isOk()) << outcomes.status().toString();
  EXPECT_GT(outcomes->tried[0], 0u);
}

TEST(Tune, MeasuresPaddingForSizes) {
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/false, 4), 0u);
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/true, 1), 0u);
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/true, 3), 0u);
  EXPECT_EQ(paddedSlots({}, /*hasGraphs=*/true, 8), 4u);
  EXPECT_EQ(paddedSlots({1, 4}, /*hasGraphs=*/false, 4), 2u);
  EXPECT_EQ(paddedSlots({4, 3}, /*hasGraphs=*/true, 4), 0u);
  EXPECT_EQ(paddedSlots({2, 8}, /*hasGraphs=*/true, 4), 0u);
}

// Rounds with padding are no alternatives of rounds of all slots.
TEST(Tune, DecidesWithoutRoundsWithPadding) {
  profile::Profile profile = someProfile();
  std::vector<Decision> before = decide(profile, profile.machines[0]);
  profile::Cost padded = costOf(1, 2, 0.001);
  padded.padding = 7;
  profile.machines[0].costs.push_back(padded);
  std::vector<Decision> after = decide(profile, profile.machines[0]);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    ASSERT_EQ(after[i].alternatives.size(), before[i].alternatives.size());
    for (size_t k = 0; k < after[i].alternatives.size(); ++k)
      EXPECT_EQ(after[i].alternatives[k].seconds,
                before[i].alternatives[k].seconds);
  }
}

TEST(Tune, DecidesByTokensPerSecond) {
  profile::Profile profile = someProfile();
  std::vector<Decision> decisions = decide(profile, profile.machines[0]);
  ASSERT_EQ(decisions.size(), 2u);
  const Decision &one = decisions[0], &eight = decisions[1];
  EXPECT_EQ(one.batch, 1u);
  EXPECT_EQ(one.context, 7u);
  EXPECT_EQ(one.alternatives[one.best].k, 1u);
  EXPECT_NEAR(one.alternatives[1].length, 1.6, 1e-12);
  EXPECT_NEAR(one.alternatives[1].gain, 1.6 / 1.1, 1e-12);
  // The default is the largest k.
  EXPECT_NEAR(one.gain, (1.6 / 0.011) / (1.9 / 0.016), 1e-9);
  EXPECT_GT(one.doubt, 0);
  EXPECT_LT(one.doubt, 0.1);
  EXPECT_EQ(eight.alternatives[eight.best].k, 0u);
  std::string text = reportText(profile);
  EXPECT_NE(text.find("slots 8, context 128..: k = 0"), std::string::npos)
      << text;
}

/// A round with a draft takes `step` times as long as one without.
static test::SessionClock::Seconds clockOf(double step) {
  return [step](const Statistics &done) {
    double now = 0;
    for (size_t k = 0; k < done.roundsByK.size(); ++k)
      now += double(done.roundsByK[k]) * (1 + step * double(k));
    return now;
  };
}

static void writeFile(const std::string &path,
                      const std::vector<uint8_t> &bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()),
             std::streamsize(bytes.size()));
}

/// Records greedy rounds of one slot with every k.
static profile::Profile recordRounds(const std::string &artifact, double step) {
  auto model = *Model::load(artifact);
  SessionOptions options;
  options.threads = 1;
  options.recordsProfile = true;
  uint32_t next = 0;
  test::SessionClock clock(clockOf(step));
  SessionSetup setup;
  setup.clock = clock;
  setup.beforeRound = [&next](SequenceId, uint32_t &k, DrafterProgress &) {
    k = next / 4 % 5;
  };
  auto session = test::openSession(model, options, std::move(setup));
  clock.setSession(*session);
  for (int turn = 0; turn < 8; ++turn) {
    Request request;
    request.prompt = {turn, 1, 4};
    request.maxTokens = 60;
    EXPECT_TRUE(session->add(request).isOk());
    for (; !session->idle(); ++next)
      EXPECT_TRUE(session->step().isOk());
  }
  return SessionProfile::recorded(*session);
}

// A session with the profile runs its first round with the k of the report.
TEST(Tune, ReportsTheChoiceOfASession) {
  test::FakeOptions fake;
  fake.hasLimit = true;
  fake.maxContext = 128;
  std::string base =
      testing::TempDir() + "/tune_choice_" + std::to_string(::getpid());
  std::string artifact = base + ".bin", path = base + ".profile";
  writeFile(artifact, test::makeFakeModel(fake).finish());
  std::set<uint32_t> chosen;
  for (double step : {0.01, 0.35, 20.0}) {
    profile::Profile profile = recordRounds(artifact, step);
    std::vector<Decision> decisions = decide(profile, profile.machines[0]);
    ASSERT_FALSE(decisions.empty());
    // The longest context has rounds of every k.
    const Decision &last = decisions.back();
    ASSERT_EQ(last.alternatives.size(), 5u);
    uint32_t k = last.alternatives[last.best].k;
    chosen.insert(k);
    writeFile(path, profile::writeProfile(profile));
    LoadOptions load;
    load.profile = path;
    SessionOptions options;
    options.threads = 1;
    options.automaticK = true;
    auto session =
        test::openClocked(*Model::load(artifact, load), options, clockOf(step));
    Request request;
    request.prompt.assign(size_t(1) << last.context, 1);
    request.maxTokens = 20;
    ASSERT_TRUE(session->add(request).isOk());
    while (session->statistics().rounds == 0)
      ASSERT_TRUE(session->step().isOk());
    EXPECT_EQ(session->statistics().roundsByK[k], 1u) << step << ' ' << k;
  }
  EXPECT_GT(chosen.size(), 1u);
  std::remove(artifact.c_str());
  std::remove(path.c_str());
}

TEST(Tune, LeavesOutPositionsWithFewOutcomes) {
  profile::Profile profile = someProfile();
  EXPECT_FALSE(acceptanceLength(profile.outcomes[0], 3).has_value());
  profile.machines[0].costs.push_back(costOf(1, 3, 0.001));
  std::vector<Decision> decisions = decide(profile, profile.machines[0]);
  EXPECT_EQ(decisions[0].alternatives.size(), 3u);
  // A shape without a plain step has nothing to compare with.
  profile.machines[0].costs.erase(profile.machines[0].costs.begin());
  EXPECT_EQ(decide(profile, profile.machines[0]).size(), 1u);
}

static ReaderDecision decisionOf(const profile::Profile &profile,
                                 const std::string &name,
                                 const std::string &shape = "") {
  for (const ReaderDecision &one : decisionsOf(profile, profile.machines[0]))
    if (one.name == name && one.shape.starts_with(shape))
      return one;
  ADD_FAILURE() << "no decision about " << name;
  return ReaderDecision();
}

static profile::Cost prefillOf(uint32_t rows, double seconds) {
  profile::Cost cost = costOf(1, 0, seconds);
  cost.work = profile::Work::Prefill;
  cost.rows = rows;
  return cost;
}

// The report asks the functions that sessions and compilers ask.
TEST(Tune, ListsTheNumberOfThreads) {
  profile::Profile profile = someProfile();
  profile.machines[0].threads = 4;
  ReaderDecision one = decisionOf(profile, "threads");
  EXPECT_EQ(one.reader, "session");
  EXPECT_EQ(one.choice, "4");
  EXPECT_EQ(one.usual, "4");
  EXPECT_NE(one.note.find("no other number"), std::string::npos) << one.note;
  profile.machines.push_back(profile.machines[0]);
  profile.machines[1].threads = 2;
  for (profile::Cost &cost : profile.machines[1].costs)
    cost.lower *= 0.8;
  one = decisionOf(profile, "threads");
  EXPECT_EQ(one.choice, "2");
  EXPECT_EQ(one.usual, "4");
  EXPECT_NEAR(*one.gain, 1 / 0.8, 1e-9);
  EXPECT_GT(*one.doubt, 0);
  EXPECT_NE(reportText(profile).find("session: threads = 2, default 4; 1.250"),
            std::string::npos);
  // Fewer threads that are no faster by 3 % are told beside the default.
  for (profile::Cost &cost : profile.machines[1].costs)
    cost.lower *= 0.98 / 0.8;
  one = decisionOf(profile, "threads");
  EXPECT_EQ(one.choice, "4");
  EXPECT_EQ(one.note.find("2 threads: 0.980 +- "), 0u) << one.note;
}

TEST(Tune, ListsPromptRowsWithinTheTimeOfARound) {
  profile::Profile profile = someProfile();
  EXPECT_EQ(decisionOf(profile, "prompt rows").choice, "");
  for (uint32_t rows : {16u, 64u, 256u})
    profile.machines[0].costs.push_back(prefillOf(rows, 0.0005 * rows / 0.98));
  // A row takes 0.5 ms. One slot waits 20 ms, and eight slots a round of 20 ms,
  // too: 40 rows.
  ReaderDecision one = decisionOf(profile, "prompt rows", "slots 1, ");
  EXPECT_EQ(one.choice, "40");
  EXPECT_EQ(one.usual, "16");
  double round = 0.011 * 0.98;
  EXPECT_NEAR(*one.gain, 40 / (round + 0.02) / (16 / (round + 0.008)), 1e-6);
  EXPECT_GT(*one.doubt, 0);
  EXPECT_LT(*one.doubt, 0.2);
  // A slower round gives prompts as much time as it takes.
  for (profile::Cost &cost : profile.machines[0].costs)
    if (cost.batch == 8)
      cost.lower = cost.median = cost.upper = 0.050;
  EXPECT_EQ(decisionOf(profile, "prompt rows", "slots 8, ").choice, "100");
  EXPECT_EQ(decisionOf(profile, "prompt rows in a round", "slots 8, ").usual,
            "16");
}

TEST(Tune, ListsWhatAProfileDoesNotDecide) {
  profile::Profile profile = someProfile();
  std::string text = reportText(profile);
  for (const char *line :
       {"session, mtp-import: confidence: not decided: confidence_tried: ",
        "session: rounds per launch: not decided: expected launches",
        "session: graphs: not decided: expected a load",
        "mtpc: tunables: not decided: expected times",
        "mtpc: library algorithms: not decided: expected products",
        "mtpc: draft vocabulary: not decided: head: expected"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  // Only GPUs have launches, graphs and a library.
  profile.machines[0].threads = 1;
  text = reportText(profile);
  for (const char *name : {"per launch", "graphs", "algorithms"})
    EXPECT_EQ(text.find(name), std::string::npos) << name << text;
}

TEST(Tune, ListsDraftsAndVerifiedRows) {
  profile::Profile profile = someProfile();
  profile.model.drafter = "mtp";
  ReaderDecision one = decisionOf(profile, "drafts");
  EXPECT_EQ(one.reader, "mtp-import");
  EXPECT_EQ(one.usual, "2 nodes, depth 2");
  EXPECT_EQ(one.choice, "chain of 1");
  EXPECT_GT(*one.gain, 1);
  EXPECT_GT(*one.doubt, 0);
  one = decisionOf(profile, "verified rows");
  EXPECT_EQ(one.shape, "slots 8");
  EXPECT_EQ(one.usual, "16");
  EXPECT_TRUE(one.gain && one.doubt);
}

// Reports of equal profiles are equal, although doubts come from random copies.
TEST(Tune, RepeatsItsReport) {
  profile::Profile profile = someProfile();
  profile.model.drafter = "mtp";
  EXPECT_EQ(reportText(profile), reportText(profile));
  EXPECT_EQ(reportJson(profile), reportJson(profile));
}

TEST(Tune, MeasuresSlotsUpToTheLargest) {
  EXPECT_EQ(batchesUpTo(1), (std::vector<uint32_t>{1}));
  EXPECT_EQ(batchesUpTo(4), (std::vector<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(batchesUpTo(20),
            (std::vector<uint32_t>{1, 2, 3, 4, 6, 8, 12, 16, 20}));
  EXPECT_EQ(contextsUpTo(1024), (std::vector<uint32_t>{32, 640}));
  EXPECT_EQ(contextsUpTo(1 << 20), (std::vector<uint32_t>{32, 2048}));
}

TEST(Tune, NoticesADisturbedMachine) {
  profile::Profile profile = someProfile();
  EXPECT_FALSE(isDisturbed(profile.machines[0]));
  profile.machines[0].costs[0].upper *= 2;
  EXPECT_FALSE(isDisturbed(profile.machines[0]));
  profile.machines[0].costs[3].upper *= 2;
  EXPECT_TRUE(isDisturbed(profile.machines[0]));
}

TEST(Tune, ComparesADrafterWithNoise) {
  profile::Outcomes expected = outcomesOf({400, 240}, {240, 120});
  EXPECT_EQ(compareOutcomes(expected, expected), "");
  // A little less is noise; better drafts are no reason to warn.
  EXPECT_EQ(compareOutcomes(expected, outcomesOf({200, 112}, {112, 54})), "");
  EXPECT_EQ(compareOutcomes(expected, outcomesOf({200, 190}, {190, 180})), "");
  // A drafter without its weights.
  std::string text = compareOutcomes(expected, outcomesOf({400, 8}, {8, 1}));
  EXPECT_EQ(text.find("expected 0.90 accepted drafts per round as in the "
                      "profile, got 0.02 in 400 rounds"),
            0u)
      << text;
  // One that finds two thirds of the drafts.
  EXPECT_NE(compareOutcomes(expected, outcomesOf({400, 170}, {170, 70})), "");
  // A few rounds show nothing.
  EXPECT_EQ(compareOutcomes(expected, outcomesOf({19, 0}, {0, 0})), "");
}

TEST(Tune, IntervalsOfGeometricMeans) {
  // Logarithms 0, 1 and 2: mean 1, deviation 1, Student's 4.303 for two degrees
  // of freedom.
  Interval three = geometricMean({1, std::exp(1.0), std::exp(2.0)});
  EXPECT_NEAR(three.mean, std::exp(1.0), 1e-9);
  EXPECT_NEAR(std::log(three.upper), 1 + 4.303 / std::sqrt(3.0), 1e-9);
  EXPECT_NEAR(std::log(three.lower), 1 - 4.303 / std::sqrt(3.0), 1e-9);
  Interval one = geometricMean({5});
  EXPECT_NEAR(one.lower, 5, 1e-9);
  EXPECT_NEAR(one.upper, 5, 1e-9);
}

TEST(Tune, AcceptanceOfAllRounds) {
  std::vector<double> shares = acceptanceOf(someProfile());
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_NEAR(shares[0], 0.6, 1e-12);
  EXPECT_NEAR(shares[1], 0.3, 1e-12);
}

TEST(Tune, ReadsMachines) {
  Result<Machine> machine = parseMachine(
      R"({"name": "A", "kind": "cpu", "bytes_per_second": 2e10,
          "operations_per_second": {"int8": 4e11},
          "seconds_per_command": {"product": 1e-6, "other": 2e-6},
          "seconds_per_round": 1e-5, "sources": {"name": "a test"}})");
  ASSERT_TRUE(machine) << machine.status().message();
  EXPECT_FALSE(machine->isGpu);
  EXPECT_EQ(machine->rates.bytes, 2e10);
  EXPECT_EQ(machine->rates.peak(bench::Arithmetic::I4), 4e11);
  EXPECT_EQ(machine->productSeconds, 1e-6);
  EXPECT_EQ(machine->attentionSeconds, 0);
  EXPECT_EQ(machine->otherSeconds, 2e-6);
  EXPECT_EQ(machine->roundSeconds, 1e-5);
}
