//===- profile_test.cpp - Profiles: bytes, checks, merging ----------------===//

#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"
#include "runtime/schema/mtp_profile_generated.h"

#include <gtest/gtest.h>
#include <limits>

using namespace mtp;
using namespace mtp::profile;

namespace {

Cost costOf(uint32_t batch, uint32_t k, double median) {
  Cost cost;
  cost.program = 7;
  cost.batch = batch;
  cost.k = k;
  cost.rows = batch * (k + 1);
  cost.positions = uint64_t(batch) * 300;
  cost.lower = median * 0.9;
  cost.median = median;
  cost.upper = median * 1.2;
  cost.count = 31;
  return cost;
}

Profile wholeProfile() {
  Profile profile;
  profile.model = {"story", 11, 12, "mtp"};
  profile.check.tried = {100, 60};
  profile.check.accepted = {60, 30};
  profile.outcomes.resize(2);
  profile.outcomes[0].tried = {1000, 700, 400};
  profile.outcomes[0].accepted = {700, 400, 200};
  profile.outcomes[1].isSampled = true;
  profile.outcomes[1].context = 9;
  profile.machines.resize(1);
  profile.machines[0].name = "a processor";
  profile.machines[0].threads = 2;
  profile.machines[0].day = 20786;
  profile.machines[0].costs = {costOf(1, 0, 0.003), costOf(1, 2, 0.004),
                               costOf(4, 2, 0.006)};
  profile.load.slots = {5, 9};
  profile.load.contexts = {0, 0, 7};
  profile.load.rounds = {{{1, 2}, 11}, {{4, 0}, 9}};
  profile.machines[0].costs[1].nodes = 420;
  profile.machines[0].costs[2].padding = 3;
  profile.nodes.counts = {{{0}, {1000, 700}},
                          {{0, 0}, {700, 400}},
                          {{0, 1}, {700, 90}},
                          {{1}, {1000, 120}}};
  profile.kinds = {{"code", {}}, {"prose", {}}};
  profile.kinds[0].outcomes.tried = {90, 80};
  profile.kinds[0].outcomes.accepted = {80, 70};
  profile.confidence.tried[15] = 600;
  profile.confidence.accepted[15] = 580;
  profile.tokens.counts = {{7, {500, 300, 250}}, {9, {20, 0, 0}}};
  return profile;
}

/// Returns a GPU with launches of one and of eight rounds.
MachineCosts gpuOf(const GpuSettings &settings) {
  MachineCosts gpu;
  gpu.setKey({"a GPU", 0, settings});
  for (uint32_t rounds : {1u, 8u}) {
    LaunchCost cost;
    cost.program = 7;
    cost.batch = 4;
    cost.k = 2;
    cost.rounds = rounds;
    cost.positions = 400;
    cost.lower = 1e-3 * rounds;
    cost.median = 1.1e-3 * rounds;
    cost.upper = 1.2e-3 * rounds;
    cost.count = 6;
    gpu.launches.push_back(cost);
  }
  return gpu;
}

constexpr GpuSettings kSettings = {13000, 1'980'000, 2'619'000};

std::string errorOf(const Profile &profile) {
  Result<Profile> read = readProfile(writeProfile(profile));
  return read ? "" : std::string(read.status().message());
}

} // namespace

TEST(Profile, KeepsEverythingInItsBytes) {
  Profile profile = wholeProfile();
  Result<Profile> read = readProfile(writeProfile(profile));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_TRUE(read->model.isSame(profile.model));
  EXPECT_EQ(read->model.name, "story");
  EXPECT_EQ(read->check.accepted, profile.check.accepted);
  ASSERT_EQ(read->outcomes.size(), 2u);
  EXPECT_EQ(read->outcomes[0].tried, profile.outcomes[0].tried);
  EXPECT_TRUE(read->outcomes[1].isSampled);
  EXPECT_EQ(read->outcomes[1].context, 9u);
  ASSERT_EQ(read->machines.size(), 1u);
  EXPECT_EQ(read->machines[0].name, "a processor");
  ASSERT_EQ(read->machines[0].costs.size(), 3u);
  EXPECT_EQ(read->machines[0].costs[2].rows, 12u);
  EXPECT_EQ(read->machines[0].costs[2].median, 0.006);
  EXPECT_EQ(read->machines[0].costs[1].nodes, 420u);
  EXPECT_EQ(read->machines[0].costs[2].padding, 3u);
  EXPECT_EQ(read->load.contexts, profile.load.contexts);
  EXPECT_EQ(read->load.rounds, profile.load.rounds);
  ASSERT_EQ(read->nodes.counts.size(), 4u);
  EXPECT_EQ((read->nodes.counts[{0, 1}].accepted), 90u);
  ASSERT_EQ(read->kinds.size(), 2u);
  EXPECT_EQ(read->kinds[0].name, "code");
  EXPECT_EQ(read->kinds[0].outcomes.accepted[1], 70u);
  EXPECT_EQ(read->confidence.accepted, profile.confidence.accepted);
  ASSERT_EQ(read->tokens.counts.size(), 2u);
  EXPECT_EQ(read->tokens.counts[7].drafted, 300u);
  // Equal profiles have equal bytes.
  EXPECT_EQ(writeProfile(*read), writeProfile(profile));
}

TEST(Profile, KeepsLaunchesAndSettingsOfAGpu) {
  Profile profile = wholeProfile();
  profile.machines.push_back(gpuOf(kSettings));
  profile.load.outputs = {0, 0, 5};
  Result<Profile> read = readProfile(writeProfile(profile));
  ASSERT_TRUE(read) << read.status().message();
  EXPECT_EQ(read->load.outputs, profile.load.outputs);
  ASSERT_EQ(read->machines.size(), 2u);
  EXPECT_TRUE(read->machines[0].gpu.isUnknown());
  EXPECT_TRUE(read->machines[0].launches.empty());
  const MachineCosts &gpu = read->machines[1];
  EXPECT_EQ(gpu.gpu, kSettings);
  EXPECT_EQ(gpu.gpu.text(), "driver 13.0, 1980 MHz, memory 2619 MHz");
  ASSERT_EQ(gpu.launches.size(), 2u);
  EXPECT_TRUE(gpu.launches[1].isOfShape(profile.machines[1].launches[1]));
  EXPECT_EQ(gpu.launches[1].lower, 8e-3);
  EXPECT_EQ(gpu.launches[1].count, 6u);
  EXPECT_EQ(writeProfile(*read), writeProfile(profile));
}

TEST(Profile, NamesWrongLaunchesAndSettings) {
  auto wrong = [](auto change) {
    Profile profile = wholeProfile();
    profile.machines.push_back(gpuOf(kSettings));
    change(profile.machines[1]);
    return errorOf(profile);
  };
  EXPECT_EQ(wrong([](MachineCosts &) {}), "");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.gpu.driver = 2'000'000; }),
            "machines[1].driver: expected 0 to 1000000, got 2000000");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.gpu.clock = 200'000'000; }),
            "machines[1].clock: expected 0 to 100000000, got 200000000");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.gpu.memoryClock = ~0u; }),
            "machines[1].memory_clock: expected 0 to 100000000, got "
            "4294967295");
  const std::string key = "machines[1].launches";
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[0].rounds = 33; }),
            key + "[0].rounds: expected 1 to 32, got 33");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[0].batch = 0; }),
            key + "[0].batch: expected 1 to 1024, got 0");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[1].k = 17; }),
            key + "[1].k: expected 0 to 16, got 17");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[1].count = 0; }),
            key + "[1].count: expected 1 to 1099511627776, got 0");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[1].positions = ~0ull; }),
            key + "[1].positions: expected 0 to 16777216, got "
                  "18446744073709551615");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[1].upper = 0; }),
            key + "[1].upper: expected 0.0088 to 3600, got 0");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches[1].rounds = 1; }),
            key + "[1]: expected one cost of each shape, got the shape of " +
                key + "[0] again");
  EXPECT_EQ(wrong([](MachineCosts &of) { of.launches.resize(1025); }),
            key + ": expected at most 1024 entries, got 1025");
  // A processor has neither.
  EXPECT_EQ(wrong([](MachineCosts &of) { of.threads = 2; }),
            "machines[1].driver: expected 0 to 0, got 13000");
  EXPECT_EQ(wrong([](MachineCosts &of) {
              of.threads = 2;
              of.gpu = {};
            }),
            key + ": expected none of a processor with 2 threads, got 2");
  Profile profile = wholeProfile();
  profile.load.outputs.assign(33, 1);
  EXPECT_EQ(errorOf(profile),
            "load.outputs: expected at most 32 entries, got 33");
}

// Another driver is another machine, and costs of equal launches are means.
TEST(Profile, MergesLaunchesOfOneGpuWithItsSettings) {
  Profile into, from;
  into.machines = {gpuOf(kSettings)};
  from.machines = {gpuOf(kSettings), gpuOf({13010, 1'980'000, 2'619'000}),
                   gpuOf({})};
  from.machines[0].launches[1].lower = 6e-3;
  from.load.outputs = {1, 2};
  merge(into, from);
  EXPECT_EQ(errorOf(into), "");
  ASSERT_EQ(into.machines.size(), 3u);
  ASSERT_EQ(into.machines[0].launches.size(), 2u);
  EXPECT_NEAR(into.machines[0].launches[1].lower, 7e-3, 1e-12);
  EXPECT_EQ(into.machines[0].launches[1].count, 12u);
  EXPECT_EQ(into.load.outputs, from.load.outputs);
  into.machines.push_back(into.machines[1]);
  EXPECT_EQ(errorOf(into),
            "machines[3].name: expected each machine once, got 'a GPU' with "
            "driver 13.1, 1980 MHz, memory 2619 MHz again");
  for (uint32_t batch = 5; batch < 800; ++batch) {
    from.machines.resize(1);
    for (LaunchCost &cost : from.machines[0].launches) {
      cost.batch = batch;
      cost.positions = batch * 100;
    }
    merge(into, from);
  }
  EXPECT_EQ(into.machines[0].launches.size(), kMostLaunches);
}

TEST(Profile, RefusesEveryCutAndEveryChangedByte) {
  Profile profile = wholeProfile();
  profile.machines.push_back(gpuOf(kSettings));
  std::vector<uint8_t> bytes = writeProfile(profile);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(readProfile(std::span(bytes).first(size))) << size;
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= 0x10;
    EXPECT_FALSE(readProfile(bytes)) << at;
    bytes[at] ^= 0x10;
  }
  bytes.push_back(0);
  EXPECT_FALSE(readProfile(bytes));
}

TEST(Profile, NamesTheVersionThatItDoesNotRead) {
  std::vector<uint8_t> bytes = writeProfile(wholeProfile());
  bytes[4] = 9;
  EXPECT_EQ(readProfile(bytes).status().message(),
            "version: expected 1, got 9; write the profile again");
  bytes.assign(kMostBytes + 1, 0);
  EXPECT_EQ(readProfile(bytes).status().message(),
            "size: expected at most 16777216 bytes, got 16777217");
}

TEST(Profile, NamesTheKeyAndTheValueOfAContradiction) {
  Profile profile = wholeProfile();
  profile.outcomes[0].accepted[1] = 701;
  EXPECT_EQ(errorOf(profile),
            "outcomes[0].accepted[1]: expected 0 to 700, got 701");
  profile = wholeProfile();
  profile.outcomes[0].tried[2] = 401;
  EXPECT_EQ(errorOf(profile),
            "outcomes[0].tried[2]: expected 0 to 400, got 401");
  profile = wholeProfile();
  profile.outcomes[0].tried.pop_back();
  EXPECT_EQ(errorOf(profile), "outcomes[0].accepted: expected 2 entries as in "
                              "outcomes[0].tried, got 3");
  profile = wholeProfile();
  profile.machines[0].costs[1] = profile.machines[0].costs[0];
  EXPECT_EQ(errorOf(profile),
            "machines[0].costs[1]: expected one cost of each shape, got the "
            "shape of machines[0].costs[0] again");
  profile = wholeProfile();
  profile.machines.push_back(profile.machines[0]);
  EXPECT_EQ(errorOf(profile), "machines[1].name: expected each machine once, "
                              "got 'a processor' with 2 threads again");
  profile = wholeProfile();
  profile.outcomes.push_back(profile.outcomes[1]);
  EXPECT_EQ(errorOf(profile),
            "outcomes[2].context: expected each kind once, got 9 again");
}

// A writer's maps have each entry once, so these tables are written by hand.
TEST(Profile, NamesAnEntryThatIsThereTwice) {
  auto errorWith = [](std::vector<NodeOutcomes::Path> paths,
                      std::vector<schema::ProfileToken> tokens,
                      std::vector<schema::ProfileRounds> rounds) {
    flatbuffers::FlatBufferBuilder to;
    std::vector<flatbuffers::Offset<schema::ProfileNode>> nodes;
    for (const NodeOutcomes::Path &path : paths)
      nodes.push_back(schema::CreateProfileNodeDirect(to, &path, 9, 3));
    auto model = schema::CreateProfileModelDirect(to, "story", 1, 2, "mtp");
    auto load =
        schema::CreateProfileLoadDirect(to, nullptr, nullptr, nullptr, &rounds);
    to.Finish(schema::CreateProfileDirect(to, model, 0, nullptr, nullptr, load,
                                          &nodes, nullptr, nullptr, nullptr,
                                          &tokens),
              schema::ProfileIdentifier());
    auto read = readProfile(frameTables({to.GetBufferPointer(), to.GetSize()}));
    return read ? "" : std::string(read.status().message());
  };
  EXPECT_EQ(errorWith({{0}, {1}}, {{4, 30, 0, 0}, {7, 30, 0, 0}},
                      {{1, 0, 5}, {1, 2, 5}, {2, 0, 5}}),
            "");
  EXPECT_EQ(errorWith({{0}, {0}}, {}, {}),
            "nodes[1].path: expected a path after [0], the path before it, got "
            "[0]");
  EXPECT_EQ(errorWith({{0, 1}, {0}}, {}, {}),
            "nodes[1].path: expected a path after [0, 1], the path before it, "
            "got [0]");
  EXPECT_EQ(errorWith({}, {{7, 30, 0, 0}, {7, 90, 0, 0}}, {}),
            "tokens[1].token: expected more than 7, the token before it, got "
            "7");
  EXPECT_EQ(errorWith({}, {{1 << 24, 30, 0, 0}}, {}),
            "tokens[token 16777216].token: expected 0 to 16777215, got "
            "16777216");
  EXPECT_EQ(errorWith({}, {}, {{1, 2, 5}, {1, 2, 6}}),
            "load.rounds[1].slots: expected more than 1 slots with k = 2, the "
            "round before it, got 1 with k = 2");
}

TEST(Profile, NamesTheKeyAndTheValueOfAWrongNumber) {
  auto wrong = [](auto change) {
    Profile profile = wholeProfile();
    change(profile.machines[0].costs[2]);
    return errorOf(profile);
  };
  const std::string key = "machines[0].costs[2].";
  EXPECT_EQ(wrong([](Cost &cost) { cost.batch = 0; }),
            key + "batch: expected 1 to 1024, got 0");
  EXPECT_EQ(wrong([](Cost &cost) { cost.k = 17; }),
            key + "k: expected 0 to 16, got 17");
  EXPECT_EQ(wrong([](Cost &cost) { cost.rows = 3; }),
            key + "rows: expected 4 to 256, got 3");
  EXPECT_EQ(wrong([](Cost &cost) { cost.positions = uint64_t(1) << 60; }),
            key + "positions: expected 0 to 16777216, got 1152921504606846976");
  EXPECT_EQ(wrong([](Cost &cost) { cost.count = 0; }),
            key + "count: expected 1 to 1099511627776, got 0");
  EXPECT_EQ(wrong([](Cost &cost) { cost.padding = 1021; }),
            key + "padding: expected 0 to 1020, got 1021");
  EXPECT_EQ(wrong([](Cost &cost) {
              cost.work = Work::Prefill;
              cost.padding = 1;
            }),
            key + "padding: expected 0 to 0, got 1");
  for (double bad :
       {-1.0, 0.0, 4000.0, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(wrong([bad](Cost &cost) {
                cost.median = bad;
              }).find(key + "median: expected 0."),
              std::string::npos)
        << bad;
    EXPECT_NE(wrong([bad](Cost &cost) { cost.lower = bad; }), "") << bad;
  }
  Profile profile = wholeProfile();
  profile.machines[0].threads = 5000;
  EXPECT_EQ(errorOf(profile),
            "machines[0].threads: expected 0 to 1024, got 5000");
  profile = wholeProfile();
  profile.check.tried.assign(17, 1);
  EXPECT_EQ(errorOf(profile),
            "check.tried: expected at most 16 entries, got 17");
  profile = wholeProfile();
  profile.machines.assign(17, profile.machines[0]);
  EXPECT_EQ(errorOf(profile), "machines: expected at most 16 entries, got 17");
}

TEST(Profile, CountsADraftOnlyAfterAllDraftsBeforeIt) {
  Outcomes of;
  of.add(/*drafts=*/3, /*kept=*/1);
  of.add(/*drafts=*/3, /*kept=*/3);
  of.add(/*drafts=*/1, /*kept=*/0);
  EXPECT_EQ(of.tried, (std::vector<uint64_t>{3, 2, 1}));
  EXPECT_EQ(of.accepted, (std::vector<uint64_t>{2, 1, 1}));
}

TEST(Profile, NamesWrongOutcomesOfNodesKindsAndConfidences) {
  auto wrong = [](auto change) {
    Profile profile = wholeProfile();
    change(profile);
    return errorOf(profile);
  };
  EXPECT_EQ(wrong([](Profile &of) { of.nodes.counts[{0, 1}].tried = 701; }),
            "nodes[0, 1].tried: expected 0 to 700, got 701");
  EXPECT_EQ(wrong([](Profile &of) { of.nodes.counts[{1}].accepted = 1001; }),
            "nodes[1].accepted: expected 0 to 1000, got 1001");
  // A round accepts at most one child of a node.
  EXPECT_EQ(wrong([](Profile &of) {
              of.nodes.counts = {{{0}, {90, 60}}, {{1}, {80, 31}}};
            }),
            "accepted children of nodes[]: expected 0 to 90, got 91");
  EXPECT_EQ(wrong([](Profile &of) { of.nodes.counts[{2, 0}] = {}; }),
            "nodes[2, 0].path: expected a node whose parent is in the profile");
  EXPECT_EQ(wrong([](Profile &of) { of.nodes.counts[{64}] = {}; }),
            "nodes[64].path: expected 0 to 63, got 64");
  EXPECT_EQ(wrong([](Profile &of) { of.nodes.counts[{}] = {}; }),
            "nodes.path: expected at least one rank, got none");
  NodeOutcomes::Path deep(17);
  EXPECT_EQ(wrong([&](Profile &of) { of.nodes.counts[deep] = {}; }),
            "nodes[2].path: expected at most 16 entries, got 17");
  EXPECT_EQ(wrong([](Profile &of) { of.kinds[1].name = "code"; }),
            "kinds[1].name: expected each kind once, got 'code' again");
  EXPECT_EQ(wrong([](Profile &of) { of.kinds[1].name.clear(); }),
            "kinds[1].name: expected letters, digits, '-' and '_', got ''");
  EXPECT_EQ(wrong([](Profile &of) { of.kinds.resize(17); }),
            "kinds: expected at most 16 entries, got 17");
  EXPECT_EQ(wrong([](Profile &of) { of.confidence.accepted[3] = 1; }),
            "confidence_accepted[3]: expected 0 to 0, got 1");
  EXPECT_EQ(wrong([](Profile &of) { of.tokens.counts[7].accepted = 301; }),
            "tokens[token 7].accepted: expected 0 to 300, got 301");
}

// A few runs of a text must not show its tokens.
TEST(Profile, WritesNoSmallCountsOfTokens) {
  Profile profile = wholeProfile();
  profile.tokens.counts = {
      {1, {19, 19, 19}}, {2, {25, 30, 19}}, {3, {4, 20, 20}}};
  Result<Profile> read = readProfile(writeProfile(profile));
  ASSERT_TRUE(read) << read.status().message();
  ASSERT_EQ(read->tokens.counts.size(), 2u);
  EXPECT_EQ(read->tokens.counts[2].output, 25u);
  EXPECT_EQ(read->tokens.counts[2].accepted, 0u);
  EXPECT_EQ(read->tokens.counts[3].output, 0u);
}

// Nodes: 0 the anchor; 1, 2 and 3 follow it; 4 and 5 follow 2; 6 follows 4.
TEST(Profile, CountsANodeOnlyIfItsParentWasAccepted) {
  const std::vector<int32_t> parents = {-1, 0, 0, 0, 2, 2, 4};
  NodeOutcomes of;
  of.add(parents, 7, std::vector<uint32_t>{2, 5});
  of.add(parents, 7, std::vector<uint32_t>{1});
  of.add(parents, 3, {});
  EXPECT_EQ(of.counts[{0}].tried, 3u);
  EXPECT_EQ(of.counts[{0}].accepted, 1u);
  EXPECT_EQ(of.counts[{1}].accepted, 1u);
  EXPECT_EQ(of.counts[{2}].tried, 2u);
  EXPECT_EQ((of.counts[{1, 0}].tried), 1u);
  EXPECT_EQ((of.counts[{1, 1}].accepted), 1u);
  EXPECT_EQ(of.counts.size(), 5u);
  // Wrong numbers of a program do no harm.
  of.add(parents, 99, std::vector<uint32_t>{99, 1});
  of.add(std::vector<int32_t>{0, 0, 99, -5}, 4, std::vector<uint32_t>{0});
}

TEST(Profile, CountsTheDraftsOfAChainAsNodesOfRankZero) {
  NodeOutcomes of;
  of.addChain(/*drafts=*/3, /*kept=*/1);
  of.addChain(/*drafts=*/2, /*kept=*/2);
  of.addChain(/*drafts=*/0, /*kept=*/0);
  EXPECT_EQ(of.counts.size(), 2u);
  EXPECT_EQ(of.counts[{0}].tried, 2u);
  EXPECT_EQ(of.counts[{0}].accepted, 2u);
  EXPECT_EQ((of.counts[{0, 0}].tried), 2u);
  EXPECT_EQ((of.counts[{0, 0}].accepted), 1u);
}

TEST(Profile, KeepsTheLimitsOfOutcomes) {
  Profile into = wholeProfile(), from = wholeProfile();
  for (uint32_t i = 0; i < 64; ++i) {
    auto rank = uint8_t(i);
    from.nodes.counts[{rank}] = {1 << 20, 1 << 13};
    for (uint32_t j = 0; j < 64; ++j)
      from.nodes.counts[{rank, uint8_t(j)}] = {(1 << 12) + j, 9};
    from.kinds.push_back({"kind_" + std::to_string(i), {}});
  }
  for (uint32_t token = 0; token < kMostCountedTokens + 99; ++token)
    from.tokens.counts[token] = {100 + token, 50, 40};
  for (int turn = 0; turn < 3; ++turn)
    merge(into, from);
  EXPECT_EQ(errorOf(into), "");
  EXPECT_EQ(into.nodes.counts.size(), kMostTreeNodes);
  EXPECT_EQ(into.kinds.size(), kMostKinds);
  EXPECT_EQ(into.tokens.counts.size(), kMostCountedTokens);
  EXPECT_LT(writeProfile(into).size(), kMostBytes);
}

TEST(Profile, CountsConfidencesThatWereTried) {
  ConfidenceOutcomes of;
  of.add(std::vector<float>{0.99f, 0.5f, 0.2f}, /*kept=*/1);
  of.add(std::vector<float>{1.0f, std::numeric_limits<float>::quiet_NaN()}, 2);
  EXPECT_EQ(of.tried[15], 2u);
  EXPECT_EQ(of.accepted[15], 2u);
  EXPECT_EQ(of.tried[8], 1u);
  EXPECT_EQ(of.accepted[8], 0u);
  EXPECT_EQ(of.tried[3], 0u);
  EXPECT_EQ(of.tried[0], 1u);
}

TEST(Profile, MergesCountsAndMeansOfEqualShapes) {
  Profile into = wholeProfile(), from = wholeProfile();
  from.machines[0].day += 3;
  from.machines[0].costs[0].median = 0.005;
  from.machines[0].costs[0].upper = 0.006;
  from.machines[0].costs[1].rows = 2;
  from.machines.push_back(from.machines[0]);
  from.machines[1].threads = 1;
  merge(into, from);
  EXPECT_EQ(into.outcomes[0].tried[0], 2000u);
  EXPECT_EQ(into.outcomes.size(), 2u);
  ASSERT_EQ(into.machines.size(), 2u);
  EXPECT_EQ(into.machines[0].day, 20789u);
  // Fewer rows are another shape.
  ASSERT_EQ(into.machines[0].costs.size(), 4u);
  EXPECT_NEAR(into.machines[0].costs[0].median, 0.004, 1e-12);
  EXPECT_EQ(into.machines[0].costs[0].count, 62u);
  EXPECT_EQ(errorOf(into), "");
}

TEST(Profile, KeepsTheOrderOfQuartilesThatHardlyDiffer) {
  Profile profile = wholeProfile(), other = wholeProfile();
  Cost &cost = profile.machines[0].costs[0], &more = other.machines[0].costs[0];
  cost.count = 92;
  cost.lower = 0.0020022933031214065;
  cost.median = cost.upper = 0.002002293303121407;
  more.count = 454;
  more.lower = more.median = more.upper = 0.006647668867194073;
  merge(profile, other);
  EXPECT_EQ(errorOf(profile), "");
}

// A round with padding is another shape than one of its slots.
TEST(Profile, KeepsPaddingApart) {
  Profile into = wholeProfile(), from = wholeProfile();
  from.machines[0].costs[2].padding = 2;
  from.machines[0].costs[2].median = 0.0055;
  merge(into, from);
  ASSERT_EQ(into.machines[0].costs.size(), 4u);
  EXPECT_EQ(into.machines[0].costs[2].median, 0.006);
  EXPECT_EQ(into.machines[0].costs[3].median, 0.0055);
  EXPECT_EQ(errorOf(into), "");
  EXPECT_FALSE(into.machines[0].costs[3].isPlainRound());
}

TEST(Profile, AgesAndStaysWithinItsLimits) {
  Profile into = wholeProfile();
  for (uint32_t i = 0; i < 40; ++i) {
    Profile from = wholeProfile();
    from.outcomes[0].tried[0] = 1 << 18;
    from.machines[0].name += std::to_string(i);
    from.machines[0].day += i;
    for (uint32_t rows = 0; rows < 200; ++rows) {
      Cost cost = costOf(1000, 4, 0.1);
      cost.rows = 1000 + i * 200 + rows;
      from.machines[0].costs.push_back(cost);
    }
    merge(into, from);
    from.machines[0].name = "a processor";
    merge(into, from);
  }
  EXPECT_LE(into.outcomes[0].tried[0], 1u << 20);
  EXPECT_EQ(into.machines.size(), kMostMachines);
  EXPECT_EQ(errorOf(into), "");
  EXPECT_LT(writeProfile(into).size(), kMostBytes);
  // Old runs lose their weight: a machine that became slower is noticed.
  Profile old = wholeProfile(), slow = wholeProfile();
  slow.machines[0].costs[0] = costOf(1, 0, 0.009);
  slow.machines[0].costs[0].count = 512;
  for (int i = 0; i < 6; ++i)
    merge(old, slow);
  EXPECT_GT(old.machines[0].costs[0].median, 0.0085);
}

// New rounds count, however many a server has counted before.
TEST(Profile, AgesTheRoundsOfTheLoad) {
  Profile into = wholeProfile(), from = wholeProfile();
  into.load.rounds = {{{1, 0}, uint64_t(1) << 40}};
  from.load.rounds = {{{8, 2}, 1 << 20}};
  for (int i = 0; i < 9; ++i)
    merge(into, from);
  auto &rounds = into.load.rounds;
  EXPECT_LE((rounds[{1, 0}] + rounds[{8, 2}]), uint64_t(1) << 21);
  EXPECT_GT((rounds[{8, 2}]), (10 * rounds[{1, 0}]));
  EXPECT_EQ(errorOf(into), "");
}

TEST(Profile, MergesTheLargestCounts) {
  Profile into = wholeProfile();
  into.machines[0].costs[0].count = kMostCount;
  Profile from = into;
  merge(into, from);
  EXPECT_EQ(into.machines[0].costs[0].count, kMostCount);
  EXPECT_EQ(errorOf(into), "");
}

TEST(Profile, RefusesAnotherModelWithBothNames) {
  ModelKey story{"story", 11, 12, "mtp"}, other{"poem", 13, 12, "mtp"};
  EXPECT_TRUE(checkModel(story, story).isOk());
  std::string message(checkModel(story, other).message());
  EXPECT_NE(message.find("expected a profile of 'story'"), std::string::npos);
  EXPECT_NE(message.find("got one of 'poem'"), std::string::npos);
  other = story;
  other.drafter = "lookup:2,5";
  EXPECT_FALSE(checkModel(story, other).isOk());
  // A config need not have a name.
  other = {"", 13, 12, "mtp"};
  message = checkModel(story, other).message();
  EXPECT_NE(message.find("got one of 'unnamed' (weights"), std::string::npos);
}
