//===- RopeAppend_test.cpp - Rotation fused with copies -------------------===//
//
// A fused kernel must equal, to the bit, the kernels that it replaces. It must
// also equal double precision, except for rounding.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"
#include "runtime/schema/KvPage.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {
constexpr int rows = 40, qHeads = 4, kHeads = 2, vWidth = 22;
constexpr int page = 8, maxPages = 3, pages = 7, positionCount = 50;

struct Heads {
  int dim, offset, width;
  bool interleaved;

  std::string keys() const {
    return "rotation = <dim = " + std::to_string(dim) +
           ", offset = " + std::to_string(offset) +
           ", layout = " + (interleaved ? "interleaved" : "half") +
           ">, head_stride = " + std::to_string(width);
  }
  /// Rotates one head in double precision.
  std::vector<double> rotated(const float *x, const float *angles) const {
    std::vector<double> y(x, x + width);
    for (int i = 0; i < dim / 2; ++i) {
      int a = offset + (interleaved ? 2 * i : i);
      int b = offset + (interleaved ? 2 * i + 1 : i + dim / 2);
      double c = angles[i], s = angles[dim / 2 + i];
      y[a] = x[a] * c - x[b] * s;
      y[b] = x[b] * c + x[a] * s;
    }
    return y;
  }
};

enum class Element { F32, BF16, I8 };

/// Rows of a fused projection, some of them padding rows, and the entries for
/// them. An entry has `gap` columns, the values, `gap` columns and the keys,
/// and is divided among one or two heads. An entry of integers has no gaps.
struct Problem {
  Problem(Heads heads, Element type, int cacheHeads)
      : heads(heads), type(type), cacheHeads(cacheHeads),
        gap(type == Element::I8 ? 0 : 4),
        stride((qHeads + kHeads) * heads.width + 30),
        entry(2 * gap + vWidth + kHeads * heads.width),
        x(randomFloats(rows * stride, 1)),
        table(randomFloats(positionCount * heads.dim, 2)) {
    if (type == Element::I8)
      entry = cacheHeads * int(mtp::integerShareBytes(entry / cacheHeads));
    for (int r = 0; r < rows; ++r) {
      bool dead = r % 7 == 3;
      slots.push_back(r % 2);
      positions.push_back(dead ? -1 : r / 2);
      rotary.push_back(dead ? -1 : (r * 11) % positionCount);
    }
  }

  int queryWidth() const { return qHeads * heads.width; }
  int keyWidth() const { return kHeads * heads.width; }
  int keysAt() const { return 2 * gap + vWidth; }
  size_t elementBytes() const {
    return type == Element::F32 ? 4 : type == Element::BF16 ? 2 : 1;
  }
  std::string dtype() const {
    return type == Element::F32 ? "f32" : type == Element::BF16 ? "bf16" : "i8";
  }
  int share() const { return entry / cacheHeads; }
  size_t pageStride() const {
    return mtp::pageStride(page, entry, elementBytes());
  }
  /// Returns the first byte of a head's share of a row's entry.
  size_t shareAt(int row, int head) const {
    int number = pageTable[slots[row] * maxPages + positions[row] / page];
    return number * pageStride() + size_t(head * page + positions[row] % page) *
                                       share() * elementBytes();
  }
  /// Returns the first byte of a head's key.
  size_t keyAt(int row, int head) const {
    int column = keysAt() / cacheHeads;
    if (cacheHeads == 1)
      return shareAt(row, 0) + (column + head * heads.width) * elementBytes();
    return shareAt(row, head) + column * elementBytes();
  }
  /// Returns the scale of a head's key; 1 if elements are no integers.
  float scaleOf(const std::vector<uint8_t> &cache, int row, int head) const {
    float scale = 1;
    if (type == Element::I8)
      std::memcpy(&scale, &cache[shareAt(row, head) + share() - 4], 4);
    return scale;
  }
  float element(const uint8_t *at) const {
    if (type == Element::I8)
      return int8_t(*at);
    uint32_t bits = 0;
    std::memcpy(type == Element::BF16 ? reinterpret_cast<uint8_t *>(&bits) + 2
                                      : reinterpret_cast<uint8_t *>(&bits),
                at, elementBytes());
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
  }
  std::string cacheKeys() const {
    return "page = 8, slots = 2, entry_width = " + std::to_string(entry) +
           ", cache_heads = " + std::to_string(cacheHeads) +
           ", dtype = " + dtype();
  }

  Heads heads;
  Element type;
  int cacheHeads, gap, stride, entry;
  std::vector<float> x, table;
  std::vector<int32_t> slots, positions, rotary;
  std::vector<int32_t> pageTable{1, 2, 3, 4, 5, 6};
};

/// Queries and the whole cache.
struct Result {
  std::vector<float> y;
  std::vector<uint8_t> cache;
};

/// Buffers for rows [first, first + count) of a problem.
struct Buffers {
  Buffers(const Problem &p, int first, int count)
      : x(std::vector<float>(p.x.begin() + size_t(first) * p.stride,
                             p.x.begin() + size_t(first + count) * p.stride)),
        table(p.table), y(size_t(count) * p.queryWidth()),
        keys(size_t(count) * p.keyWidth()),
        slots(std::vector<int32_t>(p.slots.begin() + first,
                                   p.slots.begin() + first + count)),
        positions(std::vector<int32_t>(p.positions.begin() + first,
                                       p.positions.begin() + first + count)),
        rotary(std::vector<int32_t>(p.rotary.begin() + first,
                                    p.rotary.begin() + first + count)),
        pageTable(p.pageTable), cache(pages * p.pageStride()) {
    std::memset(cache.data(), 0x11, cache.size());
  }
  Result result() { return {y.values(), cache.values()}; }

  Guarded<float> x, table, y, keys;
  Guarded<int32_t> slots, positions, rotary, pageTable;
  Guarded<uint8_t> cache;
};

/// The kernels rope, rope, kv_append and kv_append.
struct Unfused {
  Unfused(const TestTarget &target, const Problem &p)
      : problem(p), queries(target, "rope", rope(qHeads)),
        keys(target, "rope", rope(kHeads)),
        appendKeys(target, "kv_append",
                   append(p.keyWidth(), p.keyWidth(), p.keysAt())),
        appendValues(target, "kv_append", append(vWidth, p.stride, p.gap)) {}

  std::string rope(int heads) const {
    return "heads = " + std::to_string(heads) + ", " + problem.heads.keys() +
           ", x_stride = " + std::to_string(problem.stride);
  }
  std::string append(int width, int stride, int at) const {
    return "width = " + std::to_string(width) +
           ", x_stride = " + std::to_string(stride) +
           ", entry_offset = " + std::to_string(at) + ", " +
           problem.cacheKeys();
  }
  Result run(int first, int count) {
    Buffers b(problem, first, count);
    float *k = b.x.data() + problem.queryWidth();
    queries.run({b.x.data(), b.table.data(), b.rotary.data(), b.y.data()},
                {count});
    keys.run({k, b.table.data(), b.rotary.data(), b.keys.data()}, {count});
    auto write = [&](Kernel &kernel, float *from) {
      kernel.run({from, b.slots.data(), b.positions.data(), b.pageTable.data(),
                  b.cache.data()},
                 {count, maxPages});
    };
    write(appendKeys, b.keys.data());
    write(appendValues, k + problem.keyWidth());
    return b.result();
  }

  const Problem &problem;
  Kernel queries, keys, appendKeys, appendValues;
};

struct Fused {
  Fused(const TestTarget &target, const Problem &p, bool withQueries)
      : problem(p), withQueries(withQueries),
        kernel(target, withQueries ? "rope_qkv_append" : "rope_kv_append",
               keys(p, withQueries)) {}

  static std::string keys(const Problem &p, bool withQueries) {
    std::string stride = std::to_string(p.stride);
    return (withQueries ? "q_heads = 4, q_stride = " + stride + ", " : "") +
           "k_heads = 2, v_width = 22, k_stride = " + stride +
           ", v_stride = " + stride +
           ", k_offset = " + std::to_string(p.keysAt()) +
           ", v_offset = " + std::to_string(p.gap) + ", " + p.heads.keys() +
           ", " + p.cacheKeys();
  }
  Result run(int first, int count, Split split) {
    Buffers b(problem, first, count);
    float *k = b.x.data() + problem.queryWidth();
    std::vector<void *> buffers{k,
                                k + problem.keyWidth(),
                                b.table.data(),
                                b.rotary.data(),
                                b.slots.data(),
                                b.positions.data(),
                                b.pageTable.data(),
                                b.cache.data()};
    if (withQueries) {
      buffers.insert(buffers.begin(), b.x.data());
      buffers.push_back(b.y.data());
    }
    kernel.run(buffers, {count, maxPages}, split);
    return b.result();
  }
  /// Returns the data that rows write, one after another: queries and the bytes
  /// of entries.
  std::vector<float> rowsOf(int first, int count, Split split) {
    Result result = run(first, count, split);
    std::vector<float> all;
    for (int r = 0; r < count; ++r) {
      int width = problem.queryWidth();
      if (withQueries)
        all.insert(all.end(), &result.y[size_t(r) * width],
                   &result.y[size_t(r) * width] + width);
      std::vector<float> entry(problem.entry * problem.elementBytes());
      size_t share = problem.share() * problem.elementBytes();
      if (problem.positions[first + r] >= 0)
        for (size_t i = 0; i < entry.size(); ++i)
          entry[i] = result.cache[problem.shareAt(first + r, int(i / share)) +
                                  i % share];
      all.insert(all.end(), entry.begin(), entry.end());
    }
    return all;
  }
  int rowWidth() const {
    return (withQueries ? problem.queryWidth() : 0) +
           problem.entry * int(problem.elementBytes());
  }

  const Problem &problem;
  bool withQueries;
  Kernel kernel;
};
} // namespace

/// Compares with double precision. `cache` holds the entries of active rows.
static void expectReference(const Problem &p, const Result &result) {
  const Heads &heads = p.heads;
  double rounding = p.type == Element::BF16 ? 1.0 / 256 : 0;
  for (int r = 0; r < rows; ++r) {
    if (p.positions[r] < 0)
      continue;
    const float *x = &p.x[size_t(r) * p.stride];
    const float *angles = &p.table[p.rotary[r] * heads.dim];
    for (int h = 0; h < qHeads + kHeads; ++h) {
      std::vector<double> want = heads.rotated(x + h * heads.width, angles);
      for (int i = 0; i < heads.width; ++i) {
        if (h < qHeads) {
          ASSERT_NEAR(result.y[r * p.queryWidth() + h * heads.width + i],
                      want[i], 1e-5)
              << "row " << r << ", head " << h << ", column " << i;
          continue;
        }
        float scale = p.scaleOf(result.cache, r, h - qHeads);
        float got =
            scale *
            p.element(
                &result.cache[p.keyAt(r, h - qHeads) + i * p.elementBytes()]);
        double half = p.type == Element::I8 ? scale * 0.501 : 0;
        ASSERT_NEAR(got, want[i], 1e-5 + half + rounding * std::fabs(want[i]))
            << "row " << r << ", head " << h << ", column " << i;
      }
    }
  }
}

static void check(const TestTarget &target, const Problem &problem) {
  Result want = Unfused(target, problem).run(0, rows);
  for (bool withQueries : {true, false}) {
    Fused fused(target, problem, withQueries);
    Result got = fused.run(0, rows, Split::Random);
    EXPECT_EQ(got.cache, want.cache);
    if (withQueries) {
      EXPECT_EQ(std::memcmp(got.y.data(), want.y.data(), 4 * want.y.size()), 0);
      expectReference(problem, got);
    }
    expectRowInvariant(rows, fused.rowWidth(),
                       [&](int first, int count, Split split) {
                         return fused.rowsOf(first, count, split);
                       });
  }
}

namespace {
/// Heads and the layout of their cache.
struct Layout {
  Heads heads;
  Element type;
  int cacheHeads;

  std::string config() const {
    return heads.keys() + ", " + Problem(heads, type, cacheHeads).dtype() +
           ", cache_heads = " + std::to_string(cacheHeads);
  }
};

class RopeAppend : public testing::TestWithParam<Layout> {};
} // namespace

static std::vector<Layout> layouts() {
  std::vector<Layout> layouts;
  for (Element type : {Element::F32, Element::BF16, Element::I8})
    for (bool interleaved : {false, true})
      for (Heads heads :
           {Heads{64, 0, 64, interleaved}, Heads{26, 5, 38, interleaved}})
        for (int cacheHeads : {1, kHeads})
          if (type != Element::I8 || cacheHeads == kHeads)
            layouts.push_back({heads, type, cacheHeads});
  return layouts;
}

INSTANTIATE_TEST_SUITE_P(Layouts, RopeAppend, testing::ValuesIn(layouts()),
                         NamedByConfig());

TEST_P(RopeAppend, IsTheUnfusedKernelsToTheBit) {
  const auto &[heads, type, cacheHeads] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    check(target, Problem(heads, type, cacheHeads));
  }
}

// The integers of a row are defined: the nearest ones of its columns over the
// scale, ties to even.
TEST(KvAppend, WritesIntegersAndScales) {
  constexpr int count = 5, heads = 2, width = 38, share = 48;
  std::vector<float> x = randomFloats(count * heads * width, 3);
  std::fill_n(&x[heads * width], width, 0.0f);
  std::fill_n(&x[2 * heads * width], width, 1e-38f);
  x[3 * heads * width + 5] = NAN;
  // Halves between two integers.
  for (int i = 0; i < width; ++i)
    x[4 * heads * width + i] = i ? float(i) + 0.5f : -127.0f;
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel kernel(target, "kv_append",
                  "width = 76, dtype = i8, page = 4, entry_width = 96, "
                  "cache_heads = 2, slots = 1");
    Guarded<float> from(x);
    Guarded<int32_t> slots(std::vector<int32_t>(count, 0)),
        positions(std::vector<int32_t>{0, 1, 2, 3, 5}),
        table(std::vector<int32_t>{1, 0});
    Guarded<uint8_t> cache(2 * mtp::pageStride(4, 96, 1));
    std::memset(cache.data(), 0x11, cache.size());
    kernel.run({from.data(), slots.data(), positions.data(), table.data(),
                cache.data()},
               {count, 2});
    for (int row = 0; row < count; ++row)
      for (int head = 0; head < heads; ++head) {
        const float *own = &x[(row * heads + head) * width];
        uint8_t *at = cache.data() + (row < 4 ? mtp::pageStride(4, 96, 1) : 0) +
                      (head * 4 + positions[row] % 4) * share;
        float most = 0, scale;
        bool isNumber = true;
        for (int i = 0; i < width; ++i) {
          most = std::max(most, std::fabs(own[i]));
          isNumber &= !std::isnan(own[i]);
        }
        std::memcpy(&scale, at + share - 8, 4);
        EXPECT_EQ(at[share - 4], 0x11) << "the scale of another append";
        EXPECT_EQ(std::isnan(scale), !isNumber);
        if (!isNumber)
          continue;
        EXPECT_EQ(scale, most / 127);
        float perUnit = most > 1e-36f ? 127 / most : 0;
        for (int i = 0; i < width; ++i)
          ASSERT_EQ(int8_t(at[i]), std::nearbyint(double(own[i]) * perUnit))
              << "row " << row << ", head " << head << ", column " << i;
      }
  }
}

namespace {
/// Columns 21 to 47 of a head are rotated; columns 18 to 49 are kept.
struct KeptHeads {
  static constexpr int heads = 3, k = 17, n = 37, stride = 160, yStride = 220;

  explicit KeptHeads(bool interleaved)
      : shape{26, 21, 50, interleaved}, x(randomFloats(rows * stride, 1)),
        table(randomFloats(positionCount * shape.dim, 2)),
        packed(packHeads(randomFloats(heads * n * k, 3), heads, n, k,
                         /*bf16=*/false)) {
    for (int r = 0; r < rows; ++r)
      positions.push_back(r % 7 == 3 ? -1 : (r * 11) % positionCount);
  }

  std::string config() const {
    return "heads = 3, k = 17, n = 37, format = <f32>, x_head_stride = 50, "
           "y_stride = 220, y_head_stride = 70, keep_width = 31, "
           "keep_offset = 18";
  }
  /// Runs `rope` and `head_linear`.
  std::vector<float> runUnfused(const TestTarget &target) const;
  std::vector<float> run(const Kernel &fused, int first, int count,
                         Split split) const;

  Heads shape;
  std::vector<float> x, table;
  std::vector<uint8_t> packed;
  std::vector<int32_t> positions;
};

class HeadLinearOfRotated : public testing::TestWithParam<bool> {};
} // namespace

std::vector<float> KeptHeads::runUnfused(const TestTarget &target) const {
  Kernel rope(target, "rope", "heads = 3, x_stride = 160, " + shape.keys());
  Kernel plain(target, "head_linear", config() + ", x_stride = 150");
  Guarded<uint8_t> weights(packed);
  Guarded<int32_t> at(positions);
  Guarded<float> in(x), angles(table), turned(rows * 150), out(rows * yStride);
  std::memset(out.data(), 0, out.size() * 4);
  rope.run({in.data(), angles.data(), at.data(), turned.data()}, {rows});
  plain.run({turned.data(), weights.data(), out.data()}, {rows});
  return out.values();
}

std::vector<float> KeptHeads::run(const Kernel &fused, int first, int count,
                                  Split split) const {
  Guarded<float> from(std::vector<float>(x.begin() + first * stride,
                                         x.begin() + (first + count) * stride));
  Guarded<int32_t> place(std::vector<int32_t>(
      positions.begin() + first, positions.begin() + first + count));
  Guarded<uint8_t> weights(packed);
  Guarded<float> angles(table), out(count * yStride);
  std::memset(out.data(), 0, out.size() * 4);
  fused.run(
      {from.data(), weights.data(), angles.data(), place.data(), out.data()},
      {count}, split);
  return out.values();
}

INSTANTIATE_TEST_SUITE_P(Layouts, HeadLinearOfRotated, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "interleaved" : "half";
                         });

TEST_P(HeadLinearOfRotated, RotatesWhatItKeeps) {
  KeptHeads p(GetParam());
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Kernel fused(target, "head_linear",
                 p.config() +
                     ", x_stride = 160, rotation = <dim = 26, offset = 3, "
                     "layout = " +
                     (GetParam() ? "interleaved>" : "half>"));
    auto run = [&](int first, int count, Split split) {
      return p.run(fused, first, count, split);
    };
    std::vector<float> got = run(0, rows, Split::Random);
    std::vector<float> want = p.runUnfused(target);
    EXPECT_EQ(std::memcmp(got.data(), want.data(), 4 * got.size()), 0);
    expectRowInvariant(rows, p.yStride, run);
    for (int r = 0; r < rows; ++r)
      for (int h = 0; h < p.heads; ++h) {
        auto expected =
            p.shape.rotated(&p.x[r * p.stride + h * 50],
                            &p.table[std::max(p.positions[r], 0) * 26]);
        for (int i = 0; i < 31; ++i)
          ASSERT_NEAR(got[r * p.yStride + h * 70 + p.n + i], expected[18 + i],
                      1e-5);
      }
  }
}
