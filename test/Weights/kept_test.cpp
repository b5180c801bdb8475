//===- kept_test.cpp - Weights that keep their stored integers ------------===//

#include "test/Weights/GgufBuilder.h"
#include "test/Weights/KeptPanels.h"
#include "test/Weights/PackingTest.h"
#include "test/Weights/TestFiles.h"

#include <random>

using namespace mtp;
using namespace mtp::test;

namespace {

/// A type with blocks, its number in a file, and the places of its f16 numbers.
struct StoredType {
  WeightType type;
  uint32_t number;
  std::vector<size_t> halves;
};

const std::vector<StoredType> kStoredTypes = {
    {WeightType::Q4_0, 2, {0}},     {WeightType::Q4_1, 3, {0, 2}},
    {WeightType::Q5_0, 6, {0}},     {WeightType::Q5_1, 7, {0, 2}},
    {WeightType::Q8_0, 8, {0}},     {WeightType::Q2_K, 10, {80, 82}},
    {WeightType::Q3_K, 11, {108}},  {WeightType::Q4_K, 12, {0, 2}},
    {WeightType::Q5_K, 13, {0, 2}}, {WeightType::Q6_K, 14, {208}},
    {WeightType::IQ4_NL, 20, {0}},  {WeightType::IQ4_XS, 23, {0}},
    {WeightType::MXFP4, 39, {}},    {WeightType::NVFP4, 40, {}},
};

/// Returns random blocks with finite scales of at most 2.
std::string randomBlocks(const StoredType &stored, uint64_t elements,
                         std::mt19937 &random) {
  std::string bytes(
      elements / blockElements(stored.type) * blockBytes(stored.type), '\0');
  for (char &byte : bytes)
    byte = char(random());
  for (size_t at = 0; at < bytes.size(); at += blockBytes(stored.type)) {
    if (stored.type == WeightType::MXFP4)
      bytes[at] = char(uint8_t(bytes[at]) & 0x7f);
    for (size_t half : stored.halves)
      bytes[at + half + 1] = char(uint8_t(bytes[at + half + 1]) & 0xbf);
  }
  return bytes;
}

class KeptWeights : public testing::Test {
protected:
  /// Adds a tensor of random blocks. Returns its key.
  std::string add(const StoredType &stored, int64_t rows, int64_t cols) {
    std::string name = "blk." + std::to_string(count) + ".ffn_down.weight";
    builder.tensor(name, stored.number, {uint64_t(cols), uint64_t(rows)},
                   randomBlocks(stored, uint64_t(rows * cols), random));
    return "model.layers." + std::to_string(count++) + ".mlp.down_proj.weight";
  }
  WeightSet open() {
    std::string path = folder.write("m.gguf", builder.build());
    Result<WeightSet> set = WeightSet::openFiles({&path, 1});
    EXPECT_TRUE(set.isOk()) << set.status().toString();
    return std::move(*set);
  }
  static WeightRecipe recipeOf(const std::vector<std::string> &keys, int64_t n,
                               int64_t k) {
    WeightRecipe recipe;
    recipe.name = "w";
    recipe.layout = WeightLayout::Panels;
    recipe.n = n;
    recipe.k = k;
    for (const std::string &key : keys)
      recipe.sources.emplace_back().keyPattern = key;
    return recipe;
  }
  TemporaryFolder folder;
  GgufBuilder builder = GgufBuilder()
                            .text("general.architecture", "llama")
                            .number("llama.attention.head_count", 2);
  std::mt19937 random{7};
  int count = 0;
};

TEST_F(KeptWeights, HaveTheValuesOfTheirTensors) {
  std::vector<std::string> keys;
  for (const StoredType &stored : kStoredTypes)
    keys.push_back(add(stored, 35, 512));
  WeightSet set = open();
  for (size_t i = 0; i < keys.size(); ++i) {
    SCOPED_TRACE(toString(kStoredTypes[i].type));
    expectKept(set, recipeOf({keys[i]}, 35, 512));
  }
}

// Every pair of types, in one weight.
TEST_F(KeptWeights, HaveOneFormatForSeveralTypes) {
  std::vector<std::string> keys;
  for (const StoredType &stored : kStoredTypes)
    keys.push_back(add(stored, 20, 256));
  WeightSet set = open();
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      SCOPED_TRACE(std::string(toString(kStoredTypes[i].type)) + " and " +
                   std::string(toString(kStoredTypes[j].type)));
      expectKept(set, recipeOf({keys[i], keys[j]}, 40, 256));
    }
}

TEST_F(KeptWeights, TakeTheSmallestFormat) {
  auto common = [](WeightType a, WeightType b) {
    return commonFormat(*formatOfBlocks(a), *formatOfBlocks(b)).text();
  };
  using enum WeightType;
  EXPECT_EQ(common(Q4_0, Q8_0), "int8, group 32, f16");
  EXPECT_EQ(common(Q4_0, Q4_1), "int4, group 32, f16, offset");
  EXPECT_EQ(common(Q4_K, Q5_K), "int5, group 32, f16x6, offset");
  EXPECT_EQ(common(Q4_K, Q6_K), "int6, group 16, f16x8, offset");
  EXPECT_EQ(common(Q5_0, Q4_K), "int5, group 32, offset");
  EXPECT_EQ(common(MXFP4, MXFP4), "e2m1, group 32, e8m0");
  EXPECT_EQ(common(MXFP4, NVFP4), "int6, group 16");
  EXPECT_EQ(common(IQ4_NL, Q8_0), "int8, group 32, f16");
  WeightFormat wide = {WeightElements::Int8, 96};
  EXPECT_EQ(commonFormat(wide, {WeightElements::Int4, 128}).group, 32);
}

/// Returns keys of a hybrid with 2 key heads and 8 value heads of width 32.
GgufBuilder hybrid(const std::string &architecture) {
  GgufBuilder builder;
  builder.text("general.architecture", architecture);
  for (const auto &[key, value] :
       std::vector<std::pair<std::string, uint32_t>>{{"block_count", 1},
                                                     {"ssm.group_count", 2},
                                                     {"ssm.time_step_rank", 8},
                                                     {"ssm.state_size", 16},
                                                     {"ssm.inner_size", 256}})
    builder.number(architecture + "." + key, value);
  return builder;
}

// The parts have formats with groups of different sizes.
TEST_F(KeptWeights, MayBeJoined) {
  builder = hybrid("qwen3next");
  builder.tensor("blk.0.attn_qkv.weight", 12, {256, 320},
                 randomBlocks(kStoredTypes[7], 320 * 256, random));
  builder.tensor("blk.0.attn_gate.weight", 14, {256, 256},
                 randomBlocks(kStoredTypes[9], 256 * 256, random));
  WeightSet set = open();
  WeightRecipe recipe =
      recipeOf({"model.layers.0.linear_attn.in_proj_qkvz.weight"}, 576, 256);
  expectKept(set, recipe);
  EXPECT_EQ((*findKeptFormat(set, recipe))->text(),
            "int6, group 16, f16x8, offset");
  Result<StoredTypes> types = storedTypesOf(set, recipe);
  EXPECT_EQ(types->names, "Q4_K, Q6_K");
  EXPECT_NEAR(types->bits, (4.5 * 320 + 6.5625 * 256) / 576, 1e-9);
}

// The columns of a head are a group, and heads are not in the file's order.
TEST_F(KeptWeights, MayDivideBlocks) {
  builder = hybrid("qwen35");
  builder.tensor("blk.0.ssm_out.weight", 12, {256, 40},
                 randomBlocks(kStoredTypes[7], 40 * 256, random));
  WeightSet set = open();
  WeightRecipe recipe =
      recipeOf({"model.layers.0.linear_attn.out_proj.weight"}, 40, 256);
  expectKept(set, recipe);
  EXPECT_EQ((*findKeptFormat(set, recipe))->text(), "int4, group 32, offset");
}

// A target with plain formats has these formats in the order of its tensor
// cores.
TEST_F(KeptWeights, BecomeLargerPlainFormats) {
  std::vector<std::string> keys;
  for (const StoredType &stored : kStoredTypes)
    keys.push_back(add(stored, 64, 256));
  WeightSet set = open();
  std::string kept;
  for (size_t i = 0; i < keys.size(); ++i) {
    WeightRecipe recipe = recipeOf({keys[i]}, 64, 256);
    std::optional<WeightFormat> format =
        plainFormatOf(*formatOfBlocks(kStoredTypes[i].type));
    if (!format)
      continue;
    kept += std::string(toString(kStoredTypes[i].type)) + " ";
    SCOPED_TRACE(toString(kStoredTypes[i].type));
    recipe.format = *format;
    expectKept(set, recipe);
    std::vector<uint8_t> panels = packed(set, recipe);
    recipe.fragments = true;
    expectSameIntegers(panels, packed(set, recipe), format->panel(256));
  }
  EXPECT_EQ(kept, "Q4_0 Q5_0 Q8_0 IQ4_NL IQ4_XS MXFP4 ");
}

TEST_F(KeptWeights, AreWholeBlocksOfRows) {
  std::string key = add(kStoredTypes[0], 32, 64);
  builder.tensor("output.weight", 0, {64, 32}, std::string(64 * 32 * 4, '\0'));
  WeightSet set = open();
  auto isKept = [&](const WeightRecipe &recipe) {
    return findKeptFormat(set, recipe)->has_value();
  };
  WeightRecipe recipe = recipeOf({key}, 32, 32);
  recipe.sources[0].colBegin = 32;
  EXPECT_TRUE(isKept(recipe));
  recipe.sources[0].colBegin = 16;
  recipe.sources[0].colEnd = 48;
  EXPECT_FALSE(isKept(recipe));
  recipe = recipeOf({key}, 64, 32);
  recipe.sources[0].transpose = true;
  EXPECT_FALSE(isKept(recipe));
  EXPECT_FALSE(isKept(recipeOf({key, "lm_head.weight"}, 64, 64)));
  // Other formats of integers need a quantiser.
  recipe = recipeOf({"lm_head.weight"}, 32, 64);
  recipe.format = *formatOfBlocks(WeightType::Q4_1);
  Status status = checkSources(set, recipe);
  EXPECT_TRUE(status.isOk()) << status.toString();
  status = packWeight(set, recipe, [](auto) { return okStatus(); });
  EXPECT_NE(status.message().find("expected tensors that the format int4"),
            std::string_view::npos)
      << status.toString();
}

} // namespace
