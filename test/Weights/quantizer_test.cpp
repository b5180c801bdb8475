//===- quantizer_test.cpp - Weights as integers ---------------------------===//

#include "compiler/Quantize/Half.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "test/Weights/TestFiles.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

std::vector<WeightElements> integers() {
  std::vector<WeightElements> integers;
  for (const WeightElementsInfo &info : kWeightFormats)
    if (info.isQuantized && info.isPlain())
      integers.push_back(info.elements);
  return integers;
}

/// The integers of a format, by FORMAT.md.
struct Integers {
  int least, most;
  /// Added to the integers when they are stored.
  int bias;
  /// True if the scale is the largest magnitude over the last integer.
  /// Otherwise a better scale is searched, which may clip integers.
  bool isPlain;
};

Integers integersOf(WeightElements elements) {
  switch (elements) {
  case WeightElements::Int8:
    return {-127, 127, 128, true};
  case WeightElements::Int4:
    return {-8, 7, 8, false};
  case WeightElements::F32:
  case WeightElements::BF16:
  case WeightElements::Int5:
  case WeightElements::Int6:
  case WeightElements::E2M1:
  case WeightElements::NL4:
    break; // Not quantised.
  }
  return {};
}

/// A packed weight, read back by the layout that FORMAT.md describes.
struct Packed {
  WeightRecipe recipe;
  std::vector<uint8_t> bytes;
  QuantizationError error;

  /// Returns scale and integer of output `n` and input `i` of matrix `s`.
  std::pair<float, int> at(int64_t s, int64_t n, int64_t i) const {
    int64_t row = n, panel = n / 32;
    if (recipe.layout == WeightLayout::GatedPanels) {
      bool isUp = n >= recipe.n / 2;
      row = isUp ? n - recipe.n / 2 : n;
      panel = 2 * (row / 32) + isUp;
    }
    const WeightFormat &format = recipe.format;
    int64_t group = i / format.group, inGroup = i % format.group;
    const uint8_t *base =
        bytes.data() + (s * panelCount(recipe) + panel) * panelBytes(recipe) +
        group * (128 + 32 * format.group * format.bits() / 8);
    float scale;
    std::memcpy(&scale, base + row % 32 * 4, 4);
    const uint8_t *data = base + 128 + row % 32 * 4 + inGroup % 4;
    int bias = integersOf(format.elements).bias;
    if (format.bits() == 8)
      return {scale, data[inGroup / 4 * 128] - bias};
    int byte = data[inGroup / 8 * 128];
    return {scale, (inGroup % 8 < 4 ? byte & 15 : byte >> 4) - bias};
  }
};

class Quantizing : public testing::Test {
protected:
  Result<Packed> pack(const WeightRecipe &recipe,
                      const PackOptions &options = {}) {
    std::string path = folder.write("model.safetensors", builder.build());
    MTP_ASSIGN_OR_RETURN(WeightSet set, WeightSet::openFiles({&path, 1}));
    Packed packed{recipe, {}, {}};
    MTP_RETURN_IF_ERROR(packWeight(
        set, recipe,
        [&](std::span<const uint8_t> piece) {
          packed.bytes.insert(packed.bytes.end(), piece.begin(), piece.end());
          return okStatus();
        },
        options, &packed.error));
    EXPECT_EQ(int64_t(packed.bytes.size()), packedBytes(recipe));
    return packed;
  }

  /// Adds a matrix of values with scales that differ from row to row.
  std::vector<float> addMatrix(const std::string &key, int64_t n, int64_t k) {
    std::mt19937 generator(static_cast<unsigned>(n * 1000 + k));
    std::normal_distribution<float> normal;
    std::vector<float> values;
    for (int64_t i = 0; i < n * k; ++i)
      values.push_back(normal(generator) * float(1 + i / k % 5));
    builder.addF32(key, {n, k}, values);
    return values;
  }

  TemporaryFolder folder;
  FileBuilder builder;
};

WeightRecipe recipeOf(const std::string &key, int64_t k, int64_t n,
                      const WeightFormat &format) {
  return {"w", WeightLayout::Panels, format, k, n, 1, {{key}}};
}

/// Returns the squared error of a group with the plain scale, its largest value
/// over 7.
double plainInt4Error(const float *x, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; ++i)
    most = std::max(most, std::fabs(x[i]));
  double error = 0;
  for (int64_t i = 0; i < count; ++i) {
    double off = x[i] - std::nearbyint(x[i] / (most / 7)) * (most / 7);
    error += off * off;
  }
  return error;
}

/// Runs each case for the elements of each integer format.
class QuantizingTo : public Quantizing,
                     public testing::WithParamInterface<WeightElements> {
protected:
  WeightFormat formatOf(int64_t group) const { return {GetParam(), group}; }
};

INSTANTIATE_TEST_SUITE_P(
    Elements, QuantizingTo, testing::ValuesIn(integers()),
    [](const testing::TestParamInfo<WeightElements> &info) {
      return std::string(WeightFormat{info.param}.name());
    });

/// A matrix, and the number of inputs that share a scale.
struct Shape {
  int64_t n, k, group;
};

class QuantizingShape
    : public Quantizing,
      public testing::WithParamInterface<std::tuple<WeightElements, Shape>> {
protected:
  WeightElements elements() const { return std::get<0>(GetParam()); }
  Shape shape() const { return std::get<1>(GetParam()); }
};

std::string
nameOf(const testing::TestParamInfo<QuantizingShape::ParamType> &info) {
  auto [elements, shape] = info.param;
  return std::string(WeightFormat{elements}.name()) + "_" +
         std::to_string(shape.n) + "x" + std::to_string(shape.k) + "_group" +
         std::to_string(shape.group);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, QuantizingShape,
    testing::Combine(testing::ValuesIn(integers()),
                     testing::Values(Shape{64, 128, 64}, Shape{1, 1, 32},
                                     Shape{33, 65, 32}, Shape{70, 135, 128},
                                     Shape{31, 200, 96}, Shape{40, 600, 64},
                                     Shape{33, 700, 96})),
    nameOf);

TEST_P(QuantizingShape, KeepsTheBoundsOfTheFormat) {
  auto [n, k, group] = shape();
  Integers integers = integersOf(elements());
  std::vector<float> w = addMatrix("w", n, k);
  Result<Packed> packed = pack(recipeOf("w", k, n, {elements(), group}));
  ASSERT_TRUE(packed.isOk()) << packed.status().toString();
  double error = 0, norm = 0, largest = 0;
  for (int64_t row = 0; row < n; ++row)
    for (int64_t first = 0; first < k; first += group) {
      int64_t count = std::min(group, k - first);
      const float *x = &w[size_t(row * k + first)];
      double ofGroup = 0;
      for (int64_t i = 0; i < count; ++i) {
        auto [scale, q] = packed->at(0, row, first + i);
        double off = x[i] - double(q) * scale, step = std::fabs(scale);
        bool isEnd = q == integers.least || q == integers.most;
        // The nearest integer, except for values clipped at the ends.
        double toZero = q * scale > 0 ? off : -off;
        if (integers.isPlain || !isEnd || toZero < 0)
          ASSERT_LE(std::fabs(off), step / 2 * 1.00001) << row << " " << i;
        ofGroup += off * off;
        norm += double(x[i]) * x[i];
        largest = std::max(largest, std::fabs(off));
      }
      if (!integers.isPlain)
        ASSERT_LE(ofGroup, plainInt4Error(x, count) * 1.0001 + 1e-12);
      error += ofGroup;
    }
  EXPECT_NEAR(packed->error.squaredError, error, 1e-6 * error + 1e-12);
  EXPECT_NEAR(packed->error.squaredNorm, norm, 1e-9 * norm);
  EXPECT_EQ(packed->error.maxError, largest);
}

TEST_F(Quantizing, SearchesTheScaleOfInt4) {
  std::vector<float> w = addMatrix("w", 256, 1024);
  Result<Packed> packed =
      pack(recipeOf("w", 1024, 256, {WeightElements::Int4, 64}));
  ASSERT_TRUE(packed.isOk());
  double plain = 0;
  for (size_t i = 0; i < w.size(); i += 64)
    plain += plainInt4Error(&w[i], 64);
  EXPECT_LT(packed->error.squaredError, 0.8 * plain);
}

TEST_P(QuantizingTo, PadsWithZeros) {
  addMatrix("w", 3, 5);
  Result<Packed> packed = pack(recipeOf("w", 5, 3, formatOf(32)));
  ASSERT_TRUE(packed.isOk());
  for (int64_t n = 0; n < 32; ++n)
    for (int64_t i = 0; i < 8; ++i)
      if (n >= 3 || i >= 5) {
        EXPECT_EQ(packed->at(0, n, i).second, 0);
        EXPECT_TRUE(n < 3 || packed->at(0, n, i).first == 0.0f);
      }
}

TEST_P(QuantizingTo, TakesZerosAndTheTiniestAsZeros) {
  builder.addF32("zero", {1, 2}, {0.0f, -0.0f});
  builder.addF32("tiny", {1, 2}, {1e-40f, -1e-38f});
  for (const char *key : {"zero", "tiny"}) {
    Result<Packed> packed = pack(recipeOf(key, 2, 1, formatOf(32)));
    ASSERT_TRUE(packed.isOk());
    EXPECT_EQ(packed->at(0, 0, 0), (std::pair{0.0f, 0})) << key;
    EXPECT_EQ(packed->at(0, 0, 1), (std::pair{0.0f, 0})) << key;
  }
}

TEST_P(QuantizingTo, TakesTheLargestThereAre) {
  builder.addF32("w", {1, 3}, {3.4e38f, -3.4e38f, 1.7e38f});
  Result<Packed> packed = pack(recipeOf("w", 3, 1, formatOf(32)));
  ASSERT_TRUE(packed.isOk());
  auto [scale, q] = packed->at(0, 0, 0);
  EXPECT_NEAR(double(q) * scale / 3.4e38, 1,
              integersOf(GetParam()).isPlain ? 1e-6 : 0.08);
  EXPECT_LT(packed->error.relativeRms(), 0.1);
}

TEST_P(QuantizingTo, RefusesNaNAndInfinity) {
  for (float bad : {NAN, INFINITY, -INFINITY}) {
    std::string key = std::to_string(bad);
    std::vector<float> values(size_t(70) * 40, 1.0f);
    values[size_t(40) * 40 + 39] = bad;
    builder.addF32(key, {70, 40}, values);
    Result<Packed> packed = pack(recipeOf(key, 40, 70, formatOf(32)));
    ASSERT_FALSE(packed.isOk());
    EXPECT_NE(packed.status().message().find(
                  "weight \"w\": expected finite values to quantize, got NaN "
                  "or infinity in panel 1 of 3"),
              std::string_view::npos)
        << packed.status().toString();
  }
}

// Bytes and error do not depend on threads and windows, and equal those of each
// matrix packed by itself.
TEST_P(QuantizingTo, StacksOfGateAndUp) {
  constexpr int64_t inter = 37, k = 70;
  std::vector<std::vector<float>> gates, ups;
  for (int64_t e = 0; e < 3; ++e) {
    gates.push_back(addMatrix("e." + std::to_string(e) + ".g", inter, k));
    ups.push_back(addMatrix("e." + std::to_string(e) + ".u", inter, k));
  }
  WeightRecipe recipe{
      "w", WeightLayout::GatedPanels, formatOf(32), k, 2 * inter,
      3,   {{"e.{}.g"}, {"e.{}.u"}}};
  Result<Packed> packed = pack(recipe);
  ASSERT_TRUE(packed.isOk()) << packed.status().toString();
  for (auto [threads, window] : {std::pair(1u, int64_t(1)), {3u, 20000}}) {
    Result<Packed> again = pack(recipe, {threads, window, {}});
    ASSERT_TRUE(again.isOk());
    EXPECT_EQ(again->bytes, packed->bytes);
    EXPECT_EQ(again->error.squaredError, packed->error.squaredError);
  }
  double most = integersOf(GetParam()).isPlain ? 0.5001 : 2.0;
  for (int64_t s = 0; s < 3; ++s)
    for (int64_t n = 0; n < 2 * inter; ++n)
      for (int64_t i = 0; i < k; ++i) {
        float x = n < inter ? gates[size_t(s)][size_t(n * k + i)]
                            : ups[size_t(s)][size_t((n - inter) * k + i)];
        auto [scale, q] = packed->at(s, n, i);
        ASSERT_NEAR(double(q) * scale, x, std::fabs(scale) * most);
      }
}

/// int8 in groups of 32 with f16 scales, GGUF's Q8_0.
constexpr WeightFormat kHalfScales{WeightElements::Int8, 32, WeightScales::F16};

/// Returns the f16 scale and the integer of output `n` and input `i`.
std::pair<float, int> halfScaleAt(const Packed &packed, int64_t n, int64_t i) {
  const uint8_t *group = packed.bytes.data() +
                         n / 32 * panelBytes(packed.recipe) +
                         i / 32 * (64 + 32 * 32);
  uint16_t half;
  std::memcpy(&half, group + n % 32 * 2, 2);
  return {widenHalf(half),
          group[64 + i % 32 / 4 * 128 + n % 32 * 4 + i % 4] - 128};
}

// Integers are the nearest to the rounded scale, also for scales that f16 has
// few digits for. The report's error is that of the stored numbers.
TEST_F(Quantizing, RoundsToF16Scales) {
  constexpr int64_t n = 40, k = 100;
  std::vector<float> w = addMatrix("normal", n, k), tiny, large;
  for (float value : w) {
    tiny.push_back(value * 2e-5f);
    large.push_back(value * 2e5f);
  }
  builder.addF32("tiny", {n, k}, tiny);
  builder.addF32("large", {n, k}, large);
  for (const auto &[key, values] :
       {std::pair("normal", &w), {"tiny", &tiny}, {"large", &large}}) {
    Result<Packed> packed = pack(recipeOf(key, k, n, kHalfScales));
    ASSERT_TRUE(packed.isOk()) << packed.status().toString();
    double error = 0;
    for (int64_t row = 0; row < n; ++row)
      for (int64_t i = 0; i < k; ++i) {
        auto [scale, q] = halfScaleAt(*packed, row, i);
        double off = double((*values)[size_t(row * k + i)]) - q * double(scale);
        ASSERT_LE(std::abs(q), 127);
        ASSERT_LE(std::fabs(off),
                  scale / 2 * (std::abs(q) < 127 ? 1.00001 : 1.2))
            << key << " " << row << " " << i;
        error += off * off;
      }
    EXPECT_NEAR(packed->error.squaredError, error, 1e-6 * error) << key;
  }
}

TEST_F(Quantizing, RefusesValuesBeyondF16Scales) {
  builder.addF32("most", {1, 2}, {65504.0f * 127, 1.0f});
  builder.addF32("beyond", {1, 2}, {65504.0f * 128, 1.0f});
  Result<Packed> most = pack(recipeOf("most", 2, 1, kHalfScales));
  ASSERT_TRUE(most.isOk()) << most.status().toString();
  EXPECT_EQ(halfScaleAt(*most, 0, 0), (std::pair{65504.0f, 127}));
  Result<Packed> beyond = pack(recipeOf("beyond", 2, 1, kHalfScales));
  ASSERT_FALSE(beyond.isOk());
  EXPECT_NE(beyond.status().message().find(
                "got NaN, infinity or a value beyond the format's scales in "
                "panel 0 of 1"),
            std::string_view::npos)
      << beyond.status().toString();
}

// A table's row has the row's words of a panel, one after the other, for any
// threads and windows.
TEST_P(QuantizingShape, TablesAreRowsOfPanels) {
  auto [n, k, group] = shape();
  addMatrix("w", n, k);
  WeightRecipe recipe = recipeOf("w", k, n, {elements(), group});
  Result<Packed> panels = pack(recipe);
  ASSERT_TRUE(panels.isOk()) << panels.status().toString();
  recipe.layout = WeightLayout::Raw;
  for (auto [threads, window] :
       {std::pair(1u, int64_t(1) << 20), {1u, 1}, {3u, 10000}}) {
    Result<Packed> table = pack(recipe, {threads, window, {}});
    ASSERT_TRUE(table.isOk()) << table.status().toString();
    int64_t words = panelBytes(recipe) / 128;
    ASSERT_EQ(int64_t(table->bytes.size()), n * words * 4);
    for (int64_t row = 0; row < n; ++row)
      for (int64_t w = 0; w < words; ++w)
        ASSERT_EQ(
            std::memcmp(&table->bytes[size_t((row * words + w) * 4)],
                        &panels->bytes[size_t(
                            ((row / 32 * words + w) * 32 + row % 32) * 4)],
                        4),
            0)
            << row << " " << w;
    EXPECT_EQ(table->error.squaredError, panels->error.squaredError);
    EXPECT_EQ(table->error.squaredNorm, panels->error.squaredNorm);
  }
}

TEST_F(Quantizing, TablesWantWholeRows) {
  addMatrix("w", 6, 4);
  WeightRecipe recipe = recipeOf("w", 6, 4, {WeightElements::Int8, 32});
  recipe.layout = WeightLayout::Raw;
  Result<Packed> packed = pack(recipe);
  ASSERT_FALSE(packed.isOk());
  EXPECT_NE(packed.status().message().find("expected 6 inputs, got 4"),
            std::string_view::npos)
      << packed.status().toString();
}

} // namespace
