//===- random_test.cpp - Random weights -----------------------------------===//

#include "compiler/Weights/pack/RandomWeights.h"
#include "compiler/Weights/pack/WeightPacker.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace mtp;

namespace {

WeightRecipe recipe(WeightLayout layout, const std::string &key, int64_t k,
                    int64_t n, int64_t count = 1) {
  WeightRecipe recipe;
  recipe.name = key;
  recipe.layout = layout;
  recipe.k = k;
  recipe.n = n;
  recipe.count = count;
  recipe.sources.push_back({.keyPattern = key});
  if (layout == WeightLayout::GatedPanels)
    recipe.sources.push_back({.keyPattern = key + ".up"});
  return recipe;
}

std::vector<float> pack(uint64_t seed, const WeightRecipe &recipe,
                        const PackOptions &options = {}) {
  std::vector<uint8_t> bytes;
  auto sink = [&](std::span<const uint8_t> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return okStatus();
  };
  Status status = packWeight(WeightSet::random(seed), recipe, sink, options);
  EXPECT_TRUE(status.isOk()) << status.toString();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

} // namespace

TEST(RandomWeights, DoNotDependOnThreadsOrWindows) {
  for (WeightLayout layout :
       {WeightLayout::Raw, WeightLayout::Panels, WeightLayout::GatedPanels}) {
    WeightRecipe odd = recipe(layout, "a.{}.weight", 37, 70, 3);
    std::vector<float> values = pack(1, odd);
    EXPECT_EQ(pack(1, odd, {3, 1, {}}), values);
    EXPECT_EQ(pack(1, odd, {2, 5000, {}}), values);
    EXPECT_NE(pack(2, odd), values);
  }
}

TEST(RandomWeights, AreAsWideAsTheirInputsAsk) {
  const int64_t k = 512, n = 256;
  std::vector<float> values =
      pack(1, recipe(WeightLayout::Panels, "a.weight", k, n));
  double sum = 0, squares = 0;
  for (float value : values) {
    ASSERT_LE(std::fabs(value), std::sqrt(3.0f / k));
    sum += value;
    squares += double(value) * value;
  }
  double count = double(values.size());
  // Standard errors are 1/sqrt(k*count) and about 0.9/sqrt(count); allows ten
  // of them.
  EXPECT_NEAR(sum / count, 0, 10 / std::sqrt(k * count));
  EXPECT_NEAR(squares / count * k, 1, 10 / std::sqrt(count));
}

TEST(RandomWeights, KeepNormsNearOneAndBiasesNearZero) {
  for (float value : pack(1, recipe(WeightLayout::Raw, "norm.weight", 999, 1)))
    EXPECT_NEAR(value, 1, 0.1);
  for (float value : pack(1, recipe(WeightLayout::Raw, "q_proj.bias", 999, 1)))
    EXPECT_NEAR(value, 0, 0.02);
}

TEST(RandomWeights, DifferByKeyPieceAndPlaceInAStack) {
  WeightRecipe a = recipe(WeightLayout::Raw, "a.{}.weight", 64, 32, 2);
  std::vector<float> values = pack(1, a);
  size_t half = values.size() / 2;
  EXPECT_FALSE(
      std::equal(values.begin(), values.begin() + half, values.begin() + half));
  WeightRecipe other = a;
  other.sources[0].keyPattern = "b.{}.weight";
  EXPECT_NE(pack(1, other), values);
  other = a;
  other.sources[0].rowBegin = 32;
  EXPECT_NE(pack(1, other), values);
}

TEST(RandomWeights, AreTheSameInEveryLayout) {
  // A tied table: raw rows of unit variance for the embedding, and panels for
  // the head, which has 16 inputs.
  std::vector<float> rows = pack(1, recipe(WeightLayout::Raw, "e", 16, 32));
  std::vector<float> panel = pack(1, recipe(WeightLayout::Panels, "e", 16, 32));
  for (size_t n = 0; n < 32; ++n)
    for (size_t k = 0; k < 16; ++k)
      ASSERT_FLOAT_EQ(panel[k * 32 + n], rows[n * 16 + k] / 4);
}

TEST(RandomWeights, RefuseABrokenRecipe) {
  WeightRecipe broken = recipe(WeightLayout::Panels, "a", 0, 32);
  EXPECT_FALSE(checkSources(WeightSet::random(1), broken).isOk());
}
