//===- Linear_test.cpp - linear and head_linear ---------------------------===//

#include "harness/Projection.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

struct Case {
  int k, n;
  bool bf16 = false, norm = false, bias = false, residual = false,
       gated = false;
  /// Weights in the order of tensor cores, for a GPU only.
  bool fragments = false;
  bool gelu = false;

  bool runsOn(const TestTarget &target) const {
    return target.isGpu || !fragments;
  }
  int outputs() const { return gated ? n / 2 : n; }
  int stride() const { return rowStride(k, fragments); }
  std::string config() const {
    return projectionConfig(*this, std::string("format = <") +
                                       (bf16 ? "bf16" : "f32") + ">");
  }
};

/// Inputs of a case and a double precision reference.
struct Problem {
  Problem(const Case &c, int rows)
      : c(c), rows(rows), x(randomFloats(size_t(rows) * c.stride(), 1)),
        normWeight(randomFloats(c.k, 2, 0.3f)),
        w(randomFloats(size_t(c.n) * c.k, 3, 0.2f)), bias(randomFloats(c.n, 4)),
        residual(randomFloats(size_t(rows) * (c.outputs() + 3), 5)),
        packed(packWeights(w, c.n, c.k, c.bf16, c.gated)) {
    if (c.fragments)
      packed = toFragments(packed, c.k);
  }

  std::vector<float> run(const Kernel &kernel, int first, int count,
                         Split split) {
    return runProjection(
        kernel,
        {c.k, c.outputs(), c.stride(), x, c.norm ? &normWeight : nullptr,
         packed, c.bias ? &bias : nullptr, c.residual ? &residual : nullptr},
        first, count, split);
  }

  /// Returns the value that is multiplied: normed, and rounded if weights are.
  double input(int row, int i, bool rounded) const {
    const float *from = &x[size_t(row) * c.stride()];
    double value = from[i];
    if (c.norm) {
      double sum = 0;
      for (int j = 0; j < c.k; ++j)
        sum += double(from[j]) * from[j];
      value *= (1.0 + normWeight[i]) / std::sqrt(sum / c.k + 1e-5);
    }
    return rounded ? toBF16(float(value)) : value;
  }

  /// Returns the sum of products and the sum of their magnitudes.
  std::pair<double, double> dot(int row, int n, bool rounded) const {
    double sum = 0, magnitude = 0;
    for (int i = 0; i < c.k; ++i) {
      double weight = w[size_t(n) * c.k + i];
      if (c.bf16)
        weight = toBF16(float(weight));
      double product = inputs[size_t(row) * c.k + i] * weight;
      sum += product;
      magnitude += std::fabs(product);
    }
    return {sum, magnitude};
  }

  void check(const std::vector<float> &y, bool rounded) {
    inputs.resize(size_t(rows) * c.k);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < c.k; ++i)
        inputs[size_t(r) * c.k + i] = input(r, i, rounded);
    // A normed value may be on the other side of a rounding boundary.
    double relative = rounded && c.norm ? 1e-3 : 3e-6;
    checkProjection(*this, y, relative,
                    [&](int row, int n) { return dot(row, n, rounded); });
  }

  Case c;
  int rows;
  std::vector<float> x, normWeight, w, bias, residual;
  std::vector<uint8_t> packed;
  std::vector<double> inputs;
};

} // namespace

static const Case cases[] = {
    {64, 32},
    {33, 47, /*bf16=*/false, /*norm=*/true, /*bias=*/true, /*residual=*/true},
    {96, 64, /*bf16=*/true},
    {1, 1, /*bf16=*/true},
    {71, 90, /*bf16=*/true, /*norm=*/true, /*bias=*/true, /*residual=*/true},
    {50, 88, /*bf16=*/true, /*norm=*/true, false, false, /*gated=*/true},
    {40, 64, /*bf16=*/false, false, false, false, /*gated=*/true},
    {40, 64, /*bf16=*/false, false, false, false, /*gated=*/true, false,
     /*gelu=*/true},
    {160, 88, /*bf16=*/true, /*norm=*/true, false, false, /*gated=*/true, false,
     /*gelu=*/true},
    // Widths that fill tiles.
    {160, 90, /*bf16=*/true, /*norm=*/true, /*bias=*/true, /*residual=*/true},
    {64, 88, /*bf16=*/true, /*norm=*/true, false, false, /*gated=*/true},
    // On tensor cores: fewer chunks than warps, all forms, and enough chunks
    // that warps have several chunks, but not the same number.
    {32, 17, /*bf16=*/true, false, false, false, false, /*fragments=*/true},
    {160, 90, /*bf16=*/true, /*norm=*/true, /*bias=*/true, /*residual=*/true,
     false, /*fragments=*/true},
    {352, 88, /*bf16=*/true, /*norm=*/true, false, false, /*gated=*/true,
     /*fragments=*/true},
    {1120, 48, /*bf16=*/true, /*norm=*/true, false, false, false,
     /*fragments=*/true},
    {1120, 64, /*bf16=*/true, false, false, false, /*gated=*/true,
     /*fragments=*/true},
    {352, 88, /*bf16=*/true, /*norm=*/true, false, false, /*gated=*/true,
     /*fragments=*/true, /*gelu=*/true}};

/// Rows of two passes, with 64 or with 128 rows in a pass.
static constexpr int manyRows = 140;

namespace {
class LinearOf : public testing::TestWithParam<Case> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Floats, LinearOf, testing::ValuesIn(cases),
                         NamedByConfig());

TEST_P(LinearOf, MatchesReferenceAndIsRowInvariant) {
  const Case &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (!c.runsOn(target))
      continue;
    SCOPED_TRACE(name);
    int rows = target.rowsOf(manyRows), some = target.rowsOf(40);
    Problem problem(c, rows);
    Kernel kernel(target, "linear", c.config());
    auto run = [&](int first, int count, Split split) {
      return problem.run(kernel, first, count, split);
    };
    std::vector<float> all = run(0, rows, Split::Random);
    problem.check(all, c.bf16 && target.roundsRows());
    expectRowInvariant(some, c.outputs(), run);
    all.erase(all.begin(), all.begin() + (rows - some) * c.outputs());
    EXPECT_EQ(all, run(rows - some, some, Split::Whole));
  }
}

TEST(Linear, KeepsNaNInItsRow) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    const Case &c = cases[4];
    Problem problem(c, 13);
    Kernel kernel(target, "linear", c.config());
    std::vector<float> before = problem.run(kernel, 0, 13, Split::Whole);
    for (int i = 0; i < c.k; ++i)
      problem.x[size_t(5) * c.stride() + i] = NAN;
    std::vector<float> after = problem.run(kernel, 0, 13, Split::Whole);
    for (size_t i = 0; i < before.size(); ++i) {
      bool poisoned = i / c.n == 5;
      EXPECT_EQ(std::isnan(after[i]), poisoned);
      if (!poisoned)
        EXPECT_EQ(after[i], before[i]);
    }
  }
}

TEST(Linear, MayWriteToItsResidual) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Case c{33, 47, /*bf16=*/true, false, false, /*residual=*/true};
    Problem problem(c, 9);
    std::string config = "k = 33, n = 47, format = <bf16>, residual = true, "
                         "x_stride = 38, y_stride = 50, residual_stride = 50";
    Kernel kernel(target, "linear", config);
    Guarded<float> x(problem.x), residual(problem.residual),
        y(problem.residual), both(problem.residual);
    Guarded<uint8_t> w(problem.packed);
    kernel.run({x.data(), w.data(), residual.data(), y.data()}, {9},
               Split::Random);
    kernel.run({x.data(), w.data(), both.data(), both.data()}, {9},
               Split::Random);
    EXPECT_NE(y.values(), problem.residual);
    EXPECT_EQ(y.values(), both.values());
  }
}

TEST(Linear, AgreesWithSeparateNorm) {
  auto check = [](const TestTarget &target, bool fragments) {
    int k = fragments ? 1120 : 71;
    Case fused{k, 90, /*bf16=*/true, /*norm=*/true};
    Case plain{k, 90, /*bf16=*/true};
    fused.fragments = plain.fragments = fragments;
    Problem problem(fused, 9), separate(plain, 9);
    std::string stride = std::to_string(fused.stride());
    Kernel norm(target, "rms_norm",
                "width = " + std::to_string(k) +
                    ", eps = 1.0e-5 : f32, offset = 1, x_stride = " + stride +
                    ", y_stride = " + stride);
    Kernel linear(target, "linear", plain.config());
    Kernel both(target, "linear", fused.config());
    Guarded<float> x(problem.x), weight(problem.normWeight), y(separate.x);
    norm.run({x.data(), weight.data(), y.data()}, {9});
    separate.x = y.values();
    EXPECT_EQ(both.tasks(9), 3);
    EXPECT_EQ(problem.run(both, 0, 9, Split::Whole),
              separate.run(linear, 0, 9, Split::Whole));
  };
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    check(target, /*fragments=*/false);
    if (target.isGpu)
      check(target, /*fragments=*/true);
  }
}

TEST(HeadLinear, KeepsColumnsBehindTheOutputs) {
  // Two panels per head, so that the first tasks of heads are not all tasks.
  const int heads = 3, k = 21, n = 37, kept = 19, rows = 7;
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    const std::string config =
        "heads = 3, k = 21, n = 37, format = <f32>, x_stride = 150, "
        "x_head_stride = 50, x_offset = 4, y_stride = 200, y_head_stride = 60, "
        "y_offset = 2";
    auto x = randomFloats(rows * 150, 1), w = randomFloats(heads * n * k, 2);
    auto y = randomFloats(rows * 200, 3);
    auto run = [&](const std::string &keys) {
      Guarded<float> in(x), out(y);
      Guarded<uint8_t> weights(packHeads(w, heads, n, k, /*bf16=*/false));
      Kernel(target, "head_linear", keys)
          .run({in.data(), weights.data(), out.data()}, {rows}, Split::Random);
      return out.values();
    };
    std::vector<float> want = run(config);
    for (int r = 0; r < rows; ++r)
      for (int h = 0; h < heads; ++h)
        for (int i = 0; i < kept; ++i)
          want[r * 200 + h * 60 + 2 + n + i] = x[r * 150 + h * 50 + 29 + i];
    EXPECT_EQ(run(config + ", keep_width = 19, keep_offset = 29"), want);
  }
}

namespace {
struct HeadCase {
  static constexpr int heads = 3, n = 37;
  // Rows for tensor cores begin at multiples of 16 bytes.
  static constexpr int xStride = 132, yStride = 130;

  int k;
  bool bf16 = false, fragments = false;

  std::string config() const {
    return "heads = 3, k = " + std::to_string(k) +
           ", n = 37, format = " + (bf16 ? "<bf16>" : "<f32>") +
           (fragments ? ", fragments = true" : "") +
           ", x_stride = 132, x_head_stride = 40, x_offset = 4, "
           "y_stride = 130, y_head_stride = 40, y_offset = 2";
  }
};

/// Heads of a case in double precision.
struct HeadProblem {
  HeadProblem(const HeadCase &c, int rows)
      : c(c), x(randomFloats(rows * c.xStride, 1)),
        w(randomFloats(c.heads * c.n * c.k, 2)),
        packed(packHeads(w, c.heads, c.n, c.k, c.bf16)) {
    if (c.fragments)
      packed = toFragments(packed, c.k);
  }

  std::vector<float> run(const Kernel &kernel, int first, int count,
                         Split split) const {
    Guarded<float> in(
        std::vector<float>(x.begin() + first * c.xStride,
                           x.begin() + (first + count) * c.xStride));
    Guarded<uint8_t> weights(packed);
    Guarded<float> out(count * c.yStride);
    kernel.run({in.data(), weights.data(), out.data()}, {count}, split);
    std::vector<float> y;
    for (int r = 0; r < count; ++r)
      for (int h = 0; h < c.heads; ++h)
        for (int i = 0; i < c.n; ++i)
          y.push_back(out[r * c.yStride + 2 + h * 40 + i]);
    return y;
  }

  /// Returns output `o` of a head. With `rounded`, rows are rounded as weights
  /// are.
  double at(int row, int head, int o, bool rounded) const {
    double sum = 0;
    for (int i = 0; i < c.k; ++i) {
      float a = x[row * c.xStride + 4 + head * 40 + i];
      float b = w[(head * c.n + o) * c.k + i];
      sum += double(rounded ? toBF16(a) : a) * (c.bf16 ? toBF16(b) : b);
    }
    return sum;
  }

  HeadCase c;
  std::vector<float> x, w;
  std::vector<uint8_t> packed;
};

class HeadLinearOf : public testing::TestWithParam<HeadCase> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Floats, HeadLinearOf,
                         testing::Values(HeadCase{21}, HeadCase{21, true},
                                         HeadCase{32, true},
                                         HeadCase{32, true, true}),
                         NamedByConfig());

TEST_P(HeadLinearOf, MatchesReferenceAndIsRowInvariant) {
  const HeadCase &c = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (c.fragments && !target.isGpu)
      continue;
    SCOPED_TRACE(name);
    int rows = target.rowsOf(40);
    HeadProblem problem(c, rows);
    Kernel kernel(target, "head_linear", c.config());
    auto run = [&](int first, int count, Split split) {
      return problem.run(kernel, first, count, split);
    };
    expectRowInvariant(rows, c.heads * c.n, run);
    std::vector<float> y = run(0, rows, Split::Whole);
    bool rounded = c.bf16 && target.roundsRows();
    for (int r = 0; r < rows; ++r)
      for (int h = 0; h < c.heads; ++h)
        for (int o = 0; o < c.n; ++o)
          ASSERT_NEAR(y[(r * c.heads + h) * c.n + o],
                      problem.at(r, h, o, rounded), 1e-4);
  }
}
