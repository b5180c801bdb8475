//===- profile_plan_test.cpp - What a profile decides about drafts --------===//

#include "compiler/Import/plan/ProfilePlan.h"
#include "runtime/profile/ProfileFile.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::importer;

namespace {

/// A profile of a tree with three ranks and depths, and costs of up to four
/// slots. A pass takes 5 ms and `row` for each row after the first, a drafter's
/// pass 0.5 ms.
profile::Profile profileOf(double row) {
  profile::Profile profile;
  profile.model = {"story", 1, 2, "mtp:tree:40"};
  constexpr uint64_t kAccepted[] = {600, 250, 80};
  for (uint8_t a = 0; a < 3; ++a) {
    profile.nodes.counts[{a}] = {1000, kAccepted[a]};
    for (uint8_t b = 0; b < 3; ++b)
      profile.nodes.counts[{a, b}] = {kAccepted[a],
                                      kAccepted[a] * kAccepted[b] / 1000};
  }
  profile.outcomes.resize(1);
  profile.outcomes[0].tried = {1000, 600};
  profile.outcomes[0].accepted = {600, 360};
  profile::MachineCosts &machine = profile.machines.emplace_back();
  machine.name = "a processor";
  machine.threads = 2;
  for (uint32_t batch : {1, 2, 4})
    for (uint32_t k = 0; k <= 2; ++k) {
      profile::Cost &cost = machine.costs.emplace_back();
      cost.program = 1 + k;
      cost.batch = batch;
      cost.k = k;
      cost.rows = batch * (k + 1);
      cost.positions = uint64_t(batch) * 100;
      cost.median = 5e-3 + row * (cost.rows - 1) + k * 5e-4;
      cost.lower = cost.upper = cost.median;
      cost.count = 30;
    }
  return profile;
}

Result<ProfileDecision> decide(const profile::Profile &profile,
                               const ProfileRequest &request) {
  std::string path = testing::TempDir() + "/plan.profile";
  std::vector<uint8_t> bytes = profile::writeProfile(profile);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), long(bytes.size()));
  return decideByProfile(path, request);
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

TEST(ProfilePlan, CheapRowsMakeATree) {
  Result<ProfileDecision> decision = decide(profileOf(1e-4), {});
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->tree.kind, DraftTreeKind::Static);
  EXPECT_EQ(decision->maxK, decision->tree.depth);
  EXPECT_GT(decision->tree.nodes, decision->tree.depth + 1);
  EXPECT_TRUE(has(decision->text, "profile of 'story', drafter 'mtp:tree:40'"))
      << decision->text;
  EXPECT_TRUE(has(decision->text, "chosen: tree:")) << decision->text;
}

TEST(ProfilePlan, DearRowsMakeAChain) {
  Result<ProfileDecision> decision = decide(profileOf(2e-3), {});
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->tree.kind, DraftTreeKind::Chain);
  EXPECT_EQ(decision->maxK, 1);
  EXPECT_TRUE(has(decision->text, "no tree pays")) << decision->text;
  EXPECT_TRUE(has(decision->text, "chosen: chain, -k 1: ")) << decision->text;
}

TEST(ProfilePlan, FlagsWin) {
  ProfileRequest request;
  request.tree = "chain";
  Result<ProfileDecision> chain = decide(profileOf(1e-4), request);
  ASSERT_TRUE(chain) << chain.status().message();
  EXPECT_EQ(chain->tree.kind, DraftTreeKind::Chain);
  EXPECT_EQ(chain->maxK, 2);
  request.maxK = 1;
  EXPECT_EQ(decide(profileOf(1e-4), request)->maxK, 1);
  // -k limits the depth of a tree.
  request.tree.clear();
  Result<ProfileDecision> shallow = decide(profileOf(1e-4), request);
  ASSERT_TRUE(shallow) << shallow.status().message();
  EXPECT_EQ(shallow->tree.depth, 1);
  EXPECT_EQ(shallow->maxK, 1);
}

TEST(ProfilePlan, GivesADynamicTreeItsSizes) {
  ProfileRequest request;
  request.tree = "dynamic";
  Result<ProfileDecision> decision = decide(profileOf(1e-4), request);
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->tree.kind, DraftTreeKind::Dynamic);
  EXPECT_EQ(decision->maxK, decision->tree.depth);
  // The text form must be one that --draft-tree reads.
  EXPECT_TRUE(parseDraftTree(describeTree(decision->tree)));
}

TEST(ProfilePlan, ComparesAFileAtEqualCost) {
  std::string path = testing::TempDir() + "/hand.json";
  std::ofstream(path) << "[[0], [1], [2], [0, 0], [1, 0], [2, 0]]";
  ProfileRequest request;
  request.tree = path;
  Result<ProfileDecision> decision = decide(profileOf(1e-4), request);
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->tree.nodes, 7);
  EXPECT_TRUE(has(decision->text, "given tree: 6 nodes, depth 2"))
      << decision->text;
  EXPECT_TRUE(has(decision->text, "best tree of equal cost: 6 nodes"))
      << decision->text;
}

/// Returns a profile of a chain whose second draft is never accepted, used by
/// four slots.
profile::Profile chainOf(const std::string &drafter) {
  profile::Profile profile = profileOf(2e-4);
  profile.model.drafter = drafter;
  profile.nodes = {};
  profile.outcomes[0].accepted[1] = 0;
  profile.load.slots = {0, 0, 100};
  return profile;
}

TEST(ProfilePlan, LimitsRowsIfThatPays) {
  ProfileRequest request;
  request.maxK = 2;
  EXPECT_EQ(decide(chainOf("mtp"), request)->maxRows, 0);
  request.limitsRows = true;
  Result<ProfileDecision> decision = decide(chainOf("mtp"), request);
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->maxRows, 8);
  EXPECT_TRUE(has(decision->text, "verified rows: at most 8 of 12, 1."))
      << decision->text;
  // Without -k a round has one draft, and all rows pay.
  request.maxK.reset();
  decision = decide(chainOf("mtp"), request);
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->maxK, 1);
  EXPECT_EQ(decision->maxRows, 0);
  EXPECT_TRUE(has(decision->text, "verified rows: all 8; no limit pays"))
      << decision->text;
}

TEST(ProfilePlan, LimitsTheRowsOfTrees) {
  std::string path = testing::TempDir() + "/rows.json";
  std::ofstream(path) << "[[0], [1], [2], [0, 0], [2, 0], [2, 1], [2, 2]]";
  profile::Profile profile = profileOf(2e-4);
  profile.load.slots = {0, 0, 100};
  ProfileRequest request;
  request.limitsRows = true;
  request.tree = path;
  // The nodes below the third rank do not pay, in the order of the tree's rows.
  Result<ProfileDecision> decision = decide(profile, request);
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->maxRows, 4 * 5);
  // The sizes of a dynamic tree come from the best tree, all of whose rows pay.
  request.tree = "dynamic";
  decision = decide(profile, request);
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->maxRows, 0);
  EXPECT_TRUE(has(decision->text, "no limit pays"));
  request.tree = "dynamic:2,3,8";
  EXPECT_EQ(std::string(decide(profile, request).status().message()),
            "--max-verify-tokens: expected a number with "
            "--draft-tree=dynamic:2,3,8, whose nodes are unknown, got profile");
}

TEST(ProfilePlan, ChoosesTheDraftsOfABlock) {
  profile::Profile profile = profileOf(1e-4);
  profile.model.drafter = "dflash:chain";
  profile.nodes = {};
  Result<ProfileDecision> decision = decide(profile, {});
  ASSERT_TRUE(decision) << decision.status().message();
  EXPECT_EQ(decision->maxK, 2);
  EXPECT_TRUE(decision->model.choosesK);
  EXPECT_TRUE(has(decision->text, "best block: k = 2, ")) << decision->text;
  EXPECT_TRUE(has(decision->text, "chosen: chain, -k 2: ")) << decision->text;
  ProfileRequest request;
  request.maxK = 1;
  EXPECT_FALSE(decide(profile, request)->model.choosesK);
}

/// A profile of a chain that is sure of half of its drafts. They are accepted,
/// and the others are not.
profile::Profile chainProfileOf(double row) {
  profile::Profile profile = profileOf(row);
  profile.model.drafter = "mtp:confidence";
  profile.nodes.counts.clear();
  profile.confidence.tried[2] = profile.confidence.tried[15] = 1000;
  profile.confidence.accepted[15] = 1000;
  return profile;
}

TEST(ProfilePlan, ChoosesTheConfidenceThatPays) {
  ProfileRequest request;
  request.tree = "chain";
  request.choosesConfidence = true;
  Result<ProfileDecision> dear = decide(chainProfileOf(2e-3), request);
  ASSERT_TRUE(dear) << dear.status().message();
  EXPECT_EQ(dear->confidence, 3.0 / 16);
  EXPECT_EQ(dear->maxK, 2);
  EXPECT_TRUE(has(dear->text, "a threshold pays: 0.1875 with k = 2, "))
      << dear->text;
  EXPECT_TRUE(has(dear->text, "chosen: --confidence 0.1875")) << dear->text;
  request.maxK = 1;
  EXPECT_EQ(decide(chainProfileOf(2e-3), request)->maxK, 1);
  request.maxK = 20;
  EXPECT_EQ(decide(chainProfileOf(2e-3), request)->maxK, 20);
  request.maxK = 1;
  request.choosesConfidence = false;
  EXPECT_EQ(decide(chainProfileOf(2e-3), request)->confidence, std::nullopt);
}

TEST(ProfilePlan, ChoosesNoConfidenceThatDoesNotPay) {
  ProfileRequest request;
  request.tree = "chain";
  request.choosesConfidence = true;
  profile::Profile profile = chainProfileOf(0);
  for (profile::Cost &cost : profile.machines[0].costs)
    cost.lower = cost.median = cost.upper = 5e-3;
  Result<ProfileDecision> cheap = decide(profile, request);
  ASSERT_TRUE(cheap) << cheap.status().message();
  EXPECT_EQ(cheap->confidence, std::nullopt);
  EXPECT_TRUE(has(cheap->text, "chosen: no --confidence")) << cheap->text;
  profile.confidence = {};
  EXPECT_TRUE(has(std::string(decide(profile, request).status().message()),
                  "plan.profile: confidence_tried: expected at least 100 "
                  "drafts of 'mtp:confidence', got 0"));
}

TEST(ProfilePlan, NamesWhatIsMissing) {
  profile::Profile profile = profileOf(1e-4);
  profile.nodes.counts.clear();
  Result<ProfileDecision> decision = decide(profile, {});
  ASSERT_FALSE(decision);
  EXPECT_TRUE(has(std::string(decision.status().message()),
                  "plan.profile: nodes.tried: expected at least 20 of a node "
                  "of 'mtp:tree:40', got 0; import a dynamic tree"))
      << decision.status().message();
  profile = profileOf(1e-4);
  profile.machines.clear();
  EXPECT_TRUE(has(std::string(decide(profile, {}).status().message()),
                  "machines: expected the costs of a machine, got none"));
}

} // namespace
