//===- packer_errors_test.cpp - Weights that do not fit, and failures -----===//

#include "PackingTest.h"

using namespace mtp;
using namespace mtp::test;

namespace {

WeightRecipe linear(int64_t k, int64_t n, WeightSource source) {
  return {"w", WeightLayout::Panels, kF32, k, n, 1, {std::move(source)}};
}

TEST_F(Packing, NamesWhatDoesNotFit) {
  builder.addF32("a", {4, 6}, matrix(4, 6));
  builder.add("i", "I64", {1}, std::string(8, '\0'));
  builder.add("d", "F32", {1, 2, 1}, std::string(8, '\0'));
  expectError(linear(5, 4, {"a"}), "expected 5 inputs, got 6");
  expectError(linear(6, 5, {"a"}), "expected 5 outputs, got 4");
  expectError(linear(6, 4, {"b"}), "no weight \"b\"");
  expectError(linear(6, 4, {"a", 1, 5}), "expected at least 5 rows, got 4");
  expectError(linear(6, 4, {"a", 5, -1}), "expected at least 5 rows, got 4");
  expectError(linear(6, 4, {"a", 0, -1, 3, 9}), "9 columns, got 6");
  expectError(linear(1, 1, {"i"}),
              "expected BF16, F16, F32, a type of GGUF with blocks, or the "
              "tensors of a quantised weight, got I64");
  expectError(linear(1, 1, {"d"}),
              "one or two dimensions, got shape [1, 2, 1]");
  WeightSource stacked{"d", 0, 1};
  stacked.headStride = 3;
  expectError(linear(1, 1, stacked),
              "expected matrices of 3 rows, got shape [1, 2, 1]");
}

TEST_F(Packing, NamesPicksThatDoNotFit) {
  builder.addF32("a", {4, 6}, matrix(4, 6));
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
}

TEST_F(Packing, NamesTablesThatDoNotFit) {
  builder.addF32("a", {4, 6}, matrix(4, 6));
  builder.addF32("v", {3}, matrix(3, 1));
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
