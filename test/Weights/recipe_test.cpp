//===- recipe_test.cpp - Sizes and checks without weights -----------------===//

#include "compiler/Weights/pack/WeightRecipe.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

WeightRecipe make(WeightLayout layout, const WeightFormat &format, int64_t k,
                  int64_t n, int64_t count = 1) {
  WeightRecipe recipe{"w", layout, format, k, n, count, {}};
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
  EXPECT_EQ(bytesOf(make(Raw, kF32, 3, 5)), 60);
  EXPECT_EQ(bytesOf(make(Raw, kBF16, 3, 5, 2)), 60);
  EXPECT_EQ(bytesOf(make(Panels, kF32, 3, 5)), 32 * 3 * 4);
  EXPECT_EQ(bytesOf(make(Panels, kF32, 3, 33)), 64 * 3 * 4);
  EXPECT_EQ(bytesOf(make(Panels, kBF16, 3, 32)), 32 * 4 * 2);
  EXPECT_EQ(bytesOf(make(Panels, kBF16, 4, 32, 7)), 7 * 32 * 4 * 2);
  EXPECT_EQ(bytesOf(make(GatedPanels, kF32, 2, 66)), 128 * 2 * 4);
  WeightRecipe narrow = make(Panels, kF32, 3, 33);
  narrow.panelWidth = 16;
  EXPECT_EQ(bytesOf(narrow), 48 * 3 * 4);
}

TEST(WeightRecipe, RefusesNonsense) {
  using enum WeightLayout;
  expectError(make(Panels, kF32, 0, 4), "at least 1, got 0, 4 and 1");
  expectError(make(Panels, kF32, 4, -1), "at least 1");
  expectError(make(Panels, kF32, 4, 4, 0), "at least 1");
  expectError(make(GatedPanels, kF32, 4, 5), "an even n, got 2 and 5");
  expectError(make(Panels, kF32, int64_t(1) << 40, int64_t(1) << 40),
              "more bytes");
  expectError(make(Panels, kF32, int64_t(1) << 60, 1), "more bytes");
  expectError(make(Panels, kF32, 1, 1, int64_t(1) << 60), "more bytes");
}

TEST(WeightRecipe, RefusesPanelsThatCannotBePacked) {
  WeightRecipe recipe = make(WeightLayout::Panels, kF32, /*k=*/32, /*n=*/32);
  for (int64_t width : {0, 257}) {
    recipe.panelWidth = width;
    expectError(recipe, "expected panels of 1 to 256 outputs, got " +
                            std::to_string(width));
  }
  recipe.panelWidth = 16;
  recipe.format = {WeightElements::Int8, 32};
  expectError(recipe, "expected panels of 32 outputs of integers, got 16");
}

TEST(WeightRecipe, CountsBytesOfIntegers) {
  using enum WeightLayout;
  using enum WeightElements;
  EXPECT_EQ(bytesOf(make(Panels, {Int8, 64}, 64, 32)), 128 + 64 * 32);
  EXPECT_EQ(bytesOf(make(Panels, {Int4, 32}, 64, 33)), 2 * 2 * (128 + 16 * 32));
  // The last group has the remaining inputs, in whole quads or pairs of them.
  EXPECT_EQ(bytesOf(make(Panels, {Int8, 64}, 65, 1)), 2 * 128 + 68 * 32);
  EXPECT_EQ(bytesOf(make(Panels, {Int4, 64}, 65, 1)), 2 * 128 + 72 * 16);
  EXPECT_EQ(bytesOf(make(GatedPanels, {Int8, 32}, 32, 66, 3)),
            3 * 4 * (128 + 32 * 32));
  // Rows of a table are not padded to panels.
  EXPECT_EQ(bytesOf(make(Raw, {Int8, 64}, 64, 33)), 33 * (4 + 64));
  EXPECT_EQ(bytesOf(make(Raw, {Int4, 64}, 65, 3)), 3 * (2 * 4 + 32 + 4));
}

TEST(WeightRecipe, RefusesFormatsThatAreNone) {
  auto expect = [](WeightLayout layout, WeightFormat format,
                   const std::string &text) {
    expectError(make(layout, format, 64, 32), text);
  };
  using enum WeightLayout;
  using enum WeightElements;
  expect(Panels, {WeightElements(std::size(kWeightFormats)), 64},
         "expected elements of a weight's format, got " +
             std::to_string(std::size(kWeightFormats)));
  expect(Raw, {WeightElements(255)},
         "expected elements of a weight's format, got 255");
  const std::string group = "a group of 16 or a multiple of 32 inputs up to "
                            "128 that suits the scales of ";
  expect(Panels, {Int8, 0}, group + "int8, got 0");
  expect(Panels, {Int4, 160}, group + "int4, got 160");
  expect(Panels, {Int4, 40}, group + "int4, got 40");
  expect(Raw, {Int8, 33}, group + "int8, got 33");
  expect(Panels, {Int5, 16}, group + "int5, got 16");
  expect(Panels, {Int4, 96, WeightScales::F16x8}, group + "int4, got 96");
  expect(Panels, {Int4, 32, WeightScales::F16x6}, group + "int4, got 32");
  expect(Raw, {Int4, 32, WeightScales::F16},
         "expected f32 scales without offsets in a table of integers");
  expect(Panels, {F32, 64}, "expected no group of f32, got 64");
  expect(Raw, {BF16, -1}, "expected no group of bf16, got -1");
  expectError(make(Raw, {Int8, 64}, 64, 32, 2),
              "expected one matrix in a table of integers, got 2");
}

TEST(WeightRecipe, RefusesBadSources) {
  WeightRecipe good = make(WeightLayout::Panels, kF32, 4, 4);
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
  WeightRecipe stack = make(WeightLayout::Panels, kF32, 4, 4, 2);
  stack.sources[0].keyPattern = "a";
  expectError(stack, "in a stack");
}

} // namespace
