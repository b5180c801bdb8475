//===- kv_cache_test.cpp - Unit tests of the page manager -----------------===//

#include "runtime/exec/memory/KvCacheManager.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace mtp;

namespace {

KvConfig config(uint32_t pages, uint32_t lookahead = 1) {
  KvConfig c;
  c.pages = pages;
  c.pageTokens = 4;
  c.slots = 4;
  c.tableWidth = 12;
  c.lookahead = lookahead;
  return c;
}

/// Returns the same hash for every page.
Hash128 constantHash(Hash128, std::span<const int32_t>) { return {1, 2}; }

std::vector<int32_t> tokens(uint32_t count, int32_t first = 0) {
  std::vector<int32_t> list;
  for (uint32_t i = 0; i < count; ++i)
    list.push_back(first + int32_t(i));
  return list;
}

} // namespace

TEST(KvCache, StartsWithAllPagesButTheDummyFree) {
  KvCacheManager kv(config(9));
  EXPECT_EQ(kv.freePages(), 8u);
  EXPECT_EQ(kv.usablePages(), 8u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, BeginGrowAndReleaseKeepTheTable) {
  KvCacheManager kv(config(9));
  EXPECT_EQ(kv.begin(1, tokens(5), 6), 0);
  EXPECT_EQ(kv.heldPages(), 2u);
  EXPECT_TRUE(kv.grow(1, 9));
  EXPECT_EQ(kv.heldPages(), 3u);
  for (uint32_t i = 0; i < 12; ++i)
    EXPECT_EQ(kv.table(1)[i] != 0, i < 3);
  kv.release(1);
  EXPECT_EQ(kv.freePages(), 8u);
  EXPECT_EQ(kv.table(1)[0], 0);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, ShortPagesChangeNothing) {
  KvCacheManager kv(config(4));
  ASSERT_EQ(kv.begin(0, tokens(5), 8), 0);
  EXPECT_FALSE(kv.grow(0, 17));
  EXPECT_EQ(kv.heldPages(), 2u);
  EXPECT_EQ(kv.begin(1, tokens(5, 9), 8), -1);
  EXPECT_EQ(kv.heldPages(), 2u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

// Padding slots take free pages only. The cache leaves some free for them.
TEST(KvCache, LeavesSparePagesForPadding) {
  KvConfig c = config(9);
  c.spare = 2;
  KvCacheManager kv(c);
  auto fill = [&](int32_t first) {
    std::vector<int32_t> text = tokens(9, first);
    ASSERT_GE(kv.begin(0, text, 8), 0);
    kv.commit(0, 8);
    kv.publish(0, text);
    EXPECT_TRUE(kv.checkInvariant().isOk());
    kv.release(0);
    EXPECT_TRUE(kv.checkInvariant().isOk());
  };
  // Two pages of each text are published: one token follows each.
  for (int32_t text = 0; text < 5; ++text)
    fill(text * 100);
  EXPECT_EQ(kv.cachedPages(), 6u);
  EXPECT_EQ(kv.freePages(), 2u);
  ASSERT_TRUE(kv.grow(2, 8, /*isPadding=*/true));
  EXPECT_EQ(kv.cachedPages(), 6u);
  EXPECT_FALSE(kv.grow(3, 1, /*isPadding=*/true));
  EXPECT_EQ(kv.cachedPages(), 6u);
  // Pages that become cached beside padding slots evict none: the padding
  // slots' pages are spare pages.
  EXPECT_EQ(kv.begin(1, tokens(12, 400), 8), 8);
  kv.release(1);
  EXPECT_EQ(kv.cachedPages(), 6u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
  kv.release(2);
  EXPECT_EQ(kv.freePages(), 2u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

// A sequence takes spare pages if no page is cached, and the cache gives them
// back later.
TEST(KvCache, GivesSparePagesToSequences) {
  KvConfig c = config(9);
  c.spare = 3;
  KvCacheManager kv(c);
  std::vector<int32_t> text = tokens(33);
  ASSERT_EQ(kv.begin(0, text, 32), 0);
  EXPECT_EQ(kv.freePages(), 0u);
  EXPECT_FALSE(kv.grow(2, 1, /*isPadding=*/true));
  kv.commit(0, 32);
  kv.publish(0, text);
  kv.release(0);
  EXPECT_EQ(kv.cachedPages(), 5u);
  EXPECT_EQ(kv.freePages(), 3u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
  // The pages at the end of the text are given up first.
  EXPECT_EQ(kv.begin(1, text, 32), 20);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, ShrinkGivesUpWhatIsBehind) {
  KvCacheManager kv(config(9));
  ASSERT_EQ(kv.begin(1, tokens(5), 6), 0);
  ASSERT_TRUE(kv.grow(1, 20));
  EXPECT_EQ(kv.capacity(1), 20u);
  kv.shrink(1, 9);
  EXPECT_EQ(kv.capacity(1), 12u);
  EXPECT_EQ(kv.heldPages(), 3u);
  for (uint32_t i = 0; i < 12; ++i)
    EXPECT_EQ(kv.table(1)[i] != 0, i < 3);
  kv.shrink(1, 12);
  EXPECT_EQ(kv.heldPages(), 3u) << "nothing is behind";
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, NeverGrowsPastTheTable) {
  KvCacheManager kv(config(40));
  ASSERT_EQ(kv.begin(0, tokens(5), 8), 0);
  EXPECT_TRUE(kv.grow(0, 48));
  EXPECT_FALSE(kv.grow(0, 49));
}

TEST(KvCache, SharesPublishedPagesAndNeverTheLast) {
  KvCacheManager kv(config(12));
  std::vector<int32_t> prompt = tokens(8);
  ASSERT_EQ(kv.begin(0, prompt, 10), 0);
  kv.commit(0, 8);
  kv.publish(0, prompt);
  // With one module, the page that ends at 8 would need token 8.
  EXPECT_EQ(kv.begin(1, prompt, 10), 4);
  EXPECT_EQ(kv.table(0)[0], kv.table(1)[0]);
  EXPECT_NE(kv.table(0)[1], kv.table(1)[1]);
  EXPECT_TRUE(kv.checkInvariant().isOk());
  kv.release(0);
  kv.release(1);
  EXPECT_EQ(kv.cachedPages(), 1u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

// Prefixes may end only after certain pages. A page that cannot end a prefix
// hides the pages after it from sequences that cannot begin there, and is
// replaced.
TEST(KvCache, PagesThatEndNoPrefixGiveWayToNewOnes) {
  std::set<uint32_t> ends, forgotten;
  std::vector<std::pair<uint32_t, uint32_t>> moved;
  uint32_t third = 0;
  KvConfig c = config(24);
  c.tableWidth = 8;
  c.mayEnd = [&](const Prefix &prefix) {
    EXPECT_EQ(prefix.end % 4, 0u);
    return ends.contains(prefix.page);
  };
  c.onMove = [&](uint32_t from, uint32_t to) { moved.emplace_back(from, to); };
  c.onForget = [&](uint32_t page) {
    ends.erase(page);
    forgotten.insert(page);
  };
  KvCacheManager kv(c);
  auto turn = [&](uint32_t count, uint32_t endsAt) {
    int64_t reused = kv.begin(0, tokens(count), count);
    kv.commit(0, count);
    ends.insert(uint32_t(kv.table(0)[endsAt - 1]));
    kv.publish(0, tokens(count));
    EXPECT_TRUE(kv.checkInvariant().isOk());
    third = uint32_t(kv.table(0)[2]);
    kv.release(0);
    EXPECT_TRUE(kv.checkInvariant().isOk());
    return reused;
  };
  // 13 tokens publish three pages, and a prefix may end after the second.
  EXPECT_EQ(turn(13, 2), 0);
  EXPECT_EQ(kv.cachedPages(), 3u);
  // The third page is made again, and the page after it can be found.
  uint32_t hides = third;
  EXPECT_FALSE(forgotten.contains(hides));
  EXPECT_EQ(turn(21, 4), 8);
  EXPECT_EQ(kv.cachedPages(), 5u);
  EXPECT_NE(third, hides);
  EXPECT_TRUE(forgotten.contains(hides));
  EXPECT_EQ(moved,
            (std::vector<std::pair<uint32_t, uint32_t>>{{hides, third}}));
  EXPECT_EQ(turn(21, 4), 16);
  // A page that is in use stays.
  ASSERT_EQ(kv.begin(1, tokens(25), 25), 16);
  kv.commit(1, 25);
  kv.publish(1, tokens(25));
  ASSERT_EQ(kv.begin(2, tokens(29), 29), 16);
  kv.commit(2, 29);
  kv.publish(2, tokens(29));
  EXPECT_TRUE(kv.checkInvariant().isOk());
  kv.release(1);
  kv.release(2);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

// A rule for where prefixes may end sees the provenance of their pages.
TEST(KvCache, PrefixesNameTheMakersOfTheirPages) {
  KvConfig c = config(20, /*lookahead=*/0);
  std::vector<PageProvenance> seen;
  c.mayEnd = [&](const Prefix &prefix) {
    seen.assign(prefix.key.pages.begin(), prefix.key.pages.end());
    return true;
  };
  KvCacheManager kv(c);
  const std::vector<PageProvenance> byLibrary(2, PageProvenance::Library);
  ASSERT_EQ(kv.begin(0, tokens(13), 13, {byLibrary}), 0);
  kv.commit(0, 13);
  kv.publish(0, tokens(13));
  EXPECT_EQ(kv.begin(1, tokens(13), 13), 12);
  EXPECT_EQ(seen, (std::vector<PageProvenance>{PageProvenance::Library,
                                               PageProvenance::Library,
                                               PageProvenance::Plan}));
}

// Pages after a forgotten one go, too: they would keep equal pages out.
TEST(KvCache, ForgetsWhatFollows) {
  KvCacheManager kv(config(24));
  std::vector<int32_t> all = tokens(21);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(kv.begin(0, all, 21), 0);
    kv.commit(0, 21);
    kv.publish(0, all);
    kv.release(0);
    EXPECT_EQ(kv.cachedPages(), 5u);
    EXPECT_EQ(kv.forget(tokens(9), {}), 2u);
    EXPECT_EQ(kv.cachedPages(), 0u);
    EXPECT_TRUE(kv.checkInvariant().isOk());
  }
}

// A sequence that continues from a snapshot says so, and its pages are found by
// their provenance.
TEST(KvCache, PagesMayBeFilledByOthersMeans) {
  KvCacheManager kv(config(24));
  std::vector<int32_t> all = tokens(21);
  PageKey plan;
  ASSERT_EQ(kv.begin(0, tokens(9), 9), 0);
  kv.commit(0, 9);
  kv.publish(0, tokens(9));
  uint32_t second = uint32_t(kv.table(0)[1]);
  EXPECT_TRUE(kv.isActive(second));
  kv.release(0);
  EXPECT_TRUE(kv.isActive(second));
  EXPECT_EQ(kv.find(all, 8, plan), second);
  EXPECT_EQ(kv.find(tokens(8), 8, plan), 0u) << "the lookahead is missing";
  EXPECT_EQ(kv.find(all, 12, plan), 0u);
  EXPECT_EQ(kv.find(all, 0, plan), 0u);
  ASSERT_EQ(kv.begin(1, all, 21), 8);
  const PageProvenance makers[] = {PageProvenance::Library,
                                   PageProvenance::Plan};
  kv.fill(1, 15, makers);
  EXPECT_TRUE(kv.checkInvariant().isOk());
  kv.commit(1, 21);
  kv.publish(1, all);
  uint32_t third = uint32_t(kv.table(1)[2]), fourth = uint32_t(kv.table(1)[3]);
  const PageProvenance made[] = {PageProvenance::Plan, PageProvenance::Plan,
                                 PageProvenance::Library, PageProvenance::Plan};
  EXPECT_EQ(kv.find(all, 12, {made, true, {}, {}}), third);
  EXPECT_EQ(kv.find(all, 16, {made, true, {}, {}}), fourth);
  EXPECT_EQ(kv.find(all, 12, {{}, true, {}, {}}), 0u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
  kv.release(1);
  EXPECT_FALSE(kv.isActive(uint32_t(kv.table(1)[5])));
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, AHitThatDoesNotFitIsUndone) {
  KvCacheManager kv(config(6));
  std::vector<int32_t> prompt = tokens(9);
  ASSERT_EQ(kv.begin(0, prompt, 9), 0);
  kv.commit(0, 9);
  kv.publish(0, prompt);
  kv.release(0);
  EXPECT_EQ(kv.cachedPages(), 2u);
  EXPECT_EQ(kv.begin(0, prompt, 24), -1);
  EXPECT_EQ(kv.cachedPages(), 2u);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, EqualHashesOfDifferentTokensAreNoHit) {
  KvConfig c = config(12);
  c.hash = constantHash;
  KvCacheManager kv(c);
  ASSERT_EQ(kv.begin(0, tokens(9), 9), 0);
  kv.commit(0, 9);
  kv.publish(0, tokens(9));
  EXPECT_EQ(kv.begin(2, tokens(9), 9), 4);
  ASSERT_EQ(kv.begin(1, tokens(9, 1), 9), 0);
  kv.commit(1, 9);
  kv.publish(1, tokens(9, 1));
  EXPECT_EQ(kv.begin(3, tokens(9, 1), 9), 0);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, EqualHashesOfDifferentSaltsAreNoHit) {
  KvConfig c = config(12);
  c.hash = constantHash;
  KvCacheManager kv(c);
  const std::vector<int32_t> salt = {1, 7}, other = {1, 8};
  ASSERT_EQ(kv.begin(0, tokens(9), 9, {{}, false, {}, salt}), 0);
  kv.commit(0, 9);
  kv.publish(0, tokens(9));
  EXPECT_EQ(kv.begin(1, tokens(9), 9, {{}, false, {}, other}), 0);
  EXPECT_EQ(kv.begin(2, tokens(9), 9), 0);
  EXPECT_EQ(kv.begin(3, tokens(9), 9, {{}, false, {}, salt}), 4);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, InvariantHoldsUnderRandomUse) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    KvConfig c = config(5 + random() % 30, random() % 4);
    c.prefixCache = seed % 5 != 0;
    if (seed % 7 == 0)
      c.hash = constantHash;
    c.spare = seed % 4;
    KvCacheManager kv(c);
    std::vector<uint64_t> length(c.slots, 0);
    for (int step = 0; step < 600; ++step) {
      uint32_t slot = random() % c.slots;
      if (slot + 1 == c.slots && c.spare > 0) {
        // A padding slot.
        uint32_t cached = kv.cachedPages();
        if (kv.capacity(slot) > 0)
          kv.release(slot);
        else
          kv.grow(slot, 1 + random() % 12, /*isPadding=*/true);
        ASSERT_EQ(kv.cachedPages(), cached) << "seed " << seed;
      } else if (length[slot] == 0) {
        std::vector<int32_t> prompt = tokens(1 + random() % 24, random() % 3);
        int64_t reused = kv.begin(slot, prompt, prompt.size() + 3);
        // Whole pages, with at least one row left for prefill.
        ASSERT_TRUE(reused == -1 || reused % c.pageTokens == 0);
        ASSERT_LT(reused, int64_t(prompt.size()));
        if (reused >= 0) {
          length[slot] = prompt.size();
          kv.commit(slot, length[slot]);
          if (random() % 4)
            kv.publish(slot, prompt);
        }
      } else if (random() % 3 && kv.grow(slot, length[slot] + 5)) {
        length[slot] += 1 + random() % 3;
        kv.commit(slot, length[slot]);
      } else {
        kv.release(slot);
        length[slot] = 0;
      }
      Status status = kv.checkInvariant();
      ASSERT_TRUE(status.isOk()) << status.toString() << " seed " << seed;
    }
    for (uint32_t slot = 0; slot < c.slots; ++slot)
      kv.release(slot);
    EXPECT_EQ(kv.heldPages(), 0u);
    EXPECT_EQ(kv.availablePages(), kv.usablePages());
  }
}

//===----------------------------------------------------------------------===//
// Provenance
//===----------------------------------------------------------------------===//

TEST(KvCache, TakesPagesOfTheMakerThatItWantsFirst) {
  KvCacheManager kv(config(20, /*lookahead=*/0));
  std::vector<int32_t> prompt = tokens(13);
  const std::vector<PageProvenance> byLibrary(3, PageProvenance::Library);
  // The same tokens, computed in two ways: both pages are kept.
  ASSERT_EQ(kv.begin(0, prompt, 13, {byLibrary}), 0);
  ASSERT_EQ(kv.begin(1, prompt, 13), 0);
  for (uint32_t slot : {0, 1}) {
    kv.commit(slot, 13);
    kv.publish(slot, prompt);
  }
  EXPECT_EQ(kv.begin(2, prompt, 13, {byLibrary}), 12);
  EXPECT_EQ(kv.table(2)[0], kv.table(0)[0]);
  EXPECT_EQ(kv.table(2)[2], kv.table(0)[2]);
  EXPECT_EQ(kv.begin(3, prompt, 13), 12);
  EXPECT_EQ(kv.table(3)[0], kv.table(1)[0]);
  EXPECT_EQ(kv.makers(3).size(), 3u);
  EXPECT_EQ(kv.makers(3)[0], PageProvenance::Plan);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}

TEST(KvCache, TakesPagesOfAnotherMakerUnlessTheyMustBeExact) {
  KvCacheManager kv(config(20, /*lookahead=*/0));
  std::vector<int32_t> prompt = tokens(13);
  ASSERT_EQ(kv.begin(0, prompt, 13), 0);
  kv.commit(0, 13);
  kv.publish(0, prompt);
  const std::vector<PageProvenance> wanted = {
      PageProvenance::Plan, PageProvenance::Library, PageProvenance::Library};
  EXPECT_EQ(kv.begin(1, prompt, 13, {wanted, /*isExact=*/true}), 4);
  EXPECT_EQ(kv.makers(1)[1], PageProvenance::Library);
  EXPECT_EQ(kv.begin(2, prompt, 13, {wanted}), 12);
  for (PageProvenance maker : kv.makers(2))
    EXPECT_EQ(maker, PageProvenance::Plan);
  // The pages of the first sequence after the shared page come from the
  // library, and are other pages for the same tokens.
  kv.commit(1, 13);
  kv.publish(1, prompt);
  EXPECT_EQ(kv.begin(3, prompt, 13, {wanted, /*isExact=*/true}), 12);
  EXPECT_EQ(kv.table(3)[0], kv.table(0)[0]);
  EXPECT_EQ(kv.table(3)[1], kv.table(1)[1]);
  EXPECT_TRUE(kv.checkInvariant().isOk());
}
