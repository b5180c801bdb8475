//===- profile_limits_test.cpp - Numbers at the limits of profiles --------===//

#include "runtime/profile/ProfileFile.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

/// Returns the error of a file with a machine, which has a cost, after a
/// change; empty if there is none.
template <typename ChangeT>
std::string errorOf(ChangeT change) {
  Profile profile;
  MachineCosts &machine = profile.machines.emplace_back();
  machine.name = "a GPU";
  Cost &cost = machine.costs.emplace_back();
  cost.lower = cost.median = cost.upper = 0.004;
  cost.count = 20;
  change(machine);
  Result<Profile> read = readProfile(writeProfile(profile));
  return read ? "" : std::string(read.status().message());
}

} // namespace

// Quotients of shorter times may be infinite.
TEST(ProfileLimits, NoRunTakesLessThanANanosecond) {
  EXPECT_EQ(errorOf([](MachineCosts &of) { of.costs[0].lower = 1e-9; }), "");
  EXPECT_EQ(errorOf([](MachineCosts &of) { of.costs[0].lower = 1e-320; }),
            "machines[0].costs[0].lower: expected 1e-09 to 3600, got 1e-320");
  EXPECT_EQ(errorOf([](MachineCosts &of) { of.costs[0].median = 0.0039; }),
            "machines[0].costs[0].median: expected 0.004 to 3600, got 0.0039");
}

TEST(ProfileLimits, DaysHaveALimit) {
  EXPECT_EQ(errorOf([](MachineCosts &of) { of.day = 20'786; }), "");
  EXPECT_EQ(errorOf([](MachineCosts &of) { of.day = UINT32_MAX; }),
            "machines[0].day: expected 0 to 100000, got 4294967295");
}

TEST(ProfileLimits, AProductHasOneAlgorithm) {
  GemmChoice product{13, "a GPU", 16, 24, 64, 1024, {1, 2, 3}};
  auto errorWith = [](const std::vector<GemmChoice> &gemms) {
    return errorOf([&](MachineCosts &of) { of.gemms = gemms; });
  };
  GemmChoice wider = product, other = product;
  wider.outputs = 32;
  other.words = {4, 5, 6};
  EXPECT_EQ(errorWith({product, wider}), "");
  EXPECT_EQ(errorWith({product, wider, other}),
            "machines[0].gemms[2]: expected one algorithm of each product, got "
            "the product of machines[0].gemms[0] again");
  other.rows = 0;
  EXPECT_EQ(errorWith({other}),
            "machines[0].gemms[0].rows: expected 1 to 4096, got 0");
}

TEST(ProfileMerge, WeighsLaunchesByTheirNumber) {
  Profile into, from;
  LaunchCost &cost = into.machines.emplace_back().launches.emplace_back();
  cost.lower = cost.median = cost.upper = 8e-3;
  cost.count = 6;
  from.machines = into.machines;
  LaunchCost &newer = from.machines[0].launches[0];
  newer.lower = 4e-3;
  newer.count = 18;
  from.machines[0].launches.push_back(newer);
  from.machines[0].launches[1].k = 1;
  merge(into, from);
  ASSERT_EQ(into.machines[0].launches.size(), 2u);
  EXPECT_NEAR(into.machines[0].launches[0].lower, 5e-3, 1e-12);
  EXPECT_EQ(into.machines[0].launches[1].lower, 4e-3);
}
