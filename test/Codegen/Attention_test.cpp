//===- Attention_test.cpp - attention and attention_tree ------------------===//

#include "Harness.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <span>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

struct Shape {
  static constexpr int slotCount = 3;
  int qHeads, kvHeads, dk, dv, page, window;
  bool bf16, latent; // Latent: the values are the first dv of the key.
  int part = 0;
  /// Number of heads that divide an entry in its page.
  int cacheHeads = 1;
  /// True if keys and values are at multiples of 16 bytes, with widths that a
  /// GPU takes through tensor cores.
  bool aligned = false;

  int keyBytes() const { return bf16 ? 2 : 4; }
  int kOffset() const { return aligned ? 0 : 3 * cacheHeads; }
  int vOffset() const { return kOffset() + (latent ? 0 : kvHeads * dk); }
  int entry() const {
    int used = vOffset() + kvHeads * std::max(dv, dk);
    return used + (aligned ? 8 : 2) * cacheHeads;
  }
  /// Returns the number of elements from one page to the next.
  size_t pageElements() const {
    return mtp::pageStride(page, entry(), keyBytes()) / keyBytes();
  }
  std::string config() const {
    auto number = [](const char *key, int value) {
      return std::string(key) + " = " + std::to_string(value) + ", ";
    };
    return number("q_heads", qHeads) + number("kv_heads", kvHeads) +
           number("dk", dk) + number("dv", dv) + number("page", page) +
           number("entry_width", entry()) + number("k_offset", kOffset()) +
           number("slots", slotCount) +
           (cacheHeads > 1 ? number("cache_heads", cacheHeads) : "") +
           number("v_offset", vOffset()) + (part ? number("part", part) : "") +
           number("window", window) + "scale = 0.3 : f32, dtype = " + dtype();
  }
  std::string dtype() const { return bf16 ? "bf16" : "f32"; }
};

constexpr int slots = Shape::slotCount, maxPages = 6;

/// A cache with random entries and a shuffled page table.
struct Cache {
  explicit Cache(const Shape &s)
      : s(s), floats(randomFloats(pages() * s.pageElements(), 11)),
        table(slots * maxPages) {
    for (int i = 0; i < slots * maxPages; ++i)
      table[i] = 1 + (i * 7) % (slots * maxPages);
    if (s.bf16)
      for (float &value : floats)
        value = toBF16(value);
  }
  static int pages() { return slots * maxPages + 1; }

  /// Returns the first element of a head's `width` columns. The columns of the
  /// first head begin at column `offset`.
  size_t columnsAt(int slot, int position, int offset, int head,
                   int width) const {
    size_t page = table[slot * maxPages + position / s.page] * s.pageElements();
    int place = position % s.page;
    if (s.cacheHeads == 1)
      return page + place * s.entry() + offset + head * width;
    int share = s.entry() / s.cacheHeads;
    return page + size_t(head * s.page + place) * share + offset / s.cacheHeads;
  }

  /// Returns the share of each head in an entry.
  std::vector<std::span<float>> sharesOf(int slot, int position) {
    std::vector<std::span<float>> shares;
    int share = s.entry() / s.cacheHeads;
    for (int head = 0; head < s.cacheHeads; ++head)
      shares.push_back(
          {&floats[columnsAt(slot, position, 0, head, share)], size_t(share)});
    return shares;
  }

  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> out(floats.size() * s.keyBytes());
    for (size_t i = 0; i < floats.size(); ++i) {
      uint16_t half = bf16Bits(floats[i]);
      if (s.bf16)
        std::memcpy(&out[i * 2], &half, 2);
      else
        std::memcpy(&out[i * 4], &floats[i], 4);
    }
    return out;
  }

  /// Returns a copy with NaN in the entries that a row does not see.
  Cache without(int own, const std::vector<int> &seen) const {
    Cache poisoned = *this;
    for (int slot = 0; slot < slots; ++slot)
      for (int t = 0; t < maxPages * s.page; ++t)
        if (slot != own || std::ranges::find(seen, t) == seen.end())
          for (std::span<float> share : poisoned.sharesOf(slot, t))
            std::ranges::fill(share, NAN);
    return poisoned;
  }

  /// Computes attention of one query head over the given positions. With `dot`
  /// the query is rounded to bf16, and `bound` becomes the error that rounding
  /// the weights may add to each result.
  std::vector<double> attend(const float *q, int head, int slot,
                             const std::vector<int> &seen, bool dot,
                             std::vector<double> &bound) const {
    int group = head / (s.qHeads / s.kvHeads);
    std::vector<double> scores, y(s.dv, 0.0);
    bound.assign(s.dv, 0.0);
    for (int position : seen) {
      const float *key =
          &floats[columnsAt(slot, position, s.kOffset(), group, s.dk)];
      double score = 0;
      for (int i = 0; i < s.dk; ++i)
        score += double(dot ? toBF16(q[i]) : q[i]) * key[i];
      scores.push_back(score * 0.3);
    }
    double most =
        seen.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (double &score : scores)
      sum += score = std::exp(score - most);
    for (size_t t = 0; t < seen.size(); ++t) {
      const float *value =
          &floats[columnsAt(slot, seen[t], s.vOffset(), group, s.dv)];
      for (int i = 0; i < s.dv; ++i) {
        y[i] += scores[t] / sum * value[i];
        bound[i] += dot ? scores[t] / sum * std::abs(value[i]) / 256 : 0.0;
      }
    }
    return y;
  }

  Shape s;
  std::vector<float> floats;
  std::vector<int32_t> table;
};

/// Rows of a dispatch and the positions that each of them sees. For rows with
/// masks, the place is that of the window's first row.
struct Rows {
  std::vector<float> q;
  std::vector<int32_t> slotOf, place;
  std::vector<int64_t> masks;
  std::vector<std::vector<int>> seen;

  int count() const { return place.size(); }
};

} // namespace

static const Shape shapes[] = {
    {4, 2, 32, 32, 16, 0, /*bf16=*/true, /*latent=*/false},
    {6, 1, 36, 20, 16, 0, /*bf16=*/true, /*latent=*/true},
    {3, 3, 21, 70, 8, 0, /*bf16=*/false, /*latent=*/false},
    {8, 1, 16, 16, 64, 0, /*bf16=*/false, /*latent=*/false},
    {4, 2, 17, 33, 20, 23, /*bf16=*/true, /*latent=*/false},
    // One row is two tasks, which are computed together if a range has both.
    {4, 1, 80, 64, 16, 0, /*bf16=*/true, /*latent=*/true},
    // The last unit of a key is half a unit of a whole vector.
    {2, 2, 31, 40, 16, 0, /*bf16=*/true, /*latent=*/false},
    {4, 1, 15, 24, 8, 5, /*bf16=*/false, /*latent=*/false},
    // Entries that are divided among the key heads.
    {4, 2, 32, 32, 16, 0, /*bf16=*/true, /*latent=*/false, 0, 2},
    {9, 3, 21, 70, 8, 0, /*bf16=*/false, /*latent=*/false, 0, 3},
    {4, 2, 17, 33, 20, 23, /*bf16=*/true, /*latent=*/false, 0, 2},
    // The values are the keys.
    {4, 2, 24, 24, 16, 0, /*bf16=*/true, /*latent=*/true, 0, 2},
    // A page of several blocks; pages of one and of a few odd entries.
    {4, 2, 16, 16, 128, 0, /*bf16=*/true, /*latent=*/false, 0, 2},
    {2, 1, 17, 4, 1, 0, /*bf16=*/true, /*latent=*/true},
    {2, 1, 17, 4, 2, 0, /*bf16=*/true, /*latent=*/false},
    // For tensor cores: with eight, two and one rows in a block.
    {4, 2, 64, 64, 16, 0, /*bf16=*/true, /*latent=*/false, 0, 1, true},
    {8, 1, 96, 64, 20, 0, /*bf16=*/true, /*latent=*/true, 0, 1, true},
    {4, 2, 32, 128, 20, 23, /*bf16=*/true, /*latent=*/false, 0, 2, true},
    {16, 1, 32, 192, 33, 0, /*bf16=*/true, /*latent=*/false, 0, 1, true}};

namespace {

/// Inputs of attention for `count` rows from `first` on, each before a guard
/// page.
struct Inputs {
  Inputs(const Cache &cache, const Rows &rows, int first, int count)
      : q(rowsOf(rows.q, first, count, cache.s.qHeads * cache.s.dk)),
        slotOf(rowsOf(rows.slotOf, first, count, 1)),
        place(rowsOf(rows.place, first, count, 1)), table(cache.table),
        kv(cache.bytes()),
        masks(rows.masks.empty() ? rows.masks
                                 : rowsOf(rows.masks, first, count, 1)) {}

  std::vector<void *> buffers() {
    std::vector<void *> all{q.data(), slotOf.data(), place.data(), table.data(),
                            kv.data()};
    if (masks.size() > 0)
      all.push_back(masks.data());
    return all;
  }

  Guarded<float> q;
  Guarded<int32_t> slotOf, place, table;
  Guarded<uint8_t> kv;
  Guarded<int64_t> masks;

private:
  template <typename T>
  static std::vector<T> rowsOf(const std::vector<T> &all, int first, int count,
                               int width) {
    return std::vector<T>(all.begin() + first * width,
                          all.begin() + (first + count) * width);
  }
};

} // namespace

static std::vector<float> runRows(const Kernel &kernel, const Cache &cache,
                                  const Rows &rows, int first, int count,
                                  Split split) {
  Inputs inputs(cache, rows, first, count);
  Guarded<float> y(size_t(count) * cache.s.qHeads * cache.s.dv);
  std::vector<void *> buffers = inputs.buffers();
  buffers.push_back(y.data());
  kernel.run(buffers, {count, maxPages}, split);
  return y.values();
}

static void expectMatches(const TestTarget &target, const Cache &cache,
                          const Rows &rows, const std::vector<float> &y) {
  const Shape &s = cache.s;
  bool dot = s.bf16 && (target.isGpu ? s.aligned : target.bf16Dot);
  std::vector<double> bound;
  for (int r = 0; r < rows.count(); ++r)
    for (int h = 0; h < s.qHeads; ++h) {
      auto want = cache.attend(&rows.q[(r * s.qHeads + h) * s.dk], h,
                               rows.slotOf[r], rows.seen[r], dot, bound);
      for (int i = 0; i < s.dv; ++i)
        ASSERT_NEAR(y[(r * s.qHeads + h) * s.dv + i], want[i], 2e-5 + bound[i])
            << "position " << rows.place[r] << ", head " << h << ", dim " << i;
    }
}

static void addRow(const Shape &s, Rows &rows, int slot, int position) {
  rows.slotOf.push_back(slot);
  rows.place.push_back(position);
  std::vector<int> seen;
  int begin = s.window ? std::max(0, position - s.window + 1) : 0;
  for (int t = begin; t <= position; ++t)
    seen.push_back(t);
  rows.seen.push_back(seen);
}

static void addQueries(const Shape &s, Rows &rows) {
  rows.q = randomFloats(size_t(rows.count()) * s.qHeads * s.dk, 12);
}

/// Returns rows at all page boundaries, one before and one after each, and a
/// padding row.
static Rows boundaryRows(const Shape &s) {
  Rows rows;
  auto add = [&](int position) {
    addRow(s, rows, rows.count() % slots, position);
  };
  for (int page = 0; page <= maxPages; ++page)
    for (int delta : {-1, 0, 1}) {
      int position = page * s.page + delta;
      if (position >= 0 && position < maxPages * s.page)
        add(position);
    }
  add(-1);
  add(s.page / 2);
  addQueries(s, rows);
  return rows;
}

/// Returns runs of rows of one slot. Their lengths go from 1 to 10, so that
/// they begin and end anywhere in a task's rows. A run has consecutive
/// positions, then one goes back, then rows are far apart. Some rows are
/// padding rows.
static Rows slotRuns(const Shape &s) {
  Rows rows;
  int last = maxPages * s.page - 1;
  for (int length = 1; length <= 10; ++length)
    for (int i = 0; i < length; ++i) {
      int step = length % 3 == 0 ? 1 : length % 3 == 1 ? -1 : last / 3 + 2;
      int position = (length * s.page / 2 + last + 1 + i * step) % (last + 1);
      bool dead = length > 3 && i == length / 2;
      addRow(s, rows, length % slots, dead ? -1 : position);
    }
  addQueries(s, rows);
  return rows;
}

/// Returns the step between rows that a test runs alone. A simulated GPU is
/// slow.
static int rowStep(const TestTarget &target) { return target.isGpu ? 19 : 1; }

/// Compares rows of a shape on every target with the reference, and with runs
/// of single rows.
static void expectExactRows(const Shape &s, Rows (*makeRows)(const Shape &)) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "attention", s.config());
    Cache cache(s);
    Rows rows = makeRows(s);
    expectMatches(target, cache, rows,
                  runRows(kernel, cache, rows, 0, rows.count(), Split::Random));
    expectRowInvariant(
        rows.count(), s.qHeads * s.dv,
        [&](int first, int count, Split split) {
          return runRows(kernel, cache, rows, first, count, split);
        },
        rowStep(target));
  }
}

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
                           return s.cacheHeads > 1;
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
        for (size_t i = 0; i < entries.size(); ++i) {
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

//===----------------------------------------------------------------------===//
// Positions in parts
//===----------------------------------------------------------------------===//

/// Shapes with two parts and with six; with a window that crosses one end of a
/// part or none; with two tasks for a row.
static const Shape partShapes[] = {
    {6, 1, 36, 20, 16, 0, /*bf16=*/true, /*latent=*/true, /*part=*/64},
    {4, 2, 16, 24, 64, 0, /*bf16=*/false, /*latent=*/false, /*part=*/64},
    {4, 2, 17, 33, 50, 23, /*bf16=*/true, /*latent=*/false, /*part=*/64},
    {4, 1, 80, 64, 32, 0, /*bf16=*/true, /*latent=*/true, /*part=*/128},
    {4, 2, 16, 24, 64, 0, /*bf16=*/true, /*latent=*/false, /*part=*/64, 2},
    {4, 1, 96, 64, 32, 0, /*bf16=*/true, /*latent=*/true, /*part=*/128, 1,
     true},
    {6, 2, 32, 64, 50, 70, /*bf16=*/true, /*latent=*/false, /*part=*/64, 2,
     true},
    {4, 1, 32, 256, 32, 0, /*bf16=*/true, /*latent=*/false, /*part=*/64, 1,
     true}};

namespace {
class AttentionPartsOf : public testing::TestWithParam<Shape> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionPartsOf,
                         testing::ValuesIn(partShapes), NamedByConfig());

TEST_P(AttentionPartsOf, MatchReference) {
  expectExactRows(GetParam(), boundaryRows);
}

//===----------------------------------------------------------------------===//
// Rows that see some rows of a window
//===----------------------------------------------------------------------===//

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
      bool isDead = below(9) == 0;
      addMasked(s, rows, slot, isDead ? -1 : root,
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

TEST_P(AttentionOf, OfMasksHasTheBitsOfChains) {
  expectBitsOfChains(GetParam());
}

TEST_P(AttentionPartsOf, OfMasksHaveTheBitsOfChains) {
  expectBitsOfChains(GetParam());
}

TEST_P(AttentionOf, OfMasksIgnoresWhatIsNotSeen) {
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

//===----------------------------------------------------------------------===//
// Positions divided among workers
//===----------------------------------------------------------------------===//

namespace {

/// Kernels for attention that leaves its parts, and for joining them.
struct Divided {
  Divided(const TestTarget &target, const Shape &s, int splits)
      : s(s), parts(target, "attention_parts",
                    s.config() + divisionConfig() +
                        ", splits = " + std::to_string(splits)),
        join(target, "attention_join",
             "q_heads = " + std::to_string(s.qHeads) +
                 ", kv_heads = " + std::to_string(s.kvHeads) +
                 ", dv = " + std::to_string(s.dv) + ", dtype = " + s.dtype() +
                 ", part = " + std::to_string(s.part) +
                 ", window = " + std::to_string(s.window) + divisionConfig()) {}

  int count() const { return (maxPages * s.page + s.part - 1) / s.part; }
  /// Returns a part stride that is large enough for any division into tiles.
  int stride() const { return s.qHeads * (32 + (s.dv + 15) / 16 * 16); }
  std::string divisionConfig() const {
    return ", parts = " + std::to_string(count()) +
           ", part_stride = " + std::to_string(stride());
  }

  std::vector<float> run(const Cache &cache, const Rows &rows, int first,
                         int count, Split split) const {
    // Parts that no row sees are not written, and must not be read.
    size_t width = size_t(this->count()) * stride();
    Guarded<float> between(std::vector<float>(count * width, NAN));
    Inputs inputs(cache, rows, first, count);
    std::vector<void *> buffers = inputs.buffers();
    buffers.push_back(between.data());
    parts.run(buffers, {count, maxPages}, split);
    Guarded<float> y(size_t(count) * s.qHeads * s.dv);
    join.run({inputs.place.data(), between.data(), y.data()}, {count}, split);
    return y.values();
  }

  const Shape &s;
  Kernel parts, join;
};

} // namespace

TEST_P(AttentionPartsOf, HaveTheSameBitsHoweverTheyAreDealtOut) {
  const Shape &s = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel plain(target, "attention", s.config());
    Cache cache(s);
    for (int splits : {1, 3, 24}) {
      if (target.isGpu && splits > 1)
        break; // A GPU ignores the number of splits.
      SCOPED_TRACE("splits " + std::to_string(splits));
      Divided divided(target, s, splits);
      for (const Rows &rows : {boundaryRows(s), slotRuns(s)})
        for (Split split : {Split::Whole, Split::Random}) {
          int count = rows.count();
          EXPECT_EQ(runRows(plain, cache, rows, 0, count, Split::Whole),
                    divided.run(cache, rows, 0, count, split));
          EXPECT_EQ(runRows(plain, cache, rows, count - 3, 3, Split::Whole),
                    divided.run(cache, rows, count - 3, 3, split));
        }
    }
  }
}

namespace {

/// Amount that each of several workers writes of the parts of all rows.
struct Shares {
  /// Number of floats that each worker wrote, and that all wrote.
  std::vector<size_t> sizes;
  size_t all = 0;

  Shares(const Divided &divided, const Cache &cache, const Rows &rows,
         int workers) {
    int count = rows.count();
    size_t floats = size_t(count) * divided.count() * divided.stride();
    Inputs inputs(cache, rows, 0, count);
    std::vector<void *> buffers = inputs.buffers();
    buffers.push_back(nullptr);
    std::vector<int64_t> params{count, maxPages};
    Guarded<uint8_t> scratch(divided.parts.scratchBytes());
    int64_t tasks = divided.parts.tasks(count);
    std::vector<bool> written(floats);
    for (int worker = 0; worker < workers; ++worker) {
      Guarded<float> left(std::vector<float>(floats, NAN));
      buffers.back() = left.data();
      divided.parts.entry()(buffers.data(), params.data(),
                            tasks * worker / workers,
                            tasks * (worker + 1) / workers, scratch.data());
      size_t size = 0;
      for (size_t i = 0; i < floats; ++i)
        if (!std::isnan(left[i])) {
          EXPECT_FALSE(written[i]) << "worker " << worker;
          written[i] = true;
          ++size;
        }
      sizes.push_back(size);
      all += size;
    }
  }
};

} // namespace

TEST(AttentionParts, WorkersShareThePositionsOfGroupsEvenly) {
  // Both have two tiles of heads. The heads of the second tile read the same
  // keys.
  constexpr int workers = 16, tiles = 2, rowsPerGroup = 8;
  for (const Shape &s : {partShapes[1], partShapes[3]}) {
    Cache cache(s);
    Divided divided(hostTargets().front().second, s, workers / tiles);
    for (int groups = 1; groups * tiles < workers; ++groups) {
      SCOPED_TRACE(s.config() + ": groups " + std::to_string(groups));
      Rows rows;
      for (int i = 0; i < groups * rowsPerGroup; ++i)
        addRow(s, rows, i % slots, maxPages * s.page - 1 - i);
      addQueries(s, rows);
      Shares shares(divided, cache, rows, workers);
      // The number of splits is the number of workers that can share a group's
      // positions.
      int splits =
          std::min(divided.count(), std::max(workers / (groups * tiles), 2));
      int partsPerWorker = (divided.count() + splits - 1) / splits;
      size_t ofPart = shares.all / (groups * tiles * divided.count());
      // With more tasks than workers, some workers have two tasks. If the two
      // tiles read the same keys, these two tasks are a pair, and every worker
      // at work has a pair.
      int tasks = groups * tiles * splits;
      bool inPairs = tasks > workers && s.kvHeads == 1;
      EXPECT_EQ(*std::ranges::max_element(shares.sizes),
                ofPart * partsPerWorker * (tasks > workers ? 2 : 1));
      EXPECT_EQ(
          std::ranges::count_if(shares.sizes, [](size_t size) { return size; }),
          inPairs ? tasks / 2 : std::min(tasks, workers));
    }
  }
}
