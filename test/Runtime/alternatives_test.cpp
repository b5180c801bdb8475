//===- alternatives_test.cpp - What a profile lets mtpc choose ------------===//

#include "runtime/profile/Alternatives.h"
#include "runtime/profile/ProfileFile.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

Alternative alternativeOf(const char *tunable, int64_t value, double ratio,
                          double error = 0.002) {
  Alternative one;
  one.tunable = tunable;
  one.value = value;
  one.ratio = ratio;
  one.error = error;
  one.pairs = 20;
  return one;
}

Profile profileOf(std::vector<Alternative> alternatives) {
  Profile profile;
  profile.model = {"story", 11, 12, "mtp"};
  profile.machines.resize(1);
  profile.machines[0].name = "a processor";
  profile.machines[0].threads = 2;
  profile.machines[0].alternatives = std::move(alternatives);
  return profile;
}

std::string errorOf(const Profile &profile) {
  Result<Profile> read = readProfile(writeProfile(profile));
  return read ? "" : std::string(read.status().message());
}

/// Returns the value that is chosen for a tunable; -1 without a choice.
int64_t chosen(std::vector<Alternative> alternatives, const Tunable &tunable,
               const Load &load = {}) {
  Profile profile = profileOf(std::move(alternatives));
  for (const TunedChoice &choice : chooseTuning(profile.machines[0], load))
    if (choice.tunable->name == tunable.name)
      return choice.value;
  return -1;
}

} // namespace

TEST(Alternatives, ValuesMustPayBeyondNoise) {
  const Tunable &prefetch = tunable::kPrefetchBytes;
  EXPECT_EQ(chosen({}, prefetch), -1);
  EXPECT_EQ(chosen({alternativeOf("cpu-prefetch-bytes", 4096, 0.98),
                    alternativeOf("cpu-prefetch-bytes", 2048, 0.95)},
                   prefetch),
            2048);
  EXPECT_EQ(
      chosen({alternativeOf("cpu-prefetch-bytes", 4096, 0.98, 0.01)}, prefetch),
      prefetch.value);
  EXPECT_EQ(chosen({alternativeOf("cpu-prefetch-bytes", 4096, 0.998, 0.0001)},
                   prefetch),
            prefetch.value);
  EXPECT_EQ(chosen({alternativeOf("cpu-prefetch-bytes", 4096, 1.1)}, prefetch),
            prefetch.value);
}

TEST(Alternatives, NoShapeMayBecomeSlower) {
  const Tunable &solo = tunable::kSoloElements;
  Alternative fast = alternativeOf("cpu-solo-elements", 4096, 0.8);
  Alternative slow = alternativeOf("cpu-solo-elements", 4096, 1.02);
  slow.batch = 4;
  EXPECT_EQ(chosen({fast, slow}, solo), solo.value);
  slow.error = 0.02;
  EXPECT_EQ(chosen({fast, slow}, solo), 4096);
}

TEST(Alternatives, TheLoadWeighsShapes) {
  const Tunable &solo = tunable::kSoloElements;
  std::vector<Alternative> all = {
      alternativeOf("cpu-solo-elements", 4096, 0.90),
      alternativeOf("cpu-solo-elements", 4096, 1.00),
      alternativeOf("cpu-solo-elements", 8192, 0.99),
      alternativeOf("cpu-solo-elements", 8192, 0.93)};
  all[1].batch = all[3].batch = 4;
  EXPECT_EQ(chosen(all, solo), 4096);
  Load load;
  load.slots = {1, 0, 99};
  EXPECT_EQ(chosen(all, solo, load), 8192);
}

TEST(Alternatives, AreInTheBytesOfAProfile) {
  Profile profile = profileOf({alternativeOf("cpu-block-rows", 4, 0.97)});
  profile.machines[0].alternatives[0].work = Work::Prefill;
  profile.machines[0].alternatives[0].rows = 256;
  profile.machines[0].gemms = {{13, "a GPU", 16, 24, 64, 1024, {1, 2, 3}}};
  Result<Profile> read = readProfile(writeProfile(profile));
  ASSERT_TRUE(read) << read.status().message();
  const MachineCosts &machine = read->machines[0];
  ASSERT_EQ(machine.alternatives.size(), 1u);
  EXPECT_TRUE(
      machine.alternatives[0].isOfShape(profile.machines[0].alternatives[0]));
  EXPECT_EQ(machine.alternatives[0].ratio, 0.97);
  ASSERT_EQ(machine.gemms.size(), 1u);
  EXPECT_TRUE(machine.gemms[0].isOfProduct(profile.machines[0].gemms[0]));
  EXPECT_EQ(machine.gemms[0].words, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(hashOf(*read), hashOf(profile));
}

TEST(Alternatives, NamesTheKeyAndTheValueOfAWrongOne) {
  const std::string key = "machines[0].alternatives[0].";
  auto wrong = [](auto change) {
    Profile profile = profileOf({alternativeOf("cpu-block-rows", 4, 0.97)});
    change(profile.machines[0].alternatives[0]);
    return errorOf(profile);
  };
  EXPECT_EQ(wrong([](Alternative &of) { of.tunable = "rows"; }),
            key + "tunable: expected the name of a tunable, got 'rows'");
  EXPECT_EQ(wrong([](Alternative &of) { of.tunable = "cpu-vector-rows"; }),
            key + "tunable: expected the name of a tunable, got "
                  "'cpu-vector-rows'");
  EXPECT_EQ(wrong([](Alternative &of) { of.value = 9; }),
            key + "value: expected 1 to 8 for cpu-block-rows, and not the "
                  "default 8, got 9");
  EXPECT_EQ(wrong([](Alternative &of) { of.value = 8; }),
            key + "value: expected 1 to 8 for cpu-block-rows, and not the "
                  "default 8, got 8");
  EXPECT_EQ(wrong([](Alternative &of) { of.ratio = -1; }),
            key + "ratio: expected 0.001 to 1000, got -1");
  EXPECT_EQ(wrong([](Alternative &of) { of.pairs = 1; }),
            key + "pairs: expected 2 to 1099511627776, got 1");
  Alternative one = alternativeOf("cpu-block-rows", 4, 0.97);
  EXPECT_EQ(errorOf(profileOf({one, one})),
            "machines[0].alternatives[1]: expected one cost of each value and "
            "shape, got those of machines[0].alternatives[0] again");
  EXPECT_EQ(errorOf(profileOf(std::vector<Alternative>(1025, one))),
            "machines[0].alternatives: expected at most 1024 entries, got "
            "1025");
}

TEST(Alternatives, MergeByPairs) {
  Profile into = profileOf({alternativeOf("cpu-block-rows", 4, 0.90)});
  Profile from = profileOf({alternativeOf("cpu-block-rows", 4, 0.96),
                            alternativeOf("cpu-block-rows", 2, 1.0)});
  from.machines[0].alternatives[0].pairs = 40;
  into.machines[0].gemms = {{13, "a GPU", 16, 24, 64, 1024, {1}}};
  from.machines[0].gemms = {{13, "a GPU", 16, 24, 64, 1024, {2}}};
  merge(into, from);
  const MachineCosts &machine = into.machines[0];
  ASSERT_EQ(machine.alternatives.size(), 2u);
  EXPECT_NEAR(machine.alternatives[0].ratio, 0.94, 1e-12);
  EXPECT_LT(machine.alternatives[0].error, 0.002);
  EXPECT_EQ(machine.alternatives[0].pairs, 60u);
  ASSERT_EQ(machine.gemms.size(), 1u);
  EXPECT_EQ(machine.gemms[0].words[0], 2u);
}

TEST(Tunables, HaveNamesLimitsAndOtherValues) {
  for (const Tunable &one : kTunables) {
    size_t same = 0;
    for (const Tunable &other : kTunables)
      same += one.name == other.name;
    EXPECT_EQ(same, 1u) << one.name;
    EXPECT_FALSE(one.measured.empty()) << one.name;
    EXPECT_EQ(one.isTuned(), one.alternatives.count > 0) << one.name;
    for (int64_t value : one.alternatives) {
      EXPECT_GE(value, one.least) << one.name;
      EXPECT_LE(value, one.most) << one.name;
      EXPECT_NE(value, one.value) << one.name;
    }
  }
}
