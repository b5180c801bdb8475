//===- kept_test.cpp - Weights that keep their stored integers ------------===//
//
// The test reads packed panels as FORMAT.md defines them, and compares each
// value with the tensor's, bit for bit.
//
//===----------------------------------------------------------------------===//

#include "compiler/Weights/pack/KeptFormat.h"
#include "compiler/Weights/pack/WeightPacker.h"
#include "test/Weights/GgufBuilder.h"
#include "test/Weights/TestFiles.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
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

float halfAt(const uint8_t *bytes) {
  float value;
  decodeElements(WeightType::F16, bytes, 1, &value);
  return value;
}

/// Reads values of a panel.
struct PanelReader {
  WeightFormat format;
  int64_t k;
  const uint8_t *panel;

  /// Returns the first level of a scale, or of an offset.
  float firstLevel(const uint8_t *block, int64_t output, bool isOffset) const {
    int64_t size = format.scales == WeightScales::F32 ? 4 : 2;
    const uint8_t *at = block + (isOffset ? 32 * size : 0) + output * size;
    float value;
    if (size == 2)
      return halfAt(at);
    std::memcpy(&value, at, 4);
    return value;
  }
  /// Returns the second level; 1 if there is none.
  int secondLevel(const uint8_t *block, int64_t groups, int64_t g,
                  int64_t output, bool isOffset) const {
    const uint8_t *at = block + 64 * (format.hasOffset ? 2 : 1);
    if (format.scales == WeightScales::F16x8)
      return int8_t(at[32 * (isOffset ? groups + g : g) + output]);
    if (format.scales != WeightScales::F16x6)
      return 1;
    uint32_t word;
    std::memcpy(&word, at + 4 * output, 4);
    uint8_t low = at[128 + 32 * g + output];
    int shift = int(4 * g) + (isOffset ? 2 : 0);
    return (isOffset ? low >> 4 : low & 15) | int(word >> shift & 3) << 4;
  }
  int integer(const uint8_t *data, int64_t i, int64_t output) const {
    int64_t bits = format.bits();
    int64_t step = bits == 8 ? 4 : bits == 4 ? 8 : bits == 6 ? 16 : 32;
    data += i / step * step * bits * 4;
    i %= step;
    const uint8_t *word = data + output * 4 + i % 4;
    if (bits == 8)
      return valueOf(*word);
    int q = word[i / 8 * 128] >> (i % 8 / 4 * 4) & 15;
    if (bits > 4)
      q |= (word[step / 8 * 128] >> (i / 4 * (bits - 4)) &
            ((1 << (bits - 4)) - 1))
           << 4;
    return valueOf(q);
  }

  /// Returns a scale of one byte.
  float byteScale(uint8_t byte) const {
    if (format.scales == WeightScales::E8M0)
      return std::ldexp(1.0f, byte - 128);
    int exponent = byte >> 3 & 15, mantissa = byte & 7;
    if (byte == 127)
      return 0;
    return exponent == 0 ? std::ldexp(float(mantissa), -10)
                         : std::ldexp(1.0f + float(mantissa) / 8, exponent - 8);
  }
  /// Returns the integer of a code.
  int valueOf(int q) const {
    constexpr int e2m1[] = {0, 1,  2,  3,  4,  6,  8,  12,
                            0, -1, -2, -3, -4, -6, -8, -12};
    constexpr int nl4[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                           1,    13,   25,  38,  53,  69,  89,  113};
    if (format.elements == WeightElements::E2M1)
      return e2m1[q];
    return format.elements == WeightElements::NL4 ? nl4[q] : q - format.bias();
  }

  float at(int64_t output, int64_t input) const {
    bool hasTwoLevels = format.panel(k).hasTwoLevels();
    bool hasBytes = format.panel(k).hasByteScales();
    int64_t block = hasTwoLevels ? 256
                    : hasBytes   ? 2 * format.group
                                 : format.group;
    const uint8_t *from = panel;
    for (int64_t first = 0; first + block <= input; first += block)
      from += format.panelBytes(block, 32);
    int64_t inputs = std::min(block, k - input / block * block);
    int64_t groups = (inputs + format.group - 1) / format.group;
    int64_t g = input % block / format.group;
    const uint8_t *data = from + format.panelBytes(inputs, 32) -
                          groups * format.group * format.bits() * 4 +
                          g * format.group * format.bits() * 4;
    double q = integer(data, input % format.group, output);
    double scale =
        hasBytes ? byteScale(from[32 * g + output])
                 : firstLevel(from, output, false) *
                       double(secondLevel(from, groups, g, output, false));
    double offset = -0.0;
    if (format.hasOffset)
      offset = firstLevel(from, output, true) *
               double(secondLevel(from, groups, g, output, true)) *
               (hasTwoLevels ? -1 : 1);
    return float(scale * q + offset);
  }
};

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
  /// Packs in the format that keeps the weight, and compares all values.
  void expectKept(const WeightSet &set, WeightRecipe recipe) {
    Result<std::optional<WeightFormat>> format = findKeptFormat(set, recipe);
    ASSERT_TRUE(format.isOk() && *format) << format.status().toString();
    ASSERT_TRUE((*format)->isValid()) << (*format)->text();
    recipe.format = **format;
    std::vector<uint8_t> bytes;
    Status status = packWeight(set, recipe, [&](auto piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return okStatus();
    });
    ASSERT_TRUE(status.isOk()) << status.toString();
    int64_t row = 0;
    for (const WeightSource &source : recipe.sources) {
      Result<WeightRows> rows = WeightRows::resolve(set, source, 0);
      std::vector<float> expected(size_t(rows->rows() * recipe.k));
      rows->readFlat(0, int64_t(expected.size()), expected.data());
      for (int64_t i = 0; i < rows->rows(); ++i, ++row) {
        PanelReader reader{recipe.format, recipe.k,
                           bytes.data() + row / 32 * panelBytes(recipe)};
        for (int64_t c = 0; c < recipe.k; ++c) {
          float value = reader.at(row % 32, c);
          float wanted = expected[size_t(i * recipe.k + c)];
          // An offset loses the sign of a zero.
          if (recipe.format.hasOffset && wanted == 0)
            wanted = value == 0 ? value : wanted;
          ASSERT_EQ(std::bit_cast<uint32_t>(value),
                    std::bit_cast<uint32_t>(wanted))
              << recipe.format.text() << ", row " << row << ", column " << c;
        }
      }
    }
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
  recipe.format = *formatOfBlocks(WeightType::Q4_K);
  Status status = checkSources(set, recipe);
  EXPECT_TRUE(status.isOk()) << status.toString();
  status = packWeight(set, recipe, [](auto) { return okStatus(); });
  EXPECT_NE(status.message().find("expected tensors that the format int4"),
            std::string_view::npos)
      << status.toString();
}

} // namespace
