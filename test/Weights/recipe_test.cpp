//===- recipe_test.cpp - Sizes and checks without weights -----------------===//

#include "compiler/Weights/WeightRecipe.h"

#include <gtest/gtest.h>

using namespace mtp;

namespace {

WeightRecipe make(WeightLayout layout, WeightType type, int64_t k, int64_t n,
                  int64_t count = 1) {
  WeightRecipe recipe{"w", layout, type, k, n, count, {}};
  recipe.sources.resize(layout == WeightLayout::GatedPanels ? 2 : 1);
  for (WeightSource &source : recipe.sources)
    source.keyPattern = count > 1 ? "a.{}" : "a";
  return recipe;
}

int64_t bytesOf(const WeightRecipe &recipe) {
  EXPECT_TRUE(verifyRecipe(recipe).isOk()) << verifyRecipe(recipe).toString();
  return packedBytes(recipe);
}

void expectError(const WeightRecipe &recipe, const std::string &text) {
  Status status = verifyRecipe(recipe);
  ASSERT_FALSE(status.isOk()) << "expected: " << text;
  EXPECT_NE(status.message().find(text), std::string_view::npos)
      << status.toString();
}

TEST(WeightRecipe, CountsBytes) {
  using enum WeightLayout;
  EXPECT_EQ(bytesOf(make(Raw, WeightType::F32, 3, 5)), 60);
  EXPECT_EQ(bytesOf(make(Raw, WeightType::BF16, 3, 5, 2)), 60);
  EXPECT_EQ(bytesOf(make(Panels, WeightType::F32, 3, 5)), 32 * 3 * 4);
  EXPECT_EQ(bytesOf(make(Panels, WeightType::F32, 3, 33)), 64 * 3 * 4);
  EXPECT_EQ(bytesOf(make(Panels, WeightType::BF16, 3, 32)), 32 * 4 * 2);
  EXPECT_EQ(bytesOf(make(Panels, WeightType::BF16, 4, 32, 7)), 7 * 32 * 4 * 2);
  EXPECT_EQ(bytesOf(make(GatedPanels, WeightType::F32, 2, 66)), 128 * 2 * 4);
  WeightRecipe narrow = make(Panels, WeightType::F32, 3, 33);
  narrow.panelWidth = 16;
  EXPECT_EQ(bytesOf(narrow), 48 * 3 * 4);
}

TEST(WeightRecipe, RefusesNonsense) {
  using enum WeightLayout;
  expectError(make(Panels, WeightType::F16, 4, 4), "F32 or BF16, got F16");
  expectError(make(Panels, WeightType::F32, 0, 4),
              "at least 1, got 0, 4 and 1");
  expectError(make(Panels, WeightType::F32, 4, -1), "at least 1");
  expectError(make(Panels, WeightType::F32, 4, 4, 0), "at least 1");
  expectError(make(GatedPanels, WeightType::F32, 4, 5),
              "an even n, got 2 and 5");
  expectError(make(Panels, WeightType::F32, int64_t(1) << 40, int64_t(1) << 40),
              "more bytes");
  expectError(make(Panels, WeightType::F32, int64_t(1) << 60, 1), "more bytes");
  expectError(make(Panels, WeightType::F32, 1, 1, int64_t(1) << 60),
              "more bytes");
}

TEST(WeightRecipe, RefusesPanelsThatCannotBePacked) {
  WeightRecipe recipe =
      make(WeightLayout::Panels, WeightType::F32, /*k=*/32, /*n=*/32);
  for (int64_t width : {0, 257}) {
    recipe.panelWidth = width;
    expectError(recipe, "expected panels of 1 to 256 outputs, got " +
                            std::to_string(width));
  }
  recipe.panelWidth = 16;
  recipe.bits = 8;
  recipe.group = 32;
  expectError(recipe, "expected panels of 32 outputs of integers, got 16");
}

TEST(WeightRecipe, CountsBytesOfIntegers) {
  auto bytes = [](WeightRecipe recipe, int64_t bits, int64_t group) {
    recipe.bits = bits;
    recipe.group = group;
    return bytesOf(recipe);
  };
  using enum WeightLayout;
  constexpr WeightType type = WeightType::F32;
  EXPECT_EQ(bytes(make(Panels, type, 64, 32), 8, 64), 128 + 64 * 32);
  EXPECT_EQ(bytes(make(Panels, type, 64, 33), 4, 32), 2 * 2 * (128 + 16 * 32));
  // The last group is as long as what is left, in whole quads or pairs of them.
  EXPECT_EQ(bytes(make(Panels, type, 65, 1), 8, 64), 2 * 128 + 68 * 32);
  EXPECT_EQ(bytes(make(Panels, type, 65, 1), 4, 64), 2 * 128 + 72 * 16);
  EXPECT_EQ(bytes(make(GatedPanels, type, 32, 66, 3), 8, 32),
            3 * 4 * (128 + 32 * 32));
  // Rows of a table are not padded to panels.
  EXPECT_EQ(bytes(make(Raw, type, 64, 33), 8, 64), 33 * (4 + 64));
  EXPECT_EQ(bytes(make(Raw, type, 65, 3), 4, 64), 3 * (2 * 4 + 32 + 4));
}

TEST(WeightRecipe, RefusesUnknownIntegers) {
  auto expect = [](WeightLayout layout, int64_t bits, int64_t group,
                   const std::string &text) {
    WeightRecipe recipe = make(layout, WeightType::F32, 64, 32);
    recipe.bits = bits;
    recipe.group = group;
    expectError(recipe, text);
  };
  using enum WeightLayout;
  expect(Panels, 3, 64, "8 or 4 bits, got 3");
  expect(Panels, 8, 0, "a multiple of 32 inputs up to 128, got 0");
  expect(Panels, 4, 160, "a multiple of 32 inputs up to 128, got 160");
  expect(Panels, 4, 40, "a multiple of 32 inputs up to 128, got 40");
  expect(Raw, 8, 33, "a multiple of 32 inputs up to 128, got 33");
  WeightRecipe stack = make(Raw, WeightType::F32, 64, 32, 2);
  stack.bits = 8;
  stack.group = 64;
  expectError(stack, "expected one matrix in a table of integers, got 2");
}

TEST(WeightRecipe, RefusesBadSources) {
  WeightRecipe good = make(WeightLayout::Panels, WeightType::F32, 4, 4);
  auto withSource = [&](auto change) {
    WeightRecipe recipe = good;
    change(recipe.sources[0]);
    return recipe;
  };
  expectError(withSource([](auto &s) { s.keyPattern = ""; }), "a key");
  expectError(withSource([](auto &s) { s.rowBegin = -1; }), "at least 0");
  expectError(withSource([](auto &s) { s.colEnd = -2; }), "at least 0");
  expectError(withSource([](auto &s) { s.rowBegin = 3, s.rowEnd = 2; }),
              "ends not before begins");
  expectError(withSource([](auto &s) { s.headStride = -4; }), "stride");
  expectError(withSource([](auto &s) { s.headStride = 4; }), "an end of rows");
  expectError(withSource([](auto &s) {
                s.keyPattern = "a.{}", s.headStride = 4, s.rowEnd = 4;
              }),
              "got both");
  good.sources.clear();
  expectError(good, "at least one source");
  WeightRecipe stack = make(WeightLayout::Panels, WeightType::F32, 4, 4, 2);
  stack.sources[0].keyPattern = "a";
  expectError(stack, "in a stack");
}

} // namespace
