//===- AttentionRows.h - Rows of attention and a reference ------*- C++ -*-===//

#ifndef MTP_TEST_CODEGEN_HARNESS_ATTENTIONROWS_H
#define MTP_TEST_CODEGEN_HARNESS_ATTENTIONROWS_H

#include "Harness.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

namespace mtp::codegen::test::attention {

struct Shape {
  static constexpr int slotCount = 3;
  int qHeads, kvHeads, dk, dv, page, window;
  bool bf16, latent; // Latent: the values are the first dv of the key.
  int split = 0;
  /// Number of heads that divide an entry in its page.
  int cacheHeads = 1;
  /// True if keys and values are at multiples of 16 bytes, with widths that a
  /// GPU takes through tensor cores.
  bool aligned = false;
  /// True if the cache has integers. The entry is divided among the key heads,
  /// and `bf16` is true: the kernel multiplies bf16.
  bool integers = false;

  int keyBytes() const { return integers ? 1 : bf16 ? 2 : 4; }
  int kOffset() const { return aligned || integers ? 0 : 3 * cacheHeads; }
  int vOffset() const { return kOffset() + (latent ? 0 : kvHeads * dk); }
  int entry() const {
    int used = vOffset() + kvHeads * std::max(dv, dk);
    if (integers)
      return cacheHeads * int(mtp::integerShareBytes(used / cacheHeads));
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
           number("v_offset", vOffset()) +
           (split ? number("split", split) : "") + number("window", window) +
           "scale = 0.3 : f32, dtype = " + dtype();
  }
  std::string dtype() const { return integers ? "i8" : bf16 ? "bf16" : "f32"; }
  int share() const { return entry() / cacheHeads; }
  /// Returns the place of the scale of a column of a share of integers.
  int scaleAt(int column) const {
    return share() - 8 + (column < (latent ? dv : dk) ? 0 : 4);
  }
};

/// Makes a share of random floats a share of integers times scales. The scales
/// are at their places, and stand for four elements each.
inline void makeIntegers(const Shape &s, std::span<float> share) {
  for (int scale : {s.share() - 8, s.share() - 4})
    share[scale] = 0.002f + std::abs(share[scale]) / 100;
  for (int i = 0; i < s.share() - 8; ++i)
    share[i] = share[s.scaleAt(i)] *
               std::clamp(std::nearbyint(share[i] * 127), -127.0f, 127.0f);
}

/// Writes a share of makeIntegers() at `to`.
inline void encodeIntegers(const Shape &s, std::span<const float> share,
                           uint8_t *to) {
  for (int i = 0; i < s.share() - 8; ++i) {
    float value = std::nearbyint(share[i] / share[s.scaleAt(i)]);
    to[i] = uint8_t(int8_t(std::isnan(value) ? 77 : int(value)));
  }
  for (int scale : {s.share() - 8, s.share() - 4})
    std::memcpy(&to[scale], &share[scale], 4);
}

constexpr int slots = Shape::slotCount, maxPages = 6;

/// A cache with random entries and a shuffled page table.
struct Cache {
  explicit Cache(const Shape &s)
      : s(s), floats(randomFloats(pages() * s.pageElements(), 11)),
        table(slots * maxPages) {
    for (int i = 0; i < slots * maxPages; ++i)
      table[i] = 1 + (i * 7) % (slots * maxPages);
    if (s.integers)
      forShares([&](size_t at) {
        makeIntegers(s, {&floats[at], size_t(s.share())});
      });
    else if (s.bf16)
      for (float &value : floats)
        value = toBF16(value);
  }
  static int pages() { return slots * maxPages + 1; }
  /// Calls `body` with the first element of each share of the cache.
  template <typename BodyT>
  void forShares(BodyT body) const {
    for (int page = 0; page < pages(); ++page)
      for (int i = 0; i < s.cacheHeads * s.page; ++i)
        body(page * s.pageElements() + size_t(i) * s.share());
  }

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
    if (s.integers) {
      forShares([&](size_t at) {
        encodeIntegers(s, {&floats[at], size_t(s.share())}, &out[at]);
      });
      return out;
    }
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

inline const Shape shapes[] = {
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
    {16, 1, 32, 192, 33, 0, /*bf16=*/true, /*latent=*/false, 0, 1, true},
    // Integers: of several key heads, with odd widths and a window; latents,
    // whose columns have two scales; values that are the keys.
    {9, 3, 64, 64, 16, 0, /*bf16=*/true, /*latent=*/false, 0, 3, false, true},
    {4, 2, 17, 33, 20, 23, /*bf16=*/true, /*latent=*/false, 0, 2, false, true},
    {8, 1, 80, 64, 16, 0, /*bf16=*/true, /*latent=*/true, 0, 1, false, true},
    {6, 1, 37, 22, 8, 0, /*bf16=*/true, /*latent=*/true, 0, 1, false, true},
    {4, 2, 24, 24, 16, 0, /*bf16=*/true, /*latent=*/true, 0, 2, false, true}};

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

inline std::vector<float> runRows(const Kernel &kernel, const Cache &cache,
                                  const Rows &rows, int first, int count,
                                  Split split) {
  Inputs inputs(cache, rows, first, count);
  Guarded<float> y(size_t(count) * cache.s.qHeads * cache.s.dv);
  std::vector<void *> buffers = inputs.buffers();
  buffers.push_back(y.data());
  kernel.run(buffers, {count, maxPages}, split);
  return y.values();
}

inline void expectMatches(const TestTarget &target, const Cache &cache,
                          const Rows &rows, const std::vector<float> &y) {
  const Shape &s = cache.s;
  bool dot =
      s.bf16 && (target.isGpu ? s.aligned && !s.integers : target.bf16Dot);
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

inline void addRow(const Shape &s, Rows &rows, int slot, int position) {
  rows.slotOf.push_back(slot);
  rows.place.push_back(position);
  std::vector<int> seen;
  int begin = s.window ? std::max(0, position - s.window + 1) : 0;
  for (int t = begin; t <= position; ++t)
    seen.push_back(t);
  rows.seen.push_back(seen);
}

inline void addQueries(const Shape &s, Rows &rows) {
  rows.q = randomFloats(size_t(rows.count()) * s.qHeads * s.dk, 12);
}

/// Returns rows at all page boundaries, one before and one after each, and a
/// padding row.
inline Rows boundaryRows(const Shape &s) {
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
inline Rows slotRuns(const Shape &s) {
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
inline int rowStep(const TestTarget &target) { return target.isGpu ? 19 : 1; }

/// Compares rows of a shape on every target with the reference, and with runs
/// of single rows.
inline void expectExactRows(const Shape &s, Rows (*makeRows)(const Shape &)) {
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

/// Shapes with two splits and with six; with a window that crosses one end of a
/// split or none; with two tasks for a row.
inline const Shape splitShapes[] = {
    {6, 1, 36, 20, 16, 0, /*bf16=*/true, /*latent=*/true, /*split=*/64},
    {4, 2, 16, 24, 64, 0, /*bf16=*/false, /*latent=*/false, /*split=*/64},
    {4, 2, 17, 33, 50, 23, /*bf16=*/true, /*latent=*/false, /*split=*/64},
    {4, 1, 80, 64, 32, 0, /*bf16=*/true, /*latent=*/true, /*split=*/128},
    {4, 2, 16, 24, 64, 0, /*bf16=*/true, /*latent=*/false, /*split=*/64, 2},
    {4, 1, 96, 64, 32, 0, /*bf16=*/true, /*latent=*/true, /*split=*/128, 1,
     true},
    {6, 2, 32, 64, 50, 70, /*bf16=*/true, /*latent=*/false, /*split=*/64, 2,
     true},
    {4, 1, 32, 256, 32, 0, /*bf16=*/true, /*latent=*/false, /*split=*/64, 1,
     true},
    {4, 2, 32, 32, 64, 0, /*bf16=*/true, /*latent=*/false, /*split=*/64, 2,
     false, true},
    {4, 1, 80, 64, 32, 0, /*bf16=*/true, /*latent=*/true, /*split=*/128, 1,
     false, true}};

} // namespace mtp::codegen::test::attention

#endif // MTP_TEST_CODEGEN_HARNESS_ATTENTIONROWS_H
