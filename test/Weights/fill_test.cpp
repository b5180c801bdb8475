//===- fill_test.cpp - Recipes of an artifact without weights -------------===//

#include "compiler/Artifact/WeightlessFile.h"
#include "runtime/schema/ArtifactFormat.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::compiler;
using namespace mtp::test;

namespace {

/// Returns the message for filling a file of one recipe that lacks its head.
std::string messageFor(const WeightRecipe &recipe) {
  std::vector<uint8_t> recipes = encodeRecipes(/*seed=*/1, {{recipe, 0, 0}});
  WeightlessHeader header = {};
  std::memcpy(header.magic, kWeightlessMagic, sizeof(kWeightlessMagic));
  header.recipeBytes = recipes.size();
  header.recipeHash = hashBytes(recipes.data(), recipes.size());
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes.append(recipes.begin(), recipes.end());
  TemporaryFolder folder;
  std::string path = folder.write("model.fill", bytes);
  return std::string(fillArtifact(path, path + ".out", 1).message());
}

TEST(Fill, ChecksTheFormatsOfRecipes) {
  auto with = [](WeightFormat format) {
    return messageFor(
        {"w", WeightLayout::Panels, format, 64, 32, 1, {{"key"}}});
  };
  auto expect = [&](WeightFormat format, const std::string &text) {
    EXPECT_NE(with(format).find(text), std::string::npos) << with(format);
  };
  using enum WeightElements;
  // A valid recipe passes, and the missing head is reported.
  for (WeightFormat format :
       {kF32, kBF16, WeightFormat{Int8, 32}, WeightFormat{Int4, 128}})
    expect(format, "expected at least 64 bytes of an artifact, got 0");
  expect({WeightElements(std::size(kWeightFormats)), 64},
         "weight \"w\": expected elements of a weight's format, got " +
             std::to_string(std::size(kWeightFormats)));
  expect({Int4, 33}, "weight \"w\": expected a group of 16 or a multiple of "
                     "32 inputs up to 128 that suits the scales of int4, got "
                     "33");
  expect({BF16, 64}, "weight \"w\": expected no group of bf16, got 64");
}

} // namespace
