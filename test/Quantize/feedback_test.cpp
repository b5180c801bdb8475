//===- feedback_test.cpp - Rounding that compensates errors ---------------===//

#include "compiler/Quantize/Cholesky.h"
#include "compiler/Quantize/ErrorFeedback.h"
#include "compiler/Quantize/GridSearch.h"
#include "test/Quantize/TestPanel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace mtp;
using namespace mtp::test;

namespace {

/// Returns second moments of correlated inputs.
std::vector<float> correlatedMoments(int64_t inputs, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<double> sums(size_t(inputs * inputs), 0);
  std::vector<float> row(static_cast<size_t>(inputs));
  for (int64_t token = 0; token < 2 * inputs; ++token) {
    float shared = normal(generator);
    for (int64_t i = 0; i < inputs; ++i)
      row[size_t(i)] =
          (normal(generator) + 2 * shared) * (1 + float(i % 7) / 2);
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t j = 0; j < inputs; ++j)
        sums[size_t(i * inputs + j)] += double(row[size_t(i)]) * row[size_t(j)];
  }
  return {sums.begin(), sums.end()};
}

std::vector<float> diagonalOf(const std::vector<float> &moments,
                              int64_t inputs) {
  std::vector<float> diagonal;
  for (int64_t i = 0; i < inputs; ++i)
    diagonal.push_back(moments[size_t(i * (inputs + 1))]);
  return diagonal;
}

double sumOf(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

} // namespace

TEST(Cholesky, FactorsAnyNumberOfRows) {
  for (int64_t n : {1, 3, 63, 64, 65, 131, 200}) {
    std::vector<float> moments = correlatedMoments(n, unsigned(n));
    std::vector<double> matrix(moments.begin(), moments.end());
    ASSERT_TRUE(factorLower(matrix, n, 2));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (int64_t k = 0; k <= j; ++k)
          sum += matrix[size_t(i * n + k)] * matrix[size_t(j * n + k)];
        double expected = moments[size_t(i * n + j)];
        EXPECT_NEAR(sum, expected, 1e-6 * moments[size_t(i * (n + 1))] + 1e-6);
      }
  }
}

TEST(Cholesky, RefusesAMatrixThatIsNotPositive) {
  std::vector<double> matrix = {1, 2, 2, 1};
  EXPECT_FALSE(factorLower(matrix, 2, 1));
}

TEST(ErrorFeedback, ReducesTheErrorOfTheOutputs) {
  constexpr int64_t kInputs = 288;
  std::vector<float> moments = correlatedMoments(kInputs, 1);
  std::vector<float> values = randomPanel(kInputs, 2);
  for (const Grid &grid : {kGridK4, kGridK5, kGridK6}) {
    GridCodes codes;
    searchGrid(grid, values, diagonalOf(moments, kInputs), codes);
    double before = sumOf(outputErrors(grid, codes, values, moments));
    auto feedback = ErrorFeedback::make(moments, kInputs, 2);
    ASSERT_TRUE(feedback);
    feedback->round(grid, values, codes);
    double after = sumOf(outputErrors(grid, codes, values, moments));
    EXPECT_LT(after, before * 0.5);
  }
}

TEST(ErrorFeedback, IsPlainRoundingForIndependentInputs) {
  constexpr int64_t kInputs = 130;
  std::vector<float> moments(kInputs * kInputs, 0.0f);
  for (size_t i = 0; i < kInputs; ++i)
    moments[i * (kInputs + 1)] = float(1 + i % 3);
  std::vector<float> values = randomPanel(kInputs, 3);
  GridCodes codes;
  searchGrid(kGridK4, values, {}, codes);
  GridCodes rounded = codes;
  auto feedback = ErrorFeedback::make(moments, kInputs, 1);
  ASSERT_TRUE(feedback);
  feedback->round(kGridK4, values, rounded);
  EXPECT_EQ(codes.q, rounded.q);
}

TEST(ErrorFeedback, DoesNotDependOnThreads) {
  constexpr int64_t kInputs = 200;
  std::vector<float> moments = correlatedMoments(kInputs, 4);
  std::vector<float> values = randomPanel(kInputs, 5);
  std::vector<int8_t> expected;
  for (unsigned threads : {1u, 2u, 5u}) {
    GridCodes codes;
    searchGrid(kGridK4, values, {}, codes);
    auto feedback = ErrorFeedback::make(moments, kInputs, threads);
    ASSERT_TRUE(feedback);
    feedback->round(kGridK4, values, codes);
    if (expected.empty())
      expected = codes.q;
    EXPECT_EQ(codes.q, expected);
  }
}

TEST(ErrorFeedback, RefusesMomentsThatAreNotFinite) {
  std::vector<float> moments = {1, 0, 0,
                                std::numeric_limits<float>::infinity()};
  EXPECT_FALSE(ErrorFeedback::make(moments, 2, 1));
  moments[3] = std::nanf("");
  EXPECT_FALSE(ErrorFeedback::make(moments, 2, 1));
  EXPECT_FALSE(ErrorFeedback::make(std::vector<float>(4, 0.0f), 2, 1));
}
