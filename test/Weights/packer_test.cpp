//===- packer_test.cpp - Packed bytes against a plain loop ----------------===//

#include "compiler/Weights/WeightPacker.h"
#include "test/Weights/TestFiles.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns a value that identifies its place and is not exact in bf16.
float valueAt(int64_t row, int64_t col, int64_t salt = 0) {
  return std::sin(float(row * 131 + col * 7 + salt * 1009)) * 3.0f;
}

std::vector<float> matrix(int64_t rows, int64_t cols, int64_t salt = 0) {
  std::vector<float> values;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      values.push_back(valueAt(r, c, salt));
  return values;
}

/// A logical matrix: element (n, k) of matrix s.
using Reference = std::function<float(int64_t s, int64_t n, int64_t k)>;

void put(std::vector<uint8_t> &out, const WeightFormat &format, int64_t index,
         float value) {
  if (format == kF32) {
    std::memcpy(out.data() + index * 4, &value, 4);
  } else {
    uint16_t half = roundToBF16(value);
    std::memcpy(out.data() + index * 2, &half, 2);
  }
}

/// Packs in the layouts as documented, with a plain loop.
std::vector<uint8_t> packPlainly(const WeightRecipe &recipe,
                                 const Reference &at) {
  std::vector<uint8_t> out(size_t(packedBytes(recipe)), 0);
  bool isBF16 = recipe.format == kBF16;
  int64_t k = isBF16 ? recipe.k + recipe.k % 2 : recipe.k;
  int64_t panels = panelCount(recipe), width = recipe.panelWidth;
  for (int64_t s = 0; s < recipe.count; ++s)
    for (int64_t n = 0; n < recipe.n; ++n)
      for (int64_t c = 0; c < recipe.k; ++c) {
        int64_t row = n, panel = n / width;
        if (recipe.layout == WeightLayout::GatedPanels) {
          bool isUp = n >= recipe.n / 2;
          row = isUp ? n - recipe.n / 2 : n;
          panel = 2 * (row / width) + isUp;
        }
        int64_t lane = row % width;
        int64_t inPanel =
            isBF16 ? c / 2 * 2 * width + lane * 2 + c % 2 : c * width + lane;
        if (recipe.fragments) {
          // Blocks of 32 by 32 in tiles of 16 outputs, two fragments each. Of a
          // lane's eight numbers the first two belong to one output, the next
          // two to the output 8 below, and the last four repeat this.
          int64_t e = c % 32, pairs = 2 * (e % 4 / 2) + lane % 16 / 8;
          int64_t thread = lane % 8 * 4 + e / 8;
          inPanel = c / 32 * 1024 + lane / 16 * 512 + e % 8 / 4 * 256 +
                    thread * 8 + pairs * 2 + e % 2;
        }
        int64_t index = (s * panels + panel) * k * width + inPanel;
        if (recipe.layout == WeightLayout::Raw)
          index = (s * recipe.n + n) * recipe.k + c;
        put(out, recipe.format, index, at(s, n, c));
      }
  return out;
}

/// Compares the integers of whole panels with those in fragments.
void expectSameIntegers(const std::vector<uint8_t> &panels,
                        const std::vector<uint8_t> &fragments,
                        const QuantizedPanel &panel) {
  int64_t octet = panel.bits; // Bytes of eight inputs.
  size_t base = 0;
  auto nibble = [](const uint8_t *at, int64_t i) {
    return at[i % 4] >> (i / 4 * 4) & 15;
  };
  while (base < panels.size())
    for (int64_t first = 0; first < panel.k; first += panel.group) {
      int64_t inputs = std::min(panel.group, panel.k - first);
      for (int64_t tile = 0; tile < 2; ++tile)
        for (int64_t i = 0; i < 16; ++i)
          EXPECT_EQ(std::memcmp(
                        &panels[base + 4 * (16 * tile + i)],
                        &fragments[base + 64 * tile + 8 * (i % 8) + i / 8 * 4],
                        4),
                    0);
      size_t at = base + 128;
      for (int64_t tile = 0; tile < 2; ++tile)
        for (int64_t unit = 0; unit < inputs; unit += 32) {
          bool isAlone = unit % 64 == 0 && unit + 32 == inputs;
          for (int64_t lane = 0; lane < 32; ++lane) {
            size_t from = panel.bits == 8 ? at + 16 * lane
                          : isAlone       ? at + 8 * lane
                                          : at + 16 * lane + unit % 64 / 4;
            for (int64_t half = 0; half < 2; ++half)
              for (int64_t e = 0; e < 8; ++e) {
                int64_t output = 16 * tile + lane / 4 + 8 * half;
                int64_t input = unit + 8 * (lane % 4) + e;
                const uint8_t *word =
                    &panels[base + 128 + input / 8 * octet * 32 + output * 4];
                if (panel.bits == 8)
                  EXPECT_EQ(
                      word[e / 4 * 128 + e % 4] - 128,
                      int8_t(fragments[from + e / 4 * 8 + half * 4 + e % 4]));
                else
                  EXPECT_EQ(nibble(word, e) ^ 8,
                            nibble(&fragments[from + half * 4], e));
              }
          }
          if (panel.bits == 8 || isAlone || unit % 64 == 32)
            at += isAlone && panel.bits == 4 ? 256 : 512;
        }
      base += panel.groupBytes(inputs);
    }
}

class Packing : public testing::Test {
protected:
  /// Packs with several options, all of which must give the plain loop's bytes.
  void expectPacked(const WeightRecipe &recipe, const Reference &at) {
    std::string path = folder.write("model.safetensors", builder.build());
    auto set = WeightSet::openFiles({&path, 1});
    ASSERT_TRUE(set.isOk()) << set.status().toString();
    std::vector<uint8_t> expected = packPlainly(recipe, at);
    for (auto [threads, window] :
         {std::pair(1u, int64_t(1) << 20), {1u, 1}, {3u, 10000}, {2u, 1 << 20}})
      EXPECT_EQ(pack(*set, recipe, {threads, window, {}}), expected)
          << threads << " threads, window " << window;
  }

  std::vector<uint8_t> pack(const WeightSet &set, const WeightRecipe &recipe,
                            PackOptions options) {
    std::vector<uint8_t> bytes;
    int64_t told = 0;
    options.progress = [&](int64_t done, int64_t total) {
      EXPECT_GT(done, told);
      EXPECT_LE(done, total);
      told = done;
    };
    Status status = packWeight(
        set, recipe,
        [&](std::span<const uint8_t> piece) {
          bytes.insert(bytes.end(), piece.begin(), piece.end());
          return okStatus();
        },
        options);
    EXPECT_TRUE(status.isOk()) << status.toString();
    EXPECT_EQ(told, packedBytes(recipe));
    return bytes;
  }

  Status packError(const WeightRecipe &recipe) {
    std::string path = folder.write("model.safetensors", builder.build());
    auto set = WeightSet::openFiles({&path, 1});
    EXPECT_TRUE(set.isOk()) << set.status().toString();
    return packWeight(*set, recipe, [](auto) { return okStatus(); });
  }

  TemporaryFolder folder;
  FileBuilder builder;
};

TEST_F(Packing, PanelsOnRaggedShapes) {
  for (auto [n, k] : {std::pair<int64_t, int64_t>{1, 1},
                      {32, 64},
                      {33, 65},
                      {31, 63},
                      {70, 129},
                      {5, 200},
                      {40, 601}}) {
    std::string key = std::to_string(n) + "x" + std::to_string(k);
    builder.addF32(key, {n, k}, matrix(n, k));
    for (WeightFormat format : {kF32, kBF16})
      expectPacked({"w", WeightLayout::Panels, format, k, n, 1, {{key}}},
                   [](int64_t, int64_t r, int64_t c) { return valueAt(r, c); });
  }
}

TEST_F(Packing, PanelsJoinsSlicedAndTransposedSources) {
  builder.addF32("a", {40, 9}, matrix(40, 9));
  builder.addF32("b", {9, 50}, matrix(9, 50, 1));
  builder.addF32("c", {80, 20}, matrix(80, 20, 2));
  WeightRecipe recipe{"w", WeightLayout::Panels, kF32, 9, 82, 1, {}};
  recipe.sources = {{"a"}, {"b", 0, -1, 10, 45, true}, {"c", 60, 67, 11, 20}};
  expectPacked(recipe, [](int64_t, int64_t n, int64_t k) {
    if (n < 40)
      return valueAt(n, k);
    if (n < 75)
      return valueAt(k, 10 + n - 40, 1);
    return valueAt(60 + n - 75, 11 + k, 2);
  });
}

TEST_F(Packing, PanelsInFragments) {
  for (auto [n, k] :
       {std::pair<int64_t, int64_t>{1, 32}, {33, 64}, {64, 608}}) {
    std::string key = std::to_string(n);
    builder.addF32("a" + key, {n, k}, matrix(n, k));
    builder.addF32("b" + key, {n, k}, matrix(n, k, 1));
    WeightRecipe recipe{"w", WeightLayout::Panels, kBF16, k, n,
                        1,   {{"a" + key}}};
    recipe.fragments = true;
    expectPacked(recipe,
                 [](int64_t, int64_t r, int64_t c) { return valueAt(r, c); });
    recipe.layout = WeightLayout::GatedPanels;
    recipe.n = 2 * n;
    recipe.sources.push_back({"b" + key});
    expectPacked(recipe, [n = n](int64_t, int64_t r, int64_t c) {
      return r < n ? valueAt(r, c) : valueAt(r - n, c, 1);
    });
  }
}

TEST_F(Packing, FragmentsNeedWholeBlocks) {
  builder.addF32("a", {8, 40}, matrix(8, 40));
  WeightRecipe recipe{"w", WeightLayout::Panels, kBF16, 40, 8, 1, {{"a"}}};
  recipe.fragments = true;
  EXPECT_EQ(packError(recipe).message(),
            "weight \"w\": expected panels of 32 outputs in BF16 or groups of "
            "32, 64 or 128 inputs, and a k that is a multiple of 32 for "
            "fragments, got a k of 40");
}

// Fragments have the integers and scales of panels, found lane by lane as
// FORMAT.md describes.
TEST_F(Packing, IntegersInFragments) {
  using enum WeightElements;
  for (auto [format, k] : {std::pair<WeightFormat, int64_t>{{Int8, 64}, 160},
                           {{Int8, 32}, 96},
                           {{Int8, 128}, 256},
                           {{Int4, 32}, 64},
                           {{Int4, 64}, 96},
                           {{Int4, 128}, 352}}) {
    std::string key =
        std::string(format.name()) + "x" + std::to_string(format.group);
    builder.addF32(key, {40, k}, matrix(40, k));
    std::string path = folder.write("model.safetensors", builder.build());
    auto set = WeightSet::openFiles({&path, 1});
    ASSERT_TRUE(set.isOk()) << set.status().toString();
    WeightRecipe recipe{"w", WeightLayout::Panels, format, k, 40, 1, {{key}}};
    std::vector<uint8_t> panels = pack(*set, recipe, {1, 1 << 20, {}});
    recipe.fragments = true;
    std::vector<uint8_t> fragments = pack(*set, recipe, {2, 1, {}});
    ASSERT_EQ(panels.size(), fragments.size());
    expectSameIntegers(panels, fragments, format.panel(k));
  }
}

TEST_F(Packing, PanelsPicksRows) {
  builder.addF32("a", {90, 9}, matrix(90, 9));
  std::vector<int32_t> picks;
  for (int32_t row = 89; row >= 0; row -= 2)
    picks.push_back(row);
  WeightSource source{"a"};
  source.picks = picks;
  for (WeightFormat format : {kF32, kBF16})
    expectPacked({"w", WeightLayout::Panels, format, 9, 45, 1, {source}},
                 [&](int64_t, int64_t n, int64_t k) {
                   return valueAt(picks[size_t(n)], k);
                 });
}

/// The matrices of a stack in one tensor, each of which gives two parts.
TEST_F(Packing, StacksInOneTensor) {
  builder.addF32("e", {3, 8, 5}, matrix(24, 5));
  WeightSource gate{"e", 0, 4}, up{"e", 4, 8};
  gate.headStride = up.headStride = 8;
  gate.shape = up.shape = {24, 5};
  expectPacked(
      {"w", WeightLayout::GatedPanels, kBF16, 5, 8, 3, {gate, up}},
      [](int64_t s, int64_t n, int64_t k) { return valueAt(s * 8 + n, k); });
}

TEST_F(Packing, GatedPanelsOnRaggedShapes) {
  for (auto [inter, k] :
       {std::pair<int64_t, int64_t>{32, 8}, {33, 7}, {7, 70}}) {
    std::string name = std::to_string(inter);
    builder.addF32("gate" + name, {inter, k}, matrix(inter, k, 3));
    builder.addBF16("up" + name, {inter, k}, matrix(inter, k, 4));
    WeightRecipe recipe{
        "w", WeightLayout::GatedPanels,       kBF16, k, 2 * inter,
        1,   {{"gate" + name}, {"up" + name}}};
    expectPacked(recipe, [inter = inter](int64_t, int64_t n, int64_t c) {
      return n < inter ? valueAt(n, c, 3) : valueAt(n - inter, c, 4);
    });
  }
}

TEST_F(Packing, PanelsOfOtherWidths) {
  builder.addF32("a", {70, 301}, matrix(70, 301));
  builder.addF32("b", {70, 301}, matrix(70, 301, 1));
  for (int64_t width : {4, 16, 64, 256})
    for (WeightFormat format : {kF32, kBF16}) {
      WeightRecipe plain{"w",    WeightLayout::Panels, format, 301, 70, 1,
                         {{"a"}}};
      plain.panelWidth = width;
      expectPacked(plain,
                   [](int64_t, int64_t n, int64_t k) { return valueAt(n, k); });
      WeightRecipe gated = plain;
      gated.layout = WeightLayout::GatedPanels;
      gated.n = 140;
      gated.sources.push_back({"b"});
      expectPacked(gated, [](int64_t, int64_t n, int64_t k) {
        return n < 70 ? valueAt(n, k) : valueAt(n - 70, k, 1);
      });
    }
}

TEST_F(Packing, StacksOverTensors) {
  for (int64_t e = 0; e < 3; ++e) {
    std::string prefix = "experts." + std::to_string(e);
    builder.addF32(prefix + ".gate", {34, 6}, matrix(34, 6, e));
    builder.addF32(prefix + ".up", {34, 6}, matrix(34, 6, 10 + e));
  }
  WeightRecipe recipe{"w",
                      WeightLayout::GatedPanels,
                      kF32,
                      6,
                      68,
                      3,
                      {{"experts.{}.gate"}, {"experts.{}.up"}}};
  expectPacked(recipe, [](int64_t s, int64_t n, int64_t k) {
    return n < 34 ? valueAt(n, k, s) : valueAt(n - 34, k, 10 + s);
  });
  WeightRecipe down{"w", WeightLayout::Panels, kF32, 6, 34,
                    3,   {{"experts.{}.up"}}};
  expectPacked(down, [](int64_t s, int64_t n, int64_t k) {
    return valueAt(n, k, 10 + s);
  });
}

/// The absorbed halves of MLA's kv_b_proj: per head, `nope` rows transposed and
/// `value` rows unchanged.
TEST_F(Packing, StacksOverRowBlocks) {
  constexpr int64_t heads = 3, nope = 5, value = 4, latent = 37;
  builder.addF32("kv_b", {heads * (nope + value), latent},
                 matrix(heads * (nope + value), latent));
  WeightRecipe key{"k",
                   WeightLayout::Panels,
                   kBF16,
                   nope,
                   latent,
                   heads,
                   {{"kv_b", 0, nope, 0, -1, true, nope + value}}};
  expectPacked(key, [](int64_t s, int64_t n, int64_t k) {
    return valueAt(s * (nope + value) + k, n);
  });
  WeightRecipe out{"v",
                   WeightLayout::Panels,
                   kBF16,
                   latent,
                   value,
                   heads,
                   {{"kv_b", nope, nope + value, 0, -1, false, nope + value}}};
  expectPacked(out, [](int64_t s, int64_t n, int64_t k) {
    return valueAt(s * (nope + value) + nope + n, k);
  });
}

TEST_F(Packing, RawConvertsAndConcatenates) {
  builder.addF32("q", {5}, matrix(5, 1));
  builder.addF32("v", {18000}, matrix(18000, 1, 2));
  builder.addF32("m", {9000, 2}, matrix(9000, 2, 1));
  WeightRecipe recipe{"w", WeightLayout::Raw, kBF16, 18005, 1,
                      1,   {{"q"}, {"v"}}};
  auto at = [](int64_t, int64_t, int64_t k) {
    return k < 5 ? valueAt(k, 0) : valueAt(k - 5, 0, 2);
  };
  expectPacked(recipe, at);
  recipe.format = kF32;
  expectPacked(recipe, at);
  recipe = {"w",
            WeightLayout::Raw,
            kF32,
            2,
            3,
            2,
            {{"m", 10, 13, 0, -1, false, 100}}};
  expectPacked(recipe, [](int64_t s, int64_t n, int64_t k) {
    return valueAt(10 + 100 * s + n, k, 1);
  });
}

TEST_F(Packing, ReadsHalfPrecision) {
  builder.add("h", "F16", {2, 2}, std::string("\0\x3c\0\xc5\0\0\xff\x7b", 8));
  constexpr float values[2][2] = {{1, -5}, {0, 65504}};
  expectPacked({"w", WeightLayout::Raw, kF32, 2, 2, 1, {{"h"}}},
               [&](int64_t, int64_t n, int64_t k) { return values[n][k]; });
}

TEST_F(Packing, ScalesFP8Blocks) {
  constexpr int64_t rows = 130, cols = 300;
  std::string bytes;
  for (int64_t i = 0; i < rows * cols; ++i)
    bytes += char(0x30 + i % 16);
  builder.add("w.weight", "F8_E4M3", {rows, cols}, bytes);
  builder.addF32("w.weight_scale_inv", {2, 3}, {1, 2, 3, 4, 5, 6});
  auto at = [&](int64_t, int64_t n, int64_t k) {
    float value;
    uint8_t byte = uint8_t(bytes[size_t(n * cols + k)]);
    decodeElements(WeightType::F8E4M3, &byte, 1, &value);
    return value * float(1 + n / 128 * 3 + k / 128);
  };
  expectPacked(
      {"w", WeightLayout::Panels, kBF16, cols, rows, 1, {{"w.weight"}}}, at);
  expectPacked(
      {"w",
       WeightLayout::Panels,
       kF32,
       4,
       40,
       1,
       {{"w.weight", 126, 130, 100, 140, true}}},
      [&](int64_t s, int64_t n, int64_t k) { return at(s, 126 + k, 100 + n); });
  builder.add("v.weight", "F8_E4M3", {rows, cols}, bytes);
  builder.addF32("v.weight_scale_inv", {3, 3}, std::vector<float>(9, 1.0f));
  Status status = packError(
      {"w", WeightLayout::Panels, kBF16, cols, rows, 1, {{"v.weight"}}});
  EXPECT_NE(status.message().find("expected scales F32, BF16, F16 or F8_E8M0 "
                                  "[2, 3] for blocks of 128 x 128 at "
                                  "\"v.weight_scale_inv\", got F32 [3, 3]"),
            std::string_view::npos)
      << status.toString();
}

/// Bits of 0.25, 0.5, 1, 2, 4 and 8 in types of scales (modular#7142,
/// HabanaAI/vllm-fork#2141, omlx#2159). They are written out so that they do
/// not depend on the packer.
TEST_F(Packing, ScalesFP8BlocksByAnyType) {
  constexpr int64_t rows = 130, cols = 300;
  const std::pair<const char *, std::vector<uint16_t>> kinds[] = {
      {"BF16", {0x3e80, 0x3f00, 0x3f80, 0x4000, 0x4080, 0x4100}},
      {"F16", {0x3400, 0x3800, 0x3c00, 0x4000, 0x4400, 0x4800}},
      {"F8_E8M0", {125, 126, 127, 128, 129, 130}}};
  for (const auto &[type, bits] : kinds) {
    SCOPED_TRACE(type);
    std::string key = "w" + std::string(type), scales;
    for (uint16_t number : bits) {
      scales += char(number & 0xff);
      if (bits[0] > 0xff)
        scales += char(number >> 8);
    }
    // 0x38 is one.
    builder.add(key, "F8_E4M3", {rows, cols}, std::string(rows * cols, 0x38));
    builder.add(key + "_scale_inv", type, {2, 3}, scales);
    expectPacked({"w", WeightLayout::Raw, kF32, cols, rows, 1, {{key}}},
                 [](int64_t, int64_t n, int64_t k) {
                   return 0.25f * float(1 << (n / 128 * 3 + k / 128));
                 });
  }
}

/// Matrices in one tensor, whose number of rows is not a multiple of a block's.
TEST_F(Packing, ScalesFP8BlocksOfEachMatrix) {
  builder.add("w", "F8_E4M3", {2, 130, 3}, std::string(2 * 130 * 3, 0x38));
  builder.addF32("w_scale_inv", {2, 2, 1}, {1, 2, 3, 4});
  WeightSource source{"w", 0, 130};
  source.headStride = 130;
  expectPacked(
      {"w", WeightLayout::Panels, kF32, 3, 130, 2, {source}},
      [](int64_t s, int64_t n, int64_t) { return float(1 + 2 * s + n / 128); });
}

/// Scales of other types, which would be misread as numbers.
TEST_F(Packing, RefusesOtherScales) {
  auto error = [&](const std::string &key) {
    builder.add(key, "F8_E4M3", {2, 2}, std::string(4, 0x38));
    return std::string(
        packError({"w", WeightLayout::Raw, kF32, 2, 2, 1, {{key}}}).message());
  };
  builder.add("a_scale_inv", "U8", {1, 1}, "x");
  EXPECT_NE(error("a").find("at \"a_scale_inv\", got U8 [1, 1]"),
            std::string::npos);
  builder.add("b.scale", "U8", {1, 1}, "x");
  EXPECT_NE(error("b.weight")
                .find("at \"b.weight_scale_inv\", got \"b.scale\", "
                      "which has another form"),
            std::string::npos);
  builder.addF32("c.weight_scale", {1}, {1});
  EXPECT_NE(error("c.weight").find("got \"c.weight_scale\""),
            std::string::npos);
  builder.addF32("d_scale_inv", {1}, {1});
  EXPECT_NE(error("d").find("got F32 [1]"), std::string::npos);
  EXPECT_NE(error("e").find("\"e_scale_inv\", got none"), std::string::npos);
}

// Rows of the packed matrix are the window's columns, oldest first, of a file's
// [columns, 1, window].
TEST_F(Packing, RawOfADepthwiseConvolution) {
  builder.addF32("c", {5, 1, 4}, matrix(5, 4));
  WeightSource source{"c"};
  source.transpose = true;
  source.shape = {5, 4};
  expectPacked({"w", WeightLayout::Raw, kF32, 5, 4, 1, {source}},
               [](int64_t, int64_t n, int64_t k) { return valueAt(k, n); });
  source.shape = {5, 3};
  Status status = packError({"w", WeightLayout::Raw, kF32, 5, 3, 1, {source}});
  EXPECT_NE(status.message().find("expected shape [5, 3], got [5, 4]"),
            std::string_view::npos)
      << status.toString();
}

TEST_F(Packing, NamesWhatDoesNotFit) {
  builder.addF32("a", {4, 6}, matrix(4, 6));
  builder.addF32("v", {3}, matrix(3, 1));
  builder.add("i", "I64", {1}, std::string(8, '\0'));
  builder.add("d", "F32", {1, 2, 1}, std::string(8, '\0'));
  auto expectError = [&](const WeightRecipe &recipe, const std::string &text) {
    Status status = packError(recipe);
    EXPECT_FALSE(status.isOk()) << "expected: " << text;
    EXPECT_NE(status.message().find(text), std::string_view::npos)
        << status.toString();
  };
  auto linear = [](int64_t k, int64_t n, WeightSource source) {
    return WeightRecipe{"w", WeightLayout::Panels, kF32, k, n, 1, {source}};
  };
  expectError(linear(5, 4, {"a"}), "expected 5 inputs, got 6");
  expectError(linear(6, 5, {"a"}), "expected 5 outputs, got 4");
  expectError(linear(6, 4, {"b"}), "no weight \"b\"");
  expectError(linear(6, 4, {"a", 1, 5}), "expected at least 5 rows, got 4");
  expectError(linear(6, 4, {"a", 5, -1}), "expected at least 5 rows, got 4");
  expectError(linear(6, 4, {"a", 0, -1, 3, 9}), "9 columns, got 6");
  expectError(linear(1, 1, {"i"}),
              "expected BF16, F16, F32, F8_E4M3 or a type of GGUF with "
              "blocks, got I64");
  expectError(linear(1, 1, {"d"}),
              "one or two dimensions, got shape [1, 2, 1]");
  WeightSource stacked{"d", 0, 1};
  stacked.headStride = 3;
  expectError(linear(1, 1, stacked),
              "expected matrices of 3 rows, got shape [1, 2, 1]");
  WeightSource picked{"a"};
  picked.picks = {3, 4};
  expectError(linear(6, 2, picked), "expected picked rows below 4, got 4");
  picked.picks = {-1, 2};
  expectError(linear(6, 2, picked), "expected picked rows below 4, got -1");
  picked.picks = {1, 2};
  expectError(linear(6, 3, picked), "expected 3 outputs, got 2");
  picked.rowBegin = 1;
  expectError(linear(6, 2, picked),
              "expected picked rows of a whole tensor in panels");
  expectError({"w", WeightLayout::Raw, kF32, 6, 5, 1, {{"a"}}},
              "expected 5 outputs, got 4");
  // A table of 4 x 6 is not one of 6 x 4, nor a vector of 24.
  expectError({"w", WeightLayout::Raw, kF32, 4, 6, 1, {{"a"}}},
              "expected 4 inputs, got 6");
  expectError({"w", WeightLayout::Raw, kF32, 24, 1, 1, {{"a"}}},
              "expected a vector, got 4 rows of 6");
  expectError({"w", WeightLayout::Raw, kF32, 5, 1, 1, {{"v"}}},
              "expected 5 elements, got 3");
  expectError({"w", WeightLayout::GatedPanels, kF32, 6, 4, 1, {{"a"}, {"a"}}},
              "expected 2 outputs, got 4");
  expectError({"w",
               WeightLayout::Panels,
               kF32,
               6,
               2,
               3,
               {{"a", 0, 2, 0, -1, false, 2}}},
              "expected at least 6 rows, got 4");
}

// With several sources, the sum of their rows does not determine each of them.
TEST_F(Packing, ComparesTheShapeOfEverySource) {
  builder.addF32("a", {4, 6}, matrix(4, 6));
  builder.addF32("b", {2, 6}, matrix(2, 6, 1));
  builder.addF32("v", {6}, matrix(6, 1, 2));
  auto source = [](const char *key, std::vector<int64_t> shape) {
    WeightSource source{key};
    source.shape = std::move(shape);
    return source;
  };
  auto recipe = [](WeightSource first, WeightSource second) {
    return WeightRecipe{"w",
                        WeightLayout::Panels,
                        kF32,
                        6,
                        6,
                        1,
                        {std::move(first), std::move(second)}};
  };
  auto at = [](int64_t, int64_t n, int64_t k) {
    return n < 4 ? valueAt(n, k) : valueAt(n - 4, k, 1);
  };
  expectPacked(recipe(source("a", {4, 6}), source("b", {2, 6})), at);
  expectPacked(recipe(source("a", {-1, 6}), source("b", {-1, -1})), at);
  auto expectError = [&](const WeightRecipe &recipe, const std::string &text) {
    EXPECT_NE(packError(recipe).message().find(text), std::string_view::npos)
        << text << ": " << packError(recipe).toString();
  };
  expectError(recipe(source("a", {3, 6}), source("b", {3, 6})),
              "expected shape [3, 6], got [4, 6]");
  expectError(recipe(source("a", {4, 6}), source("b", {-1, 7})),
              "expected shape [?, 7], got [2, 6]");
  expectError({"w", WeightLayout::Raw, kF32, 6, 1, 1, {source("v", {1, 6})}},
              "expected shape [1, 6], got [6]");
}

TEST_F(Packing, StopsWhenTheSinkFails) {
  builder.addF32("a", {100, 40}, matrix(100, 40));
  std::string path = folder.write("model.safetensors", builder.build());
  auto set = WeightSet::openFiles({&path, 1});
  ASSERT_TRUE(set.isOk());
  // The second or the last of four windows, while other threads pack.
  for (unsigned threads : {1, 3})
    for (int failing : {2, 4}) {
      int calls = 0;
      Status status = packWeight(
          *set, {"w", WeightLayout::Panels, kF32, 40, 100, 1, {{"a"}}},
          [&](auto) {
            return ++calls == failing ? resourceExhausted("disk full")
                                      : okStatus();
          },
          {threads, 1, {}});
      EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
      EXPECT_EQ(calls, failing);
    }
}

TEST_F(Packing, HasWindowsForAllThreadsByDefault) {
  // 3.1 MB: four windows of one thread, or two windows of three threads.
  builder.addF32("a", {800, 1000}, matrix(800, 1000));
  std::string path = folder.write("model.safetensors", builder.build());
  auto set = WeightSet::openFiles({&path, 1});
  ASSERT_TRUE(set.isOk());
  WeightRecipe recipe{"w", WeightLayout::Panels, kF32, 1000, 800, 1, {{"a"}}};
  std::vector<uint8_t> expected = packPlainly(
      recipe, [](int64_t, int64_t r, int64_t c) { return valueAt(r, c); });
  for (unsigned threads : {1, 3})
    EXPECT_EQ(pack(*set, recipe, {threads, 0, {}}), expected);
}

TEST_F(Packing, StopsWhenTheFileChanges) {
  builder.addF32("a", {100, 40}, matrix(100, 40));
  std::string path = folder.write("model.safetensors", builder.build());
  auto set = WeightSet::openFiles({&path, 1});
  ASSERT_TRUE(set.isOk());
  Status status =
      packWeight(*set, {"w", WeightLayout::Panels, kF32, 40, 100, 1, {{"a"}}},
                 [&](auto) {
                   std::filesystem::resize_file(path, 20000);
                   return okStatus();
                 },
                 {1, 1, {}});
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
}

} // namespace
