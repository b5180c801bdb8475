//===- token_masks_test.cpp - Masks and drafts of constrained texts -------===//

#include "runtime/exec/launch/TokenMasks.h"
#include "runtime/schema/LogitRules.h"
#include "support/FakeModel.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Allows the tokens of each place by its text. A text without an entry is the
/// end: it allows token 63.
class TableMatcher : public ConstraintMatcher {
public:
  using Table = std::map<std::vector<int32_t>, std::set<int32_t>>;

  /// There is no mask after this token.
  static constexpr int32_t kTooLarge = 50;

  TableMatcher(const Table &table, std::vector<int32_t> run)
      : table(table), run(std::move(run)) {}

  Status accept(int32_t token) override {
    EXPECT_TRUE(allowed().contains(token)) << token;
    text.push_back(token);
    return okStatus();
  }
  Status mask(std::span<uint32_t> words) override {
    if (!text.empty() && text.back() == kTooLarge)
      return resourceExhausted("expected a smaller state");
    std::ranges::fill(words, 0);
    for (int32_t token : allowed())
      words[size_t(token) / 32] |= 1u << token % 32;
    return okStatus();
  }
  std::unique_ptr<ConstraintMatcher> fork() const override {
    return std::make_unique<TableMatcher>(*this);
  }
  /// Proposes `run` after the empty text.
  std::vector<int32_t> forced(size_t most) override {
    std::vector<int32_t> tokens = text.empty() ? run : std::vector<int32_t>();
    tokens.resize(std::min(tokens.size(), most));
    return tokens;
  }

private:
  std::set<int32_t> allowed() const {
    auto found = table.find(text);
    return found == table.end() ? std::set<int32_t>{63} : found->second;
  }

  const Table &table;
  std::vector<int32_t> run, text;
};

/// Keeps what is written to states.
class StateMemory : public Executable {
public:
  Status run(uint32_t, uint32_t) override { return okStatus(); }
  Status startRounds(uint32_t, uint32_t) override { return okStatus(); }
  Result<Progress> awaitRounds(uint32_t) override { return Progress(); }
  void stopRounds() override {}
  Status runTimed(uint32_t, uint32_t, CommandTimes &) override {
    return okStatus();
  }
  Status write(const Binding &to, const void *source, uint64_t bytes) override {
    std::vector<uint32_t> &words = states[to.index];
    words.resize(std::max<size_t>(words.size(), (to.offset + bytes) / 4));
    std::memcpy(words.data() + to.offset / 4, source, bytes);
    return okStatus();
  }
  Status read(const Binding &, void *, uint64_t) override { return okStatus(); }
  Status writePage(uint32_t, uint32_t, uint32_t, const void *) override {
    return okStatus();
  }
  Status readPage(uint32_t, uint32_t, uint32_t, uint32_t, void *) override {
    return okStatus();
  }
  uint64_t memoryBytes() const override { return 0; }
  uint64_t hostBytes() const override { return 0; }

  std::map<uint32_t, std::vector<uint32_t>> states;
};

class Masks : public testing::Test {
protected:
  void SetUp() override { makeModel(/*hasLimit=*/true); }

  /// Only rounds of the rule `exact` have a limit on drafts.
  void makeModel(bool hasLimit) {
    FakeOptions fake;
    fake.maxK = 3;
    ArtifactBuilder builder = makeFakeModel(fake);
    uint64_t slots = builder.envelope.maxBatch, vocab = builder.envelope.vocab;
    ASSERT_EQ(vocab, 64u);
    ASSERT_EQ(builder.envelope.maxK, 3u);
    ArtifactBuilder::Upkeep slot;
    builder.addState("logit_rules", {slots, kRuleWords}, schema::DType::I32,
                     slot);
    builder.addState("logit_masks", {slots, 4, maskWords(vocab)},
                     schema::DType::I32, slot);
    builder.addState("host_drafts", {slots, 4}, schema::DType::I32, slot);
    if (hasLimit)
      builder.addState("draft_limit", {slots}, schema::DType::I32, slot);
    bytes = std::make_unique<AlignedBytes>(builder.finish());
    auto opened = ArtifactFile::fromMemory(bytes->span());
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    file = std::move(*opened);
    masks = std::make_unique<TokenMasks>(file->artifact(), memory);
    ASSERT_TRUE(masks->replaceDrafts());
  }

  /// Returns the drafts that are verified for a slot whose window has `count`
  /// nodes. Keeps the masks of the window.
  std::vector<int32_t> verified(std::vector<int32_t> drafts,
                                std::vector<int32_t> run = {},
                                std::vector<int32_t> parents = {},
                                size_t count = 4) {
    TableMatcher matcher(table, std::move(run));
    SeenDrafts seen{std::move(drafts), std::move(parents)};
    EXPECT_TRUE(masks->makePaths(matcher, count, seen).isOk());
    EXPECT_TRUE(masks->store(/*slot=*/1).isOk());
    EXPECT_TRUE(masks->storeDrafts(/*slot=*/1, seen).isOk());
    const Artifact &artifact = file->artifact();
    const std::vector<uint32_t> &words =
        memory.states[*artifact.findState("logit_masks")];
    const std::vector<uint32_t> &stored =
        memory.states[*artifact.findState("host_drafts")];
    EXPECT_EQ(stored.size(), 8u);
    for (size_t i = 0; i < seen.tokens.size(); ++i)
      EXPECT_EQ(int32_t(stored[5 + i]), seen.tokens[i]);
    allowed.clear();
    for (size_t at = 8; at + 1 < words.size(); at += 2) {
      allowed.emplace_back();
      for (int32_t token = 0; token < 64; ++token)
        if (words[at + size_t(token) / 32] >> token % 32 & 1)
          allowed.back().insert(token);
    }
    return seen.tokens;
  }

  using Tokens = std::vector<int32_t>;
  TableMatcher::Table table;
  std::unique_ptr<AlignedBytes> bytes;
  std::shared_ptr<const ArtifactFile> file;
  StateMemory memory;
  std::unique_ptr<TokenMasks> masks;
  /// By node, the tokens of its mask.
  std::vector<std::set<int32_t>> allowed;
};

} // namespace

TEST_F(Masks, FollowAllowedDrafts) {
  table = {{{}, {1, 2}}, {{1}, {3, 40}}, {{1, 40}, {5, 6}}};
  EXPECT_EQ(verified({1, 40, 5}), (Tokens{1, 40, 5}));
  ASSERT_EQ(allowed.size(), 4u);
  EXPECT_EQ(allowed[0], (std::set<int32_t>{1, 2}));
  EXPECT_EQ(allowed[1], (std::set<int32_t>{3, 40}));
  EXPECT_EQ(allowed[2], (std::set<int32_t>{5, 6}));
  EXPECT_EQ(allowed[3], (std::set<int32_t>{63}));
}

TEST_F(Masks, CutDraftsFromAForbiddenOne) {
  table = {{{}, {1, 2}}, {{1}, {3, 4}}, {{1, 3}, {5, 6}}};
  EXPECT_EQ(verified({1, 9, 5}), (Tokens{1, -1, -1}));
  EXPECT_EQ(allowed[1], (std::set<int32_t>{3, 4}));
  EXPECT_EQ(verified({9, 3, 5}), (Tokens{-1, -1, -1}));
  EXPECT_EQ(verified({1, -1, -1}), (Tokens{1, -1, -1}));
}

TEST_F(Masks, DropDraftsThatHaveNoMask) {
  const int32_t large = TableMatcher::kTooLarge;
  table = {{{}, {1, large}}, {{1}, {3, large}}};
  EXPECT_EQ(verified({1, large, 5}), (Tokens{1, -1, -1}));
  EXPECT_EQ(verified({large, 3, 5}), (Tokens{-1, -1, -1}));
  EXPECT_EQ(allowed[1], allowed[0]);
}

TEST_F(Masks, KeepDraftsThatMayBeDrawn) {
  makeModel(/*hasLimit=*/false);
  table = {{{}, {1, 2}}, {{1}, {3, 4}}, {{1, 3}, {5}}};
  EXPECT_EQ(verified({1, 9, 5}), (Tokens{1, 9, -1}));
  EXPECT_EQ(verified({9, 3, 5}), (Tokens{9, -1, -1}));
  // Only a token without an alternative replaces a draft.
  EXPECT_EQ(verified({2, 9, 9}, {1, 3, 5}), (Tokens{2, 63, 63}));
  EXPECT_EQ(verified({1, 3, 9}), (Tokens{1, 3, 5}));
  // A chain that was drawn is not cut where a mask fails.
  table = {{{}, {1, TableMatcher::kTooLarge}}};
  TableMatcher matcher(table, {});
  SeenDrafts seen{{TableMatcher::kTooLarge, 1, 1}, {}};
  EXPECT_EQ(masks->makePaths(matcher, 4, seen).code(),
            StatusCode::ResourceExhausted);
}

TEST_F(Masks, ProposeTheOnlyToken) {
  table = {{{}, {1}}, {{1}, {3, 4}}, {{1, 3}, {5}}, {{1, 4}, {6}}};
  // The drafter's token is another one: its later drafts do not count.
  EXPECT_EQ(verified({2, 3, 5}), (Tokens{1, -1, -1}));
  // After drafts of the drafter, the only token replaces a draft.
  EXPECT_EQ(verified({1, 4, 9}), (Tokens{1, 4, 6}));
  EXPECT_EQ(verified({1, 4, -1}), (Tokens{1, 4, 6}));
  // The end is a token, too.
  table = {{{}, {1, 2}}};
  EXPECT_EQ(verified({1, 7, 7}), (Tokens{1, 63, 63}));
}

TEST_F(Masks, ProposeForcedText) {
  table = {{{}, {1, 2}}, {{1}, {3, 4}}, {{1, 3}, {5, 6}}};
  EXPECT_EQ(verified({2, 9, 9}, {1, 3, 5}), (Tokens{1, 3, 5}));
  EXPECT_EQ(verified({1, 3, 6}, {1, 3}), (Tokens{1, 3, 6}));
  EXPECT_EQ(verified({1, 4, 6}, {1, 3}), (Tokens{1, 3, -1}));
  // A proposal that is not allowed is none.
  EXPECT_EQ(verified({2, -1, -1}, {9}), (Tokens{2, 63, 63}));
  // A slot with fewer drafts than its round.
  EXPECT_EQ(verified({2, 9, 9}, {1, 3, 5}, {}, 2), (Tokens{1, -1, -1}));
  EXPECT_EQ(verified({2, 9, 9}, {1, 3, 5}, {}, 1), (Tokens{-1, -1, -1}));
}

TEST_F(Masks, FollowTrees) {
  table = {{{}, {1, 2}}, {{1}, {3, 4}}, {{2}, {5, 6}}};
  // Two children of the root, and a child of the second one.
  EXPECT_EQ(verified({1, 2, 5}, {}, {0, 0, 0, 2}), (Tokens{1, 2, 5}));
  EXPECT_EQ(allowed[1], (std::set<int32_t>{3, 4}));
  EXPECT_EQ(allowed[2], (std::set<int32_t>{5, 6}));
  // A child of a forbidden draft is not verified; other branches are.
  EXPECT_EQ(verified({1, 9, 5}, {}, {0, 0, 0, 2}), (Tokens{1, -1, -1}));
  // The longest path proposes forced text, the other keeps its draft.
  EXPECT_EQ(verified({1, 9, 9}, {2, 6}, {0, 0, 0, 2}), (Tokens{1, 2, 6}));
}
