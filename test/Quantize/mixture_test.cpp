//===- mixture_test.cpp - Formats under a budget of bits ------------------===//

#include "compiler/Quantize/Mixture.h"

#include <gtest/gtest.h>

using namespace mtp;

namespace {
const std::vector<double> kBits = {4.5, 5.5, 6.5};
} // namespace

TEST(Mixture, TheFirstFormatNeedsNoBudget) {
  EXPECT_EQ(chooseMixture({{100, kBits, {3, 2, 1}}}, 4.0),
            std::vector<size_t>{0});
}

TEST(Mixture, SmallAndSensitiveWeightsGetBitsFirst) {
  std::vector<MixtureItem> items = {{1000, kBits, {1, 0.3, 0.1}},
                                    {100, kBits, {1, 0.3, 0.1}},
                                    {1000, kBits, {2, 0.6, 0.2}}};
  EXPECT_EQ(chooseMixture(items, 4.5), (std::vector<size_t>{0, 0, 0}));
  EXPECT_EQ(chooseMixture(items, 4.5 + 100.0 / 2100),
            (std::vector<size_t>{0, 1, 0}));
  EXPECT_EQ(chooseMixture(items, 4.5 + 1200.0 / 2100),
            (std::vector<size_t>{0, 2, 1}));
  EXPECT_EQ(chooseMixture(items, 6.5), (std::vector<size_t>{2, 2, 2}));
}

TEST(Mixture, AStepThatIsTooLargeDoesNotEndTheSearch) {
  std::vector<MixtureItem> items = {{1000, {4.5, 5.5}, {9, 1}},
                                    {10, {4.5, 5.5}, {1, 0.9}}};
  EXPECT_EQ(chooseMixture(items, 4.6), (std::vector<size_t>{0, 1}));
}

TEST(Mixture, EachWeightHasItsOwnBits) {
  std::vector<MixtureItem> items = {{100, {4.6, 5.7}, {2, 1}},
                                    {100, {4.5, 5.5}, {2, 1}}};
  EXPECT_EQ(chooseMixture(items, 5.05), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(chooseMixture(items, 5.04), (std::vector<size_t>{0, 0}));
}
