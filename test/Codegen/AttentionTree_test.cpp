//===- AttentionTree_test.cpp - Rows that see some rows of a window -------===//

#include "harness/AttentionRows.h"

#include <random>

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using namespace mtp::codegen::test::attention;

/// Adds a row that sees the positions before `root` and the places of the mask.
static void addMasked(const Shape &s, Rows &rows, int slot, int root,
                      uint64_t mask) {
  rows.slotOf.push_back(slot);
  rows.place.push_back(root);
  rows.masks.push_back(int64_t(mask));
  std::vector<int> seen;
  for (int t = 0; t < root; ++t)
    seen.push_back(t);
  for (int node = 0; node < 64; ++node)
    if (mask >> node & 1)
      seen.push_back(root + node);
  bool fits = seen.empty() || seen.back() < maxPages * s.page;
  if (root < 0 || !fits)
    seen.clear();
  if (s.window && int(seen.size()) > s.window)
    seen.erase(seen.begin(), seen.end() - s.window);
  rows.seen.push_back(seen);
}

/// Returns windows of random trees, in which some rows are left out and some
/// are padding rows, and windows in which all rows see each other. Some windows
/// follow others of their slot.
static Rows maskedRows(const Shape &s) {
  std::mt19937 random(17);
  auto below = [&](int end) { return int(random() % end); };
  Rows rows;
  int last = maxPages * s.page;
  for (int window = 0; window < 6; ++window) {
    int slot = window / 2 % slots, root = below(last);
    int nodes = std::min(window == 0 ? 64 : 1 + below(12), last - root);
    bool isBlock = window == 3;
    std::vector<uint64_t> masks{1};
    while (int(masks.size()) < nodes) {
      int node = masks.size();
      masks.push_back(masks[below(node)] | uint64_t(1) << node);
    }
    for (uint64_t mask : masks) {
      if (below(5) == 0)
        continue;
      bool isPadding = below(9) == 0;
      addMasked(s, rows, slot, isPadding ? -1 : root,
                isBlock ? masks.back() | masks[nodes / 2] : mask);
    }
  }
  // A row that sees nothing of its window, one at the end of the pages, and two
  // that would see positions after the end.
  addMasked(s, rows, 0, last / 2, 0);
  addMasked(s, rows, 0, last - 1, 1);
  addMasked(s, rows, 0, last - 1, 0b11);
  addMasked(s, rows, 1, std::max(last - 63, 1), uint64_t(1) << 63 | 1);
  addQueries(s, rows);
  return rows;
}

/// Checks that rows of a tree equal, to the bit, rows of a chain that sees the
/// same entries.
static void expectBitsOfChains(const Shape &s) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel tree(target, "attention_tree", s.config());
    Kernel plain(target, "attention", s.config());
    Cache cache(s);
    Rows rows = maskedRows(s);
    size_t width = s.qHeads * s.dv;
    std::vector<float> y =
        runRows(tree, cache, rows, 0, rows.count(), Split::Random);
    expectMatches(target, cache, rows, y);
    expectRowInvariant(
        rows.count(), width,
        [&](int first, int count, Split split) {
          return runRows(tree, cache, rows, first, count, split);
        },
        5 * rowStep(target));
    for (int r = 0; r < rows.count(); r += target.isGpu ? 7 : 1) {
      // The entries of its path, one after another.
      Cache chain = cache;
      int slot = rows.slotOf[r], position = rows.place[r] - 1;
      for (int node = 0; node < 64; ++node) {
        int from = rows.place[r] + node;
        if (!rows.seen[r].empty() && rows.masks[r] >> node & 1) {
          ++position;
          for (int head = 0; head < s.cacheHeads; ++head)
            std::ranges::copy(cache.sharesOf(slot, from)[head],
                              chain.sharesOf(slot, position)[head].begin());
        }
      }
      Rows alone;
      addRow(s, alone, slot, rows.seen[r].empty() ? -1 : position);
      alone.q.assign(&rows.q[r * s.qHeads * s.dk],
                     &rows.q[(r + 1) * s.qHeads * s.dk]);
      std::vector<float> own(&y[r * width], &y[(r + 1) * width]);
      ASSERT_EQ(own, runRows(plain, chain, alone, 0, 1, Split::Whole))
          << "row " << r << ", window from " << rows.place[r];
    }
  }
}

namespace {
class AttentionTreeOf : public testing::TestWithParam<Shape> {};
class AttentionTreeSplitsOf : public AttentionTreeOf {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTreeOf, testing::ValuesIn(shapes),
                         NamedByConfig());
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTreeSplitsOf,
                         testing::ValuesIn(splitShapes), NamedByConfig());

TEST_P(AttentionTreeOf, HasTheBitsOfChains) { expectBitsOfChains(GetParam()); }

TEST_P(AttentionTreeSplitsOf, HasTheBitsOfChains) {
  expectBitsOfChains(GetParam());
}

TEST_P(AttentionTreeOf, IgnoresWhatIsNotSeen) {
  const Shape &s = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "attention_tree", s.config());
    Cache cache(s);
    Rows rows = maskedRows(s);
    size_t width = s.qHeads * s.dv;
    std::vector<float> before =
        runRows(kernel, cache, rows, 0, rows.count(), Split::Whole);
    for (int r = 0; r < rows.count(); r += 3 * rowStep(target)) {
      std::vector<float> after =
          runRows(kernel, cache.without(rows.slotOf[r], rows.seen[r]), rows, 0,
                  rows.count(), Split::Whole);
      EXPECT_EQ(std::memcmp(&before[r * width], &after[r * width],
                            width * sizeof(float)),
                0)
          << "row " << r << ", window from " << rows.place[r];
    }
  }
}
