//===- RowKernels_test.cpp - Kernels that work on one row at a time -------===//

#include "harness/Harness.h"
#include "runtime/schema/KvPage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

/// Runs `body` for every target of this machine.
static void forTargets(const std::function<void(const TestTarget &)> &body) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    body(target);
  }
}

/// Returns rows [first, first + count) of a row-major matrix.
static std::vector<float> rowsOf(const std::vector<float> &x, int width,
                                 int first, int count) {
  return {x.begin() + size_t(first) * width,
          x.begin() + size_t(first + count) * width};
}

namespace {
class RmsNormOf : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Widths, RmsNormOf, testing::Values(1, 8, 50, 64),
                         testing::PrintToStringParamName());

TEST_P(RmsNormOf, MatchesReferenceAndIsRowInvariant) {
  int width = GetParam();
  forTargets([&](const TestTarget &target) {
    const int groups = 3, stride = groups * width + 2;
    Kernel kernel(target, "rms_norm",
                  "width = " + std::to_string(width) +
                      ", groups = 3, eps = 1.0e-6 : f32, offset = 0, "
                      "x_stride = " +
                      std::to_string(stride));
    auto x = randomFloats(40 * stride, 1), w = randomFloats(width, 2);
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(rowsOf(x, stride, first, count)), weight(w);
      Guarded<float> out(count * groups * width);
      kernel.run({in.data(), weight.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(40, groups * width, run);
    std::vector<float> y = run(0, 40, Split::Whole);
    for (int r = 0; r < 40 * groups; ++r) {
      const float *from = &x[r / groups * stride + r % groups * width];
      double sum = 0;
      for (int i = 0; i < width; ++i)
        sum += double(from[i]) * from[i];
      for (int i = 0; i < width; ++i)
        ASSERT_NEAR(y[r * width + i],
                    from[i] / std::sqrt(sum / width + 1e-6) * w[i], 1e-5);
    }
  });
}

/// Converts rows of bf16 to f32.
static std::vector<float> fromBF16(const std::vector<uint16_t> &bits) {
  std::vector<float> values;
  for (uint16_t half : bits) {
    uint32_t word = uint32_t(half) << 16;
    values.emplace_back();
    std::memcpy(&values.back(), &word, sizeof(word));
  }
  return values;
}

namespace {
/// A width, and whether rows are normed.
using Rounded = std::tuple<int, bool>;
class RoundRowsOf : public testing::TestWithParam<Rounded> {};
} // namespace

static std::string nameOfRounded(const testing::TestParamInfo<Rounded> &info) {
  auto [width, norm] = info.param;
  return std::to_string(width) + (norm ? "_norm" : "");
}

INSTANTIATE_TEST_SUITE_P(Widths, RoundRowsOf,
                         testing::Combine(testing::Values(1, 17, 50, 160),
                                          testing::Bool()),
                         nameOfRounded);

TEST_P(RoundRowsOf, RoundsWhatTheNormMakes) {
  auto [width, norm] = GetParam();
  forTargets([&](const TestTarget &target) {
    const int stride = width + 3;
    std::string size = "width = " + std::to_string(width) +
                       ", x_stride = " + std::to_string(stride);
    auto x = randomFloats(20 * stride, 1), w = randomFloats(width, 2);
    // One kernel at a time: an image is identified by the number of its file.
    std::vector<float> expected;
    {
      Kernel normed(target, "rms_norm",
                    size + ", eps = 1.0e-6 : f32, offset = 1");
      Guarded<float> in(x), weight(w), out(20 * width);
      normed.run({in.data(), weight.data(), out.data()}, {20});
      expected = out.values();
    }
    Kernel kernel(target, "round_rows",
                  size + (norm ? ", norm = true, eps = 1.0e-6 : f32, "
                                 "offset = 1"
                               : ""));
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(rowsOf(x, stride, first, count)), weight(w);
      Guarded<uint16_t> out(size_t(count) * width);
      std::vector<void *> buffers = {in.data(), weight.data(), out.data()};
      if (!norm)
        buffers.erase(buffers.begin() + 1);
      kernel.run(buffers, {count}, split);
      return fromBF16(out.values());
    };
    expectRowInvariant(20, width, run, 7);
    // The bits of the norm alone, rounded.
    std::vector<float> y = run(0, 20, Split::Whole);
    for (int r = 0; r < 20; ++r)
      for (int i = 0; i < width; ++i)
        ASSERT_EQ(y[r * width + i],
                  toBF16(norm ? expected[r * width + i] : x[r * stride + i]));
  });
}

namespace {
class AddBiasOf : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Widths, AddBiasOf, testing::Values(1, 50, 160),
                         testing::PrintToStringParamName());

TEST_P(AddBiasOf, AddsItToEveryRow) {
  int width = GetParam();
  forTargets([&](const TestTarget &target) {
    const int stride = width + 3;
    Kernel kernel(target, "add_bias",
                  "width = " + std::to_string(width) +
                      ", x_stride = " + std::to_string(stride));
    auto x = randomFloats(20 * stride, 1), b = randomFloats(width, 2);
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(rowsOf(x, stride, first, count)), bias(b);
      Guarded<float> out(size_t(count) * width);
      kernel.run({in.data(), bias.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(20, width, run, 7);
    std::vector<float> y = run(0, 20, Split::Whole);
    for (int r = 0; r < 20; ++r)
      for (int i = 0; i < width; ++i)
        ASSERT_EQ(y[r * width + i], x[r * stride + i] + b[i]);
  });
}

static std::string nameOfFloat(const testing::TestParamInfo<bool> &info) {
  return info.param ? "bf16" : "f32";
}

namespace {
class EmbedOf : public testing::TestWithParam<bool> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Formats, EmbedOf, testing::Bool(), nameOfFloat);

TEST_P(EmbedOf, CopiesRowsAndStaysInTheTable) {
  bool bf16 = GetParam();
  forTargets([&](const TestTarget &target) {
    const int width = 37, vocab = 11;
    auto table = randomFloats(width * vocab, 1);
    std::vector<uint16_t> narrow;
    for (float value : table)
      narrow.push_back(bf16Bits(value));
    std::vector<int32_t> tokens{0, 10, 3, -1, 99};
    Kernel kernel(target, "embed",
                  std::string("width = 37, vocab = 11, format = ") +
                      (bf16 ? "<bf16>" : "<f32>"));
    Kernel scaling(target, "embed",
                   std::string("width = 37, vocab = 11, scale = 25.25 : f32, "
                               "format = ") +
                       (bf16 ? "<bf16>" : "<f32>"));
    Guarded<float> wide(table), out(5 * width), scaled(5 * width);
    Guarded<uint16_t> half(narrow);
    Guarded<int32_t> ids(tokens);
    void *from = bf16 ? static_cast<void *>(half.data()) : wide.data();
    kernel.run({from, ids.data(), out.data()}, {5}, Split::Random);
    scaling.run({from, ids.data(), scaled.data()}, {5}, Split::Random);
    for (int r = 0; r < 5; ++r)
      for (int i = 0; i < width; ++i) {
        float value = table[std::clamp(tokens[r], 0, 10) * width + i];
        if (bf16)
          value = toBF16(value);
        EXPECT_EQ(out[r * width + i], value);
        EXPECT_EQ(scaled[r * width + i], value * 25.25f);
      }
  });
}

TEST(MaskFirst, ZeroesPositionZero) {
  forTargets([](const TestTarget &target) {
    auto x = randomFloats(3 * 19, 1);
    x[0] = NAN;
    Kernel kernel(target, "mask_first", "width = 19");
    Guarded<float> in(x), out(3 * 19);
    Guarded<int32_t> positions(std::vector<int32_t>{0, 4, -1});
    kernel.run({in.data(), positions.data(), out.data()}, {3}, Split::Single);
    for (int i = 0; i < 3 * 19; ++i)
      EXPECT_EQ(out[i], i < 19 ? 0.0f : x[i]);
  });
}

/// Rotates one head in double precision.
static std::vector<double> rotated(const float *x, const float *table, int dim,
                                   bool interleaved) {
  std::vector<double> y(dim);
  for (int i = 0; i < dim / 2; ++i) {
    int a = interleaved ? 2 * i : i, b = interleaved ? 2 * i + 1 : i + dim / 2;
    double c = table[i], s = table[dim / 2 + i];
    y[a] = x[a] * c - x[b] * s;
    y[b] = x[b] * c + x[a] * s;
  }
  return y;
}

namespace {
/// Whether pairs are interleaved, and the number of rotated columns.
using Turned = std::tuple<bool, int>;
class RopeOf : public testing::TestWithParam<Turned> {};
} // namespace

static std::string nameOfTurned(const testing::TestParamInfo<Turned> &info) {
  auto [interleaved, dim] = info.param;
  return (interleaved ? "interleaved_" : "half_") + std::to_string(dim);
}

INSTANTIATE_TEST_SUITE_P(Layouts, RopeOf,
                         testing::Combine(testing::Bool(),
                                          testing::Values(2, 6, 16, 26, 64)),
                         nameOfTurned);

TEST_P(RopeOf, RotatesAndCopies) {
  auto [interleaved, dim] = GetParam();
  forTargets([&](const TestTarget &target) {
    const int heads = 3, offset = 5, head = dim + 12, rows = 40;
    const int width = heads * head;
    Kernel kernel(
        target, "rope",
        "heads = 3, rotation = <offset = 5, dim = " + std::to_string(dim) +
            (interleaved ? ", layout = interleaved>" : ">") +
            ", head_stride = " + std::to_string(head) +
            ", copy_width = " + std::to_string(head));
    auto x = randomFloats(rows * width, 1);
    auto table = randomFloats(50 * dim, 2);
    std::vector<int32_t> positions(rows);
    for (int r = 0; r < rows; ++r)
      positions[r] = (r * 7) % 50;
    auto run = [&](bool inPlace, int first, int count, Split split) {
      Guarded<float> in(rowsOf(x, width, first, count));
      Guarded<float> angles(table), out(count * width);
      Guarded<int32_t> at(std::vector<int32_t>(
          positions.begin() + first, positions.begin() + first + count));
      Guarded<float> &to = inPlace ? in : out;
      kernel.run({in.data(), angles.data(), at.data(), to.data()}, {count},
                 split);
      return to.values();
    };
    expectRowInvariant(rows, width, [&](int first, int count, Split s) {
      return run(false, first, count, s);
    });
    std::vector<float> y = run(false, 0, rows, Split::Whole);
    EXPECT_EQ(y, run(true, 0, rows, Split::Whole));
    for (int r = 0; r < rows * heads; ++r) {
      const float *from = &x[r * head];
      auto want = rotated(from + offset, &table[positions[r / heads] * dim],
                          dim, interleaved);
      for (int i = 0; i < head; ++i) {
        bool copied = i < offset || i >= offset + dim;
        ASSERT_NEAR(y[r * head + i], copied ? from[i] : want[i - offset],
                    copied ? 0 : 1e-5);
      }
    }
  });
}

namespace {
class KvAppendOf : public testing::TestWithParam<bool> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Formats, KvAppendOf, testing::Bool(), nameOfFloat);

TEST_P(KvAppendOf, WritesActiveRowsOnly) {
  bool bf16 = GetParam();
  forTargets([&](const TestTarget &target) {
    const int width = 17, page = 8, entry = 50, maxPages = 3, pages = 7;
    Kernel kernel(
        target, "kv_append",
        std::string("width = 17, page = 8, slots = 2, entry_width = 50, "
                    "entry_offset = 9, x_stride = 23, dtype = ") +
            (bf16 ? "bf16" : "f32"));
    auto x = randomFloats(5 * 23, 1);
    std::vector<int32_t> slots{1, 0, 1, 1, 0}, positions{0, 7, 8, -1, 23};
    std::vector<int32_t> table{1, 2, 3, 4, 5, 6};
    size_t bytes = bf16 ? 2 : 4;
    Guarded<float> in(x);
    Guarded<int32_t> s(slots), p(positions), t(table);
    size_t stride = mtp::pageStride(page, entry, bytes);
    Guarded<uint8_t> cache(pages * stride);
    std::memset(cache.data(), 0x11, cache.size());
    std::vector<uint8_t> want = cache.values();
    for (int r = 0; r < 5; ++r) {
      if (positions[r] < 0)
        continue;
      int block = table[slots[r] * maxPages + positions[r] / page];
      size_t at = block * stride + (positions[r] % page * entry + 9) * bytes;
      for (int i = 0; i < width; ++i) {
        uint16_t half = bf16Bits(x[r * 23 + i]);
        if (bf16)
          std::memcpy(&want[at + i * bytes], &half, 2);
        else
          std::memcpy(&want[at + i * bytes], &x[r * 23 + i], 4);
      }
    }
    kernel.run({in.data(), s.data(), p.data(), t.data(), cache.data()},
               {5, maxPages}, Split::Random);
    EXPECT_EQ(cache.values(), want);
  });
}

TEST(KvAppend, WritesTheSharesOfHeads) {
  forTargets([](const TestTarget &target) {
    // Three heads of 7 columns, from column 9 of 54, which is column 3 of a
    // share.
    const int heads = 3, width = 7, page = 8, share = 18, maxPages = 3;
    Kernel kernel(target, "kv_append",
                  "width = 21, page = 8, entry_width = 54, entry_offset = 9, "
                  "cache_heads = 3, x_stride = 23, dtype = f32");
    auto x = randomFloats(5 * 23, 1);
    std::vector<int32_t> slots{1, 0, 1, 1, 0}, positions{0, 7, 8, -1, 23};
    std::vector<int32_t> table{1, 2, 3, 4, 5, 6};
    Guarded<float> in(x), cache(7 * page * heads * share);
    Guarded<int32_t> s(slots), p(positions), t(table);
    std::fill_n(cache.data(), cache.size(), -2.0f);
    std::vector<float> want = cache.values();
    for (int r = 0; r < 5; ++r)
      for (int head = 0; head < heads && positions[r] >= 0; ++head) {
        int at =
            table[slots[r] * maxPages + positions[r] / page] * heads + head;
        std::copy_n(&x[r * 23 + head * width], width,
                    &want[(at * page + positions[r] % page) * share + 3]);
      }
    kernel.run({in.data(), s.data(), p.data(), t.data(), cache.data()},
               {5, maxPages}, Split::Random);
    EXPECT_EQ(cache.values(), want);
  });
}

TEST(KvAppend, RoundsToNearestEven) {
  forTargets([](const TestTarget &target) {
    std::vector<float> x = randomFloats(62, 3);
    x.push_back(NAN);
    x.push_back(INFINITY);
    uint32_t ties[] = {0x3f808000, 0x3f818000, 0x7f7fffff, 0x00018000};
    for (uint32_t bits : ties) {
      float value;
      std::memcpy(&value, &bits, 4);
      x.push_back(value);
    }
    Kernel kernel(target, "kv_append", "width = 68, page = 1, dtype = bf16");
    Guarded<float> in(x);
    Guarded<int32_t> zero(std::vector<int32_t>{0});
    Guarded<uint16_t> cache(68);
    kernel.run({in.data(), zero.data(), zero.data(), zero.data(), cache.data()},
               {1, 1});
    for (int i = 0; i < 68; ++i)
      EXPECT_EQ(cache[i], bf16Bits(x[i])) << x[i];
  });
}

TEST(Elementwise, AddConcatCopyTake) {
  forTargets([](const TestTarget &target) {
    const int rows = 7, width = 29;
    auto x = randomFloats(rows * 33, 1), z = randomFloats(rows * 31, 2);
    Guarded<float> a(x), b(z), sum(rows * 40), both(rows * (33 + 31)),
        columns(rows * 30), taken(3 * 33);
    Guarded<int32_t> index(std::vector<int32_t>{6, 0, 6});
    Kernel(target, "add",
           "width = 29, a_stride = 33, b_stride = 31, y_stride = 40")
        .run({a.data(), b.data(), sum.data()}, {rows}, Split::Random);
    Kernel(target, "concat", "a_width = 33, b_width = 31")
        .run({a.data(), b.data(), both.data()}, {rows}, Split::Random);
    Kernel(target, "copy_cols",
           "width = 20, x_stride = 33, x_offset = 13, y_stride = 30, "
           "y_offset = 10")
        .run({a.data(), columns.data()}, {rows}, Split::Random);
    Kernel(target, "gather_rows", "width = 33")
        .run({a.data(), index.data(), taken.data()}, {3, rows}, Split::Random);
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < width; ++i)
        EXPECT_EQ(sum[r * 40 + i], x[r * 33 + i] + z[r * 31 + i]);
      for (int i = 0; i < 64; ++i)
        EXPECT_EQ(both[r * 64 + i],
                  i < 33 ? x[r * 33 + i] : z[r * 31 + i - 33]);
      for (int i = 0; i < 20; ++i)
        EXPECT_EQ(columns[r * 30 + 10 + i], x[r * 33 + 13 + i]);
    }
    for (int r = 0; r < 3; ++r)
      for (int i = 0; i < 33; ++i)
        EXPECT_EQ(taken[r * 33 + i], x[index[r] * 33 + i]);
  });
}

/// Returns the distance in units of the last place of `want`, with gradual
/// underflow.
static double ulps(float got, double want) {
  float nearest = std::fabs(static_cast<float>(want));
  float next = std::nextafter(nearest, INFINITY);
  return std::fabs(got - want) / (double(next) - nearest);
}

namespace {
/// Inputs from `least` to `most`, and the kernel's results for them with up
/// = 1.
struct Gated {
  Gated(const TestTarget &target, const std::string &name, float least,
        float most)
      : x(20011), y(20011) {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = least + (most - least) * float(i) / float(x.size());
    Kernel kernel(target, name, "width = 20011");
    Guarded<float> gate(x), up(std::vector<float>(x.size(), 1.0f));
    kernel.run({gate.data(), up.data(), y.data()}, {1});
  }
  std::vector<float> x;
  Guarded<float> y;
};
} // namespace

TEST(Swiglu, ExponentialIsAccurate) {
  forTargets([](const TestTarget &target) {
    // silu(x) * up with up = 1 shows e^-x to a few ulp over its whole range.
    Gated all(target, "swiglu", -86, 86);
    double worst = 0;
    for (size_t i = 0; i < all.x.size(); ++i)
      worst = std::max(worst, ulps(all.y[i], silu(all.x[i])));
    EXPECT_LT(worst, 3.0);
    EXPECT_GT(worst, 0.0);
  });
}

TEST(GegluTanh, IsAccurate) {
  forTargets([](const TestTarget &target) {
    Gated all(target, "geglu_tanh", -8, 8);
    for (size_t i = 0; i < all.x.size(); ++i) {
      double want = geluTanh(all.x[i]);
      // The exponent of e is below 50 here, and is rounded to 24 bits.
      EXPECT_NEAR(all.y[i], want, 1e-5 * std::fabs(want)) << all.x[i];
      if (all.x[i] > 0)
        EXPECT_LT(ulps(all.y[i], want), 4.0) << all.x[i];
    }
  });
}

/// Checks a gate that is linear for large inputs and zero for small ones.
static void expectSpecialValues(const std::string &kernelName) {
  forTargets([&](const TestTarget &target) {
    Kernel kernel(target, kernelName, "width = 6");
    Guarded<float> gate({NAN, INFINITY, -200.0f, 0.0f, 200.0f, 3e30f});
    Guarded<float> up(std::vector<float>(6, 2.0f)), y(6);
    kernel.run({gate.data(), up.data(), y.data()}, {1});
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], INFINITY);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_EQ(y[4], 400.0f);
    EXPECT_EQ(y[5], 6e30f);
  });
}

TEST(GegluTanh, KeepsSpecialValues) { expectSpecialValues("geglu_tanh"); }

TEST(GegluTanh, GivesEqualBitsForAnyRows) {
  forTargets([](const TestTarget &target) {
    const int width = 1027;
    Kernel kernel(target, "geglu_tanh", "width = 1027");
    auto x = randomFloats(20 * width, 1, 6.0f), z = randomFloats(20 * width, 2);
    auto run = [&](int first, int count, Split split) {
      Guarded<float> gate(rowsOf(x, width, first, count));
      Guarded<float> up(rowsOf(z, width, first, count));
      Guarded<float> out(size_t(count) * width);
      kernel.run({gate.data(), up.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(20, width, run, 7);
  });
}

TEST(Swiglu, KeepsSpecialValues) { expectSpecialValues("swiglu"); }

namespace {
class SiluOf : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Widths, SiluOf, testing::Values(1, 50, 1027),
                         testing::PrintToStringParamName());

TEST_P(SiluOf, IsThatOfSwiglu) {
  int width = GetParam();
  forTargets([&](const TestTarget &target) {
    const int stride = width + 3;
    Kernel kernel(target, "silu",
                  "width = " + std::to_string(width) +
                      ", x_stride = " + std::to_string(stride));
    Kernel gates(target, "swiglu", "width = " + std::to_string(width));
    auto x = randomFloats(20 * stride, 1, 6.0f);
    auto run = [&](int first, int count, Split split) {
      Guarded<float> in(rowsOf(x, stride, first, count));
      Guarded<float> out(size_t(count) * width);
      kernel.run({in.data(), out.data()}, {count}, split);
      return out.values();
    };
    expectRowInvariant(20, width, run, 7);
    std::vector<float> y = run(0, 20, Split::Whole);
    for (int r = 0; r < 20; ++r) {
      Guarded<float> gate(std::vector<float>(x.begin() + r * stride,
                                             x.begin() + r * stride + width));
      Guarded<float> up(std::vector<float>(width, 1.0f)), same(width);
      gates.run({gate.data(), up.data(), same.data()}, {1});
      for (int i = 0; i < width; ++i) {
        ASSERT_EQ(y[r * width + i], same[i]);
        ASSERT_NEAR(y[r * width + i], silu(x[r * stride + i]), 2e-6);
      }
    }
  });
}

TEST(Silu, KeepsSpecialValues) {
  forTargets([](const TestTarget &target) {
    Kernel kernel(target, "silu", "width = 5");
    Guarded<float> x({NAN, INFINITY, -200.0f, 0.0f, 200.0f}), y(5);
    kernel.run({x.data(), y.data()}, {1});
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], INFINITY);
    EXPECT_EQ(y[2], 0.0f);
    EXPECT_EQ(y[3], 0.0f);
    EXPECT_EQ(y[4], 200.0f);
  });
}

namespace {
class ArgmaxOf : public testing::TestWithParam<int> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Widths, ArgmaxOf, testing::Values(1, 7, 16, 61, 1000),
                         testing::PrintToStringParamName());

TEST_P(ArgmaxOf, TakesTheFirstLargest) {
  int width = GetParam();
  forTargets([&](const TestTarget &target) {
    const float inf = INFINITY;
    Kernel kernel(target, "argmax", "width = " + std::to_string(width));
    std::vector<float> x = randomFloats(40 * width, width);
    std::vector<int> want(40);
    for (int r = 0; r < 40; ++r) {
      float *row = &x[r * width];
      if (r % 4 == 1) // Many ties.
        for (int i = 0; i < width; ++i)
          row[i] = std::round(row[i]);
      if (r % 4 == 2) // Only the last value counts.
        std::fill(row, row + width - 1, r % 8 == 2 ? NAN : -inf);
      if (r % 4 == 3 && width > 2) // -infinity beats NaN.
        std::fill(row, row + width, -inf), row[0] = NAN;
      want[r] = 0;
      for (int i = width - 1; i >= 0; --i)
        if (std::isnan(row[want[r]]) || row[i] >= row[want[r]])
          if (!std::isnan(row[i]))
            want[r] = i;
    }
    std::fill(x.begin(), x.begin() + width, NAN);
    want[0] = 0;
    Guarded<float> in(x);
    Guarded<int32_t> out(40);
    kernel.run({in.data(), out.data()}, {40}, Split::Random);
    for (int r = 0; r < 40; ++r)
      EXPECT_EQ(out[r], want[r]) << "row " << r;
  });
}
