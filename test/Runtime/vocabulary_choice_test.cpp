//===- vocabulary_choice_test.cpp - Draft vocabularies from profiles ------===//

#include "runtime/profile/ProfileFile.h"
#include "runtime/profile/VocabularyChoice.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::profile;

namespace {

/// A plain step takes 1 ms, and a draft `draft` more.
MachineCosts machineOf(double draft) {
  MachineCosts machine;
  machine.name = "a processor";
  for (uint32_t batch : {1, 2})
    for (uint32_t k = 0; k <= 2; ++k) {
      Cost cost;
      cost.batch = batch;
      cost.k = k;
      cost.rows = batch * (k + 1);
      cost.median = 1e-3 + draft * k;
      cost.lower = cost.upper = cost.median;
      cost.count = 30;
      machine.costs.push_back(cost);
    }
  return machine;
}

/// A drafter whose head is 0.8 of its bytes. 64 tokens are 0.85 of the accepted
/// drafts, 64 further tokens 0.1, and the others have no counts.
Profile wordProfile() {
  Profile profile;
  profile.model.drafter = "mtp";
  profile.head = {1024, 0.8};
  profile.outcomes.push_back({false, 5, {10'000, 8000}, {8000, 4800}});
  for (uint32_t token = 0; token < 128; ++token)
    profile.tokens.counts[7 * token] = {500, 300, token % 2 ? 170u : 20u};
  return profile;
}

TEST(VocabularyChoice, WeighsLostDraftsAgainstTheHead) {
  Result<VocabularyChoice> choice =
      chooseVocabulary(wordProfile(), machineOf(5e-4));
  ASSERT_TRUE(choice) << choice.status().message();
  EXPECT_EQ(choice->vocab, 1024u);
  EXPECT_EQ(choice->counted, 128u);
  EXPECT_EQ(choice->tokens.size(), 128u);
  EXPECT_NEAR(choice->covered, (64 * 170 + 64 * 20) / 12'800.0, 1e-9);
  EXPECT_TRUE(std::ranges::is_sorted(choice->tokens));
  // One draft is the best with the whole vocabulary. Two are with an eighth of
  // it, which takes 0.3 of their time.
  double whole = (1 + 0.8) / 1.5;
  double kept = choice->covered;
  double part = (1 + 0.8 * kept + 0.48 * kept * kept) /
                (1 + (1 - 0.8 * (1 - 128.0 / 1024)));
  EXPECT_NEAR(choice->gain, part / whole, 1e-4);
  EXPECT_NE(vocabularyText(*choice).find(
                "draft vocabulary: 128 of 1024 tokens, 0.95 of the accepted "
                "drafts, 1."),
            std::string::npos);
}

// A tree drafts two tokens after the anchor and one below the first. A kept
// draft needs kept drafts above it.
TEST(VocabularyChoice, CountsTheNodesOfATree) {
  for (const char *drafter : {"mtp:tree:4", "mtp:dynamic:2,2,4"}) {
    Profile profile = wordProfile();
    profile.model.drafter = drafter;
    // Nodes count, in place of positions.
    profile.outcomes[0].tried = {10'000, 8000};
    profile.outcomes[0].accepted = {8000, 4800};
    profile.nodes.counts = {
        {{0}, {5000, 2500}}, {{1}, {5000, 1000}}, {{0, 0}, {2500, 2000}}};
    MachineCosts machine = machineOf(5e-4);
    for (Cost &cost : machine.costs) {
      cost.rows = cost.batch * (cost.k == 0 ? 1 : cost.k + 2);
      cost.lower += 1e-4 * (cost.rows - 1);
    }
    Result<VocabularyChoice> choice = chooseVocabulary(profile, machine);
    ASSERT_TRUE(choice) << choice.status().message();
    EXPECT_EQ(choice->tokens.size(), 128u) << drafter;
    double kept = choice->covered, saved = 0.8 * (1 - 128.0 / 1024);
    auto gain = [&](double kept, double saved) {
      double one = (1 + 0.7 * kept) / (1.2 + 0.5 * (1 - saved));
      double two = (1 + 0.7 * kept + 0.4 * kept * kept) / (1.3 + (1 - saved));
      return std::max({1.0, one, two});
    };
    EXPECT_NEAR(choice->gain, gain(kept, saved) / gain(1, 0), 1e-3) << drafter;
  }
}

// Outcomes that were halved say less than the counts of tokens.
TEST(VocabularyChoice, CoversNoMoreThanTheCountsOfTokens) {
  Profile profile = wordProfile();
  for (uint64_t &count : profile.outcomes[0].tried)
    count /= 16;
  for (uint64_t &count : profile.outcomes[0].accepted)
    count /= 16;
  for (uint32_t token = 0; token < 50; ++token)
    profile.tokens.counts[7 * token + 1] = {40, 0, 0};
  Result<VocabularyChoice> choice = chooseVocabulary(profile, machineOf(5e-4));
  ASSERT_TRUE(choice) << choice.status().message();
  EXPECT_EQ(choice->counted, 128u);
  EXPECT_EQ(choice->tokens.size(), 128u);
  double kept = 64 * 170 + 64 * 20;
  EXPECT_NEAR(choice->covered, kept / (kept + 50 * 19), 1e-9);
}

TEST(VocabularyChoice, KeepsTheVocabularyIfDraftsAreCheap) {
  Profile profile = wordProfile();
  Result<VocabularyChoice> choice = chooseVocabulary(profile, machineOf(1e-6));
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->tokens.empty());
  EXPECT_EQ(choice->gain, 1);
  EXPECT_EQ(vocabularyText(*choice),
            "draft vocabulary: all 1024 tokens; no part of the 128 tokens with "
            "counts pays\n");
}

TEST(VocabularyChoice, ErrorsTellWhatIsMissing) {
  auto message = [](auto change, MachineCosts machine = machineOf(1e-4)) {
    Profile profile = wordProfile();
    change(profile);
    return std::string(chooseVocabulary(profile, machine).status().message());
  };
  EXPECT_EQ(message([](Profile &of) { of.head = {}; }),
            "head: expected a drafter whose head reads the whole vocabulary, "
            "got none; measure such an artifact with mtp-tune");
  EXPECT_EQ(message([](Profile &of) { of.tokens = {}; }),
            "tokens: expected tokens that were accepted at least 20 times, got "
            "none; measure longer texts");
  EXPECT_EQ(message([](Profile &of) { of.outcomes[0].tried = {19, 8}; }),
            "outcomes.tried: expected at least 20 of draft 1, got 19; measure "
            "a model that drafts with mtp-tune");
  EXPECT_NE(message([](Profile &of) { of.model.drafter = "mtp:tree:9"; })
                .find("nodes.tried: expected at least 20 of a node of "
                      "'mtp:tree:9', got 0"),
            std::string::npos);
  EXPECT_NE(message([](Profile &) {}, {}).find("machines.costs: expected"),
            std::string::npos);
}

TEST(VocabularyChoice, TheFileHasTheHead) {
  Profile profile = wordProfile();
  Result<Profile> read = readProfile(writeProfile(profile));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->head.vocab, 1024u);
  EXPECT_EQ(read->head.share, 0.8);
  profile.head.share = 1.5;
  EXPECT_EQ(readProfile(writeProfile(profile)).status().message(),
            "head_share: expected 0 to 1, got 1.5");
  Profile other;
  merge(other, wordProfile());
  EXPECT_EQ(other.head.vocab, 1024u);
}

} // namespace
