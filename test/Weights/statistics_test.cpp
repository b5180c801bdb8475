//===- statistics_test.cpp - Statistics of activations --------------------===//

#include "compiler/Weights/pack/ActivationStatistics.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>
#include <limits>

using namespace mtp;
using namespace mtp::test;

namespace {

class Statistics : public testing::Test {
protected:
  Result<ActivationStatistics> open(const std::string &name,
                                    const std::vector<float> &values) {
    FileBuilder builder;
    builder.addF32(name, {int64_t(values.size())}, values);
    return ActivationStatistics::open(
        folder.write("moments.safetensors", builder.build()));
  }

  TemporaryFolder folder;
};

WeightRecipe recipeOf(const WeightSource &source, int64_t k) {
  return {"w", WeightLayout::Panels, {}, k, 32, 1, {source}};
}

} // namespace

TEST_F(Statistics, AreSymmetricAndFoundByEachKey) {
  auto statistics = open("a.q a.k", {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(statistics) << statistics.status().message();
  for (const char *key : {"a.q", "a.k"}) {
    auto moments = statistics->momentsOf(recipeOf({key}, 3));
    ASSERT_TRUE(moments);
    EXPECT_EQ(*moments, (std::vector<float>{1, 2, 3, 2, 4, 5, 3, 5, 6}));
  }
  auto unknown = statistics->momentsOf(recipeOf({"a.v"}, 3));
  ASSERT_TRUE(unknown);
  EXPECT_TRUE(unknown->empty());
}

TEST_F(Statistics, ASourceMayReadSomeOfTheInputs) {
  auto statistics = open("w", {1, 2, 3, 4, 5, 6});
  ASSERT_TRUE(statistics);
  WeightSource source{"w"};
  source.colBegin = 1;
  auto moments = statistics->momentsOf(recipeOf(source, 2));
  ASSERT_TRUE(moments);
  EXPECT_EQ(*moments, (std::vector<float>{4, 5, 5, 6}));
  source.transpose = true;
  EXPECT_TRUE(statistics->momentsOf(recipeOf(source, 2))->empty());
}

TEST_F(Statistics, WrongSizesAndNumbersAreErrors) {
  EXPECT_FALSE(open("w", {1, 2}));
  auto statistics = open("w", {1, 2, 3});
  ASSERT_TRUE(statistics);
  EXPECT_FALSE(statistics->momentsOf(recipeOf({"w"}, 3)));
  auto infinite = open("w", {1, std::numeric_limits<float>::infinity(), 3});
  ASSERT_TRUE(infinite);
  EXPECT_FALSE(infinite->momentsOf(recipeOf({"w"}, 2)));
}
