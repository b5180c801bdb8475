//===- Attention_test.cpp - Attention over whole contexts -----------------===//

#include "harness/AttentionRows.h"

using namespace mtp::codegen;
using namespace mtp::codegen::test;
using namespace mtp::codegen::test::attention;

namespace {
class AttentionOf : public testing::TestWithParam<Shape> {};
class AttentionInWindows : public AttentionOf {};
class AttentionOfShares : public AttentionOf {};
} // namespace

static std::vector<Shape> shapesThat(bool (*isMeant)(const Shape &)) {
  std::vector<Shape> some;
  std::ranges::copy_if(shapes, std::back_inserter(some), isMeant);
  return some;
}

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOf, testing::ValuesIn(shapes),
                         NamedByConfig());
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionInWindows,
                         testing::ValuesIn(shapesThat([](const Shape &s) {
                           return s.window != 0;
                         })),
                         NamedByConfig());
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOfShares,
                         testing::ValuesIn(shapesThat([](const Shape &s) {
                           return s.cacheHeads > 1 && !s.integers;
                         })),
                         NamedByConfig());

TEST_P(AttentionOf, MatchesReferenceAtPageBoundaries) {
  expectExactRows(GetParam(), boundaryRows);
}

TEST_P(AttentionOf, TakesRunsOfOneSlotTogether) {
  expectExactRows(GetParam(), slotRuns);
}

TEST_P(AttentionOf, IgnoresWhatIsNotSeen) {
  const Shape &s = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "attention", s.config());
    Cache cache(s);
    size_t width = s.qHeads * s.dv;
    for (const Rows &rows : {boundaryRows(s), slotRuns(s)}) {
      std::vector<float> before =
          runRows(kernel, cache, rows, 0, rows.count(), Split::Whole);
      for (int r = 0; r < rows.count(); r += rowStep(target)) {
        Cache poisoned = cache.without(rows.slotOf[r], rows.seen[r]);
        // Other rows that see these positions have NaN results now.
        std::vector<float> after =
            runRows(kernel, poisoned, rows, 0, rows.count(), Split::Whole);
        EXPECT_EQ(std::memcmp(&before[r * width], &after[r * width],
                              width * sizeof(float)),
                  0)
            << "row " << r << ", position " << rows.place[r];
      }
    }
  }
}

TEST_P(AttentionInWindows, ReadsNoPageThatNoRowSees) {
  const Shape &s = GetParam();
  // With a window, rows of one slot may leave pages between them unseen, some
  // within the blocks of seen pages. Here these pages are beyond the end of the
  // cache.
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "attention", s.config());
    Cache cache(s), holes(s);
    Rows rows;
    std::vector<bool> seen(maxPages, false);
    int last = maxPages * s.page - 1;
    for (int position : {last, 0, 2, 29, last - 1}) {
      addRow(s, rows, 1, position);
      for (int t : rows.seen.back())
        seen[t / s.page] = true;
    }
    addQueries(s, rows);
    for (int page = 0; page < maxPages; ++page)
      if (!seen[page])
        holes.table[maxPages + page] = 1 << 20;
    EXPECT_NE(holes.table, cache.table);
    EXPECT_EQ(runRows(kernel, cache, rows, 0, rows.count(), Split::Whole),
              runRows(kernel, holes, rows, 0, rows.count(), Split::Whole));
  }
}

TEST_P(AttentionOf, ReadsNothingBeyondItsPosition) {
  const Shape &s = GetParam();
  // The cache ends with the entry of the last row's position, or with its last
  // head's share. Memory after the end cannot be read.
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel plain(target, "attention", s.config());
    Kernel tree(target, "attention_tree", s.config());
    // A slot has one page.
    for (int position : {0, std::min(1, s.page - 1), s.page / 2, s.page - 1})
      for (int count = 1; count <= std::min(3, position + 1); ++count) {
        int shares = (s.cacheHeads - 1) * s.page + position + 1;
        std::vector<float> entries =
            randomFloats(size_t(shares) * s.entry() / s.cacheHeads, 15);
        Guarded<uint8_t> kv(entries.size() * s.keyBytes());
        for (int i = 0; s.integers && i < shares; ++i) {
          std::span<float> share(&entries[size_t(i) * s.share()],
                                 size_t(s.share()));
          makeIntegers(s, share);
          encodeIntegers(s, share, &kv[share.data() - entries.data()]);
        }
        for (size_t i = 0; !s.integers && i < entries.size(); ++i) {
          uint16_t half = bf16Bits(entries[i]);
          if (s.bf16)
            std::memcpy(&kv[i * 2], &half, 2);
          else
            std::memcpy(&kv[i * 4], &entries[i], 4);
        }
        Guarded<float> q(randomFloats(count * s.qHeads * s.dk, 16));
        Guarded<float> y(count * s.qHeads * s.dv);
        Guarded<float> z(count * s.qHeads * s.dv);
        Guarded<int32_t> slotOf(std::vector<int32_t>(count, 0));
        Guarded<int32_t> zero(std::vector<int32_t>(slots, 0));
        Guarded<int32_t> place(count);
        for (int r = 0; r < count; ++r)
          place[r] = position - (count - 1 - r);
        Guarded<int64_t> mask(std::vector<int64_t>(count, 1));
        plain.run({q.data(), slotOf.data(), place.data(), zero.data(),
                   kv.data(), y.data()},
                  {count, 1});
        tree.run({q.data(), slotOf.data(), place.data(), zero.data(), kv.data(),
                  mask.data(), z.data()},
                 {count, 1});
        EXPECT_EQ(y.values(), z.values());
      }
  }
}

TEST(Attention, PageTableDoesNotChangeBits) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    const Shape &s = shapes[0];
    Kernel kernel(target, "attention", s.config());
    Cache cache(s), moved(s);
    std::reverse(moved.table.begin(), moved.table.end());
    for (int slot = 0; slot < slots; ++slot)
      for (int t = 0; t < maxPages * s.page; ++t)
        for (int head = 0; head < s.cacheHeads; ++head)
          std::ranges::copy(cache.sharesOf(slot, t)[head],
                            moved.sharesOf(slot, t)[head].begin());
    Rows rows = boundaryRows(s);
    EXPECT_EQ(runRows(kernel, cache, rows, 0, rows.count(), Split::Whole),
              runRows(kernel, moved, rows, 0, rows.count(), Split::Whole));
  }
}

TEST(Attention, EachOfTwoWorkersHasAKeyHeadOfAllGroups) {
  // The rows of the first group see many more positions than the rows of the
  // second.
  const Shape &s = shapes[0];
  Kernel kernel(hostTargets().front().second, "attention", s.config());
  Cache cache(s);
  Rows rows;
  for (int i = 0; i < 12; ++i)
    addRow(s, rows, i % slots, i < 8 ? maxPages * s.page - 1 - i : i);
  addQueries(s, rows);
  int count = rows.count();
  Inputs inputs(cache, rows, 0, count);
  std::vector<int64_t> params{count, maxPages};
  Guarded<uint8_t> scratch(kernel.scratchBytes());
  int64_t tasks = kernel.tasks(count);
  for (int worker : {0, 1}) {
    Guarded<float> y(std::vector<float>(size_t(count * s.qHeads * s.dv), NAN));
    std::vector<void *> buffers = inputs.buffers();
    buffers.push_back(y.data());
    kernel.entry()(buffers.data(), params.data(), tasks * worker / 2,
                   tasks * (worker + 1) / 2, scratch.data());
    for (int row = 0; row < count; ++row)
      for (int head = 0; head < s.qHeads; ++head)
        EXPECT_EQ(std::isnan(y[(row * s.qHeads + head) * s.dv]),
                  head / (s.qHeads / s.kvHeads) != worker)
            << "worker " << worker << ", row " << row << ", head " << head;
  }
}

TEST_P(AttentionOfShares, HasTheBitsOfWholeEntries) {
  const Shape &s = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Shape other = s;
    other.cacheHeads = 1;
    Cache divided(s), whole(other);
    auto copyPiece = [&](int slot, int position, int from, int to, int width) {
      for (int head = 0; head < s.kvHeads; ++head)
        std::copy_n(
            &divided
                 .floats[divided.columnsAt(slot, position, from, head, width)],
            width,
            &whole.floats[whole.columnsAt(slot, position, to, head, width)]);
    };
    for (int slot = 0; slot < slots; ++slot)
      for (int t = 0; t < maxPages * s.page; ++t) {
        copyPiece(slot, t, s.kOffset(), other.kOffset(), s.dk);
        copyPiece(slot, t, s.vOffset(), other.vOffset(), s.dv);
      }
    Kernel ofDivided(target, "attention", s.config());
    Kernel ofWhole(target, "attention", other.config());
    for (const Rows &rows : {boundaryRows(s), slotRuns(s)})
      EXPECT_EQ(
          runRows(ofDivided, divided, rows, 0, rows.count(), Split::Whole),
          runRows(ofWhole, whole, rows, 0, rows.count(), Split::Whole));
  }
}
