//===- grid_quantizer_test.cpp - Packing with searched grids --------------===//

#include "compiler/Weights/pack/GridQuantizer.h"
#include "compiler/Weights/pack/InputEnergies.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "test/Weights/TestFiles.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr WeightFormat kInt4{WeightElements::Int4, 32};
constexpr WeightFormat kK4{WeightElements::Int4, 32, WeightScales::F16x6, true};
constexpr WeightFormat kK5{WeightElements::Int5, 32, WeightScales::F16x6, true};
constexpr WeightFormat kK6{WeightElements::Int6, 64, WeightScales::F16x8};
constexpr int64_t kInputs = 288, kRows = 70;

struct Packed {
  std::vector<uint8_t> bytes;
  QuantizationError error;
};

class Grids : public testing::Test {
protected:
  Grids() {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < kInputs * kRows; ++i)
      values.push_back(normal(generator));
    for (int64_t i = 0; i < kInputs; ++i)
      norm.push_back(i % 8 == 0 ? 6.0f : 1.0f);
    for (int64_t i = 0; i < kInputs; ++i)
      for (int64_t j = i; j < kInputs; ++j)
        moments.push_back(i == j ? 2.0f : 1.0f);
  }

  Result<WeightSet> open() {
    FileBuilder builder;
    builder.addF32("w", {kRows, kInputs}, values);
    builder.addF32("norm", {kInputs}, norm);
    std::string path = folder.write("model.safetensors", builder.build());
    return WeightSet::openFiles({&path, 1});
  }

  Result<Packed> pack(const WeightRecipe &recipe,
                      const PackOptions &options = {}) {
    MTP_ASSIGN_OR_RETURN(WeightSet set, open());
    Packed packed;
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

  ActivationStatistics statistics() {
    FileBuilder builder;
    builder.addF32(name, {int64_t(moments.size())}, moments);
    auto opened = ActivationStatistics::open(
        folder.write("moments.safetensors", builder.build()));
    EXPECT_TRUE(opened) << opened.status().message();
    return std::move(*opened);
  }

  /// Returns the value of output `n` and input `i`, by FORMAT.md.
  static double valueAt(const std::vector<uint8_t> &bytes, int64_t n,
                        int64_t i) {
    constexpr int64_t kGroupBytes = 128 + 32 * 32 / 2;
    const uint8_t *group =
        bytes.data() + (n / 32 * (kInputs / 32) + i / 32) * kGroupBytes;
    float scale;
    std::memcpy(&scale, group + n % 32 * 4, 4);
    int byte = group[128 + i % 32 / 8 * 128 + n % 32 * 4 + i % 4];
    return double(scale) * ((i % 8 < 4 ? byte & 15 : byte >> 4) - 8);
  }

  /// Returns the squared error of all outputs, for inputs with the moments.
  double outputError(const std::vector<uint8_t> &bytes) const {
    double error = 0;
    for (int64_t n = 0; n < kRows; ++n) {
      double sum = 0, own = 0;
      for (int64_t i = 0; i < kInputs; ++i) {
        double off =
            double(values[size_t(n * kInputs + i)]) - valueAt(bytes, n, i);
        sum += off;
        own += off * off;
      }
      // The moments are 1, and 2 on the diagonal.
      error += sum * sum + own;
    }
    return error;
  }

  TemporaryFolder folder;
  std::vector<float> values, norm, moments;
  /// Key of the statistics.
  std::string name = "w";
};

WeightRecipe recipeIn(const WeightFormat &format) {
  return {"w", WeightLayout::Panels, format, kInputs, kRows, 1, {{"w"}}};
}

} // namespace

TEST_F(Grids, StatisticsReduceTheErrorOfOutputs) {
  ActivationStatistics known = statistics();
  auto plain = pack(recipeIn(kInt4));
  auto calibrated = pack(recipeIn(kInt4), {.statistics = &known});
  ASSERT_TRUE(plain && calibrated);
  EXPECT_NE(plain->bytes, calibrated->bytes);
  EXPECT_LT(plain->error.squaredError, calibrated->error.squaredError);
  EXPECT_LT(outputError(calibrated->bytes), 0.6 * outputError(plain->bytes));
}

TEST_F(Grids, BytesDoNotDependOnThreadsAndWindows) {
  ActivationStatistics known = statistics();
  for (const WeightFormat &format : {kInt4, kK5}) {
    auto expected =
        pack(recipeIn(format), {.threads = 1, .statistics = &known});
    ASSERT_TRUE(expected);
    auto packed = pack(recipeIn(format),
                       {.threads = 3, .windowBytes = 1, .statistics = &known});
    ASSERT_TRUE(packed);
    EXPECT_EQ(packed->bytes, expected->bytes);
  }
}

TEST_F(Grids, OtherFormatsAndUnknownWeightsStay) {
  ActivationStatistics known = statistics();
  WeightFormat int8{WeightElements::Int8, 64};
  auto plain = pack(recipeIn(int8));
  auto calibrated = pack(recipeIn(int8), {.statistics = &known});
  ASSERT_TRUE(plain && calibrated);
  EXPECT_EQ(plain->bytes, calibrated->bytes);
  name = "other";
  ActivationStatistics unknown = statistics();
  auto without = pack(recipeIn(kInt4));
  auto with = pack(recipeIn(kInt4), {.statistics = &unknown});
  ASSERT_TRUE(without && with);
  EXPECT_EQ(without->bytes, with->bytes);
}

TEST_F(Grids, AValueThatIsNotFiniteIsAnError) {
  ActivationStatistics known = statistics();
  values[100] = std::nanf("");
  auto packed = pack(recipeIn(kInt4), {.statistics = &known});
  ASSERT_FALSE(packed);
  EXPECT_NE(packed.status().message().find("expected finite values"),
            std::string::npos);
}

TEST_F(Grids, MoreBitsHaveSmallerErrors) {
  double last = 0.09;
  for (const WeightFormat &format : {kK4, kK5, kK6}) {
    auto packed = pack(recipeIn(format));
    ASSERT_TRUE(packed) << packed.status().message();
    double error = packed->error.relativeRms();
    EXPECT_LT(error, last);
    last = error * 0.75;
  }
}

TEST_F(Grids, NormsAndStatisticsChangeTheChoice) {
  auto plain = pack(recipeIn(kK4));
  WeightRecipe normed = recipeIn(kK4);
  normed.norm = "norm";
  auto weighted = pack(normed);
  ActivationStatistics known = statistics();
  auto calibrated = pack(recipeIn(kK4), {.statistics = &known});
  ASSERT_TRUE(plain && weighted && calibrated);
  EXPECT_NE(plain->bytes, weighted->bytes);
  // Both trade plain squared error for another measure.
  EXPECT_LT(plain->error.squaredError, weighted->error.squaredError);
  EXPECT_LT(plain->error.squaredError, calibrated->error.squaredError);
}

TEST_F(Grids, EnergiesAreThoseOfNormAndStream) {
  // A column has the same square in all rows. The norms of two projections
  // differ, and the stream's channels are the mean of both in logarithms.
  auto squareOf = [](int64_t i) { return i == 9 ? 0.0 : 1.0 + double(i % 5); };
  for (int64_t i = 0; i < kInputs; ++i)
    for (int64_t n = 0; n < kRows; ++n)
      values[size_t(n * kInputs + i)] = float(std::sqrt(squareOf(i)));
  auto set = open();
  ASSERT_TRUE(set);
  WeightRecipe recipe = recipeIn(kK4), shifted = recipe, head = recipe;
  recipe.norm = shifted.norm = head.norm = "norm";
  shifted.normOffset = 2;
  head.isHead = true;
  auto panels = samplePanels(*set, recipe, InputEnergies::kPanels);
  ASSERT_TRUE(panels);
  InputEnergies energies;
  EXPECT_EQ(energies.of(*set, recipe)[8], 36);
  for (const WeightRecipe &each : {recipe, shifted, head, recipeIn(kK4)})
    energies.add(*set, each, *panels);
  EXPECT_TRUE(energies.of(*set, recipeIn(kK4)).empty());
  EXPECT_EQ(energies.of(*set, head)[8], 36);
  auto normOf = [](int64_t i, double offset) {
    double weight = (i % 8 == 0 ? 6 : 1) + offset;
    return weight * weight;
  };
  auto shareOf = [&](int64_t i, double offset) {
    double sum = 0;
    for (int64_t j = 0; j < kInputs; ++j)
      sum += squareOf(j) * normOf(j, offset);
    double share = squareOf(i) * normOf(i, offset) / sum * double(kInputs);
    return std::max(share, 1e-7);
  };
  std::vector<float> got = energies.of(*set, recipe);
  for (int64_t i = 0; i < kInputs; ++i) {
    double channel = 1 / std::sqrt(shareOf(i, 0) * shareOf(i, 2));
    EXPECT_NEAR(got[size_t(i)] / (normOf(i, 0) * channel), 1, 1e-4) << i;
  }
}

TEST_F(Grids, AScaledChannelScalesItsEnergy) {
  // A factor of the norm and its inverse in the weights keep the function.
  WeightRecipe recipe = recipeIn(kK4);
  recipe.norm = "norm";
  auto estimate = [&] {
    auto set = open();
    auto panels = samplePanels(*set, recipe, InputEnergies::kPanels);
    InputEnergies energies;
    energies.add(*set, recipe, *panels);
    return energies.of(*set, recipe);
  };
  std::vector<float> before = estimate();
  norm[3] *= 2;
  for (int64_t n = 0; n < kRows; ++n)
    values[size_t(n * kInputs + 3)] /= 2;
  std::vector<float> after = estimate();
  EXPECT_NEAR(after[3] / after[4], 4 * before[3] / before[4], 1e-4);
}

TEST_F(Grids, TheErrorOfSampledPanelsIsThePackedError) {
  auto set = open();
  ASSERT_TRUE(set);
  auto panels = samplePanels(*set, recipeIn(kK4), 3);
  ASSERT_TRUE(panels);
  ASSERT_EQ(panels->size(), 3u);
  // The second panel begins with row 32.
  EXPECT_EQ((*panels)[1][0], values[32 * kInputs]);
  EXPECT_EQ((*panels)[1][32 * 7 + 3], values[35 * kInputs + 7]);
  auto quantizer =
      GridQuantizer::forErrors(*set, recipeIn(kK4), nullptr, nullptr);
  auto packed = pack(recipeIn(kK4));
  ASSERT_TRUE(quantizer && packed);
  EXPECT_NEAR(std::sqrt(quantizer->relativeError(*panels)),
              packed->error.relativeRms(), 1e-6);
}
