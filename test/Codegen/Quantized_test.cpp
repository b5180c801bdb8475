//===- Quantized_test.cpp - Weights of integers ---------------------------===//
//
// The test has two references. The exact one computes in scalars what the
// kernels promise, and must give the same bits. The double precision one knows
// only the values of weights and rows.
//
//===----------------------------------------------------------------------===//

#include "harness/Projection.h"
#include "harness/Quantized.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {

struct Case {
  int k, n;
  Quantization format;
  bool norm = false, bias = false, residual = false, gated = false;
  /// Weights in the order of tensor cores, for a GPU only.
  bool fragments = false;

  bool runsOn(const TestTarget &target) const {
    return target.isGpu || !fragments;
  }
  int outputs() const { return gated ? n / 2 : n; }
  int stride() const { return rowStride(k, fragments); }
  std::string config() const {
    return projectionConfig(*this, format.config());
  }
};

struct Problem {
  Problem(const Case &c, int rows)
      : c(c), rows(rows), x(randomFloats(size_t(rows) * c.stride(), 1)),
        normWeight(randomFloats(c.k, 2, 0.3f)), bias(randomFloats(c.n, 4)),
        residual(randomFloats(size_t(rows) * (c.outputs() + 3), 5)) {
    // Scales that differ between groups and outputs, and a group of zeros.
    std::vector<float> values = randomFloats(size_t(c.n) * c.k, 3, 0.2f);
    for (size_t i = 0; i < values.size(); ++i) {
      size_t group = i % c.k / 32;
      values[i] *= float(1 + i / c.k % 7) * float(1 + group);
    }
    for (int i = 0; i < std::min(c.k, c.format.group); ++i)
      values[i] = 0;
    w = quantizeWeights(values, c.n, c.k, c.format);
    pack();
  }

  void pack() {
    packed =
        c.fragments ? packFragments(w, c.gated) : packQuantized(w, c.gated);
  }

  std::vector<float> run(const Kernel &kernel, int first, int count,
                         Split split) const {
    return runProjection(
        kernel,
        {c.k, c.outputs(), c.stride(), x, c.norm ? &normWeight : nullptr,
         packed, c.bias ? &bias : nullptr, c.residual ? &residual : nullptr},
        first, count, split);
  }

  /// Returns the rows as they are multiplied, in f32.
  std::vector<float> inputs() const {
    if (!c.norm)
      return x;
    std::vector<float> normed(x.size());
    for (int r = 0; r < rows; ++r) {
      const float *from = &x[size_t(r) * c.stride()];
      double sum = 0;
      for (int i = 0; i < c.k; ++i)
        sum += double(from[i]) * from[i];
      double inverse = 1 / std::sqrt(sum / c.k + 1e-5);
      for (int i = 0; i < c.k; ++i)
        normed[size_t(r) * c.stride() + i] =
            float(from[i] * inverse * (1.0 + normWeight[i]));
    }
    return normed;
  }

  /// Compares with the double precision reference.
  void check(const std::vector<float> &y) const {
    QuantizedMatrix in =
        quantizeRows(inputs(), rows, c.k, c.stride(), c.format.group);
    // A normed value may be on the other side of a rounding boundary.
    double relative = c.norm ? 2e-3 : 1e-6;
    checkProjection(*this, y, relative,
                    [&](int row, int n) { return exactDot(in, row, w, n); });
  }

  /// Compares with the exact reference, for cases with neither a norm nor a
  /// gate.
  void checkBits(const std::vector<float> &y, int chains) const {
    QuantizedMatrix in = quantizeRows(x, rows, c.k, c.stride(), c.format.group);
    for (int r = 0; r < rows; ++r)
      for (int n = 0; n < c.n; ++n) {
        float sum = quantizedDot(in, r, w, n, chains);
        if (c.bias)
          sum += bias[n];
        if (c.residual)
          sum += residual[size_t(r) * (c.outputs() + 3) + n];
        ASSERT_EQ(y[size_t(r) * c.n + n], sum)
            << "row " << r << ", output " << n;
      }
  }

  Case c;
  int rows;
  std::vector<float> x, normWeight, bias, residual;
  QuantizedMatrix w;
  std::vector<uint8_t> packed;
};

/// Returns every variant for all formats, on shapes that are ragged in all
/// ways: a last group of 1, 7 or 31 inputs, with whole and partial quads, and
/// no full group at all. Two shapes fill tiles. Formats take turns in the
/// shapes without a norm.
std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (auto [i, elements] : llvm::enumerate(kIntegers)) {
    int variant = int(i % 4);
    for (auto [k, n, group] : {std::tuple{128, 64, 64},
                               {1, 1, 32},
                               {33, 47, 32},
                               {71, 90, 64},
                               {159, 40, 128},
                               {236, 33, 96},
                               {256, 70, 128},
                               {192, 100, 64}}) {
      bool gated = variant == 3;
      cases.push_back({k,
                       gated ? n / 2 * 2 + 2 : n,
                       {elements, group},
                       /*norm=*/variant == 1 || gated,
                       /*bias=*/variant == 1 || variant == 2,
                       /*residual=*/variant == 2,
                       gated});
      variant = (variant + 1) % 4;
    }
  }
  return cases;
}

/// Returns cases of the stored formats: incomplete blocks, groups and steps,
/// and gates.
std::vector<Case> storedCases() {
  std::vector<Case> cases;
  for (auto [i, format] : llvm::enumerate(kStoredFormats)) {
    int variant = int(i % 4);
    for (auto [k, n] :
         {std::pair{256, 64}, {1, 1}, {71, 47}, {576, 70}, {560, 33}}) {
      bool gated = variant == 3;
      cases.push_back({k, gated ? n / 2 * 2 + 2 : n, format,
                       /*norm=*/variant == 1 || gated,
                       /*bias=*/variant == 1 || variant == 2,
                       /*residual=*/variant == 2, gated});
      variant = (variant + 1) % 4;
    }
  }
  return cases;
}

/// Returns cases on tensor cores, in all forms: fewer groups than warps, more
/// groups than warps with unequal numbers per warp, and last groups of 32, 64
/// and 96 inputs.
std::vector<Case> fragmentCases() {
  std::vector<Case> cases;
  for (WeightElements elements : kIntegers)
    for (auto [k, n, group, variant] : {std::tuple{32, 17, 32, 0},
                                        {128, 64, 64, 1},
                                        {1120, 40, 64, 2},
                                        {608, 70, 32, 0},
                                        {1152, 100, 64, 3},
                                        {2144, 33, 128, 0},
                                        {1248, 90, 128, 3},
                                        {448, 48, 128, 2},
                                        {2656, 34, 64, 3},
                                        {4064, 16, 64, 0}}) {
      bool gated = variant == 3;
      if (!areInFragments(elements))
        continue;
      cases.push_back({k,
                       n,
                       {elements, group},
                       /*norm=*/variant == 1 || gated,
                       /*bias=*/variant == 1 || variant == 2,
                       /*residual=*/variant == 2,
                       gated,
                       /*fragments=*/true});
    }
  return cases;
}

} // namespace

/// Rows of two passes, with 64 or with 128 rows in a pass.
static constexpr int manyRows = 140;

namespace {
class QuantizedLinear : public testing::TestWithParam<Case> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Panels, QuantizedLinear, testing::ValuesIn(allCases()),
                         NamedByConfig());
INSTANTIATE_TEST_SUITE_P(StoredFormats, QuantizedLinear,
                         testing::ValuesIn(storedCases()), NamedByConfig());
INSTANTIATE_TEST_SUITE_P(Fragments, QuantizedLinear,
                         testing::ValuesIn(fragmentCases()), NamedByConfig());

TEST_P(QuantizedLinear, MatchesReferencesAndIsRowInvariant) {
  const Case &c = GetParam();
  std::vector<float> first;
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
    problem.check(all);
    expectRowInvariant(some, c.outputs(), run);
    EXPECT_EQ(std::vector<float>(all.begin() + (rows - some) * c.outputs(),
                                 all.end()),
              run(rows - some, some, Split::Whole));
    if (c.norm)
      continue;
    problem.checkBits(all, target.sumChains());
    // A GPU adds up the same numbers, but not in one chain.
    if (target.isGpu)
      continue;
    first = first.empty() ? all : first;
    EXPECT_EQ(all, first) << "instruction sets disagree";
  }
}

namespace {
class FragmentsOf : public testing::TestWithParam<Case> {
protected:
  /// Runs `check` with the rows of a case on each GPU.
  template <typename Check>
  void onGpus(int rows, Check &&check) {
    for (const auto &[name, target] : allTargets()) {
      if (!target.isGpu)
        continue;
      SCOPED_TRACE(name);
      Problem problem(GetParam(), rows);
      check(target, problem, Kernel(target, "linear", GetParam().config()));
    }
  }
};
class FragmentsOfWholeModels : public FragmentsOf {};
class FragmentsOfManyRows : public FragmentsOf {};
} // namespace

static std::vector<Case> wholeModelCases() {
  std::vector<Case> cases;
  for (WeightElements elements : kIntegers)
    for (auto [k, group, gated] : {std::tuple{4096, 64, true},
                                   {14336, 64, false},
                                   {7168, 128, true},
                                   {18432, 32, false}})
      if (areInFragments(elements))
        cases.push_back({k,
                         32,
                         {elements, group},
                         /*norm=*/gated,
                         false,
                         false,
                         gated,
                         /*fragments=*/true});
  return cases;
}

static std::vector<Case> manyRowsCases() {
  std::vector<Case> cases;
  for (WeightElements elements : kIntegers)
    if (areInFragments(elements)) {
      cases.push_back({160, 40, {elements, 64}});
      cases.back().fragments = true;
    }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Fragments, FragmentsOfWholeModels,
                         testing::ValuesIn(wholeModelCases()), NamedByConfig());
INSTANTIATE_TEST_SUITE_P(Fragments, FragmentsOfManyRows,
                         testing::ValuesIn(manyRowsCases()), NamedByConfig());

// The inputs of 8B and DeepSeek shapes, with one or two tiles of outputs.
TEST_P(FragmentsOfWholeModels, MatchReferences) {
  const Case &c = GetParam();
  onGpus(33, [&](const TestTarget &target, const Problem &problem,
                 const Kernel &kernel) {
    std::vector<float> all = problem.run(kernel, 0, 33, Split::Whole);
    c.gated ? problem.check(all) : problem.checkBits(all, target.sumChains());
    for (int count : {1, 8, 9, 17})
      EXPECT_EQ(
          std::vector<float>(all.begin(), all.begin() + count * c.outputs()),
          problem.run(kernel, 0, count, Split::Whole))
          << count << " rows";
  });
}

// More rows than one reading of the weights serves.
TEST_P(FragmentsOfManyRows, MatchReferences) {
  onGpus(77, [&](const TestTarget &target, const Problem &problem,
                 const Kernel &kernel) {
    problem.checkBits(problem.run(kernel, 0, 77, Split::Whole),
                      target.sumChains());
  });
}

namespace {
class QuantizedOf : public testing::TestWithParam<Format> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Formats, QuantizedOf, testing::ValuesIn(formats()),
                         nameOfFormat);

// The largest possible sums of products: nothing may saturate or wrap.
TEST_P(QuantizedOf, HoldsTheLargestSums) {
  const int k = 256, n = 32;
  auto [elements, fragments] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (fragments && !target.isGpu)
      continue;
    Case c{k, n, {elements, 128}};
    c.fragments = fragments;
    SCOPED_TRACE(name + ": " + c.config());
    Kernel kernel(target, "linear", c.config());
    auto [least, most] = c.format.range();
    for (float sign : {1.0f, -1.0f}) {
      Problem problem(c, 3);
      std::fill(problem.x.begin(), problem.x.end(), 3.0f);
      std::fill(problem.w.values.begin(), problem.w.values.end(),
                int8_t(sign < 0 ? least : most));
      std::fill(problem.w.scales.begin(), problem.w.scales.end(), 0.5f);
      problem.pack();
      std::vector<float> y = problem.run(kernel, 0, 3, Split::Whole);
      problem.checkBits(y, target.sumChains());
      double each = problem.w.at(0, 0) * 3;
      for (float value : y)
        ASSERT_NEAR(value, each * k, 1e-5 * std::fabs(each * k));
    }
  }
}

// The largest sums of the stored formats.
TEST(QuantizedStored, HoldsTheLargestSums) {
  const int k = 256;
  for (const auto &[name, target] : allTargets())
    for (const Quantization &format : kStoredFormats) {
      Case c{k, 32, format};
      SCOPED_TRACE(name + ": " + c.config());
      Kernel kernel(target, "linear", c.config());
      auto [least, most] = c.format.range();
      for (int value : {least, most}) {
        Problem problem(c, 3);
        std::fill(problem.x.begin(), problem.x.end(), 3.0f);
        std::fill(problem.w.values.begin(), problem.w.values.end(),
                  int8_t(value));
        problem.pack();
        problem.checkBits(problem.run(kernel, 0, 3, Split::Whole),
                          target.sumChains());
      }
    }
}

// Rows without a usable scale: zeros, and values whose reciprocal is infinite.
TEST_P(QuantizedOf, TakesTinyRowsForZeros) {
  auto [elements, fragments] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (fragments && !target.isGpu)
      continue;
    SCOPED_TRACE(name);
    Case c{fragments ? 64 : 71, 33, {elements, 32}};
    c.fragments = fragments;
    Problem problem(c, 2);
    for (int i = 0; i < c.stride(); ++i) {
      problem.x[i] = 0;
      problem.x[c.stride() + i] = i % 2 ? 1e-40f : -1e-37f;
    }
    Kernel kernel(target, "linear", c.config());
    for (float value : problem.run(kernel, 0, 2, Split::Whole))
      EXPECT_EQ(value, 0.0f);
  }
}

TEST_P(QuantizedOf, KeepsNaNAndInfinityInTheirRows) {
  auto [elements, fragments] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (fragments && !target.isGpu)
      continue;
    SCOPED_TRACE(name);
    Case c{fragments ? 96 : 71, 90, {elements, 32}};
    c.fragments = fragments;
    Kernel kernel(target, "linear", c.config());
    for (float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
      Problem problem(c, 13);
      // No output may have a group of zeros, which hides the bad input.
      problem.w.values.assign(problem.w.values.size(), 1);
      problem.w.scales.assign(problem.w.scales.size(), 0.5f);
      problem.pack();
      std::vector<float> before = problem.run(kernel, 0, 13, Split::Whole);
      problem.x[size_t(5) * c.stride() + 40] = bad;
      std::vector<float> after = problem.run(kernel, 0, 13, Split::Whole);
      for (size_t i = 0; i < before.size(); ++i)
        if (i / c.n == 5)
          EXPECT_FALSE(std::isfinite(after[i]));
        else
          EXPECT_EQ(after[i], before[i]);
    }
  }
}

TEST_P(QuantizedOf, AgreesWithSeparateNorm) {
  auto [elements, fragments] = GetParam();
  for (const auto &[name, target] : allTargets()) {
    if (fragments && !target.isGpu)
      continue;
    SCOPED_TRACE(name);
    int k = fragments ? 608 : 71;
    Case fused{k, 90, {elements, 64}, /*norm=*/true};
    Case plain{k, 90, {elements, 64}};
    fused.fragments = plain.fragments = fragments;
    Problem problem(fused, 9), separate(plain, 9);
    std::string stride = std::to_string(plain.stride());
    Kernel norm(target, "rms_norm",
                "width = " + std::to_string(k) +
                    ", eps = 1.0e-5 : f32, offset = 1, x_stride = " + stride +
                    ", y_stride = " + stride);
    Guarded<float> x(problem.x), weight(problem.normWeight), y(separate.x);
    norm.run({x.data(), weight.data(), y.data()}, {9});
    separate.x = y.values();
    EXPECT_EQ(problem.run(Kernel(target, "linear", fused.config()), 0, 9,
                          Split::Whole),
              separate.run(Kernel(target, "linear", plain.config()), 0, 9,
                           Split::Whole));
  }
}

TEST(Quantized, MayWriteToItsResidual) {
  for (const auto &[name, target] : allTargets()) {
    SCOPED_TRACE(name);
    Case c{33, 47, {WeightElements::Int4, 32}};
    Problem problem(c, 9);
    Kernel kernel(target, "linear",
                  "k = 33, n = 47, format = <int4, group = 32>, residual = "
                  "true, x_stride = 38, y_stride = 50, residual_stride = 50");
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

/// Returns the factor of a table of `width` columns. Some tables have one.
static float factorOf(int width) { return width == 71 ? 25.25f : 1.0f; }

/// Returns the attribute for factorOf().
static std::string scaleOf(int width) {
  return factorOf(width) == 1 ? "" : ", scale = 25.25 : f32";
}

/// Compares `out` with the scaled rows of the table for `tokens`. A token
/// outside of the table has the nearest row.
static void expectRowsOf(const QuantizedMatrix &table,
                         const std::vector<int32_t> &tokens,
                         Guarded<float> &out) {
  int width = table.k;
  for (size_t r = 0; r < tokens.size(); ++r)
    for (int i = 0; i < width; ++i)
      ASSERT_EQ(out[r * width + i],
                float(table.at(std::clamp(tokens[r], 0, table.rows - 1), i)) *
                    factorOf(width))
          << "row " << r << ", column " << i;
}

// Tables in panels, which a projection may share.
TEST(QuantizedPanels, AreLookedUpByRow) {
  const int vocab = 71;
  const std::vector<int32_t> tokens{0, 70, 31, 32, -1, 99, 3};
  std::vector<Quantization> formats = kStoredFormats;
  for (WeightElements elements : kIntegers)
    formats.push_back({elements, 64});
  for (const Quantization &format : formats)
    for (int width : {1, 64, 71, 576}) {
      QuantizedMatrix table = quantizeWeights(
          randomFloats(size_t(vocab) * width, 1), vocab, width, format);
      std::vector<uint8_t> packed = packQuantized(table);
      std::string config = "width = " + std::to_string(width) +
                           ", vocab = 71, panels = true, " + format.config() +
                           scaleOf(width);
      for (const auto &[name, target] : allTargets()) {
        SCOPED_TRACE(name + ": " + config);
        Kernel kernel(target, "embed", config);
        Guarded<uint8_t> bytes(packed);
        Guarded<int32_t> ids(tokens);
        Guarded<float> out(tokens.size() * width);
        kernel.run({bytes.data(), ids.data(), out.data()},
                   {int64_t(tokens.size())}, Split::Random);
        expectRowsOf(table, tokens, out);
      }
    }
}

namespace {
class QuantizedEmbed : public testing::TestWithParam<
                           std::tuple<WeightElements, std::pair<int, int>>> {};
} // namespace

static std::string
nameOfEmbed(const testing::TestParamInfo<QuantizedEmbed::ParamType> &info) {
  auto [elements, shape] = info.param;
  return std::string(WeightFormat{elements}.name()) + "_" +
         std::to_string(shape.first) + "_group" + std::to_string(shape.second);
}

// A last group of 1, 7 or 31 values, with whole and partial words, and no full
// group at all; tokens outside of the table.
INSTANTIATE_TEST_SUITE_P(
    Widths, QuantizedEmbed,
    testing::Combine(testing::ValuesIn(kIntegers),
                     testing::Values(std::pair{64, 64}, std::pair{1, 32},
                                     std::pair{31, 32}, std::pair{33, 32},
                                     std::pair{71, 64}, std::pair{159, 128},
                                     std::pair{236, 96}, std::pair{256, 128})),
    nameOfEmbed);

TEST_P(QuantizedEmbed, WidensRowsAndStaysInTheTable) {
  const int vocab = 11;
  const std::vector<int32_t> tokens{0, 10, 3, -1, 99, 3};
  auto [elements, shape] = GetParam();
  auto [width, group] = shape;
  Quantization format{elements, group};
  std::vector<float> values = randomFloats(size_t(vocab) * width, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    size_t part = i % width / 32;
    values[i] *= float(1 + i / width % 7) * float(1 + part);
  }
  QuantizedMatrix table = quantizeWeights(values, vocab, width, format);
  // The smallest and the largest integer in a lane of every kind.
  for (int i = 0; i < std::min(width, 16); ++i) {
    table.values[i] = int8_t(format.range().first);
    table.values[width + i] = int8_t(format.range().second);
  }
  std::vector<uint8_t> packed = packTable(table);
  for (const auto &[name, target] : allTargets()) {
    std::string config = "width = " + std::to_string(width) + ", vocab = 11, " +
                         format.config() + scaleOf(width);
    SCOPED_TRACE(name + ": " + config);
    Kernel kernel(target, "embed", config);
    Guarded<uint8_t> bytes(packed);
    for (Split split : {Split::Whole, Split::Random}) {
      Guarded<int32_t> ids(tokens);
      Guarded<float> out(tokens.size() * width);
      kernel.run({bytes.data(), ids.data(), out.data()},
                 {int64_t(tokens.size())}, split);
      expectRowsOf(table, tokens, out);
    }
  }
}
