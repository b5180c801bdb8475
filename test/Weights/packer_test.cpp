//===- packer_test.cpp - Packed bytes against a plain loop ----------------===//

#include "PackingTest.h"

using namespace mtp;
using namespace mtp::test;

namespace {

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

} // namespace
