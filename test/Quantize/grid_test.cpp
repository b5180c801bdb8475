//===- grid_test.cpp - The search for scales and minima -------------------===//

#include "compiler/Quantize/GridSearch.h"
#include "compiler/Quantize/Half.h"
#include "test/Quantize/TestPanel.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

constexpr int64_t kOutputs = Grid::kOutputs;

/// The least weighted squared error of `x`, over all integers of two bits. The
/// scale and the minimum are the least squares for the integers.
double leastError(const std::vector<double> &x, const std::vector<double> &w,
                  bool hasMinimum) {
  double least = 1e300;
  for (size_t number = 0; number < size_t(1) << (2 * x.size()); ++number) {
    double sw = 0, sq = 0, sqq = 0, sx = 0, sxq = 0, sxx = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      double q = double(number >> (2 * i) & 3) - (hasMinimum ? 0 : 2);
      sw += w[i];
      sq += w[i] * q;
      sqq += w[i] * q * q;
      sx += w[i] * x[i];
      sxq += w[i] * x[i] * q;
      sxx += w[i] * x[i] * x[i];
    }
    double scale = sqq > 0 ? sxq / sqq : 0, minimum = 0;
    double spread = sqq * sw - sq * sq;
    if (hasMinimum && spread > 1e-9) {
      double slope = (sxq * sw - sq * sx) / spread;
      double below = (sq * slope - sx) / sw;
      if (below > 0 && slope > 0) {
        scale = slope;
        minimum = below;
      }
    }
    double error = sxx + scale * scale * sqq + minimum * minimum * sw -
                   2 * scale * sxq + 2 * minimum * sx -
                   2 * scale * minimum * sq;
    if (hasMinimum && scale < 0)
      continue;
    least = std::min(least, error);
  }
  return least;
}

/// The squared error with the range of each group divided evenly. Without a
/// minimum the range is symmetric.
double plainError(const Grid &grid, std::span<const float> values,
                  int64_t output) {
  double error = 0;
  int64_t inputs = int64_t(values.size()) / kOutputs;
  for (int64_t begin = 0; begin < inputs; begin += grid.group) {
    int64_t end = std::min(inputs, begin + grid.group);
    float least = 0, most = 0;
    for (int64_t i = begin; i < end; ++i) {
      least = std::min(least, values[size_t(i * kOutputs + output)]);
      most = std::max(most, values[size_t(i * kOutputs + output)]);
    }
    double scale = (most - least) / double((1 << grid.bits) - 1);
    if (!grid.hasMinimum) {
      scale = std::max(most, -least) / grid.most();
      least = 0;
    }
    for (int64_t i = begin; i < end; ++i) {
      double x = values[size_t(i * kOutputs + output)];
      double off = x - (std::nearbyint((x - least) / scale) * scale + least);
      error += off * off;
    }
  }
  return error;
}

class SearchOf : public testing::TestWithParam<Grid> {};

} // namespace

TEST(GridSearch, IsCloseToTheBestOfAllIntegers) {
  for (bool hasMinimum : {true, false}) {
    Grid grid{2, hasMinimum, 8, 0};
    std::vector<float> values = randomPanel(8, 1 + hasMinimum);
    std::vector<float> importance = {1, 3, 0.5f, 1, 2, 0.1f, 1, 1};
    GridCodes codes;
    searchGrid(grid, values, importance, codes);
    double found = 0, least = 0;
    for (int64_t o = 0; o < kOutputs; ++o) {
      std::vector<double> x, w(importance.begin(), importance.end());
      for (int64_t i = 0; i < 8; ++i)
        x.push_back(values[size_t(i * kOutputs + o)]);
      double best = leastError(x, w, hasMinimum);
      double error = errorOf(grid, codes, values, importance, o);
      EXPECT_GE(error, best * 0.999) << "output " << o;
      found += error / best;
      least += 1;
    }
    EXPECT_LE(found, least * 1.15);
  }
}

TEST_P(SearchOf, BeatsAnEvenDivision) {
  std::vector<float> values = randomPanel(576, 3);
  GridCodes codes;
  searchGrid(GetParam(), values, {}, codes);
  double found = 0, plain = 0;
  for (int64_t o = 0; o < kOutputs; ++o) {
    found += errorOf(GetParam(), codes, values, {}, o);
    plain += plainError(GetParam(), values, o);
  }
  EXPECT_LE(found, plain * (GetParam().hasMinimum ? 0.92 : 1));
}

TEST_P(SearchOf, ImportantInputsHaveSmallerErrors) {
  std::vector<float> values = randomPanel(256, 4);
  std::vector<float> importance(256, 1.0f);
  for (size_t i = 0; i < 256; i += 4)
    importance[i] = 30;
  GridCodes alike, weighted;
  searchGrid(GetParam(), values, {}, alike);
  searchGrid(GetParam(), values, importance, weighted);
  double before = 0, after = 0;
  for (int64_t o = 0; o < kOutputs; ++o) {
    before += errorOf(GetParam(), alike, values, importance, o);
    after += errorOf(GetParam(), weighted, values, importance, o);
  }
  EXPECT_LT(after, before * 0.9);
}

TEST_P(SearchOf, ScalesAreProductsOfStoredNumbers) {
  Grid grid = GetParam();
  std::vector<float> values = randomPanel(300, 5);
  GridCodes codes;
  searchGrid(grid, values, {}, codes);
  for (int64_t g = 0; g < grid.groups(300); ++g)
    for (int64_t o = 0; o < kOutputs; ++o) {
      size_t at = size_t(g * kOutputs + o);
      size_t block = size_t(g * grid.group / Grid::kBlock * kOutputs + o);
      EXPECT_EQ(codes.scales[at], widenHalf(codes.scaleFactors[block]) *
                                      float(codes.scaleCodes[at]));
      EXPECT_EQ(codes.minima[at], widenHalf(codes.minimumFactors[block]) *
                                      float(codes.minimumCodes[at]));
      EXPECT_LE(std::abs(codes.scaleCodes[at]), grid.mostScale());
      EXPECT_LE(std::abs(codes.minimumCodes[at]), grid.mostScale());
    }
  for (int8_t q : codes.q) {
    EXPECT_GE(q, grid.least());
    EXPECT_LE(q, grid.most());
  }
}

TEST_P(SearchOf, TwoLevelsCostLittle) {
  std::vector<float> values = randomPanel(512, 6);
  Grid exact = GetParam();
  exact.scaleBits = 0;
  GridCodes codes, free;
  searchGrid(GetParam(), values, {}, codes);
  searchGrid(exact, values, {}, free);
  double found = 0, least = 0;
  for (int64_t o = 0; o < kOutputs; ++o) {
    found += errorOf(GetParam(), codes, values, {}, o);
    least += errorOf(exact, free, values, {}, o);
  }
  EXPECT_LE(found, least * 1.05);
}

TEST_P(SearchOf, OutputsDoNotDependOnEachOther) {
  std::vector<float> values = randomPanel(288, 7), other = values;
  for (size_t i = 0; i < other.size(); ++i)
    if (i % kOutputs != 5)
      other[i] *= -3;
  GridCodes codes, changed;
  searchGrid(GetParam(), values, {}, codes);
  searchGrid(GetParam(), other, {}, changed);
  for (int64_t i = 0; i < 288; ++i)
    EXPECT_EQ(codes.valueAt(GetParam(), i, 5),
              changed.valueAt(GetParam(), i, 5));
}

TEST_P(SearchOf, ZerosAndConstantsStay) {
  std::vector<float> values(size_t(64 * kOutputs), 0.0f);
  for (size_t i = 0; i < values.size(); ++i)
    if (i % kOutputs % 2)
      values[i] = i % kOutputs % 4 == 1 ? 0.5f : -0.25f;
  GridCodes codes;
  searchGrid(GetParam(), values, {}, codes);
  for (int64_t i = 0; i < 64; ++i)
    for (int64_t o = 0; o < kOutputs; ++o)
      EXPECT_NEAR(codes.valueAt(GetParam(), i, o),
                  values[size_t(i * kOutputs + o)], 2e-3)
          << i << " " << o;
}

INSTANTIATE_TEST_SUITE_P(Grids, SearchOf,
                         testing::Values(kGridK4, kGridK5, kGridK6));

TEST(Half, RoundsToTheNearest) {
  EXPECT_EQ(roundToHalf(1.0f), 0x3c00);
  EXPECT_EQ(roundToHalf(-2.0f), 0xc000);
  EXPECT_EQ(roundToHalf(0x1p-24f), 1);
  EXPECT_EQ(roundToHalf(0x1p-25f), 0); // Ties go to even.
  EXPECT_EQ(roundToHalf(0x1.8p-24f), 2);
  EXPECT_EQ(roundToHalf(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(roundToHalf(1.0f + 0x1.8p-10f), 0x3c02);
  EXPECT_EQ(roundToHalf(1e9f), 0x7bff);
  for (uint32_t half = 0; half < 0x7c00; ++half)
    EXPECT_EQ(roundToHalf(widenHalf(uint16_t(half))), half);
}
