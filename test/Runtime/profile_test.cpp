//===- profile_test.cpp - Profiles: bytes, checks, merging ----------------===//

#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/ProfileKeys.h"

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
  return profile;
}

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
  EXPECT_EQ(read->load.contexts, profile.load.contexts);
  // Equal profiles have equal bytes.
  EXPECT_EQ(writeProfile(*read), writeProfile(profile));
}

TEST(Profile, RefusesEveryCutAndEveryChangedByte) {
  std::vector<uint8_t> bytes = writeProfile(wholeProfile());
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
  for (double bad :
       {-1.0, 0.0, 4000.0, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(wrong([bad](Cost &cost) {
                cost.median = bad;
              }).find(key + "median: expected a number above 0"),
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
}
